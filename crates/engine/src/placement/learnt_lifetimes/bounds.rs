//! Bounds between classes of lifetimes.

/// Number of steps of lifetimes, from one page to more than the life of a drive of 2^32 pages.
const STEPS: usize = 128;
/// Steps per octave.
const STEPS_PER_OCTAVE: f64 = 3.0;

/// Returns the bounds of `classes` classes of lifetimes, in ascending order: class `c` begins at bound `c - 1`.
///
/// The bounds minimise the sum of squared differences between the logarithm of a written page's lifetime and the mean
/// of its class. This one-dimensional k-means is solved exactly by dynamic programming (Fisher, JASA 53(284), 1958)
/// over steps of a third of an octave. If fewer lifetimes than classes occur, some classes stay empty.
pub(super) fn class_bounds(lifetimes: &[f32], written: &[f32], classes: u8) -> Vec<f32> {
    let mut sums = Sums::default();
    let mut weights = [0.0; STEPS];
    for (&lifetime, &pages) in lifetimes.iter().zip(written) {
        weights[step_of(lifetime)] += f64::from(pages);
    }
    for (step, &weight) in weights.iter().enumerate() {
        sums.add(step, weight);
    }
    best_cuts(&sums, usize::from(classes)).into_iter().map(step_start).collect()
}

fn step_of(lifetime: f32) -> usize {
    ((f64::from(lifetime.max(1.0)).log2() * STEPS_PER_OCTAVE) as usize).min(STEPS - 1)
}

fn step_start(step: usize) -> f32 {
    (step as f64 / STEPS_PER_OCTAVE).exp2() as f32
}

/// Cumulative sums below each step: of the weights, of the weighted steps, and of their weighted squares.
struct Sums([[f64; 3]; STEPS + 1]);

impl Default for Sums {
    fn default() -> Self {
        Sums([[0.0; 3]; STEPS + 1])
    }
}

impl Sums {
    fn add(&mut self, step: usize, weight: f64) {
        let (position, [weights, steps, squares]) = (step as f64, self.0[step]);
        self.0[step + 1] =
            [weights + weight, steps + weight * position, squares + weight * position * position];
    }

    /// Returns the sum of squared differences from the mean for the steps from `from` to below `to`.
    fn squared_error(&self, from: usize, to: usize) -> f64 {
        let [weights, steps, squares] = std::array::from_fn(|at| self.0[to][at] - self.0[from][at]);
        if weights > 0.0 { (squares - steps * steps / weights).max(0.0) } else { 0.0 }
    }
}

/// Returns the first step of each class except the first.
fn best_cuts(sums: &Sums, classes: usize) -> Vec<usize> {
    let mut costs: Vec<f64> = (0..=STEPS).map(|to| sums.squared_error(0, to)).collect();
    let mut first_steps = Vec::with_capacity(classes);
    for _ in 1..classes {
        let best = |to: usize| {
            let candidates = (0..=to).map(|from| (costs[from] + sums.squared_error(from, to), from));
            candidates.min_by(|a, b| a.0.total_cmp(&b.0)).expect("there is step 0")
        };
        let optima: Vec<(f64, usize)> = (0..=STEPS).map(best).collect();
        costs = optima.iter().map(|&(cost, _)| cost).collect();
        first_steps.push(optima.into_iter().map(|(_, from)| from).collect::<Vec<_>>());
    }
    let (mut end, mut cuts) = (STEPS, Vec::with_capacity(classes));
    for begin in first_steps.iter().rev() {
        end = begin[end];
        cuts.push(end);
    }
    cuts.reverse();
    cuts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_lie_between_lifetimes_that_differ() {
        // Two lifetimes are close together and the third is much longer: with two classes, the bound lies between the
        // pair and the third.
        let bounds = class_bounds(&[8.0, 16.0, 4096.0], &[10.0, 10.0, 10.0], 2);
        assert!(bounds.len() == 1 && bounds[0] > 16.0 && bounds[0] <= 4096.0, "{bounds:?}");
        // With three classes, each lifetime has a separate class; weights have no effect.
        let bounds = class_bounds(&[8.0, 16.0, 4096.0], &[1.0, 50.0, 1.0], 3);
        assert!(
            bounds[0] > 8.0 && bounds[0] <= 16.0 && bounds[1] > 16.0 && bounds[1] <= 4096.0,
            "{bounds:?}"
        );
        // Frequently written lifetimes are separated first: the two frequent lifetimes get different classes, and the
        // rare one shares a class.
        let bounds = class_bounds(&[8.0, 32.0, 64.0], &[1000.0, 1000.0, 1.0], 2);
        assert!(bounds[0] > 8.0 && bounds[0] <= 32.0, "{bounds:?}");
    }

    #[test]
    fn one_class_or_no_traffic_gives_valid_bounds() {
        assert!(class_bounds(&[8.0, 16.0], &[1.0, 1.0], 1).is_empty());
        let none = class_bounds(&[8.0, 16.0], &[0.0, 0.0], 4);
        assert_eq!(none.len(), 3);
        assert!(none.windows(2).all(|pair| pair[0] <= pair[1]), "{none:?}");
    }
}
