//! Alternative file-system layouts: the number of active logs, and the frequency of checkpoints.

use super::resolved_stack::{ResolvedStack, size_text, size_value};
use super::{Change, Family, Setting};
use serde_json::{Value, json};
use wearwell_stack::layers::{LOG_LAYOUTS, MetadataConfig};

pub(super) const FAMILY: Family = Family {
    name: "layout",
    help: "other numbers of active logs, checkpoints less and more often, larger partial segments of each log with metadata",
    changes,
};

/// Layouts that differ only in their number of logs, each with a placement for the streams that remain for data.
const ACTIVE_LOGS: &[(&str, u32)] = &[("f2fs_2", 2), ("f2fs_4", 4), ("f2fs_6", 6)];

fn changes(stack: &ResolvedStack<'_>) -> Vec<Change> {
    stack.logs().flat_map(|log| of_log(stack, log)).collect()
}

fn of_log(stack: &ResolvedStack<'_>, log: usize) -> Vec<Change> {
    let Some(metadata) = stack.log(log).and_then(|keys| keys.segments.metadata.as_ref()) else {
        return Vec::new();
    };
    let key = format!("{}.metadata", stack.layer(log).key);
    let called = stack.display_name(log);
    let mut changes = Vec::new();
    if let Some((_, present)) = active_logs(metadata) {
        let others = ACTIVE_LOGS.iter().filter(|(_, logs)| *logs != present);
        changes.extend(others.map(|(preset, logs)| {
            let settings = vec![
                Setting::new(format!("{key}.preset"), *preset),
                Setting::new(format!("{}.placement", stack.layer(log).key), placement(*logs)),
            ];
            Change::new(&FAMILY, format!("{called}: {logs} active logs instead of {present}"), settings)
        }));
    }
    let sizes = [
        ("checkpoint_every", "a checkpoint every", &[0.25, 4.0, 16.0][..]),
        ("partial_segment", "partial segments of", &[0.25, 4.0]),
    ];
    for (name, what, factors) in sizes {
        let Some(present) = size_of(metadata, name) else { continue };
        let page = stack.page_bytes();
        let sizes = factors.iter().map(|factor| (present as f64 * factor) as u64 / page * page);
        changes.extend(sizes.filter(|&size| size >= page).map(|size| {
            let text = format!("{called}: {what} {} instead of {}", size_text(size), size_text(present));
            Change::new(&FAMILY, text, vec![Setting::new(format!("{key}.{name}"), size_value(size))])
        }));
    }
    changes
}

/// Returns the name of the layout and its number of active logs; `None` for metadata without such a layout.
pub(super) fn active_logs(metadata: &MetadataConfig) -> Option<(&'static str, u32)> {
    let name = metadata.preset.as_deref()?;
    ACTIVE_LOGS.iter().find(|(preset, _)| *preset == name).copied()
}

/// Returns the placement of F2FS data for `active_logs`: all data in one log; directories separate from files; or
/// short-lived data separate from other data, and moved data in a separate log.
fn placement(logs: u32) -> Value {
    match logs {
        2 => json!("single"),
        4 => json!({"kind": "host_hint", "streams": 2}),
        _ => json!({"kind": "host_hint", "streams": 2, "cleaned": "apart"}),
    }
}

/// Returns a size by its key, from the configuration or the preset.
pub(super) fn size_of(metadata: &MetadataConfig, name: &str) -> Option<u64> {
    let preset = metadata.preset.as_deref();
    let layout =
        LOG_LAYOUTS.iter().find(|layout| Some(layout.entry.name) == preset).map(|layout| &layout.settings);
    let of = |config: &MetadataConfig| match name {
        "checkpoint_every" => config.checkpoint_every,
        "partial_segment" => config.partial_segment,
        _ => None,
    };
    of(metadata).or_else(|| layout.and_then(of)).map(|size| size.0)
}
