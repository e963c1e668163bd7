//! Tables and maps of the amount of writes at which the difference in Figure 6 changes its sign.

use crate::Failure;
use crate::chart::{Chart, Series};
use crate::heat_map::HeatMap;
use crate::nvmfs::interpretation::{Interpretation, Row, keys};
use crate::session::Session;
use crate::table::Table;

/// Change of sign along a series of rows with different amounts of writes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum SignChange {
    /// NVMFS sends less than the rival until the writes are this multiple of the disk's size, and more than the rival
    /// after that.
    At(f64),
    /// NVMFS sends less than the rival for all amounts of writes.
    Never,
    /// NVMFS sends more than the rival for all amounts of writes.
    FromStart,
    /// One of the two file systems sends nothing.
    Unknown,
}

/// Returns the change of sign of a series of pairs, each with an amount of writes, in ascending order, and a mean.
fn sign_change(values: &[(f64, f64)]) -> SignChange {
    match values.first() {
        None => return SignChange::Unknown,
        Some(first) if first.1 >= 0.0 => return SignChange::FromStart,
        Some(_) => {}
    }
    let crossed = values.windows(2).find(|pair| pair[0].1 < 0.0 && pair[1].1 >= 0.0);
    let Some(&[(from, less), (to, more)]) = crossed else { return SignChange::Never };
    // The interpolation is linear in the logarithm of the amount of writes.
    SignChange::At((from.ln() + (to / from).ln() * less / (less - more)).exp())
}

fn values(series: &[Row]) -> Vec<(f64, f64)> {
    series.iter().filter_map(|row| Some((row.written, row.traffic()?.mean))).collect()
}

/// Returns the amounts of writes at which the sign changes, for series of `moments` rows.
pub fn crossings(moments: usize, rows: &[Row]) -> Table {
    let mut table =
        Table::new(&["nvram", "rival", "counted", "order", "utilisation", "workload", "less_until", "then"]);
    for series in rows.chunks(moments) {
        let (until, then) = match sign_change(&values(series)) {
            SignChange::At(until) => (format!("{until:.2}"), "more"),
            SignChange::Never => (String::new(), "less throughout"),
            SignChange::FromStart => ("0.00".to_owned(), "more from the beginning"),
            SignChange::Unknown => (String::new(), "nothing is sent"),
        };
        let mut line = keys(&series[0]);
        line.remove(3);
        line.extend([until, then.to_owned()]);
        table.push(line);
    }
    table
}

/// Draws the changes of sign in one map per rival and start of counting. Columns are files and orders, rows are
/// workloads and NVRAM sizes. The cells of the interpretation that fits the paper are marked.
pub fn draw_sign_changes(
    session: &Session,
    interpretation: &Interpretation,
    moments: usize,
    rows: &[Row],
) -> Result<(), Failure> {
    let all: Vec<&[Row]> = rows.chunks(moments).collect();
    let max_written = rows.iter().map(|row| row.written).fold(0.0, f64::max);
    for (rival, counted) in kinds(&all) {
        let series_of_kind: Vec<&[Row]> = all
            .iter()
            .copied()
            .filter(|series| (series[0].rival, series[0].counted_from) == (rival, counted))
            .collect();
        let column = |row: &Row| format!("{} {}", row.case.utilisation, row.case.order);
        let side = |row: &Row| format!("{}, NVRAM 1/{}", row.case.workload, row.case.nvram_divisor);
        let (mut across, mut down) = (Vec::new(), Vec::new());
        for series in &series_of_kind {
            push_unique(&mut across, column(&series[0]));
            push_unique(&mut down, side(&series[0]));
        }
        across.sort();
        down.sort_by(|a, b| b.cmp(a));
        let mut cells = Vec::new();
        for name in &down {
            for top in &across {
                let found = series_of_kind
                    .iter()
                    .find(|series| column(&series[0]) == *top && side(&series[0]) == *name);
                cells.push(
                    found.map_or((0.0, "no room".to_owned()), |series| {
                        cell(series, interpretation, max_written)
                    }),
                );
            }
        }
        let title =
            format!("Disks written until NVMFS sends more than Conquest ({rival}), counted from {counted}");
        let x = "files and order; a star marks the cells of the paper's reading";
        let map = HeatMap { title: &title, x: (x, across), y: ("", down), cells };
        crate::heat_map::draw(&map, session, &format!("surface_{rival}_{counted}"))?;
    }
    Ok(())
}

/// Returns the pairs of rival and start of counting, in order of appearance.
fn kinds(all: &[&[Row]]) -> Vec<(&'static str, &'static str)> {
    let mut kinds = Vec::new();
    all.iter().for_each(|series| push_unique(&mut kinds, (series[0].rival, series[0].counted_from)));
    kinds
}

