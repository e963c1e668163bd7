//! Alternative placements, including one stream for each stream of the log above.

use super::resolved_stack::ResolvedStack;
use super::trees;
use super::{Change, Family, Setting};
use serde_json::{Value, json};
use wearwell_base::config::StoreSize;
use wearwell_base::foresight::Foresight;
use wearwell_base::seed::Seed;
use wearwell_engine::placement::{Placement, PlacementContext};
use wearwell_stack::layers::ReclaimKind;

pub(super) const FAMILY: Family = Family {
    name: "streams",
    help: "each layer places by single, double, bloom, age_classes, promotion, learnt_lifetimes or age_chain, or by the streams of the log above",
    changes,
};

/// Placements that do not support in-place reclaim.
const NEEDS_FREE_POOL: &[&str] =
    &["bloom", "age_classes", "promotion", "learnt_lifetimes", "age_chain", "host_hint"];

fn changes(stack: &ResolvedStack<'_>) -> Vec<Change> {
    stack.layers().flat_map(|at| of_layer(stack, at)).collect()
}

fn of_layer(stack: &ResolvedStack<'_>, at: usize) -> Vec<Change> {
    let without_settings =
        ["single", "double", "bloom", "age_classes", "promotion", "learnt_lifetimes", "age_chain"];
    let mut choices: Vec<(&str, Value, String)> =
        without_settings.iter().map(|name| (*name, json!(name), String::new())).collect();
    // Several logs may use the same stream numbers; the largest number of streams of any log suffices.
    if let Some(streams) = stack.logs_on(at).iter().map(|&log| streams_of(stack, log)).max() {
        let value = json!({"kind": "host_hint", "streams": streams});
        choices.push(("host_hint", value, format!(" with {streams} streams, those of the log above")));
    }
    let node = stack.layer(at);
    let Some(config) = stack.store(at) else { return Vec::new() };
    let present = config.placement.entry().name;
    choices
        .into_iter()
        .filter(|(name, ..)| *name != present)
        .map(|(name, value, detail)| {
            let mut settings = vec![Setting::new(format!("{}.placement", node.key), value)];
            if config.reclaim == ReclaimKind::InPlace && NEEDS_FREE_POOL.contains(&name) {
                settings.push(Setting::new(format!("{}.reclaim", node.key), "free_pool"));
            }
            if name == "age_chain" {
                // The placement keeps its group sizes only with this victim policy.
                settings.push(Setting::new(format!("{}.victim", node.key), "stream_queues"));
            }
            let called = stack.display_name(at);
            let description = format!("{called}: places by {name} instead of {present}{detail}");
            Change::new(&FAMILY, description, settings)
        })
        .collect()
}

/// Returns the number of streams that a log or a merge tree writes; 2, as for blind separation, if it depends on the
/// workload.
pub(super) fn streams_of(stack: &ResolvedStack<'_>, log: usize) -> u8 {
    let node = stack.layer(log);
    let size = StoreSize {
        blocks: u32::try_from(node.physical_pages / u64::from(node.block_pages)).unwrap_or(u32::MAX),
        pages_per_block: node.block_pages,
        logical_pages: node.logical_pages,
        seed: Seed(stack.scenario.seed),
    };
    let context = PlacementContext { size: &size, temperature: None, foresight: Some(Foresight::none()) };
    let placement = stack.store(log).and_then(|store| store.placement.build_boxed(context).ok());
    let placed = placement.map(|placement| placement.streams());
    placed.or_else(|| trees::streams(stack, log)).unwrap_or(2)
}
