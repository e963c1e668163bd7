//! Table of the devices.

use super::{Preset, x25_e::X25_E};
use crate::config::Entry;

const AGRAWAL: &str = "Agrawal et al., USENIX ATC 2008, Table 1 (Samsung K9XXG08UXM), read in a copy at \
     collagefactory.blogspot.com/2009/03/design-tradeoffs-for-ssd-performance.html";
const AGRAWAL_BUSES: &str = "derived: Flash chip elements = 8 and Elements per gang = 1, each package on a \
     separate bus, in ssdmodel/valid/ssd-postmark.parv of the authors' DiskSim extension, read in \
     tcyfree/disksim-4, commit 19b4005a";
const MQSIM: &str = "MQSim (Tavakkol et al., FAST 2018), ssdconfig.xml of CMU-SAFARI/MQSim, commit 0d76b1d3";
const ISSCC_96L: &str = "ISSCC 2018, Toshiba and Western Digital 512 Gb, 96 layers, read in AnandTech's table \
     of 19 February 2021 (2021 NAND Flash Updates from ISSCC)";
const ISSCC_QLC: &str = "ISSCC 2018, A 1Tb 4b/cell 64-stacked-WL 3D NAND Flash Memory with 12MB/s Program \
     Throughput; only its abstract was read";
const FEMU: &str = "FEMU, hw/femu/nand/nand.h of MoatLab/FEMU, commit 19b55004";
const ZN540: &str = "assumed: the controller of NVMeVirt's WD_ZN540 model (ssd_config.h of snu-csl/nvmevirt, \
     commit 00793767), a TLC drive; the ISSCC parts are bare dies";
const CAGC: &str = "CAGC (Wu et al., IPDPS 2021), Table I";
const FLASHSIM: &str = "assumed: ssd.conf of MatiasBjorling/flashsim, commit 0122c41f, on which CAGC was \
     built; the CAGC paper gives no value";
const Z_SSD: &str = "assumed: 32 dies on 8 channels give the rates of a Z-SSD; FlashSim, on which CAGC was \
     built, has 2 dies on one channel";
const QVO: &str = "derived: 16 dies of 1 Tbit for 2048 GB, Samsung's 860 QVO of 2 TB (gamingpc2020.blogspot.com, March 2020)";
const CM6: &str = "assumed: 18, as in Kioxia's CM6 (heise.de, February 2020), a drive of the same maker and \
     time as the FL6";
const XL_FLASH_PRESS: &str = "Tom's Hardware, 3 August 2022 (Kioxia Launches 2nd Gen XL-Flash): the first \
     XL-FLASH is SLC with 16 planes per device";
const XL_FLASH_NEWS: &str = "elektroniknet.de, article 168047 on Toshiba's announcement of XL-FLASH: packages of 2, 4 or 8 dies, \
     pages of 4 KB, reads below 5 us";
const GECKO: &str = "GeckoFTL (Dayan, Bonnet and Idreos, SIGMOD 2016), Figure 2 and section 5";
const GECKO_COUNTS: &str =
    "assumed: 1; GeckoFTL counts operations and does not describe the organisation of the flash";
const NVMFS: &str = "NVMFS (Qiu and Reddy), section IV-C";
const NVMFS_COUNTS: &str =
    "assumed: 1; NVMFS counts erases and does not describe the organisation of the flash";
const NVMFS_TIME: &str = "assumed: as in the preset slc, because the drive measured by NVMFS (Intel X25-E) is SLC; the \
     simulated flash of NVMFS has no times";

/// All presets.
pub static PRESETS: &[Preset] = &[SLC, MLC, TLC, QLC, Z_NAND, XL_FLASH, X25_E, GECKO_2TB, NVMFS_24GB];

