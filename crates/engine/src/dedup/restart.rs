//! Coming back after a power cut, over an FTL that does.
//!
//! The FTL comes back first, as it does by itself: to it slots are pages. Then the map above it follows from the notes in the
//! spare areas and from the log of the map, and what is on flash of slots that nobody refers to is given up.

use super::Sharing;
use super::bytes::reread;
use super::config::DedupConfig;
use super::layer::Dedup;
use super::maplog::MapImage;
use super::notes::SpareNotes;
use super::recover::{Recovered, recover};
use crate::config::ConfigError;
use crate::counters::Cause;
use crate::ftl::Restart;
use crate::layer::{Content, Layer, LayerError, Medium, NandReport, RecoveryReport, RecoverySteps, Reports};
use crate::log::Migration;
use crate::nand::{Flash, KeptError, KeptFlash, PageState};
use crate::timing::Journal;
use crate::units::{BlockId, Lpn};

/// What a layer over an FTL is built from, again and again.
#[derive(Clone)]
pub struct DedupSettings<S> {
    /// The FTL below.
    pub ftl: S,
    /// How equal pages are found; with a log of the map.
    pub config: DedupConfig,
    /// Logical pages shown above.
    pub logical_pages: u32,
    /// Whether the FTL's placement is to be told of references.
    pub wants_references: bool,
    /// What the spare areas of the flash say.
    pub notes: SpareNotes,
    /// Where hashing is written down.
    pub journal: Option<Journal>,
}

/// What a power cut leaves.
pub struct DedupRemains<R> {
    /// Of the FTL below.
    pub ftl: R,
    /// What the pages of the map's log hold.
    image: MapImage,
}

