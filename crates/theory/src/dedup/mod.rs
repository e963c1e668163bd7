//! Deduplication on a drive: the space that shared pages free, and the page writes that they avoid.
//!
//! A drive on which logical pages share stored pages holds fewer pages, and cleans like a drive with more spare space:
//!
//! ```text
//! WA = (invalidations + promoted) WA_mf(S_f'),   S_f' = 1 - (1 - S_f) / sharing
//! ```
//!
//! `WA_mf` is the mean field of a drive without deduplication; `invalidations` are the stored pages invalidated by
//! overwrites, per page written by the host. Without deduplication each write invalidates one page; here an overwrite
//! of a shared page invalidates none. Where cleaning deduplicates (CAGC), both depend on the number of pages that
//! survive until their first cleaning, which the mean field determines: the result is a fixed point. `docs/theory.md`
//! derives it.

mod popular;
#[cfg(test)]
mod tests;

use super::mean_field::{MeanField, Structure};
use super::selection::Selection;
use super::{Class, Classes, Drive, TheoryError};
use popular::PopularContents;

/// Contents of written pages, in the terms of the workloads' `content` settings. Fractions are of the written pages.
#[derive(Clone, Debug, PartialEq)]
pub struct Contents {
    /// Fraction of the written pages whose content equals the current content of the address.
    pub same: f64,
    /// Fraction of the written pages that are the second and last copy of a content.
    pub pairs: f64,
    /// Mean delay from the first copy to the second, in drive writes.
    pub pair_delay: f64,
    /// Fraction of the written pages with a popular content.
    pub popular: f64,
    /// Number of contents that are popular at a time; at least 1.
    pub popular_contents: u64,
    /// Exponent of the Zipf distribution from which popular contents are drawn.
    pub exponent: f64,
    /// Mean time that a content stays popular, in drive writes.
    pub lifetime: f64,
    /// Reduction of popular contents at addresses written less than a drive write ago, from 0 (none) to 1.
    pub cold_duplicates: f64,
}

/// Time at which duplicates are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detection {
    /// Before pages are stored: all duplicates are found.
    Writing,
    /// When the block that holds the pages is first cleaned.
    Cleaning {
        /// True if a stored page is rewritten to a block for shared pages when a duplicate of it is found.
        promotes: bool,
        /// True if shared pages have separate blocks.
        separates: bool,
    },
}

/// Drive with deduplication, in the limit of many blocks.
pub struct DedupModel<'a> {
    /// Drive parameters in logical pages.
    pub drive: Drive,
    /// Number of logical pages; it determines the number of sharers of a popular content.
    pub logical_pages: u64,
    /// Distribution of writes over the logical pages.
    pub classes: Classes,
    /// Contents of the written pages.
    pub contents: Contents,
    /// Time at which duplicates are found.
    pub detection: Detection,
    /// One or two frontiers. [`Detection::Cleaning`] needs one, because survival to the first cleaning is known only
    /// for one.
    pub structure: Structure,
    /// Victim policy.
    pub selection: &'a dyn Selection,
}

/// Steady state of [`DedupModel`].
#[derive(Clone, Debug, PartialEq)]
pub struct DedupSteadyState {
    /// Page writes per page written by the host; below 1 where many writes are deduplicated.
    pub write_amplification: f64,
    /// Logical pages per stored page.
    pub sharing: f64,
    /// Spare factor of a drive without deduplication that has equal free space, `S_f'`.
    pub spare_factor: f64,
    /// Write amplification of a drive with this spare factor and without deduplication: the effect of the freed space
    /// alone.
    pub equivalent_amplification: f64,
    /// Deduplicated page writes per page written by the host.
    pub saved: f64,
    /// Rewrites of stored pages because a duplicate was found, per page written by the host.
    pub promoted: f64,
    /// Fraction of the written pages of each class, hottest first, that are valid when their block is first cleaned.
    pub survival: Vec<f64>,
}

/// Relative change of the survival at which the fixed point counts as found.
const SURVIVAL_TOLERANCE: f64 = 1e-7;

/// Maximum number of steps.
const MAX_STEPS: usize = 200;

/// Damping of the steps: more free space lets more pages be invalidated before cleaning, so full steps overshoot.
const DAMPING: f64 = 0.7;