const SLC: Preset = Preset {
    entry: Entry {
        name: "slc",
        help: "SLC chips of 2008 with 4 KiB pages, in an eight-channel drive",
        source: "Agrawal et al., USENIX ATC 2008",
    },
    cell: "SLC",
    channels: 8,
    ways: 1,
    dies: 2,
    planes: 4,
    pages_per_block: 64,
    page_bytes: 4_096,
    spare_bytes: 128,
    endurance_cycles: 100_000,
    read_us: 25.0,
    program_us: 200.0,
    erase_us: 1_500.0,
    channel_mb_per_s: 40.96,
    over_provisioning: 0.15 / 0.85,
    gc_watermark: Some(0.05),
    notes: &[
        ("cell", AGRAWAL),
        ("channels", AGRAWAL_BUSES),
        ("ways", AGRAWAL_BUSES),
        (
            "dies",
            "Agrawal et al., USENIX ATC 2008, section 2 (4 GB package of two dies), read in the notes of a \
             reader (github.com/eudaemonic-one/Lifelong-Learning, folder \
             Storage-Systems/cmu-18746/readings); Table 1 allows 1, 2 or 4",
        ),
        ("planes", AGRAWAL),
        (
            "pages_per_block",
            "derived: 256 KiB blocks of 4 KiB pages, Agrawal et al., USENIX ATC 2008, Table 1",
        ),
        ("page_bytes", AGRAWAL),
        (
            "spare_bytes",
            "Agrawal et al., USENIX ATC 2008, section 2, read in the notes of a reader \
             (github.com/eudaemonic-one/Lifelong-Learning, folder Storage-Systems/cmu-18746/readings)",
        ),
        ("endurance_cycles", AGRAWAL),
        ("read_us", AGRAWAL),
        ("program_us", AGRAWAL),
        ("erase_us", AGRAWAL),
        (
            "channel_mb_per_s",
            "derived: 100 us of serial access for a page of 4096 bytes, Agrawal et al., USENIX ATC \
             2008, Table 1",
        ),
        (
            "over_provisioning",
            "derived: Reserve pages percentage = 15, that is 0.15 / 0.85 here, in ssdmodel/valid/ssd-postmark.parv of the \
             authors' DiskSim extension, read in tcyfree/disksim-4, commit 19b4005a",
        ),
        (
            "gc_watermark",
            "Minimum free blocks percentage = 5 in ssdmodel/valid/ssd-postmark.parv of the authors' DiskSim extension, read in \
             tcyfree/disksim-4, commit 19b4005a",
        ),
    ],
};

const MLC: Preset = Preset {
    entry: Entry {
        name: "mlc",
        help: "MQSim's default MLC device, with the program time of its source code",
        source: "MQSim, FAST 2018",
    },
    cell: "MLC",
    channels: 8,
    ways: 4,
    dies: 2,
    planes: 2,
    pages_per_block: 256,
    page_bytes: 8_192,
    spare_bytes: 448,
    endurance_cycles: 10_000,
    read_us: 75.0,
    program_us: 750.0,
    erase_us: 3_800.0,
    channel_mb_per_s: 333.0,
    over_provisioning: 0.07 / 0.93,
    gc_watermark: Some(0.05),
    notes: &[
        ("cell", MQSIM),
        ("channels", MQSIM),
        ("ways", MQSIM),
        ("dies", MQSIM),
        ("planes", MQSIM),
        ("pages_per_block", MQSIM),
        ("page_bytes", MQSIM),
        ("spare_bytes", MQSIM),
        ("endurance_cycles", MQSIM),
        ("read_us", MQSIM),
        (
            "program_us",
            "MQSim, src/exec/Flash_Parameter_Set.cpp of CMU-SAFARI/MQSim, commit 2b6904b7 (750000 ns for \
             LSB and MSB pages); ssdconfig.xml has 75000 ns, which is also its read time",
        ),
        ("erase_us", MQSIM),
        (
            "channel_mb_per_s",
            "derived: 333 MT/s on a bus 1 byte wide, MQSim, ssdconfig.xml of CMU-SAFARI/MQSim, commit \
             0d76b1d3",
        ),
        (
            "over_provisioning",
            "derived: Overprovisioning_Ratio 0.07 of the whole flash, that is 0.07 / 0.93 here, \
             MQSim, ssdconfig.xml and the comment in Device_Parameter_Set.cpp, commit 0d76b1d3",
        ),
        (
            "gc_watermark",
            "MQSim, GC_Exec_Threshold in ssdconfig.xml, commit 0d76b1d3 (a ratio of free pages)",
        ),
    ],
};

