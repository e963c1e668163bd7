//! A log on a log under uniform writes: the best division of spare space between the two.
//!
//! The upper log cleans segments and the lower log cleans blocks; both select the best of `d` random candidates. If the
//! upper log selects victims at random, every segment is equally likely to be emptied and rewritten. The lower log then
//! treats segments as a single log treats pages: its model is the mean field of blocks of `m` segments under uniform
//! writes. If the upper log selects victims well, old segments are invalidated first, and the segments of a block at
//! about the same time. The lower log then copies less, and nothing if segments are invalidated in the order in which
//! they were written. The result for `d` choices in the upper log lies between these bounds.

use super::error::between;
use super::mean_field::{MeanField, Structure};
use super::selection::DChoices;
use super::{Classes, Drive, TheoryError};

/// Two stacked logs without metadata; the upper log trims segments that it has emptied.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StackedLogs {
    /// Pages of a segment of the upper log.
    pub pages_per_segment: u32,
    /// Segments of the upper log in a block of the lower log (`m`); 1 if segments and blocks are equal and aligned.
    pub segments_per_block: u32,
    /// Spare space of both logs together, as a fraction of the flash (`S`).
    pub spare_factor: f64,
    /// Fraction of the spare space that the upper log has: `1 - s_above = (1 - S)^share`; the lower log has the rest.
    pub share_above: f64,
    /// Number of choices `d` of the upper and the lower log.
    pub choices: [u32; 2],
}

/// Write amplification of two stacked logs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StackedAmplification {
    /// Write amplification of the upper log.
    pub upper: f64,
    /// Upper bound for the lower log: random victims in the upper log. The lower bound is 1.
    pub lower_max: f64,
}

impl StackedAmplification {
    /// Returns the lower and the upper bound of both logs together.
    pub fn total(&self) -> [f64; 2] {
        [self.upper, self.upper * self.lower_max]
    }
}

impl StackedLogs {
    /// Returns the spare factors of the upper and the lower log.
    pub fn spare_factors(&self) -> [f64; 2] {
        let used = 1.0 - self.spare_factor;
        [self.share_above, 1.0 - self.share_above].map(|share| 1.0 - used.powf(share))
    }

    /// Computes the write amplification of both logs. With `choices[0] = 1` the upper bound of the lower log is exact.
    ///
    /// # Errors
    ///
    /// Returns an error for fractions outside 0 to 1, for a log without spare space that needs some, and for everything
    /// that [`MeanField::new`] refuses.
    pub fn amplification(&self) -> Result<StackedAmplification, TheoryError> {
        between("spare_factor", self.spare_factor, 0.0, 1.0)?;
        if !(0.0..=1.0).contains(&self.share_above) {
            let problem = format!("{} is not between 0 and 1", self.share_above);
            return Err(TheoryError::parameter("share_above", problem));
        }
        let [above, below] = self.spare_factors();
        let upper = single(self.pages_per_segment, above, self.choices[0])?;
        // A block of one segment is full or empty, and all `d` blocks drawn may be full.
        let lower_at_most = single(self.segments_per_block, below, self.choices[1])?;
        Ok(StackedAmplification { upper, lower_max: lower_at_most })
    }
}

/// Computes the write amplification of one log under uniform writes.
fn single(pages: u32, spare_factor: f64, choices: u32) -> Result<f64, TheoryError> {
    let selection = DChoices::new(f64::from(choices))?;
    let drive = Drive::new(pages, spare_factor)?;
    Ok(MeanField::new(drive, Classes::uniform(), Structure::Single, &selection)?
        .steady_state()?
        .write_amplification)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOGS: StackedLogs = StackedLogs {
        pages_per_segment: 64,
        segments_per_block: 4,
        spare_factor: 0.2,
        share_above: 0.5,
        choices: [1, 10],
    };

    /// Returns the fraction of spare space in the upper log, in eighths, with the least upper bound of the total, and
    /// that bound.
    fn best_share(logs: StackedLogs) -> (f64, f64) {
        let totals = (1..8).map(|step| {
            let share_above = f64::from(step) / 8.0;
            (share_above, StackedLogs { share_above, ..logs }.amplification().unwrap().total()[1])
        });
        totals.min_by(|(_, one), (_, other)| one.total_cmp(other)).unwrap()
    }

    #[test]
    fn spare_factors_combine_to_the_whole() {
        for share_above in [0.0, 0.3, 1.0] {
            let [above, below] = StackedLogs { share_above, ..LOGS }.spare_factors();
            assert!(((1.0 - above) * (1.0 - below) - 0.8).abs() < 1e-12);
        }
    }

    #[test]
    fn random_victims_above_give_the_inverse_of_their_spare_factor() {
        let [above, _] = LOGS.spare_factors();
        let amplification = LOGS.amplification().unwrap();
        assert!((amplification.upper - 1.0 / above).abs() < 1e-6, "{amplification:?}");
        assert!(amplification.lower_max > 1.0);
    }

    #[test]
    fn matched_segments_need_upper_spare_space_if_empty_blocks_are_found() {
        let matched = StackedLogs { segments_per_block: 1, ..LOGS };
        let [_, below] = matched.spare_factors();
        // Each of ten drawn blocks is empty with the probability of the spare factor; this is the probability that at
        // least one is empty.
        let expected = 1.0 / (1.0 - (1.0 - below).powi(10));
        let found = matched.amplification().unwrap().lower_max;
        assert!((found / expected - 1.0).abs() < 1e-3, "{found} for {expected}");
        let searching = StackedLogs { choices: [1, 1000], ..matched };
        assert_eq!(best_share(searching).0, 7.0 / 8.0);
        let (share, total) = best_share(LOGS);
        assert!(share > 0.0 && share < 1.0);
        assert!(total > best_share(matched).1, "not matching costs");
    }

    #[test]
    fn invalid_shares_are_refused() {
        assert!(StackedLogs { share_above: 1.5, ..LOGS }.amplification().is_err());
        assert!(StackedLogs { spare_factor: f64::NAN, ..LOGS }.amplification().is_err());
    }
}
