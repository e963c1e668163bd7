//! Qiu and Reddy (2013), figures 6, 7, 10 and 11, in every reading that their text allows: what NVMFS and Conquest send to their
//! drive, and what that costs it.

use crate::Failure;
use crate::heat_map::HeatMap;
use crate::interval::{Interval, mean};
use crate::nvmfs::course::{Look, Looks};
use crate::nvmfs::replay::HIDDEN;
use crate::nvmfs::simulate::{Load, Simulated, Sizes};
use crate::session::Session;
use crate::statements::Statements;
use crate::table::Table;
use serde::Serialize;
use wearwell_nvmfs::workload::FILE_WORKLOADS;

/// What it is asked for.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Of the SSD.
    disk_mib: u64,
    /// Shares of the SSD that the NVRAM is as large as: one over these.
    nvram_one_over: Vec<u64>,
    /// Shares of the SSD that the files take.
    utilisations: Vec<f64>,
    /// Orders in which files and records are taken; `own` is that of the workload's own program.
    orders: Vec<String>,
    /// Multiples of the SSD that a workload writes once its files are made.
    written: Vec<f64>,
    /// Multiples of the SSD that it has written when the steady state is said to begin.
    steady_after: f64,
    /// Runs of each, with the seeds 1, 2, …
    runs: u64,
}

/// The reading of the paper. NVRAM is a sixth of what the traces ran on. Cleaning is "activated only under high disk utilization", so a
/// quarter of the disk at most was written beside files that fill 60 %.
const READING: Reading = Reading { one_over: 6, rival: "periodic", counted: "mkfs", written: 0.25 };

#[derive(PartialEq)]
struct Reading {
    one_over: u64,
    rival: &'static str,
    counted: &'static str,
    written: f64,
}

/// A file system under a workload, from mkfs to the end.
#[derive(Clone, Serialize)]
struct Point {
    simulated: Simulated,
    load: Load,
    utilisation: f64,
    sizes: Sizes,
    looks: Looks,
}

/// What is compared, whatever the seed and the file system.
#[derive(Clone, Copy, PartialEq)]
struct Case<'a> {
    one_over: u64,
    utilisation: f64,
    order: &'a str,
    workload: &'static str,
}

/// NVMFS beside one rival, in one reading: a value for each seed.
struct Row<'a> {
    case: Case<'a>,
    rival: &'static str,
    counted: &'static str,
    written: f64,
    ours: Vec<Look>,
    theirs: Vec<Look>,
}

impl Settings {
    fn cases(&self) -> Vec<Case<'_>> {
        let mut cases = Vec::new();
        for &one_over in &self.nvram_one_over {
            for &utilisation in &self.utilisations {
                for order in &self.orders {
                    let case = |workload| Case { one_over, utilisation, order, workload };
                    cases.extend(FILE_WORKLOADS.iter().map(|entry| case(entry.name)));
                }
            }
        }
        cases
    }

    /// Multiples of the disk at which to look: from mkfs on, and from the steady state on.
    fn looks(&self) -> Looks {
        let steady = self.written.iter().map(|written| self.steady_after + written);
        let mut disks: Vec<f64> =
            self.written.iter().copied().chain([self.steady_after]).chain(steady).collect();
        disks.sort_by(f64::total_cmp);
        disks.dedup();
        Looks { disks, hidden: HIDDEN, pages_per_block: 64, fast: true }
    }

    fn points(&self, cases: &[Case]) -> Vec<Point> {
        let (disk_bytes, looks) = (self.disk_mib << 20, self.looks());
        let mut points = Vec::new();
        for Case { one_over, utilisation, order, workload } in cases {
            for simulated in Simulated::rivals() {
                for seed in 1..=self.runs {
                    points.push(Point {
                        simulated: simulated.clone(),
                        load: load(workload, order),
                        utilisation: *utilisation,
                        sizes: Sizes::with_nvram(disk_bytes, *one_over, 0, seed),
                        looks: looks.clone(),
                    });
                }
            }
        }
        points
    }

    /// The looks of each seed at one case and file system, from one moment to another.
    fn between(&self, of: &[Vec<Look>], counted: &str, written: f64) -> Vec<Look> {
        let looks = self.looks();
        let at = |disks: f64| 1 + looks.disks.iter().position(|known| *known == disks).expect("a look");
        let part = |run: &Vec<Look>| match counted {
            "mkfs" => run[at(written)],
            _ => run[at(self.steady_after + written)].since(run[at(self.steady_after)]),
        };
        of.iter().map(part).collect()
    }
}

