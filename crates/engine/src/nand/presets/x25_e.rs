//! Intel's X25-E, the drive measured in the NVMFS paper.

use super::Preset;
use crate::config::Entry;

const SD74: &str = "Intel, SD74 NAND Flash Memory (JS29F04G08AANB1, JS29F16G08FANB1), data sheet, first page, read at icpdf.com";
const SD74_PAGE: &str = "assumed: 4 KiB; the pages of the SD74, one generation earlier, have 2,112 bytes, \
     but 64 pages of 4 KiB give the blocks of 256 KB in NVMFS, section IV-C";
const CHANNELS: &str =
    "Tom's Hardware (Breaking Records With SSDs: 16 Intel X25-Es Do 2.2 GB/s): a ten-channel controller";
const ONE_DIE: &str = "derived: with one die of two planes on each channel, the drive writes 193 MB/s; with \
     two dies, it would write 386 MB/s; the data sheet has 170 MB/s";

/// Intel's SLC drive of 2008.
pub(super) const X25_E: Preset = Preset {
    entry: Entry {
        name: "x25_e",
        help: "Intel's SLC drive of 2008, which NVMFS ran on: small random writes are a thirteenth as fast as large ones",
        source: "Intel, SD74 NAND Flash Memory, data sheet",
    },
    cell: "SLC",
    channels: 10,
    ways: 1,
    dies: 1,
    planes: 2,
    pages_per_block: 64,
    page_bytes: 4_096,
    spare_bytes: 128,
    endurance_cycles: 100_000,
    read_us: 25.0,
    program_us: 220.0,
    erase_us: 1_500.0,
    channel_mb_per_s: 40.0,
    over_provisioning: 85.899_345_92 / 64.0 - 1.0,
    gc_watermark: None,
    notes: &[
        (
            "cell",
            "techreport.com/review/15931/intel-x25-e-extreme-solid-state-drive, 23 November 2008: single-level cells",
        ),
        ("channels", CHANNELS),
        ("ways", ONE_DIE),
        ("dies", ONE_DIE),
        ("planes", SD74),
        ("pages_per_block", SD74),
        ("page_bytes", SD74_PAGE),
        (
            "spare_bytes",
            "derived: 64 bytes for 2048, as in the SD74; Intel's data sheet, first page, read at icpdf.com",
        ),
        ("endurance_cycles", SD74),
        ("read_us", SD74),
        ("program_us", SD74),
        ("erase_us", SD74),
        (
            "channel_mb_per_s",
            "derived: 25 ns per byte, the SD74's sequential reads; Intel's data sheet, first page, read at \
             icpdf.com",
        ),
        (
            "over_provisioning",
            "derived: 80 GiB of flash for 64 GB, assuming twenty packages of 4 GB as in the X25-M of 80 GB, \
             which has the same controller, at tomshardware.com (Intel's X25-M Solid State Drive Reviewed)",
        ),
        ("gc_watermark", "none: no source gives one"),
    ],
};