impl DedupModel<'_> {
    /// Computes the fixed point.
    ///
    /// # Errors
    /// Returns an error for invalid fractions, for two frontiers with [`Detection::Cleaning`], and for parameters that
    /// the mean field refuses.
    pub fn steady_state(&self) -> Result<DedupSteadyState, TheoryError> {
        self.check()?;
        let Detection::Cleaning { .. } = self.detection else {
            let all = vec![1.0; self.classes.count()];
            let stored = self.stored_pages(&all)?;
            let equivalent = self.solve_equivalent(&stored)?;
            return Ok(self.steady_state_of(stored, equivalent.write_amplification, all));
        };
        let mut survival = vec![0.5; self.classes.count()];
        let mut change = f64::INFINITY;
        let mut equivalent = None;
        for _ in 0..MAX_STEPS {
            let stored = self.stored_pages(&survival)?;
            let state = self.solve_equivalent_near(&stored, equivalent.as_ref())?;
            if change <= SURVIVAL_TOLERANCE {
                return Ok(self.steady_state_of(stored, state.write_amplification, survival));
            }
            change = 0.0;
            // A page of a class is either invalidated or moved; the two rates give the survival until a cleaning of its
            // block.
            let moved = state.moved_shares.iter().map(|share| share * (state.write_amplification - 1.0));
            for ((survival, moved), class) in survival.iter_mut().zip(moved).zip(stored.classes.as_slice()) {
                let found = moved / (moved + class.write_share);
                change = f64::max(change, (found - *survival).abs());
                *survival += DAMPING * (found - *survival);
            }
            equivalent = Some(state);
        }
        let parameters = format!("{:?}, {:?} on {:?}", self.contents, self.detection, self.drive);
        Err(TheoryError::NotConverged { evaluations: MAX_STEPS, residual: change, parameters })
    }

    fn check(&self) -> Result<(), TheoryError> {
        let Contents { same, pairs, popular, .. } = self.contents;
        for (name, share) in [("same", same), ("pairs", pairs), ("popular", popular)] {
            if !(0.0..1.0).contains(&share) {
                return Err(TheoryError::parameter(name, format!("{share} is not from 0 to below 1")));
            }
        }
        if same + pairs + popular >= 1.0 {
            let problem = format!("{} of all pages are duplicates; some must be new", same + pairs + popular);
            return Err(TheoryError::parameter("popular", problem));
        }
        if !(self.contents.pair_delay >= 0.0 && self.contents.pair_delay.is_finite()) {
            let problem = format!("{} is no time from one copy to the next", self.contents.pair_delay);
            return Err(TheoryError::parameter("pair_delay", problem));
        }
        if self.structure == Structure::Double && self.detection != Detection::Writing {
            let problem = "two frontiers keep moved pages apart from new ones, and what survives its first cleaning there is \
                           not known of the mean field";
            return Err(TheoryError::parameter("structure", problem));
        }
        Ok(())
    }

    /// Computes sharing and the resulting free space, given the fraction of each class that survives to its first
    /// cleaning.
    fn stored_pages(&self, survival: &[f64]) -> Result<StoredPages, TheoryError> {
        let classes = self.classes.as_slice();
        let change_rate = 1.0 - self.contents.same;
        let at = self.popular_shares();
        let popular = PopularContents::of(self, &at, survival)?;
        // Shared pairs of which both copies were examined, by the classes of the first and the second copy. The first
        // copy was new and is still stored, the second is a fraction `pairs` of the writes. Sharing ends when either
        // address gets another content.
        let pair = |first: &Class, second: &Class| {
            let persistence = 1.0 / (1.0 + first.relative_rate() * change_rate * self.contents.pair_delay);
            let created = self.contents.pairs * first.write_share * second.write_share * persistence;
            created / ((first.relative_rate() + second.relative_rate()) * change_rate)
        };
        let both = |a: usize, b: usize| {
            survival[a] * survival[b] * (pair(&classes[a], &classes[b]) + pair(&classes[b], &classes[a]))
        };
        let count = classes.len();
        let all_pairs: f64 =
            0.5 * (0..count).map(|a| (0..count).map(|b| both(a, b)).sum::<f64>()).sum::<f64>();
        let mut stored = StoredPages {
            unique: Vec::new(),
            classes: self.classes.clone(),
            shared: 0.0,
            invalidations: 0.0,
            promoted: 0.0,
        };
        let mut merged_pairs = 0.0;
        for (at_class, class) in classes.iter().enumerate() {
            let in_pairs = (0..count).map(|other| both(at_class, other)).sum::<f64>();
            let examined = class.space_share * survival[at_class];
            let sharing = examined * (at[at_class] / change_rate) * popular.shared_share + in_pairs;
            stored.unique.push((class.space_share - sharing).max(f64::MIN_POSITIVE));
            merged_pairs += class.relative_rate() * in_pairs;
        }
        stored.shared = popular.shared_pages + all_pairs;
        // A write of unchanged content invalidates no page if it is detected when written, and one page otherwise.
        let invalidating = if self.detection == Detection::Writing { change_rate } else { 1.0 };
        stored.invalidations = classes
            .iter()
            .zip(&stored.unique)
            .map(|(class, unique)| invalidating * class.relative_rate() * unique)
            .sum();
        if matches!(self.detection, Detection::Cleaning { promotes: true, .. }) {
            stored.promoted = popular.promoted + 0.5 * merged_pairs;
        }
        stored.classes = self.classes_of(&stored)?;
        Ok(stored)
    }

    /// Returns the fraction of popular contents among the writes of each class.
    fn popular_shares(&self) -> Vec<f64> {
        let Contents { same, pairs, popular, cold_duplicates, .. } = self.contents;
        let warm = |class: &Class| 1.0 - (-class.relative_rate()).exp();
        let classes = self.classes.as_slice();
        let all_warm: f64 = classes.iter().map(|class| class.write_share * warm(class)).sum();
        let at_cold = (popular / (1.0 - cold_duplicates * all_warm)).min(1.0 - same - pairs);
        let at_warm = ((popular - (1.0 - all_warm) * at_cold) / all_warm).max(0.0);
        classes.iter().map(|class| warm(class) * at_warm + (1.0 - warm(class)) * at_cold).collect()
    }

    /// Returns the classes of the pages invalidated by overwrites; shared pages count as coldest unless they have
    /// separate blocks.
    fn classes_of(&self, stored: &StoredPages) -> Result<Classes, TheoryError> {
        let mut spaces = stored.unique.clone();
        let heats = self.classes.as_slice().iter().map(Class::relative_rate);
        let writes: Vec<f64> = heats.zip(&spaces).map(|(heat, space)| heat * space).collect();
        if !self.has_separate_blocks() {
            *spaces.last_mut().expect("a class") += stored.shared;
        }
        let (space, write): (f64, f64) = (spaces.iter().sum(), writes.iter().sum());
        let parts = spaces.iter().zip(&writes);
        let parts: Vec<Class> =
            parts.map(|(s, w)| Class { write_share: w / write, space_share: s / space }).collect();
        Classes::new(&parts)
    }

    fn has_separate_blocks(&self) -> bool {
        matches!(self.detection, Detection::Cleaning { separates: true, .. })
    }

    /// Returns the drive without deduplication that has equal free space.
    fn equivalent_drive(&self, stored: &StoredPages) -> Result<Drive, TheoryError> {
        let load = self.drive.load();
        let unique: f64 = stored.unique.iter().sum();
        // Shared pages in separate blocks fill these blocks and are never moved again.
        let spare_factor = match self.has_separate_blocks() {
            true => 1.0 - load * unique / (1.0 - load * stored.shared),
            false => 1.0 - load * (unique + stored.shared),
        };
        Drive::new(self.drive.pages_per_block(), spare_factor)
    }

    fn solve_equivalent(&self, stored: &StoredPages) -> Result<crate::mean_field::SteadyState, TheoryError> {
        self.solve_equivalent_near(stored, None)
    }

    fn solve_equivalent_near(
        &self,
        stored: &StoredPages,
        similar: Option<&crate::mean_field::SteadyState>,
    ) -> Result<crate::mean_field::SteadyState, TheoryError> {
        let drive = self.equivalent_drive(stored)?;
        let model = MeanField::new(drive, stored.classes.clone(), self.structure, self.selection)?;
        similar.map_or_else(|| model.steady_state(), |near| model.steady_state_near(near))
    }

    fn steady_state_of(
        &self,
        stored: StoredPages,
        equivalent_amplification: f64,
        survival: Vec<f64>,
    ) -> DedupSteadyState {
        let pages: f64 = stored.unique.iter().sum::<f64>() + stored.shared;
        DedupSteadyState {
            write_amplification: (stored.invalidations + stored.promoted) * equivalent_amplification,
            sharing: 1.0 / pages,
            spare_factor: 1.0 - self.drive.load() * pages,
            equivalent_amplification,
            saved: 1.0 - stored.invalidations,
            promoted: stored.promoted,
            survival,
        }
    }
}

/// Stored pages, in fractions of the logical pages.
struct StoredPages {
    /// Unshared pages of each class.
    unique: Vec<f64>,
    /// Stored pages shared by two or more logical pages.
    shared: f64,
    /// Stored pages invalidated by overwrites, per page written by the host.
    invalidations: f64,
    /// Stored pages rewritten because they become shared, per page written by the host.
    promoted: f64,
    /// Classes of the pages that cleaning handles.
    classes: Classes,
}
