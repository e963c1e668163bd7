//! RocksDB: `include/rocksdb/advanced_options.h`, `options.h` and `universal_compaction.h`; LevelDB has some of these
//! options.
//!
//! Three groups of options get no line:
//! - `max_write_buffer_number`, because the model does not flush concurrently with writes;
//! - compression, bloom filters and the block cache, because a record is a page and filters are exact;
//! - `max_background_jobs` and the write-stall triggers, because merges take no time.

use super::{OptionLine, Software};
use serde_json::Value;

pub(super) const SOFTWARE: Software = Software {
    name: "RocksDB",
    caveat: "RocksDB: a record is a page without compression; its universal style picks runs by size_ratio, the model those of one \
             level; max_write_buffer_number is not modelled.",
    matches: |layer| layer["structure"]["kind"] == "lsm",
    options,
};

const COLUMN_FAMILY: &str = "OPTIONS, [CFOptions \"default\"]";
const DATABASE: &str = "OPTIONS, [DBOptions]";

fn options(layer: &Value) -> Vec<OptionLine> {
    let structure = &layer["structure"];
    let bytes = |name: &str| structure[name].as_u64().unwrap_or(0);
    let entry =
        |key: &'static str, value: String| OptionLine::new(COLUMN_FAMILY, key, format!("{key}={value}"));
    let mut lines = vec![
        entry("write_buffer_size", bytes("memtable_size").to_string()),
        entry("target_file_size_base", bytes("table_size").to_string()),
    ];
    let compaction = &structure["compaction"];
    let number = |name: &str| compaction[name].as_u64().unwrap_or(0);
    match compaction["shape"].as_str() {
        Some("leveled") => {
            let (runs, dynamic) = (number("level0_runs"), compaction["sizes"] == "from_bottom");
            lines.extend([
                entry("compaction_style", "kCompactionStyleLevel".into()),
                entry("level0_file_num_compaction_trigger", runs.to_string()),
                entry("max_bytes_for_level_base", (runs * bytes("memtable_size")).to_string()),
                entry("max_bytes_for_level_multiplier", number("ratio").to_string()),
                entry("level_compaction_dynamic_level_bytes", dynamic.to_string()),
            ]);
        }
        Some("tiered") => {
            let runs = number("runs");
            lines.extend([
                entry("compaction_style", "kCompactionStyleUniversal".into()),
                entry(
                    "compaction_options_universal",
                    format!("{{min_merge_width={runs};max_merge_width={runs};}}"),
                ),
            ]);
        }
        _ => {}
    }
    let log = bytes("write_ahead_log");
    let ring = (log > 0)
        .then(|| OptionLine::new(DATABASE, "max_total_wal_size", format!("max_total_wal_size={log}")));
    lines.extend(ring);
    lines
}
