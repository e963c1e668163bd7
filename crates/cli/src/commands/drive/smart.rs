//! Text output for a drive's SMART counters.

use super::parts::{effective_table, flash, interval, range, rated, size};
use crate::report::table::{gigabytes, short, spare_space, years};
use crate::report::{count, grid};
use serde_json::json;
use wearwell_study::Row;
use wearwell_study::drive::{
    DriveModel, EffectiveSpace, FieldEvaluation, Interval, RemainingLife, UsagePeriod,
};

/// Returns the complete output.
pub fn table(evaluation: &FieldEvaluation) -> String {
    let name = evaluation.model.clone().unwrap_or_else(|| "drive".into());
    let serial =
        evaluation.serial.as_ref().map_or_else(String::new, |serial| format!(", serial number {serial}"));
    let mut text = format!("{name}{serial}  (wearwell {})\n", env!("CARGO_PKG_VERSION"));
    let drive = drive(evaluation);
    if !drive.is_empty() {
        text += &(grid(&[], drive, &[]) + "\n");
    }
    text += &(periods(evaluation) + "\n");
    if !evaluation.life.is_empty() {
        text += "Left at the rate seen last:\n";
        text += &(remaining_life(&evaluation.life) + "\n");
    }
    if !evaluation.effective.is_empty() {
        text +=
            "The models, and the spare space with which each explains the write amplification seen last:\n";
        text += &(effective_table(&evaluation.effective) + "\n");
    }
    text.extend(verdict(evaluation).map(|verdict| verdict + "\n"));
    text.extend(evaluation.notes.iter().map(|note| format!("note: {note}\n")));
    text
}

/// Smallest relative difference between measured and predicted write amplification that counts as a difference. The
/// prediction assumes random writes over the whole drive.
const MIN_DIFFERENCE: f64 = 0.02;

