//! Restart after a power cut, over an FTL that can restart.
//!
//! First the FTL restarts by itself; for the FTL, slots are pages. Then the map is rebuilt from the notes in the
//! spare areas and from the log of the map, and unreferenced slots on flash are released.

use super::SharedTables;
use super::bytes::read_map_image;
use super::config::DedupConfig;
use super::layer::Dedup;
use super::map_log::MapImage;
use super::notes::SpareNotes;
use super::recover::{RecoveredMap, recover};
use crate::config::ConfigError;
use crate::counters::Cause;
use crate::ftl::Restart;
use crate::layer::{
    ContentId, Layer, LayerError, Medium, NandReport, RecoveryReport, RecoverySteps, Reports,
};
use crate::log::MigrationPolicy;
use crate::nand::{Flash, PageState, StoredFlash, StoredFlashError};
use crate::timing::Journal;
use crate::units::{BlockId, Lpn};

/// Settings from which a layer over an FTL is built, and rebuilt at each restart.
#[derive(Clone)]
pub struct DedupSettings<S> {
    /// Settings of the FTL below.
    pub ftl: S,
    /// Detection of equal pages, with a log of the map.
    pub config: DedupConfig,
    /// Number of logical pages of the layer.
    pub logical_pages: u32,
    /// True if the FTL's placement needs reference counts.
    pub needs_references: bool,
    /// Slot notes in the spare areas of the flash.
    pub notes: SpareNotes,
    /// Journal that records hashes.
    pub journal: Option<Journal>,
}

/// Flash state that survives a power cut.
pub struct SurvivingDedup<R> {
    /// State of the FTL below.
    pub ftl: R,
    /// Contents of the map log's pages.
    image: MapImage,
}

