//! Listings of available parts.

use pyo3::prelude::*;
use serde_json::{Value, json};
use wearwell_base::config::Entry;
use wearwell_engine::dedup::DEDUPS;
use wearwell_engine::nand::{PRESETS, Preset};
use wearwell_engine::placement::PLACEMENTS;
use wearwell_engine::validity::VALIDITIES;
use wearwell_engine::victim::VICTIMS;
use wearwell_stack::FTLS;
use wearwell_trace::{FORMATS, Format};
use wearwell_workload::WORKLOADS;

/// Returns victim policies, placements, workloads, trace formats, deduplication methods, FTLs, validity stores and
/// device presets as JSON.
#[pyfunction]
pub fn listing() -> String {
    let workloads = WORKLOADS.iter().map(|workload| {
        json!({
            "name": workload.name,
            "help": workload.help,
            "source": workload.source,
            "keys": workload.keys(),
        })
    });
    let listing = json!({
        "victims": VICTIMS.iter().map(entry).collect::<Value>(),
        "placements": PLACEMENTS.iter().map(entry).collect::<Value>(),
        "workloads": workloads.collect::<Value>(),
        "formats": FORMATS.iter().copied().map(format).collect::<Value>(),
        "dedups": DEDUPS.iter().map(entry).collect::<Value>(),
        "ftls": FTLS.iter().map(entry).collect::<Value>(),
        "validities": VALIDITIES.iter().map(entry).collect::<Value>(),
        "presets": PRESETS.iter().map(preset).collect::<Value>(),
    });
    listing.to_string()
}

fn entry(entry: &Entry) -> Value {
    json!({ "name": entry.name, "help": entry.help, "source": entry.source })
}

fn format(format: &Format) -> Value {
    let options = format.options.iter().map(|option| {
        json!({
            "name": option.name,
            "help": option.help,
            "choices": option.choices,
            "example": option.text.map(|text| text.example),
            "default": option.default,
        })
    });
    json!({
        "name": format.name,
        "help": format.help,
        "source": format.source,
        "columns": format.columns,
        "extensions": format.extensions,
        "time_step_ns": format.time_step_ns,
        "detected": format.detect.is_some(),
        "writable": format.write.is_some(),
        "options": options.collect::<Value>(),
    })
}

fn preset(preset: &Preset) -> Value {
    json!({
        "name": preset.entry.name,
        "help": preset.entry.help,
        "source": preset.entry.source,
        "cell": preset.cell,
        "channels": preset.channels,
        "ways": preset.ways,
        "dies": preset.dies,
        "planes": preset.planes,
        "pages_per_block": preset.pages_per_block,
        "page_bytes": preset.page_bytes,
        "spare_bytes": preset.spare_bytes,
        "endurance_cycles": preset.endurance_cycles,
        "read_us": preset.read_us,
        "program_us": preset.program_us,
        "erase_us": preset.erase_us,
        "channel_mb_per_s": preset.channel_mb_per_s,
        "over_provisioning": preset.over_provisioning,
        "gc_watermark": preset.gc_watermark,
        "product": preset.front_end().map(|front| front.product),
        "host_mb_per_s": preset.front_end().map(|front| front.host_mb_per_s),
        "controller_read_us": preset.front_end().map(|front| front.controller_read_us),
        "controller_write_us": preset.front_end().map(|front| front.controller_write_us),
    })
}
