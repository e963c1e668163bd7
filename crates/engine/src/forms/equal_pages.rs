//! Monomorphised FTLs with deduplication in front.

use super::ftl::{AsItIs, BuiltFtl, Cutting, Finish, FtlPlan, PowerPlan};
use crate::config::ConfigError;
use crate::dedup::{Dedup, DedupConfig, DedupSettings, Sharing, SpareNotes};
use crate::ftl::Restart;
use crate::layer::{Content, Medium};
use crate::log::BoxedLayer;
use crate::nand::{Flash, Fragile, Nand, Supply};
use crate::timing::{Journal, Timed};

/// Parameters of the deduplication in front of an FTL.
pub struct EqualPages {
    /// Detection of equal pages.
    pub config: DedupConfig,
    /// Logical pages of the layer.
    pub logical_pages: u32,
    /// True if the placement needs reference counts.
    pub wants_references: bool,
    /// Tables of the layer in front, created from the same parameters.
    pub sharing: Sharing,
}

/// Builds deduplication in front of an FTL that has as many pages as it stores, on erased flash with spare areas.
/// Operations are recorded in `journal`.
pub fn ftl_with_dedup(
    nand: Nand<Content>,
    plan: FtlPlan,
    equal: EqualPages,
    power: &PowerPlan,
    journal: Option<Journal>,
) -> Result<BuiltFtl<Content>, ConfigError> {
    if !power.cuts() {
        return on_steady_flash(nand, journal.clone(), plan, InFront { equal, journal });
    }
    let notes = SpareNotes::new(nand.blocks(), nand.pages_per_block());
    let nand = nand.with_spare_keeper(Box::new(notes.clone()));
    let front = InFront { equal, journal: journal.clone() };
    match power {
        PowerPlan::AtWork(cut) => {
            let supply = Supply::new(plan.has_battery());
            let journal = journal.unwrap_or_else(Journal::paused);
            let timed = Timed::new(nand, journal.clone());
            let finish = Cutting::<Content>::new(supply.clone(), cut.clone(), journal);
            plan.on(Fragile::new(timed, supply), InFrontCut { front, notes, finish })
        }
        _ => {
            let finish = AsItIs { switched: true };
            on_steady_flash(nand, journal, plan, InFrontCut { front, notes, finish })
        }
    }
}

/// Builds deduplication that can restart, on the flash that `made` derives from erased flash; `made` also returns the
/// step that finishes the layer.
pub(super) fn ftl_in_front<F: Flash<Payload = Content> + 'static, X: Finish<F, Payload = Content>>(
    erased: &dyn Fn() -> Nand<Content>,
    plan: FtlPlan,
    equal: EqualPages,
    made: impl FnOnce(&dyn Fn() -> Nand<Content>) -> (F, X),
) -> Result<BuiltFtl<Content>, ConfigError> {
    let (blocks, pages_per_block) = {
        let nand = erased();
        (nand.blocks(), nand.pages_per_block())
    };
    let notes = SpareNotes::new(blocks, pages_per_block);
    let (flash, finish) = made(&|| erased().with_spare_keeper(Box::new(notes.clone())));
    plan.on(flash, InFrontCut { front: InFront { equal, journal: None }, notes, finish })
}

fn on_steady_flash<X>(
    nand: Nand<Content>,
    journal: Option<Journal>,
    plan: FtlPlan,
    finish: X,
) -> Result<BuiltFtl<Content>, ConfigError>
where
    X: Finish<Timed<Content>, Payload = Content>,
{
    plan.on(Timed::new(nand, journal.unwrap_or_else(Journal::paused)), finish)
}

/// The layer on an FTL without power cuts.
struct InFront {
    equal: EqualPages,
    journal: Option<Journal>,
}

impl InFront {
    /// Makes cleaning in the FTL consult the migration policy.
    fn ask<T>(&self, ftl: &mut T) -> Result<(), ConfigError>
    where
        T: Restart,
        T::Flash: Medium<Payload = Content>,
    {
        let EqualPages { sharing, wants_references, .. } = &self.equal;
        let migration = sharing.migration(self.journal.clone(), *wants_references);
        migration.map_or(Ok(()), |migration| ftl.ask(migration))
    }
}

impl<F: Flash<Payload = Content>> Finish<F> for InFront {
    type Payload = Content;

    fn finish<T>(self, mut ftl: T, _settings: T::Settings) -> Result<BuiltFtl<Content>, ConfigError>
    where
        T: Restart<Flash = F> + 'static,
        T::Settings: Send,
    {
        self.ask(&mut ftl)?;
        let ftl: BoxedLayer<Content> = Box::new(ftl);
        let layer: BoxedLayer<Content> = Box::new(Dedup::new(self.equal.sharing, ftl, self.journal)?);
        Ok(BuiltFtl { layer, power: None })
    }
}

/// The layer on an FTL with power cuts: both restart together, and `finish` adds the power switch.
struct InFrontCut<X> {
    front: InFront,
    notes: SpareNotes,
    finish: X,
}

impl<F: Flash<Payload = Content>, X: Finish<F, Payload = Content>> Finish<F> for InFrontCut<X> {
    type Payload = Content;

    fn finish<T>(self, mut ftl: T, settings: T::Settings) -> Result<BuiltFtl<Content>, ConfigError>
    where
        T: Restart<Flash = F> + 'static,
        T::Settings: Send,
    {
        let InFrontCut { front, notes, finish } = self;
        front.ask(&mut ftl)?;
        let InFront { equal: EqualPages { config, logical_pages, wants_references, sharing }, journal } =
            front;
        notes.follow(Some(&sharing));
        let settings = DedupSettings {
            ftl: settings,
            config,
            logical_pages,
            wants_references,
            notes,
            journal: journal.clone(),
        };
        finish.finish(Dedup::new(sharing, ftl, journal)?, settings)
    }
}
