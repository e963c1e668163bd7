//! Extrapolation to blocks that are too large for the mean field to be solved.
//!
//! As the block size grows, write amplification tends to a limit, and the difference is proportional to the inverse of
//! the size. Two smaller sizes determine both constants.

use super::many_classes::{ClassMerging, SolvedClasses};
use super::mean_field::{Structure, effort};
use super::selection::Selection;
use super::{Classes, Drive, TheoryError};

/// Write amplification by the mean field, and the approximations made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LargeBlockAmplification {
    /// Write amplification, solved or extrapolated.
    pub write_amplification: f64,
    /// Approximation made for many classes.
    pub merging: ClassMerging,
    /// Larger of the two block sizes, in pages, from which the value was extrapolated; `None` without extrapolation.
    pub extrapolated_from: Option<u32>,
}

impl LargeBlockAmplification {
    /// Computes the mean field for blocks of any size up to [`crate::MAX_PAGES_PER_BLOCK`]. `effort_limit` is the
    /// number of multiplications allowed per evaluation for two classes; ten million are solved in about a tenth of a
    /// second. More classes take up to a second.
    ///
    /// Two classes (0.8 and 0.2, S_f = 0.1, d = 10, two frontiers) in blocks of 1,024 pages have 5.1978; extrapolation
    /// from 256 and 512 gives 5.1976.
    ///
    /// # Errors
    /// Returns an error for everything that [`crate::mean_field::MeanField::new`] refuses, and if no fixed point is
    /// found in 300 evaluations of the equations. Nearly all models take less than a hundred.
    pub fn of(
        drive: Drive,
        classes: &Classes,
        structure: Structure,
        selection: &dyn Selection,
        effort_limit: f64,
    ) -> Result<Self, TheoryError> {
        let solve = |drive: Drive| {
            SolvedClasses::limited(drive, classes.clone(), structure, selection, MAX_EVALUATIONS)
        };
        let pages = drive.pages_per_block();
        // Models with more than two classes merge them as far as needed, so two classes decide whether a size is
        // affordable.
        let fewest = classes.count().min(2);
        let fits = |size: &u32| effort(*size as usize, fewest, structure) <= effort_limit;
        if fits(&pages) || pages < 2 * MIN_BLOCK_PAGES {
            let SolvedClasses { write_amplification, merging, .. } = solve(drive)?;
            return Ok(LargeBlockAmplification { write_amplification, merging, extrapolated_from: None });
        }
        let halved = |size: u32| (size > MIN_BLOCK_PAGES).then_some(size / 2);
        let large = std::iter::successors(Some(pages / 2), |size| halved(*size))
            .find(fits)
            .unwrap_or(MIN_BLOCK_PAGES);
        let of = |pages: u32| solve(Drive::new(pages, drive.spare_factor())?);
        let small = large / 2;
        let (smaller, larger) = (of(small)?, of(large)?);
        // W(b) = limit - slope / b.
        let inverse = |pages: u32| 1.0 / f64::from(pages);
        let slope =
            (larger.write_amplification - smaller.write_amplification) / (inverse(small) - inverse(large));
        let write_amplification = larger.write_amplification + slope * (inverse(large) - inverse(pages));
        Ok(LargeBlockAmplification {
            write_amplification,
            merging: larger.merging,
            extrapolated_from: Some(large),
        })
    }
}

/// Maximum number of evaluations of the equations for one block size and one number of classes. The search for a fixed
/// point that no method finds would otherwise take minutes, as with random++ under very skewed writes.
const MAX_EVALUATIONS: usize = 300;

/// Smallest block size used for extrapolation, in pages: twice the size at which discrete steps are still visible.
const MIN_BLOCK_PAGES: u32 = 32;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::selection::{DChoices, RandomPlusPlus};

    #[test]
    fn extrapolation_agrees_with_solved_sizes() {
        let selection = DChoices::new(10.0).unwrap();
        for (structure, classes) in [
            (Structure::Double, Classes::hot_cold(0.8, 0.2).unwrap()),
            (Structure::Single, Classes::hot_cold(0.9, 0.1).unwrap()),
            (Structure::Double, Classes::uniform()),
        ] {
            let drive = Drive::new(256, 0.1).unwrap();
            let exact =
                SolvedClasses::of(drive, classes.clone(), structure, &selection).unwrap().write_amplification;
            let limit = effort(128, classes.count(), structure);
            let found = LargeBlockAmplification::of(drive, &classes, structure, &selection, limit).unwrap();
            assert_eq!(found.extrapolated_from, Some(128));
            let error = found.write_amplification / exact - 1.0;
            assert!(error.abs() < 1e-3, "{structure:?}: {error:.1e}");
        }
    }

    #[test]
    fn search_without_a_fixed_point_ends_with_an_error() {
        let (drive, classes) = (Drive::new(64, 0.1).unwrap(), Classes::zipf(2.0, 7372).unwrap());
        let found = LargeBlockAmplification::of(drive, &classes, Structure::Double, &RandomPlusPlus, 2e7);
        let Err(TheoryError::NotConverged { evaluations, .. }) = found else { panic!("{found:?}") };
        // Each method evaluates at least once, and its best point at the end.
        assert!(evaluations < MAX_EVALUATIONS + 20, "{evaluations}");
    }

    /// Many classes are merged until the model is affordable; the block size remains as requested.
    #[test]
    fn many_classes_do_not_reduce_the_block_size() {
        let selection = DChoices::new(10.0).unwrap();
        let (drive, classes) = (Drive::new(32, 0.1).unwrap(), Classes::zipf(0.99, 50_000).unwrap());
        let solved = SolvedClasses::of(drive, classes.clone(), Structure::Double, &selection).unwrap();
        let found = LargeBlockAmplification::of(drive, &classes, Structure::Double, &selection, 2e7).unwrap();
        assert_eq!((found.write_amplification, found.extrapolated_from), (solved.write_amplification, None));
    }

    #[test]
    fn affordable_sizes_are_solved_without_extrapolation() {
        let selection = DChoices::new(10.0).unwrap();
        let (drive, classes) = (Drive::new(32, 0.1).unwrap(), Classes::hot_cold(0.9, 0.1).unwrap());
        let exact = SolvedClasses::of(drive, classes.clone(), Structure::Double, &selection).unwrap();
        let found = LargeBlockAmplification::of(drive, &classes, Structure::Double, &selection, 1e9).unwrap();
        assert_eq!((found.write_amplification, found.extrapolated_from), (exact.write_amplification, None));
    }
}