/// The order that the workload's own program has unless it is told otherwise.
fn own_order(workload: &str) -> &'static str {
    if workload == "iozone" { "permuted" } else { "uniform" }
}

/// A workload in an order.
fn load(workload: &str, order: &str) -> Load {
    Load::ordered(workload, if order == "own" { own_order(workload) } else { order })
}

impl Row<'_> {
    fn is_the_papers(&self) -> bool {
        let Row { case, rival, counted, written, .. } = self;
        let one_over = case.one_over;
        Reading { one_over, rival, counted, written: *written } == READING && self.is_in_its_own_order()
    }

    fn is_in_its_own_order(&self) -> bool {
        let Case { order, workload, .. } = self.case;
        order == "own" || order == own_order(workload)
    }

    /// Ours over theirs in per cent, seed by seed; `None` where one is nothing in some run.
    fn percent(&self, of: impl Fn(&Look) -> f64) -> Option<Interval> {
        let pairs = self.ours.iter().zip(&self.theirs).map(|(ours, theirs)| (of(ours), of(theirs)));
        let values: Vec<f64> = pairs.map(|(ours, theirs)| (ours / theirs - 1.0) * 100.0).collect();
        values.iter().all(|value| value.is_finite()).then(|| Interval::of(&values))
    }

    fn traffic(&self) -> Interval {
        self.percent(Look::traffic).expect("everybody writes")
    }

    fn page_erases(&self) -> Option<Interval> {
        self.percent(Look::page_erases)
    }

    fn fast_erases(&self) -> Option<Interval> {
        self.percent(|look| look.fast_erases().unwrap_or(f64::NAN))
    }

    fn name(&self) -> String {
        let Case { one_over, utilisation, order, workload } = self.case;
        let Row { rival, counted, written, .. } = self;
        format!("{workload} ({order}) at {utilisation}; NVRAM 1/{one_over}; {rival}; {counted} + {written}")
    }
}

fn signed(value: Option<Interval>) -> String {
    value.map_or(String::new(), |value| format!("{:+.1}", value.mean))
}

fn half_width(value: Option<Interval>) -> String {
    value
        .filter(|value| value.half_width.is_finite())
        .map_or(String::new(), |value| format!("{:.1}", value.half_width))
}

const KEYS: [&str; 7] = ["nvram", "rival", "counted", "written", "order", "utilisation", "workload"];

fn keys(row: &Row) -> Vec<String> {
    let Case { one_over, utilisation, order, workload } = row.case;
    let [rival, counted] = [row.rival, row.counted].map(str::to_owned);
    vec![
        format!("1/{one_over}"),
        rival,
        counted,
        row.written.to_string(),
        order.to_owned(),
        utilisation.to_string(),
        workload.to_owned(),
    ]
}

