//! Text output for a fleet.

use crate::report::table::short;
use crate::report::{count, grid};
use wearwell_study::fleet::{
    Basis, CheckRow, Estimate, FleetResult, LifeRow, PartRow, TheoryAccuracy, TheoryCheck, WhatIfRow, YearRow,
};

/// Returns the complete output.
pub fn table(result: &FleetResult) -> String {
    let fleet = &result.fleet;
    let name = fleet.name.as_deref().unwrap_or("fleet");
    let mut text = format!("{name}  (wearwell {})\n", result.version);
    text += &format!(
        "{} drives in {}, {}; drawn {} times, {} years ahead.\n",
        count(result.drives as u64),
        plural(fleet.group.len(), "group"),
        plural(fleet.tenant.len(), "tenant"),
        fleet.draws,
        fleet.years
    );
    text += &(methods(result) + "\n\nDrives that wear out:\n");
    text += &(years(result) + "\nYears left, of the drives as they are; whole lives in brackets:\n");
    text += &(lives(&result.life) + "\nWho wears them out:\n");
    text += &(parts(result) + "\n");
    if !result.what_if.is_empty() {
        text += "What would be otherwise; differences are of the same draws:\n";
        text += &(what_ifs(result) + "\n");
    }
    text += "What that rests on:\n";
    text += &(bases(&result.basis) + "\n");
    if let Some(check) = &result.check {
        text += &check_table(check);
    }
    text += &notes(&result.basis);
    text
}