const TLC: Preset = Preset {
    entry: Entry {
        name: "tlc",
        help: "3D TLC of 96 layers with 16 KiB pages and 18 MiB blocks",
        source: "Toshiba and Western Digital, ISSCC 2018",
    },
    cell: "TLC",
    channels: 8,
    ways: 4,
    dies: 1,
    planes: 2,
    pages_per_block: 1_152,
    page_bytes: 16_384,
    spare_bytes: 1_872,
    endurance_cycles: 3_000,
    read_us: 58.0,
    program_us: 574.9,
    erase_us: 3_000.0,
    channel_mb_per_s: 533.0,
    over_provisioning: 0.07,
    gc_watermark: None,
    notes: &[
        ("cell", ISSCC_96L),
        ("channels", ZN540),
        ("ways", ZN540),
        ("dies", ZN540),
        ("planes", ISSCC_96L),
        (
            "pages_per_block",
            "derived: erase block of 18 MB in AnandTech's ISSCC table of 19 February 2021, taken as MiB, in \
             16 KiB pages; the result equals 96 word lines of 4 strings of 3 bits",
        ),
        (
            "page_bytes",
            "assumed: 16 KiB, because a block of 18 MiB then has 96 layers of 4 strings of 3 pages",
        ),
        (
            "spare_bytes",
            "assumed: that of a 16 KiB page of Micron MT29F128G08CBECB (16384 + 1872 bytes, MLC; data \
             sheet read at vdocuments.pub); no sheet of this die was found",
        ),
        (
            "endurance_cycles",
            "assumed: 3000, the order of magnitude commonly quoted for 3D TLC; no maker's figure was found",
        ),
        ("read_us", ISSCC_96L),
        (
            "program_us",
            "derived: 57 MB/s per die for two planes of 16384 bytes, AnandTech's ISSCC table of 19 February \
             2021; a word line of three pages takes 1725 us",
        ),
        (
            "erase_us",
            "assumed: TLC_BLOCK_ERASE_LATENCY_NS of FEMU, hw/femu/nand/nand.h of MoatLab/FEMU, commit \
             19b55004, an older part; the ISSCC table has no erase time",
        ),
        (
            "channel_mb_per_s",
            "derived: 533 Mb/s per pin on a bus of 8 pins, AnandTech's ISSCC table of 19 February 2021",
        ),
        (
            "over_provisioning",
            "assumed: 7 %, as in NVMeVirt's model of the Samsung 970 Pro (OP_AREA_PERCENT in ssd_config.h)",
        ),
        ("gc_watermark", "none: no source gives one"),
    ],
};

const QLC: Preset = Preset {
    entry: Entry {
        name: "qlc",
        help: "3D QLC of 64 layers with 16 KiB pages and 16 MiB blocks",
        source: "Samsung, ISSCC 2018, abstract",
    },
    cell: "QLC",
    channels: 8,
    ways: 2,
    dies: 1,
    planes: 2,
    pages_per_block: 1_024,
    page_bytes: 16_384,
    spare_bytes: 1_872,
    endurance_cycles: 1_000,
    read_us: 121.7,
    program_us: 2_730.7,
    erase_us: 3_000.0,
    channel_mb_per_s: 533.0,
    over_provisioning: 0.07,
    gc_watermark: None,
    notes: &[
        ("cell", ISSCC_QLC),
        ("channels", ZN540),
        ("ways", QVO),
        ("dies", QVO),
        (
            "planes",
            "techreport.com/news/33672: QLC dies of Intel and Micron have four planes, those of their \
             competitors two",
        ),
        (
            "pages_per_block",
            "assumed: 64 word lines of 4 strings of 4 bits; 64 and 4 bits are in the title of the \
             ISSCC 2018 paper, the 4 strings are as in the preset tlc",
        ),
        (
            "page_bytes",
            "assumed: 16 KiB, the page of the QLC measured in FEMU, hw/femu/nand/nand.h of \
             MoatLab/FEMU, commit 19b55004",
        ),
        (
            "spare_bytes",
            "assumed: that of a 16 KiB page of Micron MT29F128G08CBECB (16384 + 1872 bytes, MLC; data \
             sheet read at vdocuments.pub); no sheet of this die was found",
        ),
        (
            "endurance_cycles",
            "assumed: 1000; ssrc.us/proj/QLC.html (2019) expected little over 100, so vary it",
        ),
        (
            "read_us",
            "FEMU, hw/femu/nand/nand.h of MoatLab/FEMU, commit 19b55004: mean of four kinds of page, \
             measured by its authors on a die they do not name (47.9, 76.2, 134.6 and 228.1 us)",
        ),
        ("program_us", "derived: 12 MB/s (ISSCC 2018 abstract) for two planes of 16384 bytes"),
        ("erase_us", FEMU),
        ("channel_mb_per_s", "assumed: as in the preset tlc, a die of the same year"),
        ("over_provisioning", "assumed: 7 %, as in the preset tlc"),
        ("gc_watermark", "none: no source gives one"),
    ],
};

