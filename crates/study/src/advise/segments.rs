//! Alternative segment sizes, including the block size of the layer below.

use super::resolved_stack::{ResolvedStack, size_text, size_value};
use super::{Change, Family, Setting};

pub(super) const FAMILY: Family = Family {
    name: "segments",
    help: "segments of each log a quarter, half, twice, four times as large, or as large as a block below",
    changes,
};

fn changes(stack: &ResolvedStack<'_>) -> Vec<Change> {
    stack.logs().flat_map(|log| of_log(stack, log)).collect()
}

fn of_log(stack: &ResolvedStack<'_>, log: usize) -> Vec<Change> {
    let page = stack.page_bytes();
    let below = stack.below(log);
    let (present, matched) =
        (u64::from(stack.layer(log).block_pages) * page, u64::from(stack.layer(below).block_pages) * page);
    let mut sizes = vec![present / 4, present / 2, present.saturating_mul(2), present.saturating_mul(4)];
    if !sizes.contains(&matched) {
        sizes.push(matched);
    }
    sizes.retain(|&size| size != present && size >= page && size.is_multiple_of(page));
    let change = |size: u64| {
        let (new, old) = (size_text(size), size_text(present));
        let called = stack.display_name(log);
        let reason = match size == matched {
            true => format!(", as large as a block of {}", stack.display_name(below)),
            false => String::new(),
        };
        let key = format!("{}.segment_size", stack.layer(log).key);
        let description = format!("{called}: segments of {new} instead of {old}{reason}");
        Change::new(&FAMILY, description, vec![Setting::new(key, size_value(size))])
    };
    sizes.into_iter().map(change).collect()
}