/// Ends the step `name`.
fn end_step<F>(steps: &mut RecoverySteps, name: &'static str, ftl: &mut F)
where
    F: Restart,
    F::Flash: Medium<Payload = ContentId>,
{
    steps.end_step(name, operation_counts(ftl));
    ftl.flash_mut().recovery_step_ended();
}

/// Returns the operations of the flash below: spare areas read, pages read and programmed, blocks erased.
fn operation_counts<L: Layer<ContentId>>(layer: &L) -> [u64; 4] {
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
    F::Flash: Medium<Payload = ContentId>,
{
    /// Performs the flash operations that are needed before the layer, whose tables are restored, can continue.
    fn finish_recovery(&mut self, unused: &[Lpn], steps: &mut RecoverySteps) -> Result<(), LayerError> {
        if !F::READS_ALL_SPARE_AREAS {
            read_spare_areas(self.lower.flash_mut());
            end_step(steps, "spare areas of slots", &mut self.lower);
        }
        let (first, stored): (u32, Vec<bool>) = {
            let mut tables = self.sharing.lock();
            // A trim may make the FTL clean, and a merge would write the page of the log that is about to be
            // released.
            tables.merging_suspended = true;
            let log = tables.log.as_ref().expect("only a map whose log is written comes back");
            (tables.first_log_page(), log.image().stored().collect())
        };
        let log_pages = |is_stored: bool| {
            let pages = (first..).zip(&stored).filter(move |(_, stored)| **stored == is_stored);
            pages.map(|(page, _)| Lpn(page)).collect::<Vec<_>>()
        };
        let mut read = Vec::new();
        self.lower.read(&log_pages(true), &mut read)?;
        self.internal_reads += read.len() as u64;
        end_step(steps, "log of the map", &mut self.lower);
        self.lower.trim(unused)?;
        // These trims release pages that were written but not acknowledged before the power cut.
        self.lower.trim(&log_pages(false))?;
        let slots = self.sharing.lock().slots();
        self.lower.trim(&(slots..first).map(Lpn).collect::<Vec<_>>())?;
        self.sharing.lock().merging_suspended = false;
        end_step(steps, "slots that nobody refers to", &mut self.lower);
        if self.is_paged {
            self.perform_index_accesses()?;
            end_step(steps, "fingerprint index", &mut self.lower);
        }
        Ok(())
    }
}

/// Restart function of an FTL.
type RestartFunction<F> = fn(
    &<F as Restart>::Settings,
    <F as Restart>::SurvivingFlash,
) -> Result<(F, RecoveryReport), (LayerError, <F as Restart>::SurvivingFlash)>;

/// Result of a restart.
type DedupRestartResult<F> =
    Result<(Dedup<F>, RecoveryReport), (LayerError, SurvivingDedup<<F as Restart>::SurvivingFlash>)>;

/// Restarts the layer, over an FTL restarted by `restart`.
fn restart_with<F>(
    settings: &DedupSettings<F::Settings>,
    surviving: SurvivingDedup<F::SurvivingFlash>,
    restart: RestartFunction<F>,
) -> DedupRestartResult<F>
where
    F: Restart,
    F::Flash: Medium<Payload = ContentId>,
{
    let DedupSettings { config, logical_pages, needs_references, notes, journal, .. } = settings;
    let SurvivingDedup { ftl, image } = surviving;
    notes.set_source(None);
    let (mut ftl, report) = match restart(&settings.ftl, ftl) {
        Ok(restarted) => restarted,
        Err((error, ftl)) => return Err((error, SurvivingDedup { ftl, image })),
    };
    let recovered = recover(config, *logical_pages, notes.slot_pages(), &image);
    let RecoveredMap { sharing, lost_pages, unused_slots } =
        recovered.expect("settings that were good before");
    if lost_pages > 0 {
        let error = LayerError::MapIncomplete { pages: lost_pages };
        return Err((error, SurvivingDedup { ftl: ftl.into_flash(), image }));
    }
    notes.set_source(Some(&sharing));
    if let Some(migration) = sharing.migration_policy(journal.clone(), *needs_references) {
        ftl.set_migration_policy(migration).expect("it was asked before");
    }
    let mut steps = RecoverySteps::resume(report, operation_counts(&ftl));
    let mut layer = Dedup::new(sharing, ftl, journal.clone()).expect("settings that were good before");
    match layer.finish_recovery(&unused_slots, &mut steps) {
        Ok(()) => {}
        // Stored data can still be read; the next write will report the end of the drive's life.
        Err(error) if error.is_out_of_blocks() => layer.sharing.lock().merging_suspended = false,
        Err(error) => return Err((error, layer.into_flash())),
    }
    layer.recovery = Some(steps.report.clone());
    Ok((layer, steps.report))
}

/// Requires a log of the map: without a log, flash has no record of hits, merges and trims.
///
/// Stored pages are on flash when a write returns. Changes of the map alone (hits and trims) are on flash when the
/// page of the log with their record is written, or after a flush.
impl<F> Restart for Dedup<F>
where
    F: Restart,
    F::Flash: Medium<Payload = ContentId>,
{
    type Flash = F::Flash;
    type SurvivingFlash = SurvivingDedup<F::SurvivingFlash>;
    type Settings = DedupSettings<F::Settings>;

    const DURABLE_TRIMS: bool = true;
    const READS_ALL_SPARE_AREAS: bool = true;

    fn into_flash(self) -> Self::SurvivingFlash {
        let image = self.sharing.map_image();
        SurvivingDedup { ftl: self.lower.into_flash(), image }
    }

    fn restart(
        settings: &Self::Settings,
        surviving: Self::SurvivingFlash,
    ) -> Result<(Self, RecoveryReport), (LayerError, Self::SurvivingFlash)> {
        restart_with(settings, surviving, F::restart)
    }

    fn restart_unsaved(
        settings: &Self::Settings,
        surviving: Self::SurvivingFlash,
    ) -> Result<(Self, RecoveryReport), (LayerError, Self::SurvivingFlash)> {
        restart_with(settings, surviving, F::restart_unsaved)
    }

    fn decode_flash(
        settings: &Self::Settings,
        flash: Self::Flash,
        stored: &mut dyn StoredFlash,
    ) -> Result<Self::SurvivingFlash, StoredFlashError> {
        let empty = SharedTables::new(&settings.config, settings.logical_pages, 0);
        let empty = empty.expect("settings that were good before");
        let image = read_map_image(&empty, &settings.notes, &flash, stored)?;
        Ok(SurvivingDedup { ftl: F::decode_flash(&settings.ftl, flash, stored)?, image })
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

    fn has_volatile_writes(&self) -> bool {
        let tables = self.sharing.lock();
        self.lower.has_volatile_writes() || tables.log.as_ref().is_none_or(|log| !log.is_settled())
    }

    fn flash_mut(&mut self) -> &mut F::Flash {
        self.lower.flash_mut()
    }

    fn set_migration_policy(
        &mut self,
        migration: Box<dyn MigrationPolicy<ContentId>>,
    ) -> Result<(), ConfigError> {
        self.lower.set_migration_policy(migration)
    }
}