/// A line for each reading and workload.
fn table<'a>(rows: impl Iterator<Item = &'a Row<'a>>) -> Table {
    let columns = [
        "traffic",
        "rivals_traffic",
        "traffic_percent",
        "traffic_half_width",
        "page_erases",
        "rivals_page_erases",
        "page_erases_percent",
        "page_erases_half_width",
        "page_cost",
        "rivals_page_cost",
        "fast_erases_percent",
        "fast_erases_half_width",
        "recycled_a_user_block",
        "cleaning_efficiency",
    ];
    let mut table = Table::new(&[&KEYS[..], &columns].concat());
    for row in rows {
        let cost = |looks: &[Look]| {
            let of = |look: &Look| look.page.erase_cost();
            let known: Option<Vec<f64>> = looks.iter().map(of).collect();
            known.map_or(String::new(), |costs| {
                format!("{:.2}", costs.iter().sum::<f64>() / costs.len() as f64)
            })
        };
        let efficiency: Option<Vec<f64>> = row.ours.iter().map(Look::efficiency).collect();
        let mut line = keys(row);
        line.extend([
            format!("{:.3}", mean(&row.ours, Look::traffic)),
            format!("{:.3}", mean(&row.theirs, Look::traffic)),
            signed(Some(row.traffic())),
            half_width(Some(row.traffic())),
            format!("{:.0}", mean(&row.ours, Look::page_erases)),
            format!("{:.0}", mean(&row.theirs, Look::page_erases)),
            signed(row.page_erases()),
            half_width(row.page_erases()),
            cost(&row.ours),
            cost(&row.theirs),
            signed(row.fast_erases()),
            half_width(row.fast_erases()),
            format!(
                "{:.3}",
                mean(&row.ours, |look| look.recycled_blocks as f64 * 4096.0 / look.written_bytes as f64)
            ),
            efficiency
                .map_or(String::new(), |all| format!("{:.3}", all.iter().sum::<f64>() / all.len() as f64)),
        ]);
        table.push(line);
    }
    table
}

/// Of the workloads and utilisations of each reading, in how many NVMFS sends less and erases less.
fn signs(rows: &[Row]) -> Table {
    let mut table = Table::new(&[
        "nvram",
        "rival",
        "counted",
        "written",
        "order",
        "cases",
        "sends_less",
        "page_cases",
        "page_erases_less",
        "fast_cases",
        "fast_erases_less",
    ]);
    let mut readings: Vec<Vec<String>> = Vec::new();
    for row in rows {
        let reading = keys(row)[..5].to_vec();
        if !readings.contains(&reading) {
            readings.push(reading);
        }
    }
    for reading in readings {
        let here: Vec<&Row> = rows.iter().filter(|row| keys(row)[..5] == reading[..]).collect();
        let count = |values: Vec<f64>| [values.len(), values.iter().filter(|value| **value < 0.0).count()];
        let all = |of: &dyn Fn(&Row) -> Option<Interval>| {
            count(here.iter().filter_map(|row| of(row)).map(|value| value.mean).collect())
        };
        let counts =
            [all(&|row| Some(row.traffic())), all(&|row| row.page_erases()), all(&|row| row.fast_erases())];
        let mut line = reading;
        line.extend(counts.concat().iter().map(usize::to_string));
        table.push(line);
    }
    table
}

/// Where the sign of what is sent crosses as more is written.
fn crossings(settings: &Settings, rows: &[Row]) -> Table {
    let mut table =
        Table::new(&["nvram", "rival", "counted", "order", "utilisation", "workload", "less_until", "then"]);
    for series in rows.chunks(settings.written.len()) {
        let values: Vec<(f64, f64)> = series.iter().map(|row| (row.written, row.traffic().mean)).collect();
        let crossed = values.windows(2).find(|pair| pair[0].1 < 0.0 && pair[1].1 >= 0.0);
        let (until, then) = match crossed {
            // Straight in the logarithm of what is written.
            Some(&[(from, less), (to, more)]) => {
                ((from.ln() + (to / from).ln() * less / (less - more)).exp(), "more")
            }
            _ if values.iter().all(|value| value.1 < 0.0) => (f64::INFINITY, "less throughout"),
            _ if values[0].1 >= 0.0 => (0.0, "more from the beginning"),
            _ => (f64::INFINITY, "less throughout"),
        };
        let mut line = keys(&series[0]);
        line.remove(3);
        let until = if until.is_finite() { format!("{until:.2}") } else { String::new() };
        line.extend([until, then.to_owned()]);
        table.push(line);
    }
    table
}