fn verdict(evaluation: &FieldEvaluation) -> Option<String> {
    let measured = evaluation.latest_period().write_amplification.filter(|ratio| ratio.value > 1.0)?;
    let greedy = evaluation.effective.iter().find(|one| one.model == DriveModel::Greedy)?;
    let predicted = greedy.nominal_write_amplification;
    let unused = greedy.unused_share.map_or(0.0, |share| 100.0 * share.value);
    let theory = format!("{predicted:.2}");
    let spare = format!("{:.4}", evaluation.effective_spare_factor?.value);
    Some(if predicted > measured.high * (1.0 + MIN_DIFFERENCE) {
        format!(
            "Random writes over the whole drive would give {theory}. It does better, as with a spare factor of {spare}: as if \
             {unused:.1} % of its capacity were unused (trimmed, or never written), or because its writes are kinder: \
             sequential, or of pages that die together."
        )
    } else if predicted * (1.0 + MIN_DIFFERENCE) < measured.low {
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
fn drive(evaluation: &FieldEvaluation) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut row = |name: &str, value: String| rows.push(vec![name.to_owned(), value]);
    if let (Some(capacity), Some(raw), Some(spare)) =
        (evaluation.capacity_bytes, evaluation.raw_bytes, &evaluation.spare_space)
    {
        row("Capacity", format!("{} ({} bytes)", gigabytes(capacity as f64 / 1e9), count(capacity)));
        row("Flash", flash(raw, evaluation.raw_assumed.then_some("")));
        row("Spare space", spare_space(spare));
        if let (Some(found), Some(reserve)) =
            (&evaluation.effective_spare_factor, &evaluation.effective_reserve_bytes)
        {
            let reserves = [reserve.value, reserve.low, reserve.high].map(size);
            let [reserve, low, high] = reserves;
            let spare = range(found);
            row("  as it behaves", format!("spare factor {spare} · reserve {reserve} ({low} to {high})"));
        }
        if let Some(rating) = &evaluation.rating {
            row("Rating", rated(rating, capacity));
        }
    }
    if let Some(cycles) = evaluation.endurance_cycles {
        row("Endurance", format!("{} cycles", count(cycles.into())));
    }
    if let Some(used) = evaluation.utilised_bytes {
        let share = evaluation.capacity_bytes.zip(evaluation.raw_bytes).map_or_else(String::new, |(capacity, raw)| {
            let percent = 100.0 * used as f64 / capacity as f64;
            let spare = 1.0 - used as f64 / raw as f64;
            format!(
                ", {percent:.1} % of the capacity; the rest counted as spare, the spare factor is {spare:.4}"
            )
        });
        row("In use", format!("{}{share}", size(used as f64)));
    }
    let bad = evaluation.bad_blocks.map_or_else(String::new, |bad| format!("; {bad} bad blocks"));
    if let Some(spare) = evaluation.available_spare {
        row("Spare blocks left", format!("{spare} %{bad}"));
    }
    rows
}

/// Returns a table of the observed periods, side by side.
fn periods(evaluation: &FieldEvaluation) -> String {
    let all: Vec<&UsagePeriod> = [&evaluation.since_new].into_iter().chain(&evaluation.between).collect();
    type CellFormat = fn(&UsagePeriod) -> Option<String>;
    let lines: [(&str, CellFormat); 8] = [
        ("Days", |period| period.days.map(|days| short(days.value))),
        ("  by", |period| period.days.map(|_| period.days_from.to_owned())),
        ("Host wrote", |period| Some(size(period.host_bytes.value))),
        ("  a day", |period| period.gb_per_day.map(|rate| gigabytes(rate.value))),
        ("  drive writes a day", |period| period.dwpd.map(|dwpd| short(dwpd.value))),
        ("Flash took", |period| period.media_bytes.map(|bytes| size(bytes.value))),
        ("Write amplification", |period| {
            period.write_amplification.as_ref().map(|ratio| interval(ratio, 1.0))
        }),
        ("  by", |period| period.evidence.as_ref().map(|evidence| evidence.counters.clone())),
    ];
    let used: (&str, CellFormat) =
        ("Life used", |period| period.percentage_used.map(|used| format!("{} % ± 1 %", used.value)));
    let lines = lines
        .into_iter()
        .chain([used])
        .filter(|(_, formatter)| all.iter().any(|period| formatter(period).is_some()));
    let row = |(name, formatter): (&str, CellFormat)| {
        let cells = all.iter().map(|period| formatter(period).unwrap_or_else(|| "–".into()));
        [name.to_owned()].into_iter().chain(cells).collect()
    };
    let head = ["", "since the drive was new", "between the reports"];
    grid(&head[..=all.len()], lines.map(row).collect(), &[])
}

fn remaining_life(lives: &[RemainingLife]) -> String {
    let line = |life: &RemainingLife| {
        let by = match life.method {
            "percentage_used" => "life used",
            "tbw" => "TBW",
            _ => "cycles of the flash",
        };
        let bound = |value: f64| if value.is_finite() { years(value) } else { "no bound".into() };
        let (lasts, range) = match &life.years {
            None => ("–".into(), "–".into()),
            Some(lifetime) => {
                (bound(lifetime.value), format!("{} to {}", bound(lifetime.low), bound(lifetime.high)))
            }
        };
        let bytes =
            if life.host_bytes.value.is_finite() { size(life.host_bytes.value) } else { "–".into() };
        vec![by.to_owned(), bytes, lasts, range]
    };
    grid(
        &["by", "host can write", "lasts", "by the counters' rounding"],
        lives.iter().map(line).collect(),
        &[1, 2],
    )
}

/// Returns one row for each model.
pub fn rows(evaluation: &FieldEvaluation) -> Vec<Row> {
    let last = evaluation.latest_period();
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
        vec![("model".to_owned(), json!(evaluation.model)), ("serial".to_owned(), json!(evaluation.serial))],
        bounds("gb_per_day", last.gb_per_day).into(),
        bounds("write_amplification", last.write_amplification).into(),
    ]
    .concat();
    let lives: Row = evaluation
        .life
        .iter()
        .flat_map(|life| bounds(&format!("years_by_{}", life.method), life.years))
        .collect();
    let effective = |one: &EffectiveSpace| {
        let model = [
            ("theory_model".to_owned(), json!(one.model)),
            ("nominal_write_amplification".to_owned(), json!(one.nominal_write_amplification)),
        ];
        [&common[..], &lives[..], &model[..], &bounds("spare_factor", one.spare_factor)[..]].concat()
    };
    if evaluation.effective.is_empty() {
        vec![[common, lives].concat()]
    } else {
        evaluation.effective.iter().map(effective).collect()
    }
}
