//! Warnings about policies that equal another policy in a stack.

use crate::layers::{BAST, FAST, Feature};
use crate::scenario::resolve::ResolvedScenario;

/// Returns a warning for each policy of the stack that is accepted and has no effect of its own.
pub(super) fn warnings(resolved: &ResolvedScenario) -> Vec<String> {
    let ResolvedScenario { ftl, tree, .. } = resolved;
    let mut warnings = Vec::new();
    if let Some(warning) = ftl.equal_victim.filter(|_| !ftl.features.has(Feature::OwnVictim)) {
        warnings.push(format!("ftl: {warning}"));
    }
    if ftl.features.has(Feature::WeighingBelow) {
        let warning = "ftl: `completing` weighs what would be left in a layer below, and below is flash: it is `d_choices` here";
        warnings.push(warning.into());
    }
    let has_block_map = ftl.features.has(FAST) || ftl.features.has(BAST);
    for (plan, layer) in resolved.layers.iter().zip(&tree.layers) {
        let is_on_ftl = layer.below.as_ref().is_some_and(|below| below.layer_index == tree.ftl());
        let has_whole_blocks = plan.block_pages.is_multiple_of(ftl.block_pages)
            && !plan.features.has(Feature::Unaligned)
            && !plan.features.has(Feature::Metadata);
        if has_block_map && is_on_ftl && has_whole_blocks && plan.features.has(Feature::WeighingBelow) {
            warnings.push(format!(
                "{}: `completing` weighs what would be left in blocks below, and an FTL with a map of blocks leaves nothing of segments \
                 that are whole blocks: it is `d_choices` here",
                layer.name
            ));
        }
    }
    warnings
}
