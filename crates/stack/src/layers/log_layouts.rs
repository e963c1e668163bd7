//! Known layouts of log metadata. Every figure gives its source; figures without a source are marked as assumed.

use super::metadata_keys::MetadataConfig;
use crate::size::ByteSize;
use wearwell_base::config::Entry;
use wearwell_engine::log::{OnFlush, SummaryPlace, TablePlace};

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
    inode_entries: None,
    frees_map_entries: None,
    tree_entry_bytes: None,
    map_index_bytes: None,
    segment_info_bytes: None,
    tables: None,
    table_copies: None,
    checkpoint_every: None,
    checkpoint_after_cleaned: None,
    checkpoint_pages: None,
    checkpoint_pages_per_stream: None,
    packed_summaries: None,
    journal_bytes: None,
    on_flush: None,
    own_streams: None,
    streams: None,
};

/// Linux, `include/linux/f2fs_fs.h` and `Documentation/filesystems/f2fs.rst`, "On-disk Layout":
/// - SSA: `struct f2fs_summary`, 7 bytes per block; one block of 4 KiB for each segment of 2 MiB, written in place.
/// - The map is in direct node blocks: `__le32 addr[]`, 4 bytes per block, about 1018 per node; they are written to the
///   log.
/// - NAT: `struct f2fs_nat_entry`, 9 bytes per node block; two copies of each block, written alternately.
/// - SIT: `struct f2fs_sit_entry`, 74 bytes per segment, 55 entries per block; two copies of each block, written
///   alternately.
/// - CP: two packs, written alternately; each has a header and a footer block, and between them the summaries of the
///   three open data segments, packed into as few blocks as they need (`fs/f2fs/segment.c`,
///   `f2fs_npages_for_summary_flush`). Those of the three open node segments are written at unmount and with `fastboot`
///   only, and found again by walking the log. All six segments are open for every value of `active_logs`, so that a
///   checkpoint does not grow with it.
/// - In the packed summaries are two journals (`SUM_JOURNAL_SIZE`, 507 bytes each: 38 entries of the NAT, 6 of the
///   SIT). Changed entries that fit there are not written to the tables.
/// - `active_logs` determines the kinds of blocks in each segment (`__get_segment_type_2`, `_4`, `_6`). 2: all data,
///   all nodes. 4: data of directories, of files; direct nodes of files, other nodes. 6: three segments of data
///   (directories and short-lived data; other data; long-lived data and all that cleaning moves) and three of nodes in
///   the same way.
/// - An inode contains the first 873 block addresses of its file (923, less 50 for its attributes). It is written again
///   with every change of the file, because it contains the modification time. Here the log is one file; its inode and
///   direct nodes share one active log, and the other logs stay open without being used.
/// - `fsync` writes the nodes that changed, and the log is walked after a power cut; with `active_logs=2` it takes a
///   checkpoint instead (`fs/f2fs/file.c`, `need_do_checkpoint`, `CP_SPEC_LOG_NUM`).
/// - Bytes between checkpoints: assumed. The kernel's default is every 60 s, or when space or memory runs short.
const F2FS: MetadataConfig = MetadataConfig {
    summary_bytes_per_page: Some(7),
    summary: Some(SummaryPlace::Area),
    map_entry_bytes: Some(4),
    map: Some(TablePlace::InLog),
    inode_entries: Some(873),
    map_index_bytes: Some(9),
    segment_info_bytes: Some(74),
    tables: Some(TablePlace::Area),
    table_copies: Some(2),
    checkpoint_every: Some(ByteSize(64 << 20)),
    checkpoint_pages: Some(2),
    packed_summaries: Some(true),
    journal_bytes: Some(507),
    on_flush: Some(OnFlush::Map),
    ..NONE
};

/// Linux, `include/uapi/linux/nilfs2_ondisk.h` and `Documentation/filesystems/nilfs2.rst`, "NILFS2 disk layout":
/// - Each partial segment begins with its summary: `struct nilfs_binfo_v`, 16 bytes per block. Its size depends on the
///   amount written at a time; 512 KiB is assumed.
/// - DAT: `struct nilfs_dat_entry`, 32 bytes per block; a file in the log. The entry of an invalid block is freed when
///   its segment is cleaned (`fs/nilfs2/ioctl.c`, `nilfs_clean_segments`).
/// - Trees from files to DAT entries: a key and a pointer of 8 bytes each for each block (`struct nilfs_btree_node`).
///   Cleaning does not change them, because a block that moves keeps its entry.
/// - SUFILE: `struct nilfs_segment_usage`, 16 bytes per segment; a file in the log.
/// - A checkpoint is a super root and a block of CPFILE: 2 blocks.
/// - Blocks that the cleaner moves at one time are written with a checkpoint: 2 segments by default
///   (nilfs_cleanerd.conf(5), `nsegments_per_clean`).
/// - Bytes between other checkpoints: assumed. The default is every 5 s.
const NILFS2: MetadataConfig = MetadataConfig {
    summary_bytes_per_page: Some(16),
    summary: Some(SummaryPlace::InSegment),
    partial_segment: Some(ByteSize(512 << 10)),
    map_entry_bytes: Some(32),
    map: Some(TablePlace::InLog),
    frees_map_entries: Some(true),
    tree_entry_bytes: Some(16),
    segment_info_bytes: Some(16),
    tables: Some(TablePlace::InLog),
    checkpoint_every: Some(ByteSize(16 << 20)),
    checkpoint_after_cleaned: Some(2),
    checkpoint_pages: Some(2),
    ..NONE
};

const F2FS_SOURCE: &str = "Linux, include/linux/f2fs_fs.h, fs/f2fs/{checkpoint,segment,file}.c and f2fs.rst; checkpoint interval assumed";

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
            help: "the same with 2 logs, one for nodes, and a checkpoint at each flush; needs a placement with 1 stream: single",
            source: F2FS_SOURCE,
        },
        settings: MetadataConfig {
            own_streams: Some(1),
            streams: Some(2),
            on_flush: Some(OnFlush::Checkpoint),
            ..F2FS
        },
    },
    LogLayout {
        entry: Entry {
            name: "f2fs_4",
            help: "the same with 4 logs, two for nodes; needs a placement with 2 streams, of directories' data and of files'",
            source: F2FS_SOURCE,
        },
        settings: MetadataConfig { own_streams: Some(2), streams: Some(4), ..F2FS },
    },
    LogLayout {
        entry: Entry {
            name: "f2fs_6",
            help: "the same with 6 logs, three for nodes; needs a placement with 3 streams, the last for what cleaning moves",
            source: F2FS_SOURCE,
        },
        settings: MetadataConfig { own_streams: Some(3), streams: Some(6), ..F2FS },
    },
    LogLayout {
        entry: Entry {
            name: "nilfs2",
            help: "NILFS2: a summary before each partial segment; trees, DAT, SUFILE and checkpoints in the log",
            source: "Linux, include/uapi/linux/nilfs2_ondisk.h, fs/nilfs2/ioctl.c and nilfs2.rst, \"NILFS2 disk layout\"; \
                     nilfs_cleanerd.conf(5); partial segment and checkpoint interval assumed",
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

/// Returns the layout of this name.
pub(super) fn find(name: &str) -> Option<&'static LogLayout> {
    LOG_LAYOUTS.iter().find(|layout| layout.entry.name == name)
}
