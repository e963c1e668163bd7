//! Changed sizes of the map cache, for FTLs with the map in flash.

use super::resolved_stack::{ResolvedStack, size_text};
use super::{Change, Family, Setting};

pub(super) const FAMILY: Family = Family {
    name: "map_cache",
    help: "a cache of the FTL's map a quarter, four and sixteen times as large",
    changes,
};

/// Size of a cached mapping entry, in bytes.
pub(super) const ENTRY_BYTES: u64 = 8;

fn changes(stack: &ResolvedStack<'_>) -> Vec<Change> {
    let ftl = stack.tree.ftl();
    let Some(present) = stack.values(ftl)["structure"]["cache_entries"].as_u64() else {
        return Vec::new();
    };
    let pages = u64::from(stack.device.logical_pages);
    let others = [present / 4, present * 4, present * 16].into_iter().filter(|&entries| entries > 0);
    let change = |entries: u64| {
        let called = stack.display_name(ftl);
        let text = format!(
            "{called}: a map cache of {entries} entries ({}) instead of {present}",
            size_text(entries * ENTRY_BYTES)
        );
        Change::new(&FAMILY, text, vec![Setting::new("ftl.structure.cache_entries", entries)])
    };
    // The largest useful cache holds the entries of all pages.
    others.filter(|&entries| entries <= pages).map(change).collect()
}
