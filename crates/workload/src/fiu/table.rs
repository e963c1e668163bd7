//! Table of the traces: figures, and their sources.

use crate::content::ContentConfig;
use wearwell_base::config::Entry;

/// Figures of an FIU trace.
#[derive(Clone, Debug)]
pub struct FiuTrace {
    /// Name, help and source.
    pub entry: Entry,
    /// Share of writes among all requests.
    pub write_ratio: f64,
    /// Mean size of a request, KiB.
    pub mean_request_kib: f64,
    /// Request lengths, in pages of 4096 bytes, with their shares.
    pub request_pages: &'static [(u32, f64)],
    /// Share of the requests that go to hot pages.
    pub hot_writes: f64,
    /// Share of the space that is hot.
    pub hot_space: f64,
    /// Contents of written pages.
    pub content: ContentConfig,
    /// Sources of the figures, field by field.
    pub notes: &'static [(&'static str, &'static str)],
}

const CAGC: &str = "CAGC (Wu et al., IPDPS 2021), Table II; POD (Mao et al., IEEE Transactions on Computers 65(6), 2016, \
     Table 3) has the same pair of write ratio and request size";
const CAGC_MAIL: &str = "CAGC (Wu et al., IPDPS 2021), Table II; POD (Mao et al., IEEE Transactions on Computers 65(6), \
     2016, Table 3) gives the same pair of write ratio and request size to Web-vm";
const POD_WEB_VM: &str = "POD (Mao et al., IEEE Transactions on Computers 65(6), 2016, Table 3), where the row is called \
     Mail: POD and CAGC (Table II) give the rows for Web-vm and Mail to each other, and we follow CAGC";
const DEDUP: &str = "CAGC (Wu et al., IPDPS 2021), Table II";
const DEDUP_MAIL: &str = "CAGC (Wu et al., IPDPS 2021), Table II; its section II-B says 93 %";
const DEDUP_WEB_VM: &str =
    "assumed: 49.3 %; the row of CAGC (Wu et al., IPDPS 2021), Table II, was not legible in the copy read";
const LENGTHS: &str = "assumed: powers of two of 1 to 64 pages, each the same factor rarer than the one before, with the \
     published mean; KB taken as 1024 bytes; reads as long as writes";
const SKEW: &str = "assumed: 80 % of the requests to 20 % of the space; no figure is published";
const SAME_HOMES: &str = "so that of the overwritten pages as many get what they held, chance included, as in a sample of the \
     trace's first 1,000 lines: 17 %, 22 of 129";
const SAME_WEB_VM: &str = "assumed: half of the duplicates; in a sample of the trace's first 1,000 lines 69 % of the overwritten \
     pages, 59 of 86, got what they held, which is more than the deduplication ratio leaves room for where most writes \
     overwrite";
const SAME_MAIL: &str = "so that of the overwritten pages as many get what they held, chance included, as in a sample of 8,000 \
     lines of the trace's second day: 33 %, 61 of 183";
const PAIRS: &str = "assumed: 12 % of the new contents get a second copy, so that Figure 6 of CAGC holds: more than 80 % of \
     the invalid pages had one reference, fewer than 1 % three or more";
const POPULAR: &str = "assumed: few enough to have many references each, so that Figure 6 of CAGC holds";
const EXPONENT: &str = "assumed: Zipf's law as for accesses; no figure is published";
const LIFETIME: &str = "assumed: long, so that Figure 6 of CAGC holds";
const COLD: &str = "assumed: duplicates lie rather at cold addresses, as CAGC, section III-C, has it that pages with many \
     references live longer";

/// Defines the sources in the order of the fields; only those of the published figures differ between traces.
macro_rules! notes {
    ($mix:expr, $dedup:expr, $same:expr) => {
        &[
            ("write_ratio", $mix),
            ("mean_request_kib", $mix),
            ("request_pages", LENGTHS),
            ("hot_writes", SKEW),
            ("hot_space", SKEW),
            ("content.dedup_ratio", $dedup),
            ("content.same_content_ratio", $same),
            ("content.pair_ratio", PAIRS),
            ("content.popular_contents", POPULAR),
            ("content.exponent", EXPONENT),
            ("content.popular_lifetime", LIFETIME),
            ("content.cold_duplicates", COLD),
        ]
    };
}

/// All traces.
pub static FIU_TRACES: &[FiuTrace] = &[HOMES, WEB_VM, MAIL];

/// Returns the trace called `name`.
pub fn find(name: &str) -> Option<&'static FiuTrace> {
    FIU_TRACES.iter().find(|trace| trace.entry.name == name)
}

const HOMES: FiuTrace = FiuTrace {
    entry: Entry { name: "homes", help: "a file server's home directories", source: DEDUP },
    write_ratio: 0.805,
    mean_request_kib: 13.1,
    request_pages: &[
        (1, 0.5210),
        (2, 0.2512),
        (4, 0.1211),
        (8, 0.0583),
        (16, 0.0282),
        (32, 0.0136),
        (64, 0.0066),
    ],
    hot_writes: 0.8,
    hot_space: 0.2,
    content: ContentConfig {
        preset: None,
        dedup_ratio: 0.300,
        same_content_ratio: 0.17,
        pair_ratio: 0.084,
        popular_contents: 0.005,
        cold_duplicates: 0.5,
        exponent: 1.0,
        popular_lifetime: 20.0,
    },
    notes: notes!(CAGC, DEDUP, SAME_HOMES),
};

const WEB_VM: FiuTrace = FiuTrace {
    entry: Entry { name: "web_vm", help: "a virtual machine with two web servers", source: DEDUP },
    write_ratio: 0.785,
    mean_request_kib: 40.8,
    request_pages: &[
        (1, 0.2677),
        (2, 0.2085),
        (4, 0.1624),
        (8, 0.1265),
        (16, 0.0985),
        (32, 0.0767),
        (64, 0.0597),
    ],
    hot_writes: 0.8,
    hot_space: 0.2,
    content: ContentConfig {
        preset: None,
        dedup_ratio: 0.493,
        same_content_ratio: 0.25,
        pair_ratio: 0.061,
        popular_contents: 0.005,
        cold_duplicates: 0.5,
        exponent: 1.0,
        popular_lifetime: 20.0,
    },
    notes: notes!(POD_WEB_VM, DEDUP_WEB_VM, SAME_WEB_VM),
};

const MAIL: FiuTrace = FiuTrace {
    entry: Entry { name: "mail", help: "a mail server", source: DEDUP },
    write_ratio: 0.698,
    mean_request_kib: 14.8,
    request_pages: &[
        (1, 0.4928),
        (2, 0.2522),
        (4, 0.1290),
        (8, 0.0660),
        (16, 0.0338),
        (32, 0.0173),
        (64, 0.0089),
    ],
    hot_writes: 0.8,
    hot_space: 0.2,
    content: ContentConfig {
        preset: None,
        dedup_ratio: 0.893,
        same_content_ratio: 0.31,
        pair_ratio: 0.013,
        popular_contents: 0.005,
        cold_duplicates: 0.5,
        exponent: 1.0,
        popular_lifetime: 20.0,
    },
    notes: notes!(CAGC_MAIL, DEDUP_MAIL, SAME_MAIL),
};
