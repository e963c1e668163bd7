//! TRIM enabled or disabled, by segment or by page.

use super::situation::Situation;
use super::{Change, Family, Setting};
use serde_json::{Value, json};
use wearwell_stack::layers::{TrimConfig, TrimTable, TrimUnitKind};

pub(super) const FAMILY: Family =
    Family { name: "trim", help: "each log trims by segment, by page, or not at all", changes };

fn changes(situation: &Situation<'_>) -> Vec<Change> {
    situation.logs().flat_map(|log| of_log(situation, log)).collect()
}

fn of_log(situation: &Situation<'_>, log: usize) -> Vec<Change> {
    let page_bytes = situation.device.geometry.page_bytes;
    let Some(keys) = situation.log(log) else { return Vec::new() };
    let present = keys.segments.trim.unwrap_or(TrimConfig::Plain(true));
    let by_page = TrimConfig::Table(TrimTable { unit: TrimUnitKind::Page, ..TrimTable::default() });
    let choices: [(TrimConfig, Value, &str); 3] = [
        (TrimConfig::Plain(true), json!(true), "trims each cleaned segment at once"),
        (by_page, json!({"unit": "page"}), "trims each page as soon as it dies"),
        (TrimConfig::Plain(false), json!(false), "trims nothing"),
    ];
    let key = format!("{}.trim", situation.layer(log).key);
    choices
        .into_iter()
        .filter(|(choice, ..)| choice.rule(page_bytes) != present.rule(page_bytes))
        .map(|(_, value, what)| {
            let description = format!("{} {what}", situation.called(log));
            Change::new(&FAMILY, description, vec![Setting::new(key.clone(), value)])
        })
        .collect()
}
