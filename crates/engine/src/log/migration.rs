//! Cleaning with a migration policy: the store executes the policy's decisions on live pages.

use super::clean::StagedPages;
use super::config::Reclaim;
use super::directory::{Directory, Writes};
use super::store::LogStore;
use crate::config::ConfigError;
use crate::layer::{LayerError, Medium};
use crate::placement::Placement;
use crate::pool::{MigrationExecutor, MigrationPolicy, PageMover, Pool};
use crate::units::{BlockId, Lpn, StreamId};
use crate::victim::VictimPolicy;

/// A store that is moving the live pages of `victim`.
struct VictimMover<'a, M: Medium, D, V, P> {
    store: &'a mut LogStore<M, D, V, P>,
    victim: BlockId,
    owners: &'a [Lpn],
    data: &'a [M::Payload],
    from: Option<StreamId>,
}

impl<M: Medium, D: Directory, V: VictimPolicy, P: Placement> LogStore<M, D, V, P> {
    /// Returns the store with `migration` as its migration policy. Fails if a setting is incompatible with it.
    pub fn with_migration_policy(
        mut self,
        migration: Box<dyn MigrationPolicy<M::Payload>>,
    ) -> Result<Self, ConfigError> {
        self.set_migration_policy(migration).map(|()| self)
    }

    /// Sets the migration policy. Fails if a setting is incompatible with it; the error names its key.
    pub fn set_migration_policy(
        &mut self,
        migration: Box<dyn MigrationPolicy<M::Payload>>,
    ) -> Result<(), ConfigError> {
        if self.config.reclaim == Reclaim::InPlace {
            let problem = "is in_place, where live pages go back into the victim; deduplication while cleaning needs \
                           \"free_pool\"";
            return Err(ConfigError::new("reclaim", problem));
        }
        if !D::PAGE_EXACT {
            let problem = "is block, which does not know whose pages a block holds; deduplication needs page";
            return Err(ConfigError::new("directory", problem));
        }
        if self.config.evicts {
            let problem = "drops live pages, which deduplication while cleaning would have to find again";
            return Err(ConfigError::new("evict", problem));
        }
        self.migration = Some(Box::new(MigrationExecutor::new(migration)));
        Ok(())
    }

    /// Executes the decisions of the migration policy `executor` on all staged pages, which come from `victim`.
    pub(super) fn redistribute_by_policy(
        &mut self,
        victim: BlockId,
        mut executor: Box<MigrationExecutor<M::Payload>>,
    ) -> Result<(), LayerError> {
        let mut staged = std::mem::take(&mut self.staged);
        let result = self.execute_decisions(victim, &mut executor, &staged);
        staged.drop_front(staged.len());
        self.staged = staged;
        self.migration = Some(executor);
        result
    }

    fn execute_decisions(
        &mut self,
        victim: BlockId,
        executor: &mut MigrationExecutor<M::Payload>,
        staged: &StagedPages<M::Payload>,
    ) -> Result<(), LayerError> {
        let (from, range) = (staged.from, staged.written..staged.data.len());
        let (owners, data, cause) = (&staged.owners[range.clone()], &staged.data[range], self.move_cause);
        let mut mover = VictimMover { store: self, victim, owners, data, from };
        executor.execute(owners, data, cause, &mut mover)
    }
}

impl<M: Medium, D: Directory, V: VictimPolicy, P: Placement> PageMover<M::Payload>
    for VictimMover<'_, M, D, V, P>
{
    fn move_page(&mut self, at: usize, references: u32) -> Result<(), LayerError> {
        self.store.append_cleaned(self.owners[at], &self.data[at], self.from, references)
    }

    fn drop_page(&mut self, at: usize) {
        let (store, page) = (&mut *self.store, self.owners[at]);
        store.notify_invalidations(&[page]);
        store.directory.remove(page);
        store.pool.blocks.invalidate(self.victim);
        store.placement.trimmed(page);
    }

    fn write_replacement(&mut self, page: Lpn, data: &M::Payload, references: u32) -> Result<(), LayerError> {
        let store = &mut *self.store;
        store.notify_invalidations(&[page]);
        let (stream, frontier) = store.program_cleaned(page, data, None, references)?;
        let LogStore { directory, pool, .. } = store;
        let Pool { blocks, victim, .. } = pool;
        let writes = Writes { pages: &[page], length: 1, prefetch: false };
        directory.record_writes(frontier.block, frontier.page, writes, blocks, |block, score, blocks| {
            victim.invalidated(block, score, blocks);
        });
        self.store.advance(stream, frontier, 1);
        Ok(())
    }
}
