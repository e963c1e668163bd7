//! Monomorphised FTLs with deduplication in front.

use super::ftl::{BuiltFtl, Finish, FtlPlan, PlainFinish, PowerCutFinish, PowerPlan};
use crate::config::ConfigError;
use crate::dedup::{Dedup, DedupConfig, DedupSettings, SharedTables, SpareNotes};
use crate::ftl::Restart;
use crate::layer::{ContentId, Medium};
use crate::log::BoxedLayer;
use crate::nand::{Flash, Nand, PowerCutFlash, PowerSource};
use crate::timing::{Journal, RecordingNand};

/// Parameters of the deduplication in front of an FTL.
pub struct DedupPlan {
    /// Detection of equal pages.
    pub config: DedupConfig,
    /// Logical pages of the layer.
    pub logical_pages: u32,
    /// True if the placement needs reference counts.
    pub needs_references: bool,
    /// Tables of the layer in front, created from the same parameters.
    pub sharing: SharedTables,
}

/// Builds deduplication in front of an FTL with as many pages as deduplication stores, on erased flash with spare
/// areas. Operations are recorded in `journal`.
pub fn ftl_with_dedup(
    nand: Nand<ContentId>,
    plan: FtlPlan,
    dedup: DedupPlan,
    power: &PowerPlan,
    journal: Option<Journal>,
) -> Result<BuiltFtl<ContentId>, ConfigError> {
    if !power.has_cuts() {
        return on_flash_without_cuts(nand, journal.clone(), plan, DedupFinish { plan: dedup, journal });
    }
    let notes = SpareNotes::new(nand.blocks(), nand.pages_per_block());
    let nand = nand.with_spare_storage(Box::new(notes.clone()));
    let front = DedupFinish { plan: dedup, journal: journal.clone() };
    match power {
        PowerPlan::DuringOperations(cut) => {
            let power_source = PowerSource::new(plan.has_battery());
            let journal = journal.unwrap_or_else(Journal::paused);
            let recording = RecordingNand::new(nand, journal.clone());
            let finish = PowerCutFinish::<ContentId>::new(power_source.clone(), cut.clone(), journal);
            plan.on(
                PowerCutFlash::new(recording, power_source),
                RestartableDedupFinish { dedup: front, notes, finish },
            )
        }
        _ => {
            let finish = PlainFinish { has_power_switch: true };
            on_flash_without_cuts(nand, journal, plan, RestartableDedupFinish { dedup: front, notes, finish })
        }
    }
}

/// Builds deduplication that can restart, on the flash that `make` derives from erased flash; `make` also returns the
/// step that finishes the layer.
pub(super) fn dedup_ftl_on<F: Flash<Payload = ContentId> + 'static, X: Finish<F, Payload = ContentId>>(
    erased: &dyn Fn() -> Nand<ContentId>,
    plan: FtlPlan,
    dedup: DedupPlan,
    make: impl FnOnce(&dyn Fn() -> Nand<ContentId>) -> (F, X),
) -> Result<BuiltFtl<ContentId>, ConfigError> {
    let (blocks, pages_per_block) = {
        let nand = erased();
        (nand.blocks(), nand.pages_per_block())
    };
    let notes = SpareNotes::new(blocks, pages_per_block);
    let (flash, finish) = make(&|| erased().with_spare_storage(Box::new(notes.clone())));
    plan.on(
        flash,
        RestartableDedupFinish { dedup: DedupFinish { plan: dedup, journal: None }, notes, finish },
    )
}

fn on_flash_without_cuts<X>(
    nand: Nand<ContentId>,
    journal: Option<Journal>,
    plan: FtlPlan,
    finish: X,
) -> Result<BuiltFtl<ContentId>, ConfigError>
where
    X: Finish<RecordingNand<ContentId>, Payload = ContentId>,
{
    plan.on(RecordingNand::new(nand, journal.unwrap_or_else(Journal::paused)), finish)
}

/// The layer on an FTL without power cuts.
struct DedupFinish {
    plan: DedupPlan,
    journal: Option<Journal>,
}

impl DedupFinish {
    /// Makes cleaning in the FTL consult the migration policy.
    fn set_migration_policy<T>(&self, ftl: &mut T) -> Result<(), ConfigError>
    where
        T: Restart,
        T::Flash: Medium<Payload = ContentId>,
    {
        let DedupPlan { sharing, needs_references: wants_references, .. } = &self.plan;
        let migration = sharing.migration_policy(self.journal.clone(), *wants_references);
        migration.map_or(Ok(()), |migration| ftl.set_migration_policy(migration))
    }
}

impl<F: Flash<Payload = ContentId>> Finish<F> for DedupFinish {
    type Payload = ContentId;

    fn finish<T>(self, mut ftl: T, _settings: T::Settings) -> Result<BuiltFtl<ContentId>, ConfigError>
    where
        T: Restart<Flash = F> + 'static,
        T::Settings: Send,
    {
        self.set_migration_policy(&mut ftl)?;
        let ftl: BoxedLayer<ContentId> = Box::new(ftl);
        let layer: BoxedLayer<ContentId> = Box::new(Dedup::new(self.plan.sharing, ftl, self.journal)?);
        Ok(BuiltFtl { layer, power: None })
    }
}

/// The layer on an FTL with power cuts: both restart together, and `finish` adds the power switch.
struct RestartableDedupFinish<X> {
    dedup: DedupFinish,
    notes: SpareNotes,
    finish: X,
}

impl<F: Flash<Payload = ContentId>, X: Finish<F, Payload = ContentId>> Finish<F>
    for RestartableDedupFinish<X>
{
    type Payload = ContentId;

    fn finish<T>(self, mut ftl: T, settings: T::Settings) -> Result<BuiltFtl<ContentId>, ConfigError>
    where
        T: Restart<Flash = F> + 'static,
        T::Settings: Send,
    {
        let RestartableDedupFinish { dedup: front, notes, finish } = self;
        front.set_migration_policy(&mut ftl)?;
        let DedupFinish {
            plan: DedupPlan { config, logical_pages, needs_references: wants_references, sharing },
            journal,
        } = front;
        notes.set_source(Some(&sharing));
        let settings = DedupSettings {
            ftl: settings,
            config,
            logical_pages,
            needs_references: wants_references,
            notes,
            journal: journal.clone(),
        };
        finish.finish(Dedup::new(sharing, ftl, journal)?, settings)
    }
}
