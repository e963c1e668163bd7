//! Settings that request each feature in the scenarios of the pairs.

use wearwell_stack::layers::{FEATURES, LAYERS};
use wearwell_stack::{FTLS, structures};

/// Settings that request one feature.
#[derive(Clone, Copy, Debug)]
pub struct FeatureRequest {
    /// Name of the feature.
    pub name: &'static str,
    /// Variants of the request, in TOML; the first variant compatible with the other feature is used. `AT` stands for
    /// the layer: `ftl`, or `log` on it; `upper` is on top of both.
    pub variants: &'static [&'static str],
    /// Setting that the feature needs to have an effect, unless the other feature sets it otherwise.
    pub companion: &'static str,
}

const fn request(name: &'static str, variants: &'static [&'static str]) -> FeatureRequest {
    FeatureRequest { name, variants, companion: "" }
}

const fn request_with(
    name: &'static str,
    variants: &'static [&'static str],
    companion: &'static str,
) -> FeatureRequest {
    FeatureRequest { name, variants, companion }
}

const ORACLE: &str = "AT.placement.kind = 'oracle'";
const FUTURE_KNOWLEDGE: &str = "AT.placement.kind = 'future_knowledge'";
const FORESIGHT: &str = "AT.victim.policy = 'foresight'";
const REFERENCES: &str = "ftl.placement.kind = 'references'";
const HINTS: &str = "AT.placement = { kind = 'host_hint', streams = 3 }";
const COMPLETING: &str = "AT.victim = { policy = 'completing', weight = 1.0 }";
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
const REQUESTS: &[FeatureRequest] = &[
    request("in_place", &["AT.reclaim = 'in_place'"]),
    request("free_pool", &["AT.reclaim = 'free_pool'"]),
    request(
        "watermarks",
        &[
            "AT.free_blocks_low = 7\nAT.free_blocks_high = 8",
            "AT.free_blocks_low = 16",
            "AT.free_blocks_low = 2",
        ],
    ),
    request_with(
        "deferral",
        &[
            "AT.free_blocks_deferred = 1",
            "AT.free_blocks_low = 16\nAT.free_blocks_deferred = 14",
            "AT.free_blocks_low = 2\nAT.free_blocks_deferred = 0",
        ],
        "OVER.structure.kind = 'log'",
    ),
    request_with(
        "idle_cleaning",
        &["AT.free_blocks_idle = 12", "AT.free_blocks_idle = 17", "AT.free_blocks_idle = 3"],
        "timing = { read_us = 50.0, program_us = 200.0, erase_us = 1000.0, channel_mb_per_s = 400.0, \
         requests.requests_per_second = 500.0 }",
    ),
    request("evict", &["AT.evict = true"]),
    request("completing", &["AT.victim = { policy = 'completing', weight = 0.0 }", COMPLETING]),
    request("weighing_below", &[COMPLETING]),
    request(
        "separate_streams",
        &["AT.placement.kind = 'double'", HINTS, ORACLE, FUTURE_KNOWLEDGE, REFERENCES],
    ),
    request("more_streams", &[HINTS, ORACLE, FUTURE_KNOWLEDGE, REFERENCES]),
    request(
        "bitmap_in_ram",
        &[
            "ftl.structure.kind = 'dftl'",
            "ftl.structure.kind = 'lazyftl'",
            "ftl.structure = { kind = 'gecko', validity.kind = 'ram_bitmap' }",
            "ftl.structure = { kind = 'mu_ftl', validity.kind = 'ram_bitmap' }",
            "ftl.structure = { kind = 'ib_ftl', validity.kind = 'ram_bitmap' }",
        ],
    ),
    request(
        "partial_counters",
        &[
            "ftl.structure = { kind = 'gecko', counters = 'none' }",
            "ftl.structure = { kind = 'mu_ftl', counters = 'sampled' }",
            "ftl.structure = { kind = 'ib_ftl', counters = 'none' }",
            "ftl.structure = { kind = 'dftl', counters = 'none' }",
            "ftl.structure = { kind = 'lazyftl', counters = 'none' }",
        ],
    ),
    request("oracle", &[ORACLE]),
    request("foresight", &[FUTURE_KNOWLEDGE, FORESIGHT]),
    request("foreseeing_victim", &[FORESIGHT]),
    request_with(
        "references",
        &[REFERENCES],
        "ftl.dedup = { kind = 'cagc', map_log = true, map_log_page_records = 40 }\ncontent.dedup_ratio = 0.3",
    ),
    request_with(
        "block_directory",
        &["AT.directory = 'block'"],
        "AT.placement.kind = 'single'\nAT.reclaim = 'in_place'",
    ),
    request("metadata", &[SUMMARIES, NILFS2, F2FS]),
    request("metadata_in_log", &[F2FS, NILFS2]),
    request("metadata_in_place", &[SUMMARIES, F2FS]),
    request("no_trim", &["log.trim = false"]),
    request("unaligned", &["log.align = false"]),
    request("sharing", &["share.AT = 'tenant'", "share.AT = 'log'"]),
    request("on_zones", &["ftl.structure.kind = 'zones'"]),
    request("under_layer", &["OVER.structure.kind = 'log'", "OVER.structure.kind = 'pass_through'"]),
    request("unheard", &["unheard = true"]),
    request("tenant", &["tenant_below = true"]),
    request("wear_levelling", &["ftl.wear = 'scan'"]),
    request_with("dedup", &[INLINE, CAGC, LOGGED], CONTENT),
    request_with("dedup_cleaning", &[CAGC, CAGC_LOGGED], CONTENT),
    request("unshared", &["ftl.structure.kind = 'dftl'\nftl.dedup.kind = 'none'"]),
    request_with(
        "volatile_map",
        &["ftl.dedup = { kind = 'inline', map_log = false }", CAGC_VOLATILE],
        CONTENT,
    ),
    request_with("unverified", &[UNVERIFIED, UNVERIFIED_CAGC], CONTENT),
    request(
        "content",
        &[
            "holds_data = true",
            "ftl.dedup = { kind = 'inline', map_log = true, map_log_page_records = 40 }\ncontent.dedup_ratio = 0.3",
            "ftl.dedup = { kind = 'inline', map_log = false }\ncontent.dedup_ratio = 0.3",
            "ftl.dedup = { kind = 'cagc', map_log = true, map_log_page_records = 40 }\ncontent.dedup_ratio = 0.3",
        ],
    ),
    request("held_data", &["holds_data = true"]),
    request("timing", &[TIMES]),
    request("power", &[AT_END, CUTS]),
    request("power_at_end", &[AT_END]),
    request("power_cuts", &[CUTS]),
    request("wears_out", &["device = { wears_out = true, endurance_cycles = 100000 }"]),
    request("program_failures", &["device.program_failure_rate = 1e-3"]),
    request("read_disturb", &["device.read_disturb_limit = 3"]),
    request("superblocks", &["device = { planes = 2, superblock_blocks = 2, blocks_per_plane = 160 }"]),
    request("own_victim", &["ftl.victim.policy = 'own'"]),
    request("own_placement", &["ftl.placement.kind = 'own'"]),
    request("log", &["AT.structure.kind = 'log'"]),
    request(
        "lsm",
        &[
            "upper.structure = { kind = 'lsm', memtable_size = '64 KiB', table_size = '64 KiB', write_ahead_log = '128 KiB' }",
            "log.structure = { kind = 'lsm', memtable_size = '64 KiB', table_size = '64 KiB', write_ahead_log = '128 KiB' }",
        ],
    ),
    request(
        "silt",
        &[
            "upper.structure = { kind = 'silt', log_store_size = '64 KiB', hash_stores = 4, table_size = '64 KiB' }",
            "log.structure = { kind = 'silt', log_store_size = '64 KiB', hash_stores = 4, table_size = '64 KiB' }",
        ],
    ),
    request(
        "objects",
        &[
            "upper.structure = { kind = 'objects', object_size = '64 KiB' }",
            "log.structure = { kind = 'objects', object_size = '64 KiB' }",
        ],
    ),
    request(
        "zones",
        &["ftl.structure.kind = 'zones'", "ftl.structure.kind = 'zones'\nlog.structure.kind = 'log'"],
    ),
];

/// Returns the request of a kind of layer with default settings.
fn of_kind(name: &'static str) -> FeatureRequest {
    let places: &[&str] = match LAYERS.iter().any(|entry| entry.name == name) {
        true => &["upper", "log"],
        false => &["ftl"],
    };
    let ways = places.iter().map(|place| &*format!("{place}.structure.kind = '{name}'").leak());
    FeatureRequest { name, variants: ways.collect::<Vec<_>>().leak(), companion: "" }
}

/// Returns the requests of every feature: those in `REQUESTS`, then those of the kinds of layers.
pub fn requests() -> Vec<FeatureRequest> {
    let listed = |name: &str| REQUESTS.iter().find(|ask| ask.name == name).copied();
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
    let bases = [("FTL", FTLS), ("layer", LAYERS)];
    let bases = bases.iter().filter(|(_, kinds)| kinds.iter().any(|entry| entry.name == name));
    let bases: Vec<_> = bases.map(|(place, _)| *place).collect();
    format!(
        "`structure = \"{name}\"` of {}",
        bases
            .iter()
            .map(|place| format!("{} {place}", if *place == "FTL" { "an" } else { "a" }))
            .collect::<Vec<_>>()
            .join(" or ")
    )
}
