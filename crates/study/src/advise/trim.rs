//! TRIM enabled or disabled, by segment or by page.

use super::resolved_stack::ResolvedStack;
use super::{Change, Family, Setting};
use serde_json::{Value, json};
use wearwell_stack::layers::{TrimConfig, TrimTable, TrimUnitKind};

pub(super) const FAMILY: Family =
    Family { name: "trim", help: "each log trims by segment, by page, or not at all", changes };

fn changes(stack: &ResolvedStack<'_>) -> Vec<Change> {
    stack.logs().flat_map(|log| of_log(stack, log)).collect()
}

fn of_log(stack: &ResolvedStack<'_>, log: usize) -> Vec<Change> {
    let page_bytes = stack.device.geometry.page_bytes;
    let Some(keys) = stack.log(log) else { return Vec::new() };
    let present = keys.segments.trim.unwrap_or(TrimConfig::Plain(true));
    let by_page = TrimConfig::Table(TrimTable { unit: TrimUnitKind::Page, ..TrimTable::default() });
    let choices: [(TrimConfig, Value, &str); 3] = [
        (TrimConfig::Plain(true), json!(true), "trims each cleaned segment at once"),
        (by_page, json!({"unit": "page"}), "trims each page as soon as it dies"),
        (TrimConfig::Plain(false), json!(false), "trims nothing"),
    ];
    let key = format!("{}.trim", stack.layer(log).key);
    choices
        .into_iter()
        .filter(|(choice, ..)| choice.rule(page_bytes) != present.rule(page_bytes))
        .map(|(_, value, what)| {
            let description = format!("{} {what}", stack.display_name(log));
            Change::new(&FAMILY, description, vec![Setting::new(key.clone(), value)])
        })
        .collect()
}
