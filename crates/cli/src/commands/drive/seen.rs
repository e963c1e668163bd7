//! Text output for a drive's SMART counters.

use super::parts::{explained, flash, interval, range, rated, size};
use crate::report::table::{gigabytes, short, spare_space, years};
use crate::report::{count, grid};
use serde_json::json;
use wearwell_study::Row;
use wearwell_study::drive::{Effective, Field, Interval, Law, Life, Seen};

/// Returns the complete output.
pub fn table(found: &Field) -> String {
    let name = found.model.clone().unwrap_or_else(|| "drive".into());
    let serial = found.serial.as_ref().map_or_else(String::new, |serial| format!(", serial number {serial}"));
    let mut text = format!("{name}{serial}  (wearwell {})\n", env!("CARGO_PKG_VERSION"));
    let drive = drive(found);
    if !drive.is_empty() {
        text += &(grid(&[], drive, &[]) + "\n");
    }
    text += &(stretches(found) + "\n");
    if !found.life.is_empty() {
        text += "Left at the rate seen last:\n";
        text += &(life(&found.life) + "\n");
    }
    if !found.effective.is_empty() {
        text +=
            "The models, and the spare space with which each explains the write amplification seen last:\n";
        text += &(explained(&found.effective) + "\n");
    }
    text.extend(verdict(found).map(|verdict| verdict + "\n"));
    text.extend(found.notes.iter().map(|note| format!("note: {note}\n")));
    text
}

/// Smallest relative difference between measured and predicted write amplification that counts as a difference. The
/// prediction assumes random writes over the whole drive.
const APART: f64 = 0.02;

fn verdict(found: &Field) -> Option<String> {
    let seen = found.last().write_amplification.filter(|seen| seen.value > 1.0)?;
    let greedy = found.effective.iter().find(|one| one.law == Law::Greedy)?;
    let foretold = greedy.nominal_write_amplification;
    let unused = greedy.unused_share.map_or(0.0, |share| 100.0 * share.value);
    let theory = format!("{foretold:.2}");
    let spare = format!("{:.4}", found.effective_spare_factor?.value);
    Some(if foretold > seen.high * (1.0 + APART) {
        format!(
            "Random writes over the whole drive would give {theory}. It does better, as with a spare factor of {spare}: as if \
             {unused:.1} % of its capacity were unused (trimmed, or never written), or because its writes are kinder: \
             sequential, or of pages that die together."
        )
    } else if foretold * (1.0 + APART) < seen.low {
        format!(
            "Random writes over the whole drive would give {theory}. It does worse, as with a spare factor of {spare}: less of \
             its flash is spare than was taken for granted, or it writes for other reasons: small writes that fill up pages, \
             wear levelling, refreshing, tables of its own."
        )
    } else {
        format!("It behaves as under random writes over the whole drive, which give {theory}.")
    })
}

/// Returns the known properties of the drive, except its counters.
fn drive(found: &Field) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut row = |name: &str, value: String| rows.push(vec![name.to_owned(), value]);
    if let (Some(capacity), Some(raw), Some(spare)) =
        (found.capacity_bytes, found.raw_bytes, &found.spare_space)
    {
        row("Capacity", format!("{} ({} bytes)", gigabytes(capacity as f64 / 1e9), count(capacity)));
        row("Flash", flash(raw, found.raw_assumed.then_some("")));
        row("Spare space", spare_space(spare));
        if let (Some(found), Some(reserve)) = (&found.effective_spare_factor, &found.effective_reserve_bytes)
        {
            let reserves = [reserve.value, reserve.low, reserve.high].map(size);
            let [reserve, low, high] = reserves;
            let spare = range(found);
            row("  as it behaves", format!("spare factor {spare} · reserve {reserve} ({low} to {high})"));
        }
        if let Some(rating) = &found.rating {
            row("Rating", rated(rating, capacity));
        }
    }
    if let Some(cycles) = found.endurance_cycles {
        row("Endurance", format!("{} cycles", count(cycles.into())));
    }
    if let Some(used) = found.utilised_bytes {
        let share = found.capacity_bytes.zip(found.raw_bytes).map_or_else(String::new, |(capacity, raw)| {
            let percent = 100.0 * used as f64 / capacity as f64;
            let spare = 1.0 - used as f64 / raw as f64;
            format!(
                ", {percent:.1} % of the capacity; the rest counted as spare, the spare factor is {spare:.4}"
            )
        });
        row("In use", format!("{}{share}", size(used as f64)));
    }
    let bad = found.bad_blocks.map_or_else(String::new, |bad| format!("; {bad} bad blocks"));
    if let Some(spare) = found.available_spare {
        row("Spare blocks left", format!("{spare} %{bad}"));
    }
    rows
}

