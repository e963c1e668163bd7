//! Duration of parallel work that is assigned piece by piece to idle workers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Returns the seconds until the last of `workers` finishes, if pieces are assigned in this order (Graham's list
/// scheduling).
pub fn makespan(seconds: &[f64], workers: usize) -> f64 {
    // Times are not negative, so their bit patterns sort like the values.
    let mut free: BinaryHeap<Reverse<u64>> = (0..workers.max(1)).map(|_| Reverse(0f64.to_bits())).collect();
    let mut last = 0.0f64;
    for &seconds in seconds {
        let Reverse(begin) = free.pop().expect("at least one worker");
        let end = f64::from_bits(begin) + seconds.max(0.0);
        last = last.max(end);
        free.push(Reverse(end.to_bits()));
    }
    last
}

#[cfg(test)]
mod tests {
    use super::makespan;

    #[test]
    fn pieces_go_to_idle_workers() {
        let pieces = [3.0, 1.0, 1.0, 2.0, 4.0];
        assert_eq!(makespan(&pieces, 1), 11.0);
        // Worker 1 takes 3, worker 2 takes 1 and 1; at time 2 worker 2 takes 2, at time 3 worker 1 takes 4.
        assert_eq!(makespan(&pieces, 2), 7.0);
        assert_eq!(makespan(&pieces, 100), 4.0);
        assert_eq!(makespan(&[], 3), 0.0);
        // The result is never worse than twice the optimum, nor better than an equal division.
        let many: Vec<f64> = (0..500).map(|at| 1.0 + f64::from(at * 7 % 13)).collect();
        let all: f64 = many.iter().sum();
        for workers in [2, 7, 100] {
            let found = makespan(&many, workers);
            assert!(found >= all / workers as f64 && found <= all / workers as f64 + 13.0);
        }
    }
}