const Z_NAND: Preset = Preset {
    entry: Entry {
        name: "z_nand",
        help: "The ultra-low-latency drive of the CAGC paper: 4 KiB pages, 256 KiB blocks",
        source: "CAGC, IPDPS 2021, Table I",
    },
    cell: "SLC",
    channels: 8,
    ways: 4,
    dies: 1,
    planes: 2,
    pages_per_block: 64,
    page_bytes: 4_096,
    spare_bytes: 128,
    endurance_cycles: 100_000,
    read_us: 12.0,
    program_us: 16.0,
    erase_us: 1_500.0,
    channel_mb_per_s: 800.0,
    over_provisioning: 0.07,
    gc_watermark: Some(0.2),
    notes: &[
        (
            "cell",
            "AnandTech, 19 February 2019 (The Samsung 983 ZET (Z-NAND) SSD Review): single-level cells; CAGC does not name \
             the cell",
        ),
        ("channels", Z_SSD),
        ("ways", Z_SSD),
        ("dies", Z_SSD),
        ("planes", FLASHSIM),
        ("pages_per_block", "derived: 256 KB blocks of 4 KB pages, CAGC (Wu et al., IPDPS 2021), Table I"),
        ("page_bytes", CAGC),
        (
            "spare_bytes",
            "assumed: a 32nd of the page, as in the preset slc; CAGC does not use the spare area",
        ),
        ("endurance_cycles", FLASHSIM),
        ("read_us", CAGC),
        ("program_us", CAGC),
        (
            "erase_us",
            "assumed: 1500 us, as in the preset slc. The copy of CAGC's Table I that was read lacks the number before \
             'us'; the text of the paper says that erases take milliseconds",
        ),
        (
            "channel_mb_per_s",
            "assumed: the channel of NVMeVirt's Samsung 970 Pro (NAND_CHANNEL_BANDWIDTH in \
             ssd_config.h, commit 00793767); the 12 and 16 us of CAGC may already contain the \
             transfer",
        ),
        (
            "over_provisioning",
            "CAGC (Wu et al., IPDPS 2021), Table I: OP Space 7 %, taken as (T - U) / U, which the \
             paper does not define",
        ),
        (
            "gc_watermark",
            "CAGC (Wu et al., IPDPS 2021), Table I: GC Watermark 20 %; with 7 % spare space, a full drive \
             is always below this watermark",
        ),
    ],
};

const XL_FLASH: Preset = Preset {
    entry: Entry {
        name: "xl_flash",
        help: "Low-latency SLC of 16 planes with 4 KiB pages, the first XL-FLASH",
        source: "Toshiba (now Kioxia), Flash Memory Summit 2019",
    },
    cell: "SLC",
    channels: 18,
    ways: 1,
    dies: 4,
    planes: 16,
    pages_per_block: 192,
    page_bytes: 4_096,
    spare_bytes: 256,
    endurance_cycles: 100_000,
    read_us: 5.0,
    program_us: 75.0,
    erase_us: 1_500.0,
    channel_mb_per_s: 1_200.0,
    over_provisioning: 0.07,
    gc_watermark: None,
    notes: &[
        ("cell", XL_FLASH_PRESS),
        ("channels", CM6),
        ("ways", "assumed: 1, because the announcements describe single dies"),
        ("dies", XL_FLASH_NEWS),
        ("planes", XL_FLASH_PRESS),
        ("pages_per_block", "assumed: 192, two pages for each of 96 layers; no source gives the block size"),
        ("page_bytes", XL_FLASH_NEWS),
        ("spare_bytes", "assumed: a sixteenth of the page; no source gives it"),
        ("endurance_cycles", "assumed: as in the preset slc; no source gives it"),
        ("read_us", XL_FLASH_NEWS),
        ("program_us", "assumed: 75 us, between z_nand and slc; no source gives the program time"),
        ("erase_us", "assumed: as in the preset slc; no source gives it"),
        ("channel_mb_per_s", "assumed: 1200 MT/s on a bus 1 byte wide, the fastest rate at that time"),
        ("over_provisioning", "assumed: as in the preset tlc"),
        ("gc_watermark", "none: no source gives one"),
    ],
};

