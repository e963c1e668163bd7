//! Check that the machine has enough memory for a stack.

use crate::layers::Feature;
use crate::scenario::resolve::ResolvedScenario;
use crate::size::ByteSize;
use wearwell_base::config::ConfigError;
use wearwell_base::foresight::Foresight;
use wearwell_base::memory::available_bytes;

/// Refuses a stack whose tables do not fit into memory; otherwise the allocation would abort the program.
pub(crate) fn check(resolved: &ResolvedScenario) -> Result<(), ConfigError> {
    let needed_bytes = needed_bytes(resolved);
    match available_bytes() {
        Some(there) if needed_bytes > there => Err(ConfigError::new(
            "device",
            format!(
                "simulating {} logical pages takes {} of memory, there are {}; use a smaller drive or a \
                 larger `mapping_unit`",
                resolved.device.logical_pages,
                ByteSize(needed_bytes),
                ByteSize(there)
            ),
        )),
        _ => Ok(()),
    }
}

/// Returns the bytes that the tables of all layers take.
fn needed_bytes(resolved: &ResolvedScenario) -> u64 {
    let ResolvedScenario { device, ftl, layers, power, .. } = resolved;
    let features = layers.iter().map(|plan| &plan.features).chain([&ftl.features]);
    // Bytes of the map of logical pages, and of the owners and validity bits of physical pages if the directory keeps
    // them.
    let tables: u64 = resolved
        .tree
        .layers
        .iter()
        .zip(features)
        .map(|(layer, features)| {
            let owners = if features.has(Feature::BlockDirectory) { 0 } else { layer.physical_pages };
            4 * u64::from(layer.logical_pages) + 4 * owners + owners / 8
        })
        .sum();
    let layer_bytes: u64 = layers.iter().map(|plan| plan.memory_bytes).sum::<u64>() + ftl.memory_bytes;
    let (logical, pages) = (u64::from(device.logical_pages), device.geometry.pages());
    // Bytes of spare-area records; with power cuts in the middle of the work, also of stamps and of the known state of
    // each page.
    let dedup_bytes = if ftl.features.has(Feature::Dedup) { 48 * pages } else { 0 };
    let power_cut_bytes = if power.has_cuts() { 17 * pages + 48 * logical + dedup_bytes } else { 0 };
    let foreknowledge = resolved.foreknowledge();
    let foresight_bytes =
        foreknowledge.map_or(0, |ahead| Foresight::memory_bytes(ahead.pages, ahead.horizon));
    foresight_bytes
        .saturating_add(tables + 12 * u64::from(device.geometry.blocks()) + layer_bytes + power_cut_bytes)
}
