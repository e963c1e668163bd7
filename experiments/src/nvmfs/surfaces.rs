//! Amount of writes at which the sign of Figure 6 changes: tables and maps.

use crate::Failure;
use crate::chart::{Chart, Series};
use crate::heat_map::HeatMap;
use crate::nvmfs::reading::{Reading, Row, keys};
use crate::session::Session;
use crate::table::Table;

/// Change of sign along a series of rows with different amounts of writes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Turn {
    /// NVMFS sends less until this many disks are written, and more from there on.
    At(f64),
    /// NVMFS sends less throughout.
    Never,
    /// NVMFS sends more from the start.
    AtOnce,
    /// One of the two file systems sends nothing.
    Unknown,
}

/// Returns the change of sign of a series of pairs: amount of writes, in rising order, and mean.
fn turn(values: &[(f64, f64)]) -> Turn {
    match values.first() {
        None => return Turn::Unknown,
        Some(first) if first.1 >= 0.0 => return Turn::AtOnce,
        Some(_) => {}
    }
    let crossed = values.windows(2).find(|pair| pair[0].1 < 0.0 && pair[1].1 >= 0.0);
    let Some(&[(from, less), (to, more)]) = crossed else { return Turn::Never };
    // Linear interpolation over the logarithm of the amount of writes.
    Turn::At((from.ln() + (to / from).ln() * less / (less - more)).exp())
}

fn values(series: &[Row]) -> Vec<(f64, f64)> {
    series.iter().filter_map(|row| Some((row.written, row.traffic()?.mean))).collect()
}

/// Returns the amounts of writes at which the sign changes, for series of `moments` rows.
pub fn crossings(moments: usize, rows: &[Row]) -> Table {
    let mut table =
        Table::new(&["nvram", "rival", "counted", "order", "utilisation", "workload", "less_until", "then"]);
    for series in rows.chunks(moments) {
        let (until, then) = match turn(&values(series)) {
            Turn::At(until) => (format!("{until:.2}"), "more"),
            Turn::Never => (String::new(), "less throughout"),
            Turn::AtOnce => ("0.00".to_owned(), "more from the beginning"),
            Turn::Unknown => (String::new(), "nothing is sent"),
        };
        let mut line = keys(&series[0]);
        line.remove(3);
        line.extend([until, then.to_owned()]);
        table.push(line);
    }
    table
}

/// Draws the changes of sign, one map per rival and start of counting: columns are files and orders, rows are workloads
/// and NVRAM sizes. The cells of the paper's reading are marked.
pub fn surfaces(session: &Session, reading: &Reading, moments: usize, rows: &[Row]) -> Result<(), Failure> {
    let all: Vec<&[Row]> = rows.chunks(moments).collect();
    let most = rows.iter().map(|row| row.written).fold(0.0, f64::max);
    for (rival, counted) in kinds(&all) {
        let here: Vec<&[Row]> = all
            .iter()
            .copied()
            .filter(|series| (series[0].rival, series[0].counted) == (rival, counted))
            .collect();
        let column = |row: &Row| format!("{} {}", row.case.utilisation, row.case.order);
        let side = |row: &Row| format!("{}, NVRAM 1/{}", row.case.workload, row.case.one_over);
        let (mut across, mut down) = (Vec::new(), Vec::new());
        for series in &here {
            push_new(&mut across, column(&series[0]));
            push_new(&mut down, side(&series[0]));
        }
        across.sort();
        down.sort_by(|a, b| b.cmp(a));
        let mut cells = Vec::new();
        for name in &down {
            for top in &across {
                let found =
                    here.iter().find(|series| column(&series[0]) == *top && side(&series[0]) == *name);
                cells.push(found.map_or((0.0, "no room".to_owned()), |series| cell(series, reading, most)));
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
    all.iter().for_each(|series| push_new(&mut kinds, (series[0].rival, series[0].counted)));
    kinds
}

fn push_new<T: PartialEq>(all: &mut Vec<T>, one: T) {
    if !all.contains(&one) {
        all.push(one);
    }
}

fn cell(series: &[Row], reading: &Reading, most: f64) -> (f64, String) {
    let (colour, text) = match turn(&values(series)) {
        Turn::At(until) => (until, format!("{until:.2}")),
        Turn::Never => (most, "never".to_owned()),
        Turn::AtOnce => (0.0, "at once".to_owned()),
        Turn::Unknown => (0.0, "nothing sent".to_owned()),
    };
    let mark = if series.iter().any(|row| row.is_in(reading)) { "*" } else { "" };
    (colour, format!("{text}{mark}"))
}

/// Draws the bytes sent by NVMFS relative to the rival of the paper's reading, over the amount of writes, for its NVRAM
/// size and orders; the reading's own values are marked.
pub fn course(
    session: &Session,
    reading: &Reading,
    utilisations: &[f64],
    rows: &[Row],
) -> Result<(), Failure> {
    for &utilisation in utilisations {
        let mut series: Vec<Series> = Vec::new();
        let mut marked = Vec::new();
        for row in rows.iter().filter(|row| row.case.utilisation == utilisation) {
            if !row.is_in(&Reading { written: row.written, ..*reading }) {
                continue;
            }
            let Some(traffic) = row.traffic() else { continue };
            let point = (row.written.log2(), traffic);
            match series.iter_mut().find(|known| known.name == row.case.workload) {
                Some(known) => known.points.push(point),
                None => {
                    let name = row.case.workload.to_owned();
                    series.push(Series { name, points: vec![point], joined: true });
                }
            }
            if row.is_in(reading) {
                marked.push(point);
            }
        }
        if series.is_empty() {
            continue;
        }
        series.push(Series { name: "the paper's reading".to_owned(), points: marked, joined: false });
        let title = format!("What NVMFS sends beside Conquest ({}), files at {utilisation}", reading.rival);
        let chart = Chart { title: &title, x: "log2 of the disks written", y: "more or less, percent" };
        chart.draw(session, &format!("course_{utilisation}"), &series)?;
    }
    Ok(())
}

/// Draws the number of workloads, out of four, with which NVMFS sends less: a map per utilisation.
pub fn maps(session: &Session, utilisations: &[f64], rows: &[Row]) -> Result<(), Failure> {
    for &utilisation in utilisations {
        let here = |row: &&Row| row.case.utilisation == utilisation && row.is_in_its_own_order();
        let here: Vec<&Row> = rows.iter().filter(here).collect();
        let name = |row: &Row| {
            (format!("1/{} {}", row.case.one_over, row.rival), format!("{} {}", row.counted, row.written))
        };
        let (mut across, mut down) = (Vec::new(), Vec::new());
        for row in &here {
            let (side, top) = name(row);
            push_new(&mut down, side);
            push_new(&mut across, top);
        }
        let mut cells = Vec::new();
        for side in &down {
            for top in &across {
                let of = here.iter().filter(|row| name(row) == (side.clone(), top.clone()));
                let less: Vec<bool> = of.filter_map(|row| Some(row.traffic()?.mean < 0.0)).collect();
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
    fn a_sign_turns_between_two_moments_or_not_at_all() {
        let Turn::At(until) = turn(&[(0.25, -10.0), (1.0, 10.0), (4.0, 30.0)]) else { panic!("it turns") };
        assert!((until - 0.5).abs() < 1e-12, "{until}");
        assert_eq!(turn(&[(0.25, -10.0), (1.0, -1.0)]), Turn::Never);
        assert_eq!(turn(&[(0.25, 0.0), (1.0, -1.0)]), Turn::AtOnce);
        assert_eq!(turn(&[]), Turn::Unknown);
    }
}
