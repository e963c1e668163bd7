//! Known layouts of log metadata. Every figure says where it was read; what nobody states is marked as assumed.

use super::metadata_keys::MetadataConfig;
use crate::size::ByteSize;
use wearwell_base::config::Entry;
use wearwell_engine::log::{SummaryPlace, TablePlace};

/// A layout by name.
#[derive(Debug)]
pub struct LogLayout {
    /// Name, help and source.
    pub entry: Entry,
    /// The figures.
    pub settings: MetadataConfig,
}

const NONE: MetadataConfig = MetadataConfig {
    preset: None,
    summary_bytes_per_page: None,
    summary: None,
    partial_segment: None,
    map_entry_bytes: None,
    map: None,
    map_index_bytes: None,
    segment_info_bytes: None,
    tables: None,
    table_copies: None,
    checkpoint_every: None,
    checkpoint_pages: None,
    checkpoint_pages_per_stream: None,
    own_streams: None,
    streams: None,
};

/// Linux, `include/linux/f2fs_fs.h` and `Documentation/filesystems/f2fs.rst`, "On-disk Layout":
/// - SSA: `struct f2fs_summary`, 7 bytes a block; one block of 4 KiB for each segment of 2 MiB, written in place.
/// - The map is in direct node blocks: `__le32 addr[]`, 4 bytes a block, about 1018 in a node; they are logged.
/// - NAT: `struct f2fs_nat_entry`, 9 bytes a node block; two copies of each block, used in turn.
/// - SIT: `struct f2fs_sit_entry`, 74 bytes a segment, 55 in a block; two copies, used in turn.
/// - CP: two packs, used in turn; a header and a footer block, and a summary block for each open log. All six summaries
///   are written at unmount; else the data logs' alone, which may be packed more tightly. One for each is the most.
/// - Half of the logs are for nodes (the same header: `MAX_ACTIVE_NODE_LOGS`): 1 of 2, 2 of 4, 3 of 6. All node blocks here
///   are direct nodes of files, which share one of them; the others are open all the same.
/// - Bytes between checkpoints: assumed. The kernel's default is by time, 60 s, or when space or memory asks for it.
const F2FS: MetadataConfig = MetadataConfig {
    summary_bytes_per_page: Some(7),
    summary: Some(SummaryPlace::Area),
    map_entry_bytes: Some(4),
    map: Some(TablePlace::InLog),
    map_index_bytes: Some(9),
    segment_info_bytes: Some(74),
    tables: Some(TablePlace::Area),
    table_copies: Some(2),
    checkpoint_every: Some(ByteSize(64 << 20)),
    checkpoint_pages: Some(2),
    checkpoint_pages_per_stream: Some(1),
    ..NONE
};

/// Linux, `include/uapi/linux/nilfs2_ondisk.h` and `Documentation/filesystems/nilfs2.rst`, "NILFS2 disk layout":
/// - Each partial segment begins with its summary: `struct nilfs_binfo_v`, 16 bytes a block. How long one is depends on
///   how much is written at once; 512 KiB is assumed.
/// - DAT: `struct nilfs_dat_entry`, 32 bytes a block; a file in the log.
/// - SUFILE: `struct nilfs_segment_usage`, 16 bytes a segment; a file in the log.
/// - A checkpoint is a super root and a block of CPFILE: 2 blocks. The block trees of the files are left out.
/// - Bytes between checkpoints: assumed. The default is by time, 5 s.
const NILFS2: MetadataConfig = MetadataConfig {
    summary_bytes_per_page: Some(16),
    summary: Some(SummaryPlace::InSegment),
    partial_segment: Some(ByteSize(512 << 10)),
    map_entry_bytes: Some(32),
    map: Some(TablePlace::InLog),
    segment_info_bytes: Some(16),
    tables: Some(TablePlace::InLog),
    checkpoint_every: Some(ByteSize(16 << 20)),
    checkpoint_pages: Some(2),
    ..NONE
};

const F2FS_SOURCE: &str =
    "Linux, include/linux/f2fs_fs.h and f2fs.rst, \"On-disk Layout\"; checkpoint interval assumed";

/// The layouts, by name.
pub const LOG_LAYOUTS: &[LogLayout] = &[
    LogLayout {
        entry: Entry {
            name: "f2fs",
            help: "F2FS with any number of logs: SSA, NAT, SIT and checkpoints in place, node blocks in the log",
            source: F2FS_SOURCE,
        },
        settings: F2FS,
    },
    LogLayout {
        entry: Entry {
            name: "f2fs_2",
            help: "the same with 2 logs, one for nodes; needs a placement with 1 stream: single",
            source: F2FS_SOURCE,
        },
        settings: MetadataConfig { own_streams: Some(1), streams: Some(2), ..F2FS },
    },
    LogLayout {
        entry: Entry {
            name: "f2fs_4",
            help: "the same with 4 logs, two for nodes; needs a placement with 2 streams, such as double",
            source: F2FS_SOURCE,
        },
        settings: MetadataConfig { own_streams: Some(2), streams: Some(4), ..F2FS },
    },
    LogLayout {
        entry: Entry {
            name: "f2fs_6",
            help: "the same with 6 logs, three for nodes; needs a placement with 3 streams",
            source: F2FS_SOURCE,
        },
        settings: MetadataConfig { own_streams: Some(3), streams: Some(6), ..F2FS },
    },
    LogLayout {
        entry: Entry {
            name: "nilfs2",
            help: "NILFS2: a summary before each partial segment; DAT, SUFILE and checkpoints in the log",
            source: "Linux, include/uapi/linux/nilfs2_ondisk.h and nilfs2.rst, \"NILFS2 disk layout\"; partial segment and \
                     checkpoint interval assumed",
        },
        settings: NILFS2,
    },
    LogLayout {
        entry: Entry {
            name: "fatcache",
            help: "a slab cache like fatcache: the index is in RAM, nothing is written for it",
            source: "fatcache, README.md, \"Batched Writes\" and \"In-memory index\"",
        },
        settings: NONE,
    },
];

/// The layout of this name.
pub(super) fn find(name: &str) -> Option<&'static LogLayout> {
    LOG_LAYOUTS.iter().find(|layout| layout.entry.name == name)
}
