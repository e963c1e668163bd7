//! Distribution of writes over pages: classes of pages with equal write rates.

use super::error::{TheoryError, between};

/// Largest accepted deviation of a sum of fractions from 1.
const SHARE_TOLERANCE: f64 = 1e-9;

/// Pages with equal write rates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Class {
    /// Fraction of all writes (`r` of the hot class).
    pub write_share: f64,
    /// Fraction of the logical pages (`f` of the hot class).
    pub space_share: f64,
}

impl Class {
    /// Returns the write rate of a page of this class, relative to the average page.
    pub fn relative_rate(&self) -> f64 {
        self.write_share / self.space_share
    }
}

/// Classes of a workload, hottest first; their fractions are positive and sum to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Classes(Vec<Class>);

impl Classes {
    /// Returns a single class: all pages have the same write rate.
    pub fn uniform() -> Self {
        Classes(vec![Class { write_share: 1.0, space_share: 1.0 }])
    }

    /// Returns Rosenblum's two classes: a fraction `hot_writes` (r) of writes goes to a fraction `hot_space` (f) of
    /// pages.
    ///
    /// `(0, 0)` and `(1, 1)` give one class with uniform writes. All other values of 0 or 1 are refused, because they
    /// mean writes to pages that do not exist, or pages that are never written. Pages that are never written only take
    /// space: model them by a smaller drive with a smaller load.
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

    /// Returns classes given in any order; fractions must be positive and sum to 1.
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
        sorted.sort_by(|a, b| b.relative_rate().total_cmp(&a.relative_rate()));
        Ok(Classes(sorted))
    }

    /// Returns the classes, hottest first.
    pub fn as_slice(&self) -> &[Class] {
        &self.0
    }

    /// Returns the number of classes.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns the fraction of writes of each class, hottest first.
    pub fn write_shares(&self) -> Vec<f64> {
        self.0.iter().map(|class| class.write_share).collect()
    }
}
