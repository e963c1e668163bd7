//! Restart after a power cut, over an FTL that can restart.
//!
//! First the FTL restarts by itself; for the FTL, slots are pages. Then the map is rebuilt from the notes in the
//! spare areas and from the log of the map, and unreferenced slots on flash are released.

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

/// Settings from which a layer over an FTL is built, for each restart again.
#[derive(Clone)]
pub struct DedupSettings<S> {
    /// Settings of the FTL below.
    pub ftl: S,
    /// Detection of equal pages, with a log of the map.
    pub config: DedupConfig,
    /// Number of logical pages of the layer.
    pub logical_pages: u32,
    /// True if the FTL's placement needs reference counts.
    pub wants_references: bool,
    /// Slot notes in the spare areas of the flash.
    pub notes: SpareNotes,
    /// Journal that records hashes.
    pub journal: Option<Journal>,
}

/// Flash state that survives a power cut.
pub struct DedupRemains<R> {
    /// State of the FTL below.
    pub ftl: R,
    /// Contents of the map log's pages.
    image: MapImage,
}

/// Ends the step `name`.
fn end_step<F>(steps: &mut RecoverySteps, name: &'static str, ftl: &mut F)
where
    F: Restart,
    F::Flash: Medium<Payload = Content>,
{
    steps.end(name, counts(ftl));
    ftl.flash_mut().recovery_step_ended();
}

/// Returns the operations of the flash below: spare areas read, pages read and programmed, blocks erased.
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
    /// Performs the flash operations that are needed before the layer, whose tables are restored, can continue.
    fn come_back(&mut self, unused: &[Lpn], steps: &mut RecoverySteps) -> Result<(), LayerError> {
        if !F::READS_ALL_SPARE_AREAS {
            read_spare_areas(self.lower.flash_mut());
            end_step(steps, "spare areas of slots", &mut self.lower);
        }
        let (first, stored): (u32, Vec<bool>) = {
            let mut tables = self.sharing.lock();
            // A trim may make the FTL clean, and a merge would write the page of the log that is about to be
            // released.
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
        // Pages that were written but not acknowledged before the power cut.
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

/// Restart function of an FTL.
type RestartFtl<F> = fn(
    &<F as Restart>::Settings,
    <F as Restart>::Remains,
) -> Result<(F, RecoveryReport), (LayerError, <F as Restart>::Remains)>;

/// Result of a restart.
type Restarted<F> = Result<(Dedup<F>, RecoveryReport), (LayerError, DedupRemains<<F as Restart>::Remains>)>;

/// Restarts the layer, over an FTL restarted by `restart`.
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
        // Stored data can still be read; the next write will report the end of the drive's life.
        Err(error) if error.is_out_of_blocks() => layer.sharing.lock().rests = false,
        Err(error) => return Err((error, layer.into_flash())),
    }
    layer.recovery = Some(steps.report.clone());
    Ok((layer, steps.report))
}

/// Requires a log of the map: without it, hits, merges and trims leave no trace on flash.
///
/// Stored pages are on flash when a write returns. Changes of the map alone (hits and trims) are on flash when the
/// page of the log with their record is written, or after a flush.
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
