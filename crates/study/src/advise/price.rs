//! Costs of a change other than wear, as far as the model knows them.

use super::layout;
use super::map_cache::ENTRY_BYTES;
use serde::Serialize;
use serde_json::Value;
use wearwell_stack::layers::MetadataConfig;
use wearwell_stack::scenario::Scenario;
use wearwell_stack::{ByteSize, RunResult};

/// Resource that a stack uses.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// Layer that uses the resource.
    pub layer: String,
    /// Name of the resource.
    pub resource: &'static str,
    /// Unit: `bytes`, `runs` or `pages`.
    pub unit: &'static str,
    /// Amount, in `unit`.
    pub amount: u64,
}

/// Cost that differs after a change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Price {
    /// Layer with the cost; unset for the whole stack.
    pub layer: Option<String>,
    /// Name of the resource.
    pub resource: &'static str,
    /// Unit: `bytes`, `runs` or `pages`.
    pub unit: &'static str,
    /// Amount without the change.
    pub before: u64,
    /// Amount with the change.
    pub after: u64,
}

/// Name of the resource for the pages visible to all tenants together.
pub const CAPACITY: &str = "capacity";

/// Returns the costs of the stack of `scenario`; `result` supplies the numbers of levels.
pub(super) fn costs(scenario: &Scenario, result: &RunResult) -> Vec<Cost> {
    let values = serde_json::to_value(scenario).expect("plain data");
    let logs = values["log"].as_array().cloned().unwrap_or_default();
    let layers = logs.iter().chain([&values["ftl"]]).zip(&result.layers);
    let of_layer = |(values, layer): (&Value, &wearwell_stack::LayerResult)| {
        let structure = &values["structure"];
        let costs = match structure["kind"].as_str() {
            Some("lsm") => of_tree(structure, layer.lsm.as_ref().map_or(0, |tree| tree.levels.len() as u64)),
            _ if structure["cache_entries"].is_u64() => {
                let entries = structure["cache_entries"].as_u64().unwrap_or(0);
                vec![("map cache in RAM", "bytes", entries * ENTRY_BYTES)]
            }
            _ => of_log(&values["metadata"]),
        };
        let cost = |(what, unit, amount): (&'static str, &'static str, u64)| Cost {
            layer: layer.name.clone(),
            resource: what,
            unit,
            amount,
        };
        costs.into_iter().map(cost).collect::<Vec<_>>()
    };
    layers.flat_map(of_layer).collect()
}

/// Returns the costs of a merge tree. Sorted runs are read by scans, and by point reads that filters do not exclude.
fn of_tree(structure: &Value, levels: u64) -> Vec<(&'static str, &'static str, u64)> {
    let bytes = |name: &str| structure[name].as_u64().unwrap_or(0);
    let compaction = &structure["compaction"];
    let number = |name: &str| compaction[name].as_u64().unwrap_or(1);
    let runs = match compaction["shape"].as_str() {
        Some("leveled") => number("level0_runs") - 1 + levels.saturating_sub(1),
        Some("tiered") => (number("runs") - 1) * levels,
        _ => 0,
    };
    let replayed = bytes("memtable_size").min(bytes("write_ahead_log"));
    let costs = [
        ("memtable in RAM", "bytes", bytes("memtable_size")),
        ("log to replay", "bytes", replayed),
        ("sorted runs", "runs", runs),
    ];
    costs.into_iter().filter(|(_, _, amount)| *amount > 0).collect()
}

/// Returns the costs of a log. Recovery starts from a checkpoint.
fn of_log(metadata: &Value) -> Vec<(&'static str, &'static str, u64)> {
    let metadata = serde_json::from_value::<MetadataConfig>(metadata.clone()).ok();
    let every = metadata.and_then(|metadata| layout::size_of(&metadata, "checkpoint_every"));
    every.map(|bytes| ("written since a checkpoint", "bytes", bytes)).into_iter().collect()
}

/// Returns the differences from `before` to `after`, capacity first.
pub(super) fn prices(before: (&[Cost], u64), after: (&[Cost], u64)) -> Vec<Price> {
    let capacity = (before.1 != after.1).then_some(Price {
        layer: None,
        resource: CAPACITY,
        unit: "pages",
        before: before.1,
        after: after.1,
    });
    let amount = |costs: &[Cost], of: &Cost| {
        let counterpart = costs.iter().find(|cost| cost.layer == of.layer && cost.resource == of.resource);
        counterpart.map_or(0, |cost| cost.amount)
    };
    let removed = before.0.iter().filter(|cost| amount(after.0, cost) == 0);
    let changed = after.0.iter().chain(removed).map(|cost| Price {
        layer: Some(cost.layer.clone()),
        resource: cost.resource,
        unit: cost.unit,
        before: amount(before.0, cost),
        after: amount(after.0, cost),
    });
    capacity.into_iter().chain(changed.filter(|price| price.before != price.after)).collect()
}

impl Price {
    /// Returns the price in words.
    pub fn text(&self) -> String {
        let (before, after) = (self.before, self.after);
        let what = self.resource;
        match self.unit {
            "pages" => format!("{what} {:+.2} %", (after as f64 / before as f64 - 1.0) * 100.0),
            "bytes" => format!("{what} {} → {}", size(before), size(after)),
            _ => format!("{what} {before} → {after}"),
        }
    }
}

fn size(bytes: u64) -> String {
    ByteSize(bytes).to_string()
}
