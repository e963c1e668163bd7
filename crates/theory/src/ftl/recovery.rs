//! Recovery after a power failure, step by step (section 2, section 4.3, section 5.3, appendix C).

use super::{CounterCoverage, DirtyEntryPolicy, FtlDesign, FtlDrive, TableLocation, ValidityStore};

/// Recovery step with its flash operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoveryStepCost {
    /// Name of the recovered structure.
    pub name: &'static str,
    /// Spare areas read.
    pub spare_reads: u64,
    /// Pages read.
    pub page_reads: u64,
    /// Pages written.
    pub page_writes: u64,
}

impl RecoveryStepCost {
    /// Returns the duration of the step, with sequential operations.
    pub fn seconds(&self, drive: &FtlDrive) -> f64 {
        let sizes = drive.sizes();
        let microseconds = self.spare_reads as f64 * sizes.spare_read_us
            + self.page_reads as f64 * sizes.read_us
            + self.page_writes as f64 * sizes.program_us;
        microseconds / 1e6
    }

    fn spare(name: &'static str, spare_reads: u64) -> Self {
        RecoveryStepCost { name, spare_reads, ..RecoveryStepCost::default() }
    }

    fn pages(name: &'static str, page_reads: u64) -> Self {
        RecoveryStepCost { name, page_reads, ..RecoveryStepCost::default() }
    }
}

/// Returns all steps in order, until the drive accepts requests again.
///
/// A drive with its table in RAM reads the spare areas of all pages once, which is sufficient (section 2: brute force).
pub fn recovery(design: &FtlDesign, drive: &FtlDrive) -> Vec<RecoveryStepCost> {
    if design.table == TableLocation::Ram {
        return vec![RecoveryStepCost::spare("page scan", drive.physical_pages())];
    }
    // Steps 1 and 2 of appendix C: one spare area per block gives the type of the block; the spare areas of all
    // translation pages give the latest version of each. The root of a B-tree is among these pages. The paper states
    // O(K B / P) for the second step; this is its minimum, without obsolete translation pages.
    let mut steps = vec![
        RecoveryStepCost::spare("block scan", drive.blocks()),
        RecoveryStepCost::spare("mapping directory", drive.translation_pages()),
    ];
    steps.extend(validity(design, drive));
    steps.extend(dirty(design.dirty, drive));
    steps
}

/// Returns the steps that recover the record of valid pages.
fn validity(design: &FtlDesign, drive: &FtlDrive) -> Vec<RecoveryStepCost> {
    match design.validity {
        // Section 5.3: a battery saves the bitmap to flash, and recovery reads it back; otherwise recovery reads the
        // whole table, TT / P pages (section 2).
        ValidityStore::RamBitmap if design.dirty == DirtyEntryPolicy::Battery => {
            vec![RecoveryStepCost::pages("validity bitmap", drive.bitmap_pages())]
        }
        ValidityStore::RamBitmap => {
            vec![RecoveryStepCost::pages("validity bitmap", drive.translation_pages())]
        }
        // The paper only says "it persists". Recovery locates the pages of the bitmap, and counts valid pages from
        // their contents.
        ValidityStore::FlashBitmap => {
            let directory = [RecoveryStepCost::spare("validity bitmap", drive.bitmap_pages())];
            directory.into_iter().chain(counters(drive, drive.bitmap_pages())).collect()
        }
        // Section 5.3: "scanning the whole log", which also gives the counters.
        ValidityStore::Log => vec![RecoveryStepCost::pages("validity log", drive.log_pages())],
        ValidityStore::Gecko => gecko(design.dirty, drive),
    }
}

/// Returns steps 3 to 5 of appendix C.
///
/// With a battery the buffer was saved to flash: one page.
fn gecko(dirty: DirtyEntryPolicy, drive: &FtlDrive) -> Vec<RecoveryStepCost> {
    let buffer = if dirty == DirtyEntryPolicy::Battery { 1 } else { 2 * drive.gecko_entries_per_page() };
    let found = [
        RecoveryStepCost::spare("run directories", drive.gecko_pages()),
        RecoveryStepCost::pages("gecko buffer", buffer),
    ];
    found.into_iter().chain(counters(drive, drive.gecko_pages())).collect()
}

/// Returns the step that counts valid pages by reading the whole validity store; only counters of all blocks need this
/// step.
fn counters(drive: &FtlDrive, pages: u64) -> Option<RecoveryStepCost> {
    (drive.sizes().counters == CounterCoverage::Full)
        .then(|| RecoveryStepCost::pages("block validity counters", pages))
}

/// Returns the step that finds the dirty entries of the mapping cache and, unless deferred, writes them.
///
/// A backward scan of twice as many pages as may be dirty finds them (section 4.3, step 6 of appendix C). The paper
/// gives no figure for FTLs that bound the number; the same rule is used for these FTLs. Writing n entries takes min(n,
/// TT / P) page reads and writes (section 2).
fn dirty(dirty: DirtyEntryPolicy, drive: &FtlDrive) -> Option<RecoveryStepCost> {
    let cache = drive.sizes().cache_entries;
    let (spare_reads, written) = match dirty {
        DirtyEntryPolicy::Battery => return None,
        DirtyEntryPolicy::Bounded => (2 * drive.bounded_dirty_entries(), drive.bounded_dirty_entries()),
        DirtyEntryPolicy::Deferred => (2 * cache, 0),
        DirtyEntryPolicy::Scan => (drive.physical_pages(), cache),
    };
    let pages = written.min(drive.translation_pages());
    let spare_reads = spare_reads.min(drive.physical_pages());
    Some(RecoveryStepCost { name: "dirty entries", spare_reads, page_reads: pages, page_writes: pages })
}