/// The step `name` has ended.
fn end_step<F>(steps: &mut RecoverySteps, name: &'static str, ftl: &mut F)
where
    F: Restart,
    F::Flash: Medium<Payload = Content>,
{
    steps.end(name, counts(ftl));
    ftl.flash_mut().recovery_step_ended();
}

/// What the flash below did: spare areas read, pages read and programmed, blocks erased.
fn counts<L: Layer<Content>>(layer: &L) -> [u64; 4] {
    let mut reports = Reports::default();
    layer.describe(&mut reports);
    let NandReport { spare_reads, reads, programs, erases, .. } = reports.nand.expect("an FTL is on flash");
    [spare_reads, reads, programs, erases]
}

/// Reads all spare areas that were written.
fn read_spare_areas(flash: &mut impl Flash) {
    for block in (0..flash.blocks()).map(BlockId).filter(|&block| !flash.is_bad(block)).collect::<Vec<_>>() {
        let mut pages = 0..flash.pages_per_block();
        let is_erased = |page| flash.read_spare(block, page, Cause::Dedup) == PageState::Erased;
        let _ = pages.any(is_erased);
    }
}

impl<F> Dedup<F>
where
    F: Restart,
    F::Flash: Medium<Payload = Content>,
{
    /// What must be done in flash before the layer, whose tables are there again, can go on.
    fn come_back(&mut self, unused: &[Lpn], steps: &mut RecoverySteps) -> Result<(), LayerError> {
        if !F::READS_ALL_SPARE_AREAS {
            read_spare_areas(self.lower.flash_mut());
            end_step(steps, "spare areas of slots", &mut self.lower);
        }
        let (first, stored): (u32, Vec<bool>) = {
            let mut tables = self.sharing.lock();
            // To trim, the FTL may clean, and a merge would write the very page of the log that is about to be given up.
            tables.rests = true;
            let log = tables.log.as_ref().expect("only a map whose log is written comes back");
            (tables.first_of_log(), log.image().stored().collect())
        };
        let of_log = |wanted: bool| {
            let pages = (first..).zip(&stored).filter(move |(_, stored)| **stored == wanted);
            pages.map(|(page, _)| Lpn(page)).collect::<Vec<_>>()
        };
        let mut read = Vec::new();
        self.lower.read(&of_log(true), &mut read)?;
        self.own_reads += read.len() as u64;
        end_step(steps, "log of the map", &mut self.lower);
        self.lower.trim(unused)?;
        // One that was written, and not acknowledged before power was lost.
        self.lower.trim(&of_log(false))?;
        let slots = self.sharing.lock().slots();
        self.lower.trim(&(slots..first).map(Lpn).collect::<Vec<_>>())?;
        self.sharing.lock().rests = false;
        end_step(steps, "slots that nobody refers to", &mut self.lower);
        if self.is_paged {
            self.settle()?;
            end_step(steps, "fingerprint index", &mut self.lower);
        }
        Ok(())
    }
}

/// What an FTL comes back by.
type RestartFtl<F> = fn(
    &<F as Restart>::Settings,
    <F as Restart>::Remains,
) -> Result<(F, RecoveryReport), (LayerError, <F as Restart>::Remains)>;

/// What came of coming back.
type Restarted<F> = Result<(Dedup<F>, RecoveryReport), (LayerError, DedupRemains<<F as Restart>::Remains>)>;

/// The layer again, over an FTL that comes back by `restart`.
fn restarted<F>(
    settings: &DedupSettings<F::Settings>,
    remains: DedupRemains<F::Remains>,
    restart: RestartFtl<F>,
) -> Restarted<F>
where
    F: Restart,
    F::Flash: Medium<Payload = Content>,
{
    let DedupSettings { config, logical_pages, wants_references, notes, journal, .. } = settings;
    let DedupRemains { ftl, image } = remains;
    notes.follow(None);
    let (mut ftl, report) = match restart(&settings.ftl, ftl) {
        Ok(restarted) => restarted,
        Err((error, ftl)) => return Err((error, DedupRemains { ftl, image })),
    };
    let recovered = recover(config, *logical_pages, notes.found(), &image);
    let Recovered { sharing, lost_pages, unused_slots } = recovered.expect("settings that were good before");
    debug_assert_eq!(lost_pages, 0, "the log of the map knows of every page");
    notes.follow(Some(&sharing));
    if let Some(migration) = sharing.migration(journal.clone(), *wants_references) {
        ftl.ask(migration).expect("it was asked before");
    }
    let mut steps = RecoverySteps::after(report, counts(&ftl));
    let mut layer = Dedup::new(sharing, ftl, journal.clone()).expect("settings that were good before");
    match layer.come_back(&unused_slots, &mut steps) {
        Ok(()) => {}
        // What is there can still be read; the next write will say that the drive has come to its end.
        Err(error) if error.is_out_of_blocks() => layer.sharing.lock().rests = false,
        Err(error) => return Err((error, layer.into_flash())),
    }
    layer.recovery = Some(steps.report.clone());
    Ok((layer, steps.report))
}

/// With a log of the map, without which a hit, a merge and a trim leave no trace on flash.
///
/// What is stored is on flash when a write returns; what only changes the map (a write that was found, a trim) is once the
/// page of the log is written that tells of it, or the layer is flushed.
impl<F> Restart for Dedup<F>
where
    F: Restart,
    F::Flash: Medium<Payload = Content>,
{
    type Flash = F::Flash;
    type Remains = DedupRemains<F::Remains>;
    type Settings = DedupSettings<F::Settings>;

    const DURABLE_TRIMS: bool = true;
    const READS_ALL_SPARE_AREAS: bool = true;

    fn into_flash(self) -> Self::Remains {
        let image = self.sharing.map_image();
        DedupRemains { ftl: self.lower.into_flash(), image }
    }

    fn restart(
        settings: &Self::Settings,
        remains: Self::Remains,
    ) -> Result<(Self, RecoveryReport), (LayerError, Self::Remains)> {
        restarted(settings, remains, F::restart)
    }

    fn restart_unsaved(
        settings: &Self::Settings,
        remains: Self::Remains,
    ) -> Result<(Self, RecoveryReport), (LayerError, Self::Remains)> {
        restarted(settings, remains, F::restart_unsaved)
    }

    fn reread(
        settings: &Self::Settings,
        flash: Self::Flash,
        kept: &mut dyn KeptFlash,
    ) -> Result<Self::Remains, KeptError> {
        let empty = Sharing::new(&settings.config, settings.logical_pages, 0);
        let empty = empty.expect("settings that were good before");
        let image = reread(&empty, &settings.notes, &flash, kept)?;
        Ok(DedupRemains { ftl: F::reread(&settings.ftl, flash, kept)?, image })
    }

    fn save(&mut self) -> Result<(), LayerError> {
        if self.lower.has_battery() {
            self.write_log(true)?;
        }
        self.lower.save()
    }

    fn has_battery(&self) -> bool {
        self.lower.has_battery()
    }

    fn owes(&self) -> bool {
        let tables = self.sharing.lock();
        self.lower.owes() || tables.log.as_ref().is_none_or(|log| !log.is_settled())
    }

    fn flash_mut(&mut self) -> &mut F::Flash {
        self.lower.flash_mut()
    }

    fn ask(&mut self, migration: Box<dyn Migration<Content>>) -> Result<(), ConfigError> {
        self.lower.ask(migration)
    }
}
