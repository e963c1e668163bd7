//! A log on a log under uniform writes: how a given spare space is best divided between the two.
//!
//! The upper log cleans segments, the lower one blocks; both choose the best of `d`. If victims above are drawn at random, each
//! segment is as likely as any other to be emptied and written again. To the lower log segments are then what pages are to
//! a single log: it is the mean field of blocks of `m` segments under uniform writes. If victims above are chosen well, old segments die
//! first, and those of a block at about the same time: the lower log copies less, and nothing where they die in the order in which they
//! were written. The truth for `d` choices above lies between.

use super::error::between;
use super::mean_field::{MeanField, Structure};
use super::selection::DChoices;
use super::{Classes, Drive, TheoryError};

/// Two logs, one on the other, without other metadata than none; the upper one trims segments that it has emptied.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StackedLogs {
    /// Pages of a segment of the upper log.
    pub pages_per_segment: u32,
    /// Segments of the upper log in a block of the lower one (`m`); 1 where they are equal and aligned.
    pub segments_per_block: u32,
    /// Spare space of both together, as a share of the flash (`S`).
    pub spare_factor: f64,
    /// Which part of it is above: `1 - s_above = (1 - S)^share`, and the rest below.
    pub share_above: f64,
    /// `d` above, and below.
    pub choices: [u32; 2],
}

/// Write amplification of two logs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StackedAmplification {
    /// Of the upper log.
    pub upper: f64,
    /// Of the lower log, at most: as if victims above were drawn at random. At least it is 1.
    pub lower_at_most: f64,
}

impl StackedAmplification {
    /// Of both together, at least and at most.
    pub fn total(&self) -> [f64; 2] {
        [self.upper, self.upper * self.lower_at_most]
    }
}

impl StackedLogs {
    /// Spare factors above and below.
    pub fn spare_factors(&self) -> [f64; 2] {
        let used = 1.0 - self.spare_factor;
        [self.share_above, 1.0 - self.share_above].map(|share| 1.0 - used.powf(share))
    }

    /// Write amplification of both. With `choices[0] = 1` what the lower log has at most is what it has.
    ///
    /// # Errors
    ///
    /// Shares outside of 0 to 1, no spare space in either log that needs some, and what [`MeanField::new`] refuses.
    pub fn amplification(&self) -> Result<StackedAmplification, TheoryError> {
        between("spare_factor", self.spare_factor, 0.0, 1.0)?;
        if !(0.0..=1.0).contains(&self.share_above) {
            let problem = format!("{} is not between 0 and 1", self.share_above);
            return Err(TheoryError::parameter("share_above", problem));
        }
        let [above, below] = self.spare_factors();
        let upper = single(self.pages_per_segment, above, self.choices[0])?;
        // Where a block holds one segment it is full or empty, and `d` blocks drawn may all be full.
        let lower_at_most = single(self.segments_per_block, below, self.choices[1])?;
        Ok(StackedAmplification { upper, lower_at_most })
    }

    /// The share above, of `steps` equal ones without the ends, for which the total is least at most, and that total.
    ///
    /// # Errors
    ///
    /// As of [`StackedLogs::amplification`].
    pub fn best_share(&self, steps: u32) -> Result<(f64, f64), TheoryError> {
        let mut best = (f64::NAN, f64::INFINITY);
        for step in 1..steps {
            let share_above = f64::from(step) / f64::from(steps);
            let total = StackedLogs { share_above, ..*self }.amplification()?.total()[1];
            if total < best.1 {
                best = (share_above, total);
            }
        }
        Ok(best)
    }
}

/// One log under uniform writes.
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

    #[test]
    fn spare_factors_make_the_whole_again() {
        for share_above in [0.0, 0.3, 1.0] {
            let [above, below] = StackedLogs { share_above, ..LOGS }.spare_factors();
            assert!(((1.0 - above) * (1.0 - below) - 0.8).abs() < 1e-12);
        }
    }

    #[test]
    fn random_victims_above_amplify_by_the_inverse_of_their_spare_space() {
        let [above, _] = LOGS.spare_factors();
        let amplification = LOGS.amplification().unwrap();
        assert!((amplification.upper - 1.0 / above).abs() < 1e-6, "{amplification:?}");
        assert!(amplification.lower_at_most > 1.0);
    }

    #[test]
    fn matched_segments_want_spare_space_above_if_empty_blocks_are_found() {
        let matched = StackedLogs { segments_per_block: 1, ..LOGS };
        let [_, below] = matched.spare_factors();
        // Of ten blocks drawn, each of which is empty with a probability of the spare factor, one at least is.
        let wanted = 1.0 / (1.0 - (1.0 - below).powi(10));
        let found = matched.amplification().unwrap().lower_at_most;
        assert!((found / wanted - 1.0).abs() < 1e-3, "{found} for {wanted}");
        let searching = StackedLogs { choices: [1, 1000], ..matched };
        assert_eq!(searching.best_share(8).unwrap().0, 7.0 / 8.0);
        let (share, total) = LOGS.best_share(8).unwrap();
        assert!(share > 0.0 && share < 1.0);
        assert!(total > matched.best_share(8).unwrap().1, "not matching costs");
    }

    #[test]
    fn shares_that_are_none_are_refused() {
        assert!(StackedLogs { share_above: 1.5, ..LOGS }.amplification().is_err());
        assert!(StackedLogs { spare_factor: f64::NAN, ..LOGS }.amplification().is_err());
    }
}