/// Returns a table of the observed periods, side by side.
fn stretches(found: &Field) -> String {
    let all: Vec<&Seen> = [&found.since_new].into_iter().chain(&found.between).collect();
    type Show = fn(&Seen) -> Option<String>;
    let lines: [(&str, Show); 8] = [
        ("Days", |seen| seen.days.map(|days| short(days.value))),
        ("  by", |seen| seen.days.map(|_| seen.days_from.to_owned())),
        ("Host wrote", |seen| Some(size(seen.host_bytes.value))),
        ("  a day", |seen| seen.gb_per_day.map(|rate| gigabytes(rate.value))),
        ("  drive writes a day", |seen| seen.dwpd.map(|dwpd| short(dwpd.value))),
        ("Flash took", |seen| seen.media_bytes.map(|bytes| size(bytes.value))),
        ("Write amplification", |seen| seen.write_amplification.as_ref().map(|ratio| interval(ratio, 1.0))),
        ("  by", |seen| seen.evidence.as_ref().map(|evidence| evidence.counters.clone())),
    ];
    let used: (&str, Show) =
        ("Life used", |seen| seen.percentage_used.map(|used| format!("{} % ± 1 %", used.value)));
    let lines =
        lines.into_iter().chain([used]).filter(|(_, show)| all.iter().any(|seen| show(seen).is_some()));
    let row = |(name, show): (&str, Show)| {
        let cells = all.iter().map(|seen| show(seen).unwrap_or_else(|| "–".into()));
        [name.to_owned()].into_iter().chain(cells).collect()
    };
    let head = ["", "since the drive was new", "between the reports"];
    grid(&head[..=all.len()], lines.map(row).collect(), &[])
}

fn life(lives: &[Life]) -> String {
    let line = |life: &Life| {
        let by = match life.by {
            "percentage_used" => "life used",
            "tbw" => "TBW",
            _ => "cycles of the flash",
        };
        let bound = |value: f64| if value.is_finite() { years(value) } else { "no bound".into() };
        let (left, range) = match &life.years {
            None => ("–".into(), "–".into()),
            Some(left) => (bound(left.value), format!("{} to {}", bound(left.low), bound(left.high))),
        };
        let bytes =
            if life.host_bytes.value.is_finite() { size(life.host_bytes.value) } else { "–".into() };
        vec![by.to_owned(), bytes, left, range]
    };
    grid(
        &["by", "host can write", "lasts", "by the counters' rounding"],
        lives.iter().map(line).collect(),
        &[1, 2],
    )
}

/// Returns one row for each model.
pub fn rows(found: &Field) -> Vec<Row> {
    let last = found.last();
    let bounds = |name: &str, figure: Option<Interval>| {
        let finite = |value: f64| json!(Some(value).filter(|value| value.is_finite()));
        let of = |part: fn(&Interval) -> f64| {
            figure.as_ref().map_or(serde_json::Value::Null, |figure| finite(part(figure)))
        };
        [
            (name.to_owned(), of(|figure| figure.value)),
            (format!("{name}_low"), of(|figure| figure.low)),
            (format!("{name}_high"), of(|figure| figure.high)),
        ]
    };
    let common: Row = [
        vec![("model".to_owned(), json!(found.model)), ("serial".to_owned(), json!(found.serial))],
        bounds("gb_per_day", last.gb_per_day).into(),
        bounds("write_amplification", last.write_amplification).into(),
    ]
    .concat();
    let lives: Row =
        found.life.iter().flat_map(|life| bounds(&format!("years_by_{}", life.by), life.years)).collect();
    let effective = |one: &Effective| {
        let law = [
            ("law".to_owned(), json!(one.law)),
            ("nominal_write_amplification".to_owned(), json!(one.nominal_write_amplification)),
        ];
        [&common[..], &lives[..], &law[..], &bounds("spare_factor", one.spare_factor)[..]].concat()
    };
    if found.effective.is_empty() {
        vec![[common, lives].concat()]
    } else {
        found.effective.iter().map(effective).collect()
    }
}
