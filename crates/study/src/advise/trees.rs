//! Capacity of merge trees whose settings change.
//!
//! A tree reserves as much space for its merges as it may need in the worst case, and other sizes need more or less.
//! Its spare factor is adjusted so that stacks of equal capacity are compared.

use super::Setting;
use super::resolved_stack::{ResolvedStack, fewest_digits};
use serde_json::json;
use wearwell_stack::{Draft, DraftError};

/// Returns the pages that each merge tree provides, in the order of the scenario.
pub(super) fn provided_pages(stack: &ResolvedStack<'_>) -> Vec<u32> {
    stack.trees().map(|at| stack.layer(at).logical_pages).collect()
}

/// True if one of `keys` belongs to the structure of a merge tree.
pub(super) fn touches_tree<'a>(stack: &ResolvedStack<'_>, mut keys: impl Iterator<Item = &'a str>) -> bool {
    let structures: Vec<String> =
        stack.trees().map(|at| format!("{}.structure", stack.layer(at).key)).collect();
    keys.any(|key| structures.iter().any(|structure| key.starts_with(structure)))
}

/// Returns the number of streams that a merge tree hints at: stream 0, its log, and one per level.
pub(super) fn streams(stack: &ResolvedStack<'_>, at: usize) -> Option<u8> {
    let structure = &stack.trees().find(|&tree| tree == at).map(|at| stack.values(at))?["structure"];
    let compaction = &structure["compaction"];
    let number = |name: &str| compaction[name].as_u64().unwrap_or(1).max(1);
    let memtable = structure["memtable_size"].as_u64().unwrap_or(1).max(1);
    let all = u64::from(stack.layer(at).logical_pages) * stack.page_bytes();
    // Tracks the largest run or level, the number of levels up to it, and the size ratio of successive levels.
    let (mut size, mut levels, ratio) = match compaction["shape"].as_str() {
        Some("leveled") => (number("level0_runs").saturating_mul(memtable), 2, number("ratio")),
        Some("tiered") => (memtable.saturating_mul(number("runs")), 1, number("runs")),
        _ => (all, 2, 2),
    };
    while size < all && ratio > 1 {
        size = size.saturating_mul(ratio);
        levels += 1;
    }
    u8::try_from(levels + 2).ok()
}

/// Returns settings with which each tree of `draft`, in order, provides as many pages as in `target_pages`, or as many
/// as possible if that is fewer. Trees that deviate by at most the fraction `tolerance` are left unchanged.
pub(super) fn capacity_settings(
    draft: &Draft,
    target_pages: &[u32],
    tolerance: f64,
) -> Result<Vec<Setting>, DraftError> {
    let mut draft = draft.clone();
    let mut settings = Vec::new();
    for (number, &pages) in target_pages.iter().enumerate() {
        let is_near = |provided: u32| {
            (f64::from(provided) / f64::from(pages) - 1.0).abs() <= tolerance || provided == pages
        };
        let is_kept = ResolvedStack::of(&draft)
            .map(|now| provided_pages(&now).get(number).is_none_or(|&now| is_near(now)));
        if let Ok(true) = is_kept {
            continue;
        }
        if let Some(setting) = resize_setting(&draft, number, pages)? {
            setting.apply(&mut draft)?;
            settings.push(setting);
        }
    }
    Ok(settings)
}

/// Returns the spare factor with which a tree provides `pages` pages, or as many as possible.
fn resize_setting(draft: &Draft, number: usize, pages: u32) -> Result<Option<Setting>, DraftError> {
    let mut unset = draft.clone();
    let keys: Vec<String> = keys(draft)?;
    let Some(key) = keys.get(number) else { return Ok(None) };
    let is_set = unset.get(key).is_some();
    if is_set {
        unset.unset(key)?;
    }
    let largest = ResolvedStack::of(&unset)?;
    let at = largest.trees().nth(number).expect("trees stay trees");
    let (node, least) = (largest.layer(at), largest.values(at)["spare_factor"].clone());
    if node.logical_pages < pages {
        return Ok(is_set.then(|| Setting::new(key.clone(), least)));
    }
    let physical = node.physical_pages as f64;
    let provides_pages = |spare: f64| (physical * (1.0 - spare)).floor() as u32 == pages;
    // Takes the middle of the factors that give this number of pages, because the number of pages is rounded down.
    let spare = fewest_digits(1.0 - (f64::from(pages) + 0.5) / physical, provides_pages);
    Ok(Some(Setting::new(key.clone(), json!(spare.max(least.as_f64().unwrap_or(0.0))))))
}

/// Returns the key of each tree's spare factor, even if the draft cannot be resolved.
fn keys(draft: &Draft) -> Result<Vec<String>, DraftError> {
    let scenario = serde_json::to_value(draft.scenario()?).expect("plain data");
    let logs = scenario["log"].as_array().cloned().unwrap_or_default();
    let trees = logs.iter().enumerate().filter(|(_, values)| super::resolved_stack::is_tree(values));
    Ok(trees.map(|(at, _)| format!("log[{at}].spare_factor")).collect())
}
