//! Migration policies: decisions about a victim's live pages.
//!
//! Without a [`MigrationPolicy`], a store moves all live pages. A migration policy receives all live pages of a victim
//! at once, so that it can compare them before the first is written. The store executes the decisions, as a
//! [`PageMover`].

use crate::counters::Cause;
use crate::layer::{LayerError, Payload};
use crate::units::Lpn;

/// Decision about a live page of a victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The page is moved.
    Move {
        /// Reference count for the placement.
        references: u32,
    },
    /// The page is unmapped, and its content is lost with the victim.
    Drop,
    /// The page is unmapped, and its content is written as logical page `owner`, whose old copy becomes invalid. That
    /// copy is not in the victim.
    Replace {
        /// Logical page to write.
        owner: Lpn,
        /// Reference count for the placement.
        references: u32,
    },
}

/// Decides about the live pages of victims; the store executes the decisions.
pub trait MigrationPolicy<P: Payload>: Send {
    /// Appends a decision for each of `pages`, which are all live pages of a victim in physical order.
    fn decide(&mut self, pages: &[Lpn], data: &[P], decisions: &mut Vec<Decision>);

    /// Returns a page to be written before the victim is erased, after all its other pages; allowed only if a page
    /// was dropped.
    fn last_page(&mut self) -> Option<(Lpn, P)> {
        None
    }

    /// Notifies the policy that the last page was written; `cause` is the cause of the moves.
    fn last_page_written(&mut self, cause: Cause) {
        let _ = cause;
    }

    /// Notifies the policy that the store is about to execute the decision on the `at`-th page; called for each page,
    /// in order.
    fn before_page(&mut self, at: usize) {
        let _ = at;
    }
}

/// A store that holds the live pages of a victim.
pub(crate) trait PageMover<P> {
    /// Moves the `at`-th page, which has `references` references.
    fn move_page(&mut self, at: usize, references: u32) -> Result<(), LayerError>;

    /// Unmaps the `at`-th page.
    fn drop_page(&mut self, at: usize);

    /// Writes `page` to the stream that the placement chooses now; its old copy, if any, becomes invalid as if
    /// overwritten.
    fn write_replacement(&mut self, page: Lpn, data: &P, references: u32) -> Result<(), LayerError>;
}

/// A migration policy and a buffer for its decisions, which is reused to save allocations.
pub(crate) struct MigrationExecutor<P> {
    policy: Box<dyn MigrationPolicy<P>>,
    decisions: Vec<Decision>,
}

impl<P: Payload> MigrationExecutor<P> {
    pub fn new(policy: Box<dyn MigrationPolicy<P>>) -> Self {
        MigrationExecutor { policy, decisions: Vec::new() }
    }

    /// Obtains and executes the decisions about all live pages of a victim; moves are counted under `cause`.
    pub fn execute(
        &mut self,
        owners: &[Lpn],
        data: &[P],
        cause: Cause,
        mover: &mut impl PageMover<P>,
    ) -> Result<(), LayerError> {
        self.decisions.clear();
        self.policy.decide(owners, data, &mut self.decisions);
        assert_eq!(self.decisions.len(), owners.len(), "a verdict for each page");
        for (at, decision) in self.decisions.iter().enumerate() {
            self.policy.before_page(at);
            match *decision {
                Decision::Move { references } => mover.move_page(at, references)?,
                Decision::Drop => mover.drop_page(at),
                Decision::Replace { owner, references } => {
                    mover.write_replacement(owner, &data[at], references)?;
                    mover.drop_page(at);
                }
            }
        }
        if let Some((page, data)) = self.policy.last_page() {
            mover.write_replacement(page, &data, 1)?;
            self.policy.last_page_written(cause);
        }
        Ok(())
    }
}
