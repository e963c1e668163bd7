//! RAM by structure (section 2, section 5.3, appendix B).

use super::drive::ADDRESS_BYTES;
use super::{Counters, Design, FtlDrive, Table, Validity};

/// Bytes of a cached mapping entry (section 5, "Default Configuration").
const CACHE_ENTRY_BYTES: u64 = 8;

/// Bytes of a block's number of valid pages (appendix B).
const COUNTER_BYTES: u64 = 2;

/// A structure in RAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RamPart {
    /// What it is.
    pub name: &'static str,
    /// Its size.
    pub bytes: u64,
}

/// All structures that the FTL keeps in RAM.
pub fn ram(design: &Design, drive: &FtlDrive) -> Vec<RamPart> {
    let mut parts = table(design.table, drive);
    parts.extend(validity(design.validity, drive));
    parts
}

/// Numbers of valid pages (appendix B: 2 bytes a block).
///
/// Where not every block has one, each needs the number of its block beside it, and so do the blocks drawn for a victim, with
/// their bits, and those of which pages became invalid last; blocks of metadata keep theirs, since they are erased when nothing
/// in them is valid. They are reckoned to be half full.
fn counters(validity: Validity, drive: &FtlDrive) -> u64 {
    let sizes = drive.sizes();
    let (kept, choices) = match sizes.counters {
        Counters::Full => return COUNTER_BYTES * drive.blocks(),
        Counters::Sampled { share, choices } => ((drive.blocks() as f64 * share).ceil() as u64, choices),
        Counters::None { choices } => (0, choices),
    };
    let in_flash = match validity {
        Validity::RamBitmap => 0,
        Validity::FlashBitmap => drive.bitmap_pages(),
        Validity::Log => drive.log_pages(),
        Validity::Gecko => drive.gecko_pages(),
    };
    let (pages, choices) = (u64::from(sizes.pages_per_block), u64::from(choices));
    let metadata = (2 * (drive.translation_pages() + in_flash)).div_ceil(pages);
    let drawn = pages.div_ceil(8) + ADDRESS_BYTES;
    (COUNTER_BYTES + ADDRESS_BYTES) * (kept + choices + metadata) + drawn * choices
}

fn part(name: &'static str, bytes: u64) -> RamPart {
    RamPart { name, bytes }
}

/// What finds a logical page.
///
/// The global mapping directory has 4 bytes for each translation page: (4 TT) / P (section 2). Of a B-tree one page, the root,
/// must be in RAM (section 5.3).
fn table(table: Table, drive: &FtlDrive) -> Vec<RamPart> {
    let cache = part("mapping cache", CACHE_ENTRY_BYTES * drive.sizes().cache_entries);
    match table {
        Table::Ram => vec![part("mapping table", drive.table_bytes())],
        Table::Directory => {
            vec![cache, part("global mapping directory", ADDRESS_BYTES * drive.translation_pages())]
        }
        Table::BTree => vec![cache, part("b-tree root", drive.page_bytes())],
    }
}

/// What tells valid pages from invalid ones.
///
/// With a bitmap in RAM the number of a block's valid pages can be counted when it is needed, so section 5.3 gives counters to
/// those alone that have none. A bitmap in flash needs the address of each of its pages ("validity directory"; the paper has
/// it in table 1 as O(B K / P)). Appendix E asks for the first link of a chain and a timestamp for each block, of 4 bytes each,
/// and a buffer of a page.
///
/// Run directories: 2 * 4 bytes for each Gecko page; buffers: P (2 + L), one for input, one for output and one for each level
/// (appendix B). Theirs is for whole entries, S = 1; S parts make K S entries of 4 + B / (8 S) bytes.
fn validity(validity: Validity, drive: &FtlDrive) -> Vec<RamPart> {
    let counters = part("block validity counters", counters(validity, drive));
    match validity {
        Validity::RamBitmap => vec![part("validity bitmap", drive.bitmap_bytes())],
        Validity::FlashBitmap => {
            vec![counters, part("validity directory", ADDRESS_BYTES * drive.bitmap_pages())]
        }
        Validity::Log => vec![
            counters,
            part("log chains", ADDRESS_BYTES * drive.blocks()),
            part("erase timestamps", ADDRESS_BYTES * drive.blocks()),
            part("log buffer", drive.page_bytes()),
        ],
        Validity::Gecko => vec![
            counters,
            part("run directories", 2 * ADDRESS_BYTES * drive.gecko_pages()),
            part("gecko buffers", drive.page_bytes() * (2 + u64::from(drive.gecko_levels()))),
        ],
    }
}
