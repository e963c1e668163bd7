//! Zipf distributions as classes of pages.

use super::error::between;
use super::{Class, Classes, TheoryError};

/// Number of ranks summed individually; beyond them the sum is an integral with its first corrections.
const SUMMED_RANKS: u64 = 1000;

/// Maximum number of classes of a Zipf distribution; write rates of neighbouring classes then differ by a few per cent
/// at most.
const MAX_CLASSES: u32 = 400;

/// Computes `sum_{i = 1}^{ranks} i^-exponent`.
///
/// Uses the Euler-Maclaurin formula after the first ranks, exact to double precision.
fn harmonic(ranks: u64, exponent: f64) -> f64 {
    let power = |rank: f64| rank.powf(-exponent);
    let summed: f64 = (1..=ranks.min(SUMMED_RANKS)).map(|rank| power(rank as f64)).sum();
    if ranks <= SUMMED_RANKS {
        return summed;
    }
    let (from, to) = (SUMMED_RANKS as f64, ranks as f64);
    let integral = if (exponent - 1.0).abs() < 1e-9 {
        (to / from).ln()
    } else {
        (to.powf(1.0 - exponent) - from.powf(1.0 - exponent)) / (1.0 - exponent)
    };
    let slope = |rank: f64| -exponent * rank.powf(-exponent - 1.0);
    summed + integral + 0.5 * (power(to) - power(from)) + (slope(to) - slope(from)) / 12.0
}

impl Classes {
    /// Returns the Zipf distribution: the page of rank `i` is written in proportion to `i^-exponent`,
    /// `i = 1..=logical_pages`.
    ///
    /// Ranks are divided into some hundred classes of growing width; the hottest pages are classes of their own. For
    /// write amplification this is indistinguishable from the exact distribution. [`Classes::merged`] reduces the
    /// number of classes.
    pub fn zipf(exponent: f64, logical_pages: u64) -> Result<Self, TheoryError> {
        between("exponent", exponent, 0.0, 10.0)?;
        if logical_pages == 0 {
            return Err(TheoryError::parameter("logical_pages", "0 pages hold nothing"));
        }
        let growth = (logical_pages as f64).powf(1.0 / f64::from(MAX_CLASSES));
        let mut ends = vec![0];
        ends.extend((0..=MAX_CLASSES).map(|class| growth.powi(class as i32).round() as u64));
        ends.push(logical_pages);
        ends.sort_unstable();
        ends.dedup();
        ends.retain(|end| *end <= logical_pages);
        let sums: Vec<f64> = ends.iter().map(|end| harmonic(*end, exponent)).collect();
        let all = sums[sums.len() - 1];
        let classes = ends.windows(2).zip(sums.windows(2)).map(|(ends, sums)| Class {
            write_share: (sums[1] - sums[0]) / all,
            space_share: (ends[1] - ends[0]) as f64 / logical_pages as f64,
        });
        Classes::new(&classes.collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harmonic_equals_the_sum_of_its_terms() {
        for exponent in [0.3, 0.99, 1.0, 1.7] {
            let terms: f64 = (1..=50_000u64).map(|rank| (rank as f64).powf(-exponent)).sum();
            assert!((harmonic(50_000, exponent) / terms - 1.0).abs() < 1e-12, "exponent {exponent}");
        }
    }

    #[test]
    fn few_pages_get_one_class_each() {
        let shares = Classes::zipf(1.0, 4).unwrap().write_shares();
        assert_eq!(shares.len(), 4);
        for (rank, share) in shares.iter().enumerate() {
            assert!((share - 12.0 / 25.0 / (rank + 1) as f64).abs() < 1e-12);
        }
        assert_eq!(Classes::zipf(2.0, 1).unwrap(), Classes::uniform());
    }

    #[test]
    fn many_pages_get_hundreds_of_classes() {
        for pages in [1_000, 1_000_000, 1 << 40] {
            let classes = Classes::zipf(0.99, pages).unwrap();
            assert!((200..=402).contains(&classes.count()), "{} classes", classes.count());
            let heats: Vec<f64> = classes.as_slice().iter().map(Class::relative_rate).collect();
            assert!(heats.windows(2).all(|pair| pair[0] > pair[1]));
        }
        assert!(Classes::zipf(f64::NAN, 3).is_err());
        assert!(Classes::zipf(1.0, 0).is_err());
    }
}
