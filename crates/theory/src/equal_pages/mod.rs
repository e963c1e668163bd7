//! Drives that store equal pages once: the room that this makes, and the page writes that it spares.
//!
//! A drive on which some logical pages share a stored one holds fewer pages, and cleans as a drive with more spare space does:
//!
//! ```text
//! WA = (deaths + promoted) WA_mf(S_f'),   S_f' = 1 - (1 - S_f) / sharing
//! ```
//!
//! `WA_mf` is the mean field of a drive without equal pages; `deaths` are the stored pages that die by being overwritten, for each
//! page that the host writes. Without equal pages each write kills one, here one that overwrites a shared page kills none. Where
//! cleaning merges (CAGC), both depend on how many pages reach their first cleaning, which in turn is the mean field's to say:
//! a fixed point. `docs/theory.md` derives it.

mod popular;
#[cfg(test)]
mod tests;

use super::mean_field::{MeanField, Structure};
use super::selection::Selection;
use super::{Class, Classes, Drive, TheoryError};
use popular::Popular;

/// What written pages hold, in the terms of the workloads' contents. Shares are of the written pages.
#[derive(Clone, Debug, PartialEq)]
pub struct Contents {
    /// Hold what their address holds.
    pub same: f64,
    /// Are the second and last copy of a content.
    pub pairs: f64,
    /// Drive writes from the first copy to the second, on average.
    pub pair_delay: f64,
    /// Hold a popular content.
    pub popular: f64,
    /// Popular contents at a time; at least 1.
    pub popular_contents: u64,
    /// Exponent of Zipf's law by which they are drawn.
    pub exponent: f64,
    /// Drive writes that a content stays popular, on average.
    pub lifetime: f64,
    /// How much rarer popular contents are at addresses that were written less than a drive write ago, 0 to 1.
    pub cold_duplicates: f64,
}

/// When equal pages are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detection {
    /// Before they are stored, all of them.
    Writing,
    /// When the block that they were written to is cleaned.
    Cleaning {
        /// Whether a stored page that another turns out to equal is written once more, to blocks for shared pages.
        promotes: bool,
        /// Whether shared pages have blocks of their own.
        apart: bool,
    },
}

/// A drive that stores equal pages once, in the limit of many blocks.
pub struct EqualPages<'a> {
    /// The drive, by its logical pages.
    pub drive: Drive,
    /// Logical pages, on which depends how many share a popular content.
    pub logical_pages: u64,
    /// How writes are spread over them.
    pub classes: Classes,
    /// What is written.
    pub contents: Contents,
    /// When equal pages are found.
    pub detection: Detection,
    /// One frontier or two; [`Detection::Cleaning`] takes one, as which pages survive their first cleaning is known of one alone.
    pub structure: Structure,
    /// Which block is cleaned.
    pub selection: &'a dyn Selection,
}

/// The steady state of [`EqualPages`].
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// Page writes for each page that the host writes; below 1 where many need not be stored.
    pub write_amplification: f64,
    /// Logical pages for each stored one.
    pub sharing: f64,
    /// Spare factor of a drive without equal pages that has the same room, `S_f'`.
    pub spare_factor: f64,
    /// Its write amplification: what the room alone is worth.
    pub twin: f64,
    /// Pages found equal, and so not written, for each page that the host writes.
    pub saved: f64,
    /// Pages written once more because another turned out to equal them, for each page that the host writes.
    pub promoted: f64,
    /// Share of the written pages of each class, hottest first, that are valid when their block is first cleaned.
    pub survival: Vec<f64>,
}

/// Relative change of the survival at which the fixed point is taken for found.
const TOLERANCE: f64 = 1e-7;

/// Steps after which it is given up.
const MOST_STEPS: usize = 200;

/// What share of a step is taken: more room lets more pages die before they are cleaned, so that whole steps overshoot.
const DAMPING: f64 = 0.7;