fn plural(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

fn percent(share: f64) -> String {
    format!("{:.3} %", 100.0 * share)
}

fn methods(result: &FleetResult) -> String {
    let off = result.basis.iter().map(|basis| basis.interpolation_error).fold(0.0, f64::max);
    let simulated = 1.0 - result.share_by_theory;
    let rest = if simulated > 0.0 {
        format!("; that of {:.1} % rests on simulated points", 100.0 * simulated)
    } else {
        String::new()
    };
    format!(
        "The write amplification of {:.1} % of the drives rests on theory{rest}. Interpolated between points, it is off by {} at \
         most; intervals are of the draws alone.",
        100.0 * result.share_by_theory,
        percent(off)
    )
}

/// Formats a figure with a readable number of digits.
fn figure(value: f64) -> String {
    match value.abs() {
        _ if !value.is_finite() => "–".into(),
        size if size >= 1e4 => {
            let sign = if value < 0.0 { "-" } else { "" };
            format!("{sign}{}", count(size.round() as u64))
        }
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 1.0 => format!("{value:.2}"),
        0.0 => "0".into(),
        _ => short(value),
    }
}

fn with_interval(estimate: &Estimate) -> String {
    format!("{} ± {}", figure(estimate.mean), figure(estimate.ci95))
}

fn money(result: &FleetResult) -> String {
    result.fleet.currency.clone().unwrap_or_else(|| "money".into())
}

fn years(result: &FleetResult) -> String {
    let row = |row: &YearRow| {
        let one = format!("{} to {}", figure(row.worn_out.low), figure(row.worn_out.high));
        vec![row.year.to_string(), with_interval(&row.worn_out), one, with_interval(&row.money)]
    };
    let cost = format!("{} for others", money(result));
    let head = ["year", "drives, mean ± 95 %", "one fleet, 95 %", &cost];
    grid(&head, result.years.iter().map(row).collect(), &[0, 1, 2, 3])
}

fn lives(rows: &[LifeRow]) -> String {
    let mut lines: Vec<Vec<String>> = Vec::new();
    for row in rows {
        let name = if row.kind == "all" { "all drives".into() } else { format!("{} {}", row.kind, row.name) };
        if lines.last().is_none_or(|line| line[0] != name) {
            lines.push(vec![name]);
        }
        let cell = format!("{} ({})", figure(row.years_left.mean), figure(row.years.mean));
        lines.last_mut().expect("just there").push(cell);
    }
    grid(&["", "5 % less than", "25 %", "half", "75 %", "95 %"], lines, &[1, 2, 3, 4, 5])
}

fn parts(result: &FleetResult) -> String {
    let row = |(of, part): (&str, &PartRow)| {
        vec![
            format!("{of}{}", part.name),
            figure(part.drives.mean),
            figure(part.host_tb_per_day.mean),
            figure(part.write_amplification.mean),
            with_interval(&part.wear_drives_per_year),
            format!("{:.1} %", 100.0 * part.wear_share.mean),
            with_interval(&part.money_per_year),
            figure(part.worn_out_per_year.mean),
        ]
    };
    let tenants = result.tenants.iter().map(|part| ("tenant ", part));
    let groups = result.groups.iter().map(|part| ("group ", part));
    let rows = tenants.chain(groups).chain([("", &result.all)]).map(row).collect();
    let cost = format!("{} a year", money(result));
    let head = ["", "drives", "TB a day", "WA", "lives used up a year", "share", &cost, "worn out a year"];
    grid(&head, rows, &[1, 2, 3, 4, 5, 6, 7])
}

fn what_ifs(result: &FleetResult) -> String {
    let row = |row: &WhatIfRow| {
        vec![
            row.name.clone(),
            figure(row.drives.mean),
            figure(row.money_once.mean),
            with_interval(&row.wear_drives_per_year),
            with_interval(&row.wear_difference),
            with_interval(&row.money_per_year),
            with_interval(&row.money_difference),
            with_interval(&row.worn_out_difference),
        ]
    };
    let money = money(result);
    let (once, yearly) = (format!("{money} once"), format!("{money} a year"));
    let head = [
        "",
        "drives",
        &once,
        "lives used up a year",
        "difference",
        &yearly,
        "difference",
        "worn out a year, difference",
    ];
    grid(&head, result.what_if.iter().map(row).collect(), &[1, 2, 3, 4, 5, 6, 7])
}

fn bases(bases: &[Basis]) -> String {
    let row = |basis: &Basis| {
        let error =
            basis.simulation_error.map_or_else(String::new, |error| format!(", ± {}", percent(error)));
        vec![
            basis.setting.clone(),
            basis.group.clone(),
            basis.tenant.clone(),
            basis.method.to_owned(),
            basis.model.clone(),
            basis.points.to_string(),
            percent(basis.interpolation_error) + &error,
        ]
    };
    let head = ["setting", "group", "tenant", "rests on", "model", "points", "off by at most"];
    grid(&head, bases.iter().map(row).collect(), &[5, 6])
}

fn check_table(check: &TheoryCheck) -> String {
    let row = |row: &CheckRow| {
        let of = if row.group.is_empty() { "all".into() } else { format!("{}, {}", row.group, row.tenant) };
        let half_width = row.ci95.map_or_else(String::new, |half| format!(" ± {:.2}", 100.0 * half));
        let verdict = match row.verdict {
            TheoryAccuracy::WithinTolerance => "trusted",
            TheoryAccuracy::OutsideTolerance => "OFF",
            TheoryAccuracy::Undecided => "open: more drives",
        };
        let unsteady = if row.unsteady > 0 { format!("; {} unsteady", row.unsteady) } else { String::new() };
        vec![
            of,
            row.drives.to_string(),
            format!("{:.4}", row.theory),
            format!("{:.4}", row.theory_scaled),
            format!("{:.4}", row.simulated),
            format!("{:+.2}{half_width}", 100.0 * row.difference),
            format!("{:+.2}", 100.0 * row.scale_effect),
            format!("{verdict}{unsteady}"),
        ]
    };
    let scale = &check.all.scale;
    let is_whole = u64::from(scale.blocks) == scale.blocks_of_drive
        && scale.pages_per_block == scale.pages_per_block_of_drive;
    let head = [
        "",
        "drives",
        "theory",
        if is_whole { "theory, alone" } else { "theory, small" },
        if is_whole { "simulated" } else { "simulated, small" },
        "theory less simulation, %",
        "small for large, %",
        "theory is",
    ];
    let rows = check.rows.iter().chain([&check.all]).map(row).collect();
    let (blocks, pages) = (count(scale.blocks.into()), scale.pages_per_block);
    let size = if is_whole {
        format!("each whole, with a seed of its own (such as {blocks} blocks of {pages} pages)")
    } else {
        format!(
            "each as a small one with a seed of its own (such as {blocks} blocks of {pages} pages for {} of {}, with the same spare factor)",
            count(scale.blocks_of_drive),
            count(scale.pages_per_block_of_drive.into()),
        )
    };
    format!(
        "Theory against simulation of {} drives, {size}; trusted within {} %:\n{}\n",
        check.drives,
        100.0 * check.tolerance,
        grid(&head, rows, &[1, 2, 3, 4, 5, 6])
    )
}

/// Returns the notes about omissions of the models, each once.
fn notes(bases: &[Basis]) -> String {
    let mut notes: Vec<&str> = Vec::new();
    for note in bases.iter().flat_map(|basis| &basis.notes) {
        if !notes.contains(&&**note) {
            notes.push(note);
        }
    }
    notes.iter().map(|note| format!("note: {note}\n")).collect()
}
