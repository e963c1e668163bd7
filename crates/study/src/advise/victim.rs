//! Alternative victim policies.

use super::resolved_stack::ResolvedStack;
use super::{Change, Family, Setting};
use serde_json::{Value, json};

pub(super) const FAMILY: Family =
    Family { name: "victim", help: "each layer cleans by greedy, d_choices or cost_benefit", changes };

/// Number of blocks above which cost_benefit examines only a sample; examining all blocks takes too long.
const MAX_SEARCHED_BLOCKS: u64 = 2048;
/// Number of blocks in a sample.
const SAMPLE_BLOCKS: u32 = 128;

fn changes(stack: &ResolvedStack<'_>) -> Vec<Change> {
    stack.layers().flat_map(|at| of_layer(stack, at)).collect()
}

fn of_layer(stack: &ResolvedStack<'_>, at: usize) -> Vec<Change> {
    let node = stack.layer(at);
    let cost_benefit = match node.physical_pages / u64::from(node.block_pages) {
        ..=MAX_SEARCHED_BLOCKS => json!("cost_benefit"),
        _ => json!({"policy": "cost_benefit", "sample": SAMPLE_BLOCKS}),
    };
    let choices: [(&str, Value); 3] =
        [("greedy", json!("greedy")), ("d_choices", json!("d_choices")), ("cost_benefit", cost_benefit)];
    let Some(store) = stack.store(at) else { return Vec::new() };
    let present = store.victim.entry().name;
    choices
        .into_iter()
        .filter(|(name, _)| *name != present)
        .map(|(name, value)| {
            let description = format!("{}: cleans by {name} instead of {present}", stack.display_name(at));
            Change::new(&FAMILY, description, vec![Setting::new(format!("{}.victim", node.key), value)])
        })
        .collect()
}
