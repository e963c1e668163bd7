//! Cleaning that asks first: what becomes of a victim's live pages is for another to say.
//!
//! A store moves all of them unless it was given a [`Migration`]. That one is asked about all live pages of a victim at
//! once, so that what two of them have in common is known before the first is written; the store does what it says, as a
//! [`Mover`].

use crate::counters::Cause;
use crate::layer::{LayerError, Payload};
use crate::units::Lpn;

/// What becomes of a live page of a victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is moved.
    Move {
        /// References that the placement is told of.
        references: u32,
    },
    /// It is forgotten and dies with the victim.
    Drop,
    /// It is forgotten, and its content is written as page `owner`, whose former place dies. `owner` lies outside the
    /// victim.
    Replace {
        /// The page that is written.
        owner: Lpn,
        /// References that the placement is told of.
        references: u32,
    },
}

/// Says what becomes of the live pages of victims. It decides; the store moves and forgets.
pub trait Migration<P: Payload>: Send {
    /// Appends a verdict for each of `pages`, all live pages of a victim in the order in which they lie there.
    fn judge(&mut self, pages: &[Lpn], data: &[P], verdicts: &mut Vec<Verdict>);

    /// A page to be written before the victim is erased, asked for when all else is done with it; only if it dropped one.
    fn last_page(&mut self) -> Option<(Lpn, P)> {
        None
    }

    /// That page is written, for the same reason as all that was moved.
    fn last_page_written(&mut self, cause: Cause) {
        let _ = cause;
    }

    /// The store is about to do what was said of the `at`-th page; called for each of them, in order.
    fn reached(&mut self, at: usize) {
        let _ = at;
    }
}

/// A store with the live pages of a victim in hand.
pub(crate) trait Mover<P> {
    /// Moves the `at`-th of them, which has so many references.
    fn carry(&mut self, at: usize, references: u32) -> Result<(), LayerError>;

    /// Forgets the `at`-th of them.
    fn forget(&mut self, at: usize);

    /// Writes `page` anew, or for the first time, where the placement wants it now; its former place, if any, dies as if it
    /// had been overwritten.
    fn write_instead(&mut self, page: Lpn, data: &P, references: u32) -> Result<(), LayerError>;
}

/// A migration and its verdicts, kept between cleanings to keep their memory.
pub(crate) struct Judge<P> {
    migration: Box<dyn Migration<P>>,
    verdicts: Vec<Verdict>,
}

impl<P: Payload> Judge<P> {
    pub fn new(migration: Box<dyn Migration<P>>) -> Self {
        Judge { migration, verdicts: Vec::new() }
    }

    /// Has done with all live pages of a victim what the migration says; they are moved for the sake of `cause`.
    pub fn execute(
        &mut self,
        owners: &[Lpn],
        data: &[P],
        cause: Cause,
        mover: &mut impl Mover<P>,
    ) -> Result<(), LayerError> {
        self.verdicts.clear();
        self.migration.judge(owners, data, &mut self.verdicts);
        assert_eq!(self.verdicts.len(), owners.len(), "a verdict for each page");
        for (at, verdict) in self.verdicts.iter().enumerate() {
            self.migration.reached(at);
            match *verdict {
                Verdict::Move { references } => mover.carry(at, references)?,
                Verdict::Drop => mover.forget(at),
                Verdict::Replace { owner, references } => {
                    mover.write_instead(owner, &data[at], references)?;
                    mover.forget(at);
                }
            }
        }
        if let Some((page, data)) = self.migration.last_page() {
            mover.write_instead(page, &data, 1)?;
            self.migration.last_page_written(cause);
        }
        Ok(())
    }
}