const GECKO_2TB: Preset = Preset {
    entry: Entry {
        name: "gecko",
        help: "The default device of the GeckoFTL paper; 2 TiB there, that is 2^22 blocks of 128 pages",
        source: "GeckoFTL, SIGMOD 2016, Figure 2",
    },
    cell: "MLC",
    channels: 1,
    ways: 1,
    dies: 1,
    planes: 1,
    pages_per_block: 128,
    page_bytes: 4_096,
    spare_bytes: 128,
    endurance_cycles: 3_000,
    read_us: 100.0,
    program_us: 1_000.0,
    erase_us: 3_000.0,
    channel_mb_per_s: 333.0,
    over_provisioning: 0.3 / 0.7,
    gc_watermark: None,
    notes: &[
        (
            "cell",
            "assumed: MLC, from page writes of 1 ms and a lifetime of a few thousand erases; GeckoFTL does \
             not name the cell",
        ),
        ("channels", GECKO_COUNTS),
        ("ways", GECKO_COUNTS),
        ("dies", GECKO_COUNTS),
        ("planes", GECKO_COUNTS),
        ("pages_per_block", GECKO),
        ("page_bytes", GECKO),
        ("spare_bytes", "derived: typically a 32nd of the page, GeckoFTL, section 2"),
        (
            "endurance_cycles",
            "assumed: 3000 for the 'at most a few thousands of erases' of GeckoFTL's appendix on wear \
             levelling",
        ),
        ("read_us", "GeckoFTL, section 2, footnote 4, and section 5"),
        ("program_us", "GeckoFTL, section 2, footnote 5, and section 5 (delta = 10)"),
        (
            "erase_us",
            "assumed: 3 ms, MLC_BLOCK_ERASE_LATENCY_NS of FEMU (Micron L95B), hw/femu/nand/nand.h of \
             MoatLab/FEMU, commit 19b55004; GeckoFTL gives no erase time",
        ),
        (
            "channel_mb_per_s",
            "assumed: as in the preset mlc; the 100 us and 1 ms of GeckoFTL may already contain the transfer",
        ),
        (
            "over_provisioning",
            "derived: R = 0.7 is logical over physical capacity, that is 0.3 / 0.7 here, GeckoFTL, \
             Figure 2",
        ),
        ("gc_watermark", "none: GeckoFTL gives none"),
    ],
};

const NVMFS_24GB: Preset = Preset {
    entry: Entry {
        name: "nvmfs",
        help: "The flash simulated in the NVMFS paper; 24 GB there",
        source: "NVMFS (Qiu and Reddy), section IV-C",
    },
    cell: "SLC",
    channels: 1,
    ways: 1,
    dies: 1,
    planes: 1,
    pages_per_block: 64,
    page_bytes: 4_096,
    spare_bytes: 128,
    endurance_cycles: 100_000,
    read_us: 25.0,
    program_us: 200.0,
    erase_us: 1_500.0,
    channel_mb_per_s: 40.96,
    over_provisioning: 0.1,
    gc_watermark: None,
    notes: &[
        ("cell", "assumed: SLC, as in the Intel X25-E that NVMFS measured (xbitlabs.com)"),
        ("channels", NVMFS_COUNTS),
        ("ways", NVMFS_COUNTS),
        ("dies", NVMFS_COUNTS),
        ("planes", NVMFS_COUNTS),
        ("pages_per_block", "derived: 256 KB blocks of 4 KB pages, NVMFS, section IV-C"),
        ("page_bytes", NVMFS),
        ("spare_bytes", "assumed: as in the preset slc"),
        ("endurance_cycles", NVMFS_TIME),
        ("read_us", NVMFS_TIME),
        ("program_us", NVMFS_TIME),
        ("erase_us", NVMFS_TIME),
        ("channel_mb_per_s", NVMFS_TIME),
        (
            "over_provisioning",
            "NVMFS, section IV-C: 10 % over-provisioned, taken as (T - U) / U, which the paper does \
             not define",
        ),
        ("gc_watermark", "none: NVMFS gives none"),
    ],
};
