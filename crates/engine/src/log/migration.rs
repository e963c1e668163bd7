//! Cleaning that asks first: what becomes of a victim's live pages is for another to say.
//!
//! The engine moves all of them unless it was given a [`Migration`]. That one is asked about all live pages of a victim at
//! once, so that what two of them have in common is known before the first is written; the engine does what it says.

use super::clean::Staged;
use super::config::Reclaim;
use super::directory::{Directory, Writes};
use super::store::LogStore;
use crate::config::ConfigError;
use crate::layer::{LayerError, Medium, Payload};
use crate::placement::Placement;
use crate::pool::Pool;
use crate::units::{BlockId, Lpn};
use crate::victim::VictimPolicy;

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

/// Says what becomes of the live pages of victims. It decides; the engine moves and forgets.
pub trait Migration<P: Payload>: Send {
    /// Appends a verdict for each of `pages`, all live pages of a victim in the order in which they lie there.
    fn judge(&mut self, pages: &[Lpn], data: &[P], verdicts: &mut Vec<Verdict>);

    /// A page to be written before the victim is erased, asked for when all else is done with it; only if it dropped one.
    fn last_page(&mut self) -> Option<(Lpn, P)> {
        None
    }

    /// That page is written.
    fn last_page_written(&mut self) {}

    /// The engine is about to do what was said of the `at`-th page; called for each of them, in order.
    fn reached(&mut self, at: usize) {
        let _ = at;
    }
}

/// A migration and its verdicts, kept between cleanings to keep their memory.
pub(super) struct Judge<P> {
    migration: Box<dyn Migration<P>>,
    verdicts: Vec<Verdict>,
}

impl<M: Medium, D: Directory, V: VictimPolicy, P: Placement> LogStore<M, D, V, P> {
    /// The same store, asking `migration` what becomes of live pages; or the setting that cannot work with that.
    pub fn with_migration(mut self, migration: Box<dyn Migration<M::Payload>>) -> Result<Self, ConfigError> {
        if self.config.reclaim == Reclaim::InPlace {
            let problem = "is in_place, where live pages go back into the victim; deduplication while cleaning needs \
                           \"free_pool\"";
            return Err(ConfigError::new("reclaim", problem));
        }
        if !D::PAGE_EXACT {
            let problem = "is block, which does not know whose pages a block holds; deduplication needs page";
            return Err(ConfigError::new("directory", problem));
        }
        if self.config.evict {
            let problem = "drops live pages, which deduplication while cleaning would have to find again";
            return Err(ConfigError::new("evict", problem));
        }
        self.judge = Some(Box::new(Judge { migration, verdicts: Vec::new() }));
        Ok(self)
    }

    /// Does with all staged pages, which come from `victim`, what the judge says.
    pub(super) fn redistribute_judged(
        &mut self,
        victim: BlockId,
        mut judge: Box<Judge<M::Payload>>,
    ) -> Result<(), LayerError> {
        let mut staged = std::mem::take(&mut self.staged);
        let done = self.execute(victim, &mut judge, &mut staged);
        staged.drop_front(staged.len());
        self.staged = staged;
        self.judge = Some(judge);
        done
    }

    fn execute(
        &mut self,
        victim: BlockId,
        judge: &mut Judge<M::Payload>,
        staged: &mut Staged<M::Payload>,
    ) -> Result<(), LayerError> {
        let (from, range) = (staged.from, staged.written..staged.data.len());
        let (owners, data) = (&staged.owners[range.clone()], &staged.data[range]);
        judge.verdicts.clear();
        judge.migration.judge(owners, data, &mut judge.verdicts);
        assert_eq!(judge.verdicts.len(), owners.len(), "a verdict for each page");
        for (at, verdict) in judge.verdicts.iter().enumerate() {
            judge.migration.reached(at);
            match *verdict {
                Verdict::Move { references } => {
                    self.append_cleaned(owners[at], &data[at], from, references)?;
                }
                Verdict::Drop => self.forget(victim, owners[at]),
                Verdict::Replace { owner, references } => {
                    self.append_instead(owner, &data[at], references)?;
                    self.forget(victim, owners[at]);
                }
            }
        }
        if let Some((page, data)) = judge.migration.last_page() {
            self.append_instead(page, &data, 1)?;
            judge.migration.last_page_written();
        }
        Ok(())
    }

    /// Forgets a live page of the victim in hand.
    fn forget(&mut self, victim: BlockId, page: Lpn) {
        self.tell_deaths(&[page]);
        self.directory.remove(page);
        self.pool.blocks.invalidate(victim);
        self.placement.trimmed(page);
    }

    /// Writes `owner` anew, or for the first time, where the placement wants it now; its former place, if any, dies as if it had been overwritten.
    fn append_instead(&mut self, owner: Lpn, data: &M::Payload, references: u32) -> Result<(), LayerError> {
        self.tell_deaths(&[owner]);
        let (stream, frontier) = self.program_cleaned(owner, data, None, references)?;
        let LogStore { directory, pool, .. } = self;
        let Pool { blocks, victim, .. } = pool;
        let writes = Writes { pages: &[owner], length: 1, prefetch: false };
        directory.place(frontier.block, frontier.page, writes, blocks, |block, score, blocks| {
            victim.invalidated(block, score, blocks);
        });
        self.advance(stream, frontier, 1);
        Ok(())
    }
}