fn push_unique<T: PartialEq>(all: &mut Vec<T>, one: T) {
    if !all.contains(&one) {
        all.push(one);
    }
}

fn cell(series: &[Row], interpretation: &Interpretation, max_written: f64) -> (f64, String) {
    let (colour, text) = match sign_change(&values(series)) {
        SignChange::At(until) => (until, format!("{until:.2}")),
        SignChange::Never => (max_written, "never".to_owned()),
        SignChange::FromStart => (0.0, "at once".to_owned()),
        SignChange::Unknown => (0.0, "nothing sent".to_owned()),
    };
    let mark = if series.iter().any(|row| row.is_in_interpretation(interpretation)) { "*" } else { "" };
    (colour, format!("{text}{mark}"))
}

/// Draws the bytes that NVMFS sends relative to the rival, over the amount of writes. The rival, the NVRAM size and
/// the orders are those of the interpretation that fits the paper, whose values are marked.
pub fn draw_course(
    session: &Session,
    interpretation: &Interpretation,
    utilisations: &[f64],
    rows: &[Row],
) -> Result<(), Failure> {
    for &utilisation in utilisations {
        let mut series: Vec<Series> = Vec::new();
        let mut marked = Vec::new();
        for row in rows.iter().filter(|row| row.case.utilisation == utilisation) {
            if !row.is_in_interpretation(&Interpretation { written: row.written, ..*interpretation }) {
                continue;
            }
            let Some(traffic) = row.traffic() else { continue };
            let point = (row.written.log2(), traffic);
            match series.iter_mut().find(|known| known.name == row.case.workload) {
                Some(known) => known.points.push(point),
                None => {
                    let name = row.case.workload.to_owned();
                    series.push(Series { name, points: vec![point], has_line: true });
                }
            }
            if row.is_in_interpretation(interpretation) {
                marked.push(point);
            }
        }
        if series.is_empty() {
            continue;
        }
        series.push(Series { name: "the paper's reading".to_owned(), points: marked, has_line: false });
        let title =
            format!("What NVMFS sends beside Conquest ({}), files at {utilisation}", interpretation.rival);
        let chart = Chart { title: &title, x: "log2 of the disks written", y: "more or less, percent" };
        chart.draw(session, &format!("course_{utilisation}"), &series)?;
    }
    Ok(())
}

/// Draws the number of workloads, out of four, with which NVMFS sends less than the rival, in one map per utilisation.
pub fn draw_counts(session: &Session, utilisations: &[f64], rows: &[Row]) -> Result<(), Failure> {
    for &utilisation in utilisations {
        let is_selected = |row: &&Row| row.case.utilisation == utilisation && row.has_default_order();
        let selected: Vec<&Row> = rows.iter().filter(is_selected).collect();
        let name = |row: &Row| {
            (
                format!("1/{} {}", row.case.nvram_divisor, row.rival),
                format!("{} {}", row.counted_from, row.written),
            )
        };
        let (mut across, mut down) = (Vec::new(), Vec::new());
        for row in &selected {
            let (side, top) = name(row);
            push_unique(&mut down, side);
            push_unique(&mut across, top);
        }
        let mut cells = Vec::new();
        for side in &down {
            for top in &across {
                let rows_of_cell = selected.iter().filter(|row| name(row) == (side.clone(), top.clone()));
                let less: Vec<bool> =
                    rows_of_cell.filter_map(|row| Some(row.traffic()?.mean < 0.0)).collect();
                let count = less.iter().filter(|less| **less).count();
                cells.push((count as f64, format!("{count} of {}", less.len())));
            }
        }
        let title = format!("Workloads under which NVMFS sends less than Conquest, files at {utilisation}");
        let map = HeatMap {
            title: &title,
            x: ("counted from, disks written", across),
            y: ("NVRAM, Conquest", down),
            cells,
        };
        crate::heat_map::draw(&map, session, &format!("signs_{utilisation}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sign_change_is_interpolated_or_absent() {
        let SignChange::At(until) = sign_change(&[(0.25, -10.0), (1.0, 10.0), (4.0, 30.0)]) else {
            panic!("it turns")
        };
        assert!((until - 0.5).abs() < 1e-12, "{until}");
        assert_eq!(sign_change(&[(0.25, -10.0), (1.0, -1.0)]), SignChange::Never);
        assert_eq!(sign_change(&[(0.25, 0.0), (1.0, -1.0)]), SignChange::FromStart);
        assert_eq!(sign_change(&[]), SignChange::Unknown);
    }
}