impl EqualPages<'_> {
    /// The fixed point.
    ///
    /// # Errors
    /// Shares that are none; two frontiers with [`Detection::Cleaning`]; what the mean field refuses.
    pub fn steady_state(&self) -> Result<Stored, TheoryError> {
        self.check()?;
        let Detection::Cleaning { .. } = self.detection else {
            let all = vec![1.0; self.classes.count()];
            let room = self.room(&all)?;
            let twin = self.twin(&room)?;
            return Ok(self.stored(room, twin.write_amplification, all));
        };
        let mut survival = vec![0.5; self.classes.count()];
        let mut change = f64::INFINITY;
        let mut twin = None;
        for _ in 0..MOST_STEPS {
            let room = self.room(&survival)?;
            let state = self.twin_near(&room, twin.as_ref())?;
            if change <= TOLERANCE {
                return Ok(self.stored(room, state.write_amplification, survival));
            }
            change = 0.0;
            // A page of a class dies or is moved: as often as the shares of both say, each time that its block is cleaned.
            let moved = state.moved_shares.iter().map(|share| share * (state.write_amplification - 1.0));
            for ((survival, moved), class) in survival.iter_mut().zip(moved).zip(room.classes.as_slice()) {
                let found = moved / (moved + class.write_share);
                change = f64::max(change, (found - *survival).abs());
                *survival += DAMPING * (found - *survival);
            }
            twin = Some(state);
        }
        let parameters = format!("{:?}, {:?} on {:?}", self.contents, self.detection, self.drive);
        Err(TheoryError::NotConverged { evaluations: MOST_STEPS, residual: change, parameters })
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

    /// What is shared and what that leaves, if such a share of each class survives to its first cleaning.
    fn room(&self, survival: &[f64]) -> Result<Room, TheoryError> {
        let classes = self.classes.as_slice();
        let stays = 1.0 - self.contents.same;
        let at = self.popular_at();
        let popular = Popular::of(self, &at, survival)?;
        // Pairs whose copies both are stored and were looked at, by the classes of the first and the second: the first was new and
        // is still there, the second is a share `pairs` of the writes, and either ends when its address gets something else.
        let pair = |first: &Class, second: &Class| {
            let still = 1.0 / (1.0 + first.heat() * stays * self.contents.pair_delay);
            let born = self.contents.pairs * first.write_share * second.write_share * still;
            born / ((first.heat() + second.heat()) * stays)
        };
        let both = |a: usize, b: usize| {
            survival[a] * survival[b] * (pair(&classes[a], &classes[b]) + pair(&classes[b], &classes[a]))
        };
        let count = classes.len();
        let all_pairs: f64 =
            0.5 * (0..count).map(|a| (0..count).map(|b| both(a, b)).sum::<f64>()).sum::<f64>();
        let mut room = Room {
            unique: Vec::new(),
            classes: self.classes.clone(),
            shared: 0.0,
            deaths: 0.0,
            promoted: 0.0,
        };
        let mut merged_pairs = 0.0;
        for (at_class, class) in classes.iter().enumerate() {
            let in_pairs = (0..count).map(|other| both(at_class, other)).sum::<f64>();
            let looked_at = class.space_share * survival[at_class];
            let sharing = looked_at * (at[at_class] / stays) * popular.shared_share + in_pairs;
            room.unique.push((class.space_share - sharing).max(f64::MIN_POSITIVE));
            merged_pairs += class.heat() * in_pairs;
        }
        room.shared = popular.shared_pages + all_pairs;
        // Pages written as they were leave a stored page alone if they are found when written, else kill it.
        let kills = if self.detection == Detection::Writing { stays } else { 1.0 };
        room.deaths =
            classes.iter().zip(&room.unique).map(|(class, unique)| kills * class.heat() * unique).sum();
        if matches!(self.detection, Detection::Cleaning { promotes: true, .. }) {
            room.promoted = popular.promoted + 0.5 * merged_pairs;
        }
        room.classes = self.classes_of(&room)?;
        Ok(room)
    }

    /// Popular contents among the writes of each class.
    fn popular_at(&self) -> Vec<f64> {
        let Contents { same, pairs, popular, cold_duplicates, .. } = self.contents;
        let warm = |class: &Class| 1.0 - (-class.heat()).exp();
        let classes = self.classes.as_slice();
        let all_warm: f64 = classes.iter().map(|class| class.write_share * warm(class)).sum();
        let at_cold = (popular / (1.0 - cold_duplicates * all_warm)).min(1.0 - same - pairs);
        let at_warm = ((popular - (1.0 - all_warm) * at_cold) / all_warm).max(0.0);
        classes.iter().map(|class| warm(class) * at_warm + (1.0 - warm(class)) * at_cold).collect()
    }

    /// The classes of the pages that die by being overwritten; shared ones among the coldest unless they are apart.
    fn classes_of(&self, room: &Room) -> Result<Classes, TheoryError> {
        let mut spaces = room.unique.clone();
        let heats = self.classes.as_slice().iter().map(Class::heat);
        let writes: Vec<f64> = heats.zip(&spaces).map(|(heat, space)| heat * space).collect();
        if !self.are_apart() {
            *spaces.last_mut().expect("a class") += room.shared;
        }
        let (space, write): (f64, f64) = (spaces.iter().sum(), writes.iter().sum());
        let parts = spaces.iter().zip(&writes);
        let parts: Vec<Class> =
            parts.map(|(s, w)| Class { write_share: w / write, space_share: s / space }).collect();
        Classes::new(&parts)
    }

    fn are_apart(&self) -> bool {
        matches!(self.detection, Detection::Cleaning { apart: true, .. })
    }

    /// The drive without equal pages that has the same room.
    fn twin_drive(&self, room: &Room) -> Result<Drive, TheoryError> {
        let load = self.drive.load();
        let unique: f64 = room.unique.iter().sum();
        // Shared pages that are apart fill whole blocks and stay in them.
        let spare_factor = match self.are_apart() {
            true => 1.0 - load * unique / (1.0 - load * room.shared),
            false => 1.0 - load * (unique + room.shared),
        };
        Drive::new(self.drive.pages_per_block(), spare_factor)
    }

    fn twin(&self, room: &Room) -> Result<crate::mean_field::SteadyState, TheoryError> {
        self.twin_near(room, None)
    }

    fn twin_near(
        &self,
        room: &Room,
        near: Option<&crate::mean_field::SteadyState>,
    ) -> Result<crate::mean_field::SteadyState, TheoryError> {
        let drive = self.twin_drive(room)?;
        let model = MeanField::new(drive, room.classes.clone(), self.structure, self.selection)?;
        near.map_or_else(|| model.steady_state(), |near| model.steady_state_near(near))
    }

    fn stored(&self, room: Room, twin: f64, survival: Vec<f64>) -> Stored {
        let pages: f64 = room.unique.iter().sum::<f64>() + room.shared;
        Stored {
            write_amplification: (room.deaths + room.promoted) * twin,
            sharing: 1.0 / pages,
            spare_factor: 1.0 - self.drive.load() * pages,
            twin,
            saved: 1.0 - room.deaths,
            promoted: room.promoted,
            survival,
        }
    }
}

/// What is stored, in shares of the logical pages.
struct Room {
    /// Pages of each class that nobody shares.
    unique: Vec<f64>,
    /// Those that two or more logical pages share.
    shared: f64,
    /// Stored pages that die by being overwritten, and those written once more, for each page that the host writes.
    deaths: f64,
    promoted: f64,
    /// Classes of the pages that cleaning has to do with.
    classes: Classes,
}