/// Of four workloads, in how many NVMFS sends less: a map for each utilisation.
fn maps(session: &Session, settings: &Settings, rows: &[Row]) -> Result<(), Failure> {
    for &utilisation in &settings.utilisations {
        let here = |row: &&Row| row.case.utilisation == utilisation && row.is_in_its_own_order();
        let here: Vec<&Row> = rows.iter().filter(here).collect();
        let name = |row: &Row| {
            (format!("1/{} {}", row.case.one_over, row.rival), format!("{} {}", row.counted, row.written))
        };
        let (mut across, mut down) = (Vec::new(), Vec::new());
        for row in &here {
            let (side, top) = name(row);
            if !down.contains(&side) {
                down.push(side);
            }
            if !across.contains(&top) {
                across.push(top);
            }
        }
        let mut cells = Vec::new();
        for side in &down {
            for top in &across {
                let of = here.iter().filter(|row| name(row) == (side.clone(), top.clone()));
                let less: Vec<bool> = of.map(|row| row.traffic().mean < 0.0).collect();
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
        map.draw(session, &format!("signs_{utilisation}"))?;
    }
    Ok(())
}

/// What the paper says, in its reading; and what we say of the others.
fn check(rows: &[Row]) -> Statements {
    let mut statements = Statements::default();
    let reading = || rows.iter().filter(|row| row.is_the_papers());
    let less = |value: Option<Interval>| value.map(|value| value.mean < 0.0);
    statements.check(
        "NVMFS sends fewer sectors than Conquest",
        reading().map(|row| (row.name(), row.traffic().mean < 0.0)),
    );
    let tried = |of: fn(&Row) -> Option<Interval>| -> Vec<(String, bool)> {
        reading().filter_map(|row| less(of(row)).map(|less| (row.name(), less))).collect()
    };
    statements.check(
        "NVMFS causes fewer erases on a page-mapped FTL, where anything is erased",
        tried(|row| row.page_erases()),
    );
    statements
        .check("NVMFS causes fewer erases on FAST, where anything is erased", tried(|row| row.fast_erases()));
    let copied = |row: &Row| {
        let cost = |looks: &[Look]| {
            mean(looks, |look| look.page.copied_pages as f64 / (look.page.erases.max(1)) as f64)
        };
        (row.name(), cost(&row.ours) <= cost(&row.theirs))
    };
    statements.check("an erase copies no more pages for NVMFS than for Conquest", reading().map(copied));
    let against = |rival: &'static str| rows.iter().filter(move |row| row.rival == rival);
    let sends_less = |row: &Row| (row.name(), row.traffic().mean < 0.0);
    for rival in ["write-back", "periodic", "write-through"] {
        let text = format!("in every reading NVMFS sends less than Conquest with {rival}");
        statements.check(&text, against(rival).map(sends_less));
    }
    statements
}

pub fn run(session: &Session) -> Result<(), Failure> {
    let settings: Settings = session.settings()?;
    let cases = settings.cases();
    let points = settings.points(&cases);
    let found = session.each("course of a file system", &points, |point| {
        point.looks.at(&point.simulated, &point.load, point.utilisation, &point.sizes)
    })?;
    let systems = Simulated::rivals();
    let per_case = systems.len() * settings.runs as usize;
    let mut rows = Vec::new();
    for (case, of_case) in cases.iter().zip(found.chunks(per_case)) {
        let by_system: Vec<&[Vec<Look>]> = of_case.chunks(settings.runs as usize).collect();
        for (rival, theirs) in systems.iter().zip(&by_system).skip(1) {
            for counted in ["mkfs", "steady"] {
                for &written in &settings.written {
                    rows.push(Row {
                        case: *case,
                        rival: rival.name,
                        counted,
                        written,
                        ours: settings.between(by_system[0], counted, written),
                        theirs: settings.between(theirs, counted, written),
                    });
                }
            }
        }
    }
    table(rows.iter().filter(|row| row.is_the_papers())).publish(session, "reading")?;
    signs(&rows).publish(session, "signs")?;
    crossings(&settings, &rows).write(session, "crossings")?;
    table(rows.iter()).write(session, "grid")?;
    maps(session, &settings, &rows)?;
    check(&rows).publish(session)
}
