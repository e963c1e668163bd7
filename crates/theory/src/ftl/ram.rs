//! RAM by data structure (section 2, section 5.3, appendix B).

use super::drive::ADDRESS_BYTES;
use super::{CounterCoverage, FtlDesign, FtlDrive, TableLocation, ValidityStore};

/// Bytes of a cached mapping entry (section 5, "Default Configuration").
const CACHE_ENTRY_BYTES: u64 = 8;

/// Bytes of the counter of a block's valid pages (appendix B).
const COUNTER_BYTES: u64 = 2;

/// Data structure in RAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RamPart {
    /// Name of the structure.
    pub name: &'static str,
    /// Size in bytes.
    pub bytes: u64,
}

/// Returns all structures that the FTL keeps in RAM.
pub fn ram(design: &FtlDesign, drive: &FtlDrive) -> Vec<RamPart> {
    let mut parts = table(design.table, drive);
    parts.extend(validity(design.validity, drive));
    parts
}

/// Returns the bytes of the counters of valid pages (appendix B: 2 bytes per block).
///
/// If only some blocks have counters, each counter also needs its block number. The blocks drawn for a victim and the
/// most recently invalidated blocks also need their block numbers, with their bits. Blocks of metadata always have
/// counters, because they are erased when all their pages are invalid; half of their pages are assumed valid.
fn counters(validity: ValidityStore, drive: &FtlDrive) -> u64 {
    let sizes = drive.sizes();
    let (counted, choices) = match sizes.counters {
        CounterCoverage::Full => return COUNTER_BYTES * drive.blocks(),
        CounterCoverage::Sampled { share, choices } => {
            ((drive.blocks() as f64 * share).ceil() as u64, choices)
        }
        CounterCoverage::None { choices } => (0, choices),
    };
    let in_flash = match validity {
        ValidityStore::RamBitmap => 0,
        ValidityStore::FlashBitmap => drive.bitmap_pages(),
        ValidityStore::Log => drive.log_pages(),
        ValidityStore::Gecko => drive.gecko_pages(),
    };
    let (pages, choices) = (u64::from(sizes.pages_per_block), u64::from(choices));
    let metadata = (2 * (drive.translation_pages() + in_flash)).div_ceil(pages);
    let drawn = pages.div_ceil(8) + ADDRESS_BYTES;
    (COUNTER_BYTES + ADDRESS_BYTES) * (counted + choices + metadata) + drawn * choices
}

fn part(name: &'static str, bytes: u64) -> RamPart {
    RamPart { name, bytes }
}

/// Returns the structures that map logical pages.
///
/// The global mapping directory has 4 bytes for each translation page: (4 TT) / P (section 2). Of a B-tree, only one
/// page, the root, must be in RAM (section 5.3).
fn table(table: TableLocation, drive: &FtlDrive) -> Vec<RamPart> {
    let cache = part("mapping cache", CACHE_ENTRY_BYTES * drive.sizes().cache_entries);
    match table {
        TableLocation::Ram => vec![part("mapping table", drive.table_bytes())],
        TableLocation::Directory => {
            vec![cache, part("global mapping directory", ADDRESS_BYTES * drive.translation_pages())]
        }
        TableLocation::BTree => vec![cache, part("b-tree root", drive.page_bytes())],
    }
}

/// Returns the structures that record valid pages.
///
/// With a bitmap in RAM, valid pages can be counted when needed, so section 5.3 gives counters only to FTLs without
/// one. A bitmap in flash needs the address of each of its pages ("validity directory"; O(B K / P) in table 1).
/// Appendix E needs the first link of a chain and a timestamp for each block, of 4 bytes each, and a buffer of one
/// page.
///
/// Run directories take 2 * 4 bytes for each Gecko page. Buffers take P (2 + L): one for input, one for output and one
/// for each level (appendix B). The appendix assumes whole entries, S = 1; S parts make K S entries of 4 + B / (8 S)
/// bytes.
fn validity(validity: ValidityStore, drive: &FtlDrive) -> Vec<RamPart> {
    let counters = part("block validity counters", counters(validity, drive));
    match validity {
        ValidityStore::RamBitmap => vec![part("validity bitmap", drive.bitmap_bytes())],
        ValidityStore::FlashBitmap => {
            vec![counters, part("validity directory", ADDRESS_BYTES * drive.bitmap_pages())]
        }
        ValidityStore::Log => vec![
            counters,
            part("log chains", ADDRESS_BYTES * drive.blocks()),
            part("erase timestamps", ADDRESS_BYTES * drive.blocks()),
            part("log buffer", drive.page_bytes()),
        ],
        ValidityStore::Gecko => vec![
            counters,
            part("run directories", 2 * ADDRESS_BYTES * drive.gecko_pages()),
            part("gecko buffers", drive.page_bytes() * (2 + u64::from(drive.gecko_levels()))),
        ],
    }
}
