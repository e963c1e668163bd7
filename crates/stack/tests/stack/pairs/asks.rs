//! Settings that request each feature in the scenarios of the pairs.

use wearwell_stack::layers::{FEATURES, LAYERS};
use wearwell_stack::{FTLS, structures};

/// Settings that request one feature.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// Name of the feature.
    pub name: &'static str,
    /// Variants of the request, in TOML; the first variant compatible with the other feature is used. `AT` stands for the
    /// layer: `ftl`, or `log` on it; `upper` is on top of both.
    pub ways: &'static [&'static str],
    /// Setting that the feature needs to have an effect, unless the other feature sets it otherwise.
    pub companion: &'static str,
}

const fn ask(name: &'static str, ways: &'static [&'static str]) -> Ask {
    Ask { name, ways, companion: "" }
}

const fn beside(name: &'static str, ways: &'static [&'static str], companion: &'static str) -> Ask {
    Ask { name, ways, companion }
}

const ORACLE: &str = "AT.placement.kind = 'oracle'";
const FUTURE: &str = "AT.placement.kind = 'future_knowledge'";
const FORESEEING: &str = "AT.victim.policy = 'foresight'";
const REFERENCES: &str = "ftl.placement.kind = 'references'";
const HINTS: &str = "AT.placement = { kind = 'host_hint', streams = 3 }";
const WEIGHING: &str = "AT.victim = { policy = 'completing', weight = 1.0 }";
const AT_END: &str = "power.at_end = true";
const CUTS: &str = "power.every = 700";
const INLINE: &str = "ftl.dedup.kind = 'inline'";
const CAGC: &str = "ftl.dedup.kind = 'cagc'";
const LOGGED: &str = "ftl.dedup = { kind = 'inline', map_log = true, map_log_page_records = 40 }";
const CAGC_LOGGED: &str = "ftl.dedup = { kind = 'cagc', map_log = true, map_log_page_records = 40 }";
const CAGC_VOLATILE: &str = "ftl.dedup = { kind = 'cagc', map_log = false }";
const UNVERIFIED: &str =
    "ftl.dedup = { kind = 'inline', map_log = true, map_log_page_records = 40, index.fingerprint_bits = 40 }";
const UNVERIFIED_CAGC: &str =
    "ftl.dedup = { kind = 'cagc', map_log = true, map_log_page_records = 40, index.fingerprint_bits = 40 }";
const CONTENT: &str = "content.dedup_ratio = 0.3";
const TIMES: &str =
    "timing = { read_us = 50.0, program_us = 200.0, erase_us = 1000.0, channel_mb_per_s = 400.0 }";
const F2FS: &str = "log.metadata = { preset = 'f2fs', checkpoint_every = '1 MiB' }";
const NILFS2: &str =
    "log.metadata = { preset = 'nilfs2', checkpoint_every = '1 MiB', partial_segment = '32 KiB' }";
const SUMMARIES: &str = "log.metadata = { summary_bytes_per_page = 7, summary = 'area' }";

/// Features that [`of_kind`] does not request.
const ASKS: &[Ask] = &[
    ask("in_place", &["AT.reclaim = 'in_place'"]),
    ask("free_pool", &["AT.reclaim = 'free_pool'"]),
    ask(
        "watermarks",
        &[
            "AT.free_blocks_low = 7\nAT.free_blocks_high = 8",
            "AT.free_blocks_low = 16",
            "AT.free_blocks_low = 2",
        ],
    ),
    beside(
        "deferral",
        &[
            "AT.free_blocks_deferred = 1",
            "AT.free_blocks_low = 16\nAT.free_blocks_deferred = 14",
            "AT.free_blocks_low = 2\nAT.free_blocks_deferred = 0",
        ],
        "OVER.structure.kind = 'log'",
    ),
    beside(
        "idle_cleaning",
        &["AT.free_blocks_idle = 12", "AT.free_blocks_idle = 17", "AT.free_blocks_idle = 3"],
        "timing = { read_us = 50.0, program_us = 200.0, erase_us = 1000.0, channel_mb_per_s = 400.0, \
         requests.requests_per_second = 500.0 }",
    ),
    ask("evict", &["AT.evict = true"]),
    ask("completing", &["AT.victim = { policy = 'completing', weight = 0.0 }", WEIGHING]),
    ask("weighing_below", &[WEIGHING]),
    ask("separate_streams", &["AT.placement.kind = 'double'", HINTS, ORACLE, FUTURE, REFERENCES]),
    ask("more_streams", &[HINTS, ORACLE, FUTURE, REFERENCES]),
    ask(
        "bitmap_in_ram",
        &[
            "ftl.structure.kind = 'dftl'",
            "ftl.structure.kind = 'lazyftl'",
            "ftl.structure = { kind = 'gecko', validity.kind = 'ram_bitmap' }",
            "ftl.structure = { kind = 'mu_ftl', validity.kind = 'ram_bitmap' }",
            "ftl.structure = { kind = 'ib_ftl', validity.kind = 'ram_bitmap' }",
        ],
    ),
    ask(
        "partial_counters",
        &[
            "ftl.structure = { kind = 'gecko', counters = 'none' }",
            "ftl.structure = { kind = 'mu_ftl', counters = 'sampled' }",
            "ftl.structure = { kind = 'ib_ftl', counters = 'none' }",
            "ftl.structure = { kind = 'dftl', counters = 'none' }",
            "ftl.structure = { kind = 'lazyftl', counters = 'none' }",
        ],
    ),
    ask("oracle", &[ORACLE]),
    ask("foresight", &[FUTURE, FORESEEING]),
    ask("foreseeing_victim", &[FORESEEING]),
    beside(
        "references",
        &[REFERENCES],
        "ftl.dedup = { kind = 'cagc', map_log = true, map_log_page_records = 40 }\ncontent.dedup_ratio = 0.3",
    ),
    beside(
        "block_directory",
        &["AT.directory = 'block'"],
        "AT.placement.kind = 'single'\nAT.reclaim = 'in_place'",
    ),
    ask("metadata", &[SUMMARIES, NILFS2, F2FS]),
    ask("metadata_in_log", &[F2FS, NILFS2]),
    ask("metadata_in_place", &[SUMMARIES, F2FS]),
    ask("no_trim", &["log.trim = false"]),
    ask("unaligned", &["log.align = false"]),
    ask("sharing", &["share.AT = 'tenant'", "share.AT = 'log'"]),
    ask("on_zones", &["ftl.structure.kind = 'zones'"]),
    ask("under_layer", &["OVER.structure.kind = 'log'", "OVER.structure.kind = 'pass_through'"]),
    ask("unheard", &["unheard = true"]),
    ask("tenant", &["tenant_below = true"]),
    ask("wear_levelling", &["ftl.wear = 'scan'"]),
    beside("dedup", &[INLINE, CAGC, LOGGED], CONTENT),
    beside("dedup_cleaning", &[CAGC, CAGC_LOGGED], CONTENT),
    ask("unshared", &["ftl.structure.kind = 'dftl'\nftl.dedup.kind = 'none'"]),
    beside("volatile_map", &["ftl.dedup = { kind = 'inline', map_log = false }", CAGC_VOLATILE], CONTENT),
    beside("unverified", &[UNVERIFIED, UNVERIFIED_CAGC], CONTENT),
    ask(
        "content",
        &[
            "holds_data = true",
            "ftl.dedup = { kind = 'inline', map_log = true, map_log_page_records = 40 }\ncontent.dedup_ratio = 0.3",
            "ftl.dedup = { kind = 'inline', map_log = false }\ncontent.dedup_ratio = 0.3",
            "ftl.dedup = { kind = 'cagc', map_log = true, map_log_page_records = 40 }\ncontent.dedup_ratio = 0.3",
        ],
    ),
    ask("held_data", &["holds_data = true"]),
    ask("timing", &[TIMES]),
    ask("power", &[AT_END, CUTS]),
    ask("power_at_end", &[AT_END]),
    ask("power_cuts", &[CUTS]),
    ask("wears_out", &["device = { wears_out = true, endurance_cycles = 100000 }"]),
    ask("program_failures", &["device.program_failure_rate = 1e-3"]),
    ask("read_disturb", &["device.read_disturb_limit = 3"]),
    ask("superblocks", &["device = { planes = 2, superblock_blocks = 2, blocks_per_plane = 160 }"]),
    ask("own_victim", &["ftl.victim.policy = 'own'"]),
    ask("own_placement", &["ftl.placement.kind = 'own'"]),
    ask("log", &["AT.structure.kind = 'log'"]),
    ask(
        "lsm",
        &[
            "upper.structure = { kind = 'lsm', memtable_size = '64 KiB', table_size = '64 KiB', write_ahead_log = '128 KiB' }",
            "log.structure = { kind = 'lsm', memtable_size = '64 KiB', table_size = '64 KiB', write_ahead_log = '128 KiB' }",
        ],
    ),
    ask(
        "silt",
        &[
            "upper.structure = { kind = 'silt', log_store_size = '64 KiB', hash_stores = 4, table_size = '64 KiB' }",
            "log.structure = { kind = 'silt', log_store_size = '64 KiB', hash_stores = 4, table_size = '64 KiB' }",
        ],
    ),
    ask(
        "objects",
        &[
            "upper.structure = { kind = 'objects', object_size = '64 KiB' }",
            "log.structure = { kind = 'objects', object_size = '64 KiB' }",
        ],
    ),
    ask(
        "zones",
        &["ftl.structure.kind = 'zones'", "ftl.structure.kind = 'zones'\nlog.structure.kind = 'log'"],
    ),
];

/// Returns the request of a kind of layer with default settings.
fn of_kind(name: &'static str) -> Ask {
    let places: &[&str] = match LAYERS.iter().any(|entry| entry.name == name) {
        true => &["upper", "log"],
        false => &["ftl"],
    };
    let ways = places.iter().map(|place| &*format!("{place}.structure.kind = '{name}'").leak());
    Ask { name, ways: ways.collect::<Vec<_>>().leak(), companion: "" }
}

/// Returns the requests of every feature: those listed, then the kinds of layers.
pub fn asks() -> Vec<Ask> {
    let listed = |name: &str| ASKS.iter().find(|ask| ask.name == name).copied();
    let feature = |name| {
        listed(name)
            .unwrap_or_else(|| panic!("{name} is a feature that no pair is made of; say how it is asked for"))
    };
    let features = FEATURES.iter().map(|entry| feature(entry.name()));
    features
        .chain(structures().map(|entry| listed(entry.name).unwrap_or_else(|| of_kind(entry.name))))
        .collect()
}

/// Returns the description of a feature in the documentation.
pub fn help(name: &str) -> String {
    if let Some(feature) = FEATURES.iter().find(|feature| feature.name() == name) {
        return feature.help().to_owned();
    }
    let places = [("FTL", FTLS), ("layer", LAYERS)];
    let places = places.iter().filter(|(_, kinds)| kinds.iter().any(|entry| entry.name == name));
    let places: Vec<_> = places.map(|(place, _)| *place).collect();
    format!(
        "`structure = \"{name}\"` of {}",
        places
            .iter()
            .map(|place| format!("{} {place}", if *place == "FTL" { "an" } else { "a" }))
            .collect::<Vec<_>>()
            .join(" or ")
    )
}
