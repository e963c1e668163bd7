//! Many cuts of one run: what each may leave is looked at when its moment has come, and the run goes on.

use crate::crash::machine::{Image, Machine};
use crate::crash::tally;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeSet;

/// What an image has kept of what was not safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// All was lost that may be.
    Nothing,
    /// Nothing was lost.
    Everything,
    /// By chance.
    Some,
}

/// What a cut may have left.
pub struct Left<'a> {
    pub image: Image,
    pub kept: Kept,
    /// Of the cut.
    pub random: &'a mut Xoshiro256PlusPlus,
}

type Look = Box<dyn FnMut(Left<'_>) -> Result<(), String> + Send>;

/// At which events power may go, and how what is left then is looked at.
pub struct Cuts {
    /// In order; those that come first are last.
    events: Vec<u64>,
    seed: u64,
    /// Images with [`Kept::Some`] of each cut.
    some: usize,
    look: Look,
    /// Persistence points there had been, and changes of a content, when an image was last looked at that had lost all, and nothing:
    /// it is the same until there are more.
    seen_points: Option<u64>,
    seen_changes: Option<u64>,
    problem: Option<(u64, String)>,
}

impl Cuts {
    /// `look` says what is wrong with an image; after the first that is, none is looked at.
    pub fn new(
        events: impl IntoIterator<Item = u64>,
        some: usize,
        look: impl FnMut(Left<'_>) -> Result<(), String> + Send + 'static,
    ) -> Cuts {
        let events: BTreeSet<u64> = events.into_iter().collect();
        let (events, look) = (events.into_iter().rev().collect(), Box::new(look));
        Cuts { events, seed: 0, some, look, seen_points: None, seen_changes: None, problem: None }
    }

    /// Other images that are left by chance.
    pub fn seeded(self, seed: u64) -> Cuts {
        Cuts { seed, ..self }
    }

    /// Looks at what is left if power goes now, and that was to be.
    pub fn pass(&mut self, machine: &Machine) {
        let event = machine.power.events();
        if self.events.pop_if(|next| *next == event).is_none() || self.problem.is_some() {
            return;
        }
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.seed ^ event << 20);
        let points = Some(machine.power.persistence_points());
        let changes = Some(machine.changes());
        let mut kept = vec![Kept::Some; self.some];
        kept.extend((self.seen_points != points).then_some(Kept::Nothing));
        kept.extend((self.seen_changes != changes).then_some(Kept::Everything));
        (self.seen_points, self.seen_changes) = (points, changes);
        tally::count(kept.len());
        for kept in kept {
            let image = machine.image(kept, &mut random);
            if let Err(problem) = (self.look)(Left { image, kept, random: &mut random }) {
                self.problem = Some((event, format!("{kept:?} kept: {problem}")));
                return;
            }
        }
    }

    /// Ends the cuts.
    ///
    /// # Errors
    /// The event of the first cut that left something wrong, and what.
    ///
    /// # Panics
    /// If power was never where it was to be cut.
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
