//! How writes are spread over the pages: classes of pages that are written equally often.

use super::error::{TheoryError, between};

/// Largest deviation from 1 of a sum of shares.
const SHARE_TOLERANCE: f64 = 1e-9;

/// Pages that are written equally often.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Class {
    /// Share of the writes (`r` of the hot class).
    pub write_share: f64,
    /// Share of the logical pages (`f` of the hot class).
    pub space_share: f64,
}

impl Class {
    /// How much more often than the average page one of these is written.
    pub fn heat(&self) -> f64 {
        self.write_share / self.space_share
    }
}

/// The classes of a workload, hottest first; shares are positive and sum to one.
#[derive(Clone, Debug, PartialEq)]
pub struct Classes(Vec<Class>);

impl Classes {
    /// All pages alike.
    pub fn uniform() -> Self {
        Classes(vec![Class { write_share: 1.0, space_share: 1.0 }])
    }

    /// Rosenblum's two classes: a share `hot_writes` (r) of the writes goes to a share `hot_space` (f) of the pages.
    ///
    /// `(0, 0)` and `(1, 1)` leave one class and are uniform writes. What else touches 0 or 1 asks for pages that
    /// are written but do not exist, or exist but are never written, and is refused: pages never written take space
    /// and nothing else, which a smaller drive with a smaller load describes.
    pub fn hot_cold(hot_writes: f64, hot_space: f64) -> Result<Self, TheoryError> {
        if hot_writes == hot_space && (hot_writes == 0.0 || hot_writes == 1.0) {
            return Ok(Classes::uniform());
        }
        let (r, f) =
            (between("hot_writes", hot_writes, 0.0, 1.0)?, between("hot_space", hot_space, 0.0, 1.0)?);
        let hot = Class { write_share: r, space_share: f };
        let cold = Class { write_share: 1.0 - r, space_share: 1.0 - f };
        Ok(Classes(vec![hot, cold]))
    }

    /// Any number of classes, in any order; shares must be positive and sum to 1.
    pub fn new(classes: &[Class]) -> Result<Self, TheoryError> {
        let mut sums = [0.0, 0.0];
        for class in classes {
            sums[0] += between("write_share", class.write_share, 0.0, 1.0 + SHARE_TOLERANCE)?;
            sums[1] += between("space_share", class.space_share, 0.0, 1.0 + SHARE_TOLERANCE)?;
        }
        for (name, sum) in ["write_share", "space_share"].into_iter().zip(sums) {
            if (sum - 1.0).abs() > SHARE_TOLERANCE {
                let problem =
                    format!("the shares of the {} classes sum to {sum} instead of 1", classes.len());
                return Err(TheoryError::parameter(name, problem));
            }
        }
        let mut sorted = classes.to_vec();
        sorted.sort_by(|a, b| b.heat().total_cmp(&a.heat()));
        Ok(Classes(sorted))
    }

    /// The classes, hottest first.
    pub fn as_slice(&self) -> &[Class] {
        &self.0
    }

    /// Number of classes.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Shares of the writes, hottest class first.
    pub fn write_shares(&self) -> Vec<f64> {
        self.0.iter().map(|class| class.write_share).collect()
    }
}
