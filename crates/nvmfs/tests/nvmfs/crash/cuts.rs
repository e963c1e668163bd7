//! Many power cuts in one run: at each cut, the possible images are checked, and the run continues.

use crate::crash::cut_counts;
use crate::crash::machine::{Image, Machine};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeSet;

/// Part of the changes that survives, among those that were not durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SurvivingChanges {
    /// No change survives.
    Nothing,
    /// All changes survive.
    Everything,
    /// A random selection of the changes survives.
    Some,
}

/// Possible content of the devices after a power cut.
pub struct CrashImage<'a> {
    pub image: Image,
    pub surviving: SurvivingChanges,
    /// Random numbers for this cut.
    pub random: &'a mut Xoshiro256PlusPlus,
}

type Check = Box<dyn FnMut(CrashImage<'_>) -> Result<(), String> + Send>;

/// Events at which the power may be cut, and the check of the images.
pub struct Cuts {
    /// Remaining events in descending order, so that the next event is last.
    events: Vec<u64>,
    seed: u64,
    /// Number of images with [`SurvivingChanges::Some`] per cut.
    random_images: usize,
    check: Check,
    /// Number of persistence points when an image that lost all changes was last checked, and number of content changes
    /// when an image that lost no change was last checked. While these numbers do not change, the images do not change,
    /// either.
    checked_points: Option<u64>,
    checked_changes: Option<u64>,
    problem: Option<(u64, String)>,
}

impl Cuts {
    /// Prepares cuts at `events`. `check` checks an image; after the first error, no more images are checked.
    pub fn new(
        events: impl IntoIterator<Item = u64>,
        random_images: usize,
        check: impl FnMut(CrashImage<'_>) -> Result<(), String> + Send + 'static,
    ) -> Cuts {
        let events: BTreeSet<u64> = events.into_iter().collect();
        let (events, check) = (events.into_iter().rev().collect(), Box::new(check));
        Cuts {
            events,
            seed: 0,
            random_images,
            check,
            checked_points: None,
            checked_changes: None,
            problem: None,
        }
    }

    /// Sets the seed of the random images.
    pub fn with_seed(self, seed: u64) -> Cuts {
        Cuts { seed, ..self }
    }

    /// Checks the possible images of a power cut at the current event, if a cut is due.
    pub fn check_if_due(&mut self, machine: &Machine) {
        let event = machine.power.events();
        if self.events.pop_if(|next| *next == event).is_none() || self.problem.is_some() {
            return;
        }
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.seed ^ event << 20);
        let points = Some(machine.power.persistence_points());
        let changes = Some(machine.changes());
        let mut surviving = vec![SurvivingChanges::Some; self.random_images];
        surviving.extend((self.checked_points != points).then_some(SurvivingChanges::Nothing));
        surviving.extend((self.checked_changes != changes).then_some(SurvivingChanges::Everything));
        (self.checked_points, self.checked_changes) = (points, changes);
        cut_counts::count(surviving.len());
        for surviving in surviving {
            let image = machine.image(surviving, &mut random);
            if let Err(problem) = (self.check)(CrashImage { image, surviving, random: &mut random }) {
                self.problem = Some((event, format!("{surviving:?} kept: {problem}")));
                return;
            }
        }
    }

    /// Ends the cuts.
    ///
    /// # Errors
    /// The event of the first cut with a wrong image, and the problem.
    ///
    /// # Panics
    /// Panics if an event was never reached.
    pub fn end(self) -> Result<(), (u64, String)> {
        match self.problem {
            Some(problem) => Err(problem),
            None => {
                assert!(self.events.is_empty(), "the run was over before events {:?}", self.events);
                Ok(())
            }
        }
    }
}
