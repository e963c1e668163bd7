//! Migration policies: decisions about a victim's live pages.
//!
//! Without a [`Migration`], a store moves all live pages. A migration policy sees all live pages of a victim at once,
//! so that it can relate them before the first is written. The store executes the decisions, as a [`Mover`].

use crate::counters::Cause;
use crate::layer::{LayerError, Payload};
use crate::units::Lpn;

/// Decision about a live page of a victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The page is moved.
    Move {
        /// Reference count for the placement.
        references: u32,
    },
    /// The page is unmapped and lost with the victim.
    Drop,
    /// The page is unmapped, and its content is written as page `owner`, whose old copy becomes invalid. `owner` lies
    /// outside the victim.
    Replace {
        /// Page to write.
        owner: Lpn,
        /// Reference count for the placement.
        references: u32,
    },
}

/// Decides about the live pages of victims; the store moves and forgets pages.
pub trait Migration<P: Payload>: Send {
    /// Appends a verdict for each of `pages`, which are all live pages of a victim in physical order.
    fn judge(&mut self, pages: &[Lpn], data: &[P], verdicts: &mut Vec<Verdict>);

    /// Returns a page to be written before the victim is erased, after all its other pages; allowed only if a page
    /// was dropped.
    fn last_page(&mut self) -> Option<(Lpn, P)> {
        None
    }

    /// Notifies that the last page was written, with the cause of the moved pages.
    fn last_page_written(&mut self, cause: Cause) {
        let _ = cause;
    }

    /// Notifies that the store is about to execute the decision on the `at`-th page; called for each page, in order.
    fn reached(&mut self, at: usize) {
        let _ = at;
    }
}

/// A store that holds the live pages of a victim.
pub(crate) trait Mover<P> {
    /// Moves the `at`-th page, which has `references` references.
    fn carry(&mut self, at: usize, references: u32) -> Result<(), LayerError>;

    /// Forgets the `at`-th page.
    fn forget(&mut self, at: usize);

    /// Writes `page` where the placement wants it now; its old copy, if any, becomes invalid as if overwritten.
    fn write_instead(&mut self, page: Lpn, data: &P, references: u32) -> Result<(), LayerError>;
}

/// A migration policy and a buffer for its verdicts, which is reused to save allocations.
pub(crate) struct Judge<P> {
    migration: Box<dyn Migration<P>>,
    verdicts: Vec<Verdict>,
}

impl<P: Payload> Judge<P> {
    pub fn new(migration: Box<dyn Migration<P>>) -> Self {
        Judge { migration, verdicts: Vec::new() }
    }

    /// Obtains and executes the decisions about all live pages of a victim; moves are counted under `cause`.
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
