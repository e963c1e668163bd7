//! Qiu and Reddy (2013), figures 6, 7, 10 and 11, under every interpretation that the text of the paper allows:
//! requests of NVMFS and Conquest to their drive, and the resulting cost.

use crate::Failure;
use crate::interval::{Interval, mean};
use crate::nvmfs::assumed_values::AssumedValues;
use crate::nvmfs::interpretation::{Case, Interpretation, KEYS, Row, default_order, keys};
use crate::nvmfs::load::Load;
use crate::nvmfs::observations::{Observation, ObservationPlan};
use crate::nvmfs::replay::SPARE_FACTOR;
use crate::nvmfs::sign_changes::{crossings, draw_counts, draw_course, draw_sign_changes};
use crate::nvmfs::simulate::{SimulatedFileSystem, Sizes, ran_out_of_space};
use crate::session::Session;
use crate::statements::Statements;
use crate::table::Table;
use serde::Serialize;
use wearwell_nvmfs::workload::FILE_WORKLOADS;

/// Settings of the program.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Size of the SSD in MiB, unless another size is assumed.
    disk_mib: u64,
    /// Ratios of SSD size to NVRAM size.
    #[serde(rename = "nvram_one_over")]
    nvram_divisors: Vec<u64>,
    /// Shares of the SSD that the files take.
    utilisations: Vec<f64>,
    /// Orders of accesses to files and records; `own` is the order of the workload's original program.
    orders: Vec<String>,
    /// Number of bytes that a workload writes after its files are made, as multiples of the size of the SSD.
    written: Vec<f64>,
    /// Number of bytes written before the steady state is assumed, as a multiple of the size of the SSD.
    steady_after: f64,
    /// Number of runs of each case, with the seeds 1, 2, …
    runs: u64,
}

/// A file system under a workload, from mkfs to the end of the run.
#[derive(Clone, Serialize)]
struct Point {
    simulated: SimulatedFileSystem,
    load: Load,
    utilisation: f64,
    sizes: Sizes,
    #[serde(rename = "looks")]
    plan: ObservationPlan,
}

impl Settings {
    /// Returns the settings of a session with the values of the interpretation that fits the paper, and this
    /// interpretation.
    fn from_session(session: &Session) -> Result<(Settings, Interpretation), Failure> {
        let (mut settings, reading) =
            (session.settings::<Settings>()?, Interpretation::from_session(session)?);
        reading.apply_to(&mut settings.nvram_divisors, &mut settings.written)?;
        settings.disk_mib = (settings.disk_mib as f64 * session.assumed_value("nvmfs/disk")?) as u64;
        settings.steady_after *= session.assumed_value("nvmfs/steady-after")?;
        Ok((settings, reading))
    }

    fn cases(&self) -> Vec<Case<'_>> {
        let mut cases = Vec::new();
        for &one_over in &self.nvram_divisors {
            for &utilisation in &self.utilisations {
                for order in &self.orders {
                    let case = |workload| Case { nvram_divisor: one_over, utilisation, order, workload };
                    cases.extend(FILE_WORKLOADS.iter().map(|entry| case(entry.name)));
                }
            }
        }
        cases
    }

    /// Returns the moments of observation as multiples of the size of the disk: those counted from mkfs, and those
    /// counted from the steady state.
    fn plan(&self) -> ObservationPlan {
        let steady = self.written.iter().map(|written| self.steady_after + written);
        let mut disks: Vec<f64> =
            self.written.iter().copied().chain([self.steady_after]).chain(steady).collect();
        disks.sort_by(f64::total_cmp);
        disks.dedup();
        ObservationPlan { moments: disks, spare_factor: SPARE_FACTOR, pages_per_block: 64, fast: true }
    }

    fn points(&self, session: &Session, cases: &[Case]) -> Result<Vec<Point>, Failure> {
        let (disk_bytes, plan) = (self.disk_mib << 20, self.plan());
        let assumed = AssumedValues::from_session(session)?;
        let mut points = Vec::new();
        for Case { nvram_divisor: one_over, utilisation, order, workload } in cases {
            let order = if *order == "own" { default_order(workload) } else { order };
            // The assumption is read only if needed, so that only programs which need it depend on it.
            let skew = if order == "zipf" { session.assumed_value("nvmfs/zipf")? } else { 0.0 };
            for simulated in SimulatedFileSystem::rivals(&assumed) {
                for seed in 1..=self.runs {
                    points.push(Point {
                        simulated: simulated.clone(),
                        load: assumed.with_scaled_files(Load::ordered(workload, order, skew)),
                        utilisation: *utilisation,
                        sizes: Sizes::with_nvram(disk_bytes, *one_over, 0, seed),
                        plan: plan.clone(),
                    });
                }
            }
        }
        Ok(points)
    }

    /// Returns the totals of each seed for one case and file system, between two moments.
    fn between(
        &self,
        observations: &[Vec<Observation>],
        counted_from: &str,
        written: f64,
    ) -> Vec<Observation> {
        let plan = self.plan();
        let at = |disks: f64| 1 + plan.moments.iter().position(|known| *known == disks).expect("a look");
        let part = |run: &Vec<Observation>| match counted_from {
            "mkfs" => run[at(written)],
            _ => run[at(self.steady_after + written)].since(run[at(self.steady_after)]),
        };
        observations.iter().map(part).collect()
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

/// Returns a table with a row per interpretation and workload.
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
        let cost = |looks: &[Observation]| {
            let erase_cost = |look: &Observation| look.page.erase_cost();
            let costs: Option<Vec<f64>> = looks.iter().map(erase_cost).collect();
            costs.map_or(String::new(), |costs| {
                format!("{:.2}", costs.iter().sum::<f64>() / costs.len() as f64)
            })
        };
        let efficiency: Option<Vec<f64>> = row.nvmfs.iter().map(Observation::efficiency).collect();
        let mut line = keys(row);
        line.extend([
            format!("{:.3}", mean(&row.nvmfs, Observation::traffic)),
            format!("{:.3}", mean(&row.conquest, Observation::traffic)),
            signed(row.traffic()),
            half_width(row.traffic()),
            format!("{:.0}", mean(&row.nvmfs, Observation::page_erases)),
            format!("{:.0}", mean(&row.conquest, Observation::page_erases)),
            signed(row.page_erases()),
            half_width(row.page_erases()),
            cost(&row.nvmfs),
            cost(&row.conquest),
            signed(row.fast_erases()),
            half_width(row.fast_erases()),
            format!(
                "{:.3}",
                mean(&row.nvmfs, |look| look.recycled_blocks as f64 * 4096.0 / look.written_bytes as f64)
            ),
            efficiency
                .map_or(String::new(), |all| format!("{:.3}", all.iter().sum::<f64>() / all.len() as f64)),
        ]);
        table.push(line);
    }
    table
}

/// Returns for each interpretation the number of workloads and utilisations with which NVMFS sends less, and with
/// which it erases less.
fn count_signs(rows: &[Row]) -> Table {
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
        let interpretation = keys(row)[..5].to_vec();
        if !readings.contains(&interpretation) {
            readings.push(interpretation);
        }
    }
    for interpretation in readings {
        let selected: Vec<&Row> = rows.iter().filter(|row| keys(row)[..5] == interpretation[..]).collect();
        let count = |values: Vec<f64>| [values.len(), values.iter().filter(|value| **value < 0.0).count()];
        let all = |of: &dyn Fn(&Row) -> Option<Interval>| {
            count(selected.iter().filter_map(|row| of(row)).map(|value| value.mean).collect())
        };
        let counts =
            [all(&|row| row.traffic()), all(&|row| row.page_erases()), all(&|row| row.fast_erases())];
        let mut line = interpretation;
        line.extend(counts.concat().iter().map(usize::to_string));
        table.push(line);
    }
    table
}

/// Tests the paper's statements in the interpretation that fits the paper, and our statements about the other
/// interpretations.
fn check(interpretation: &Interpretation, rows: &[Row]) -> Statements {
    let mut statements = Statements::default();
    let reading = || rows.iter().filter(|row| row.is_in_interpretation(interpretation));
    let less = |value: Option<Interval>| value.map(|value| value.mean < 0.0);
    let sends_less = |row: &Row| less(row.traffic()).map(|less| (row.name(), less));
    statements.check("NVMFS sends fewer sectors than Conquest", reading().filter_map(sends_less));
    let cases = |traffic: fn(&Row) -> Option<Interval>| -> Vec<(String, bool)> {
        reading().filter_map(|row| less(traffic(row)).map(|less| (row.name(), less))).collect()
    };
    statements.check(
        "NVMFS causes fewer erases on a page-mapped FTL where anything is erased",
        cases(|row| row.page_erases()),
    );
    statements
        .check("NVMFS causes fewer erases on FAST where anything is erased", cases(|row| row.fast_erases()));
    let copied = |row: &Row| {
        let cost = |looks: &[Observation]| {
            mean(looks, |look| look.page.copied_pages as f64 / (look.page.erases.max(1)) as f64)
        };
        (row.name(), cost(&row.nvmfs) <= cost(&row.conquest))
    };
    statements.check("an erase copies no more pages for NVMFS than for Conquest", reading().map(copied));
    let rows_against = |rival: &'static str| rows.iter().filter(move |row| row.rival == rival);
    for rival in ["write-back", "periodic", "write-through"] {
        let text = format!("in every reading NVMFS sends less than Conquest with {rival}");
        statements.check(&text, rows_against(rival).filter_map(sends_less));
    }
    statements
}

pub fn run(session: &Session) -> Result<(), Failure> {
    let (settings, interpretation) = Settings::from_session(session)?;
    let cases = settings.cases();
    let points = settings.points(session, &cases)?;
    let found = session.compute_each("course of a file system", &points, |point| {
        match point.plan.observe(&point.simulated, &point.load, point.utilisation, &point.sizes) {
            Err(error) if ran_out_of_space(&error) => Ok(None),
            looks => looks.map(Some),
        }
    })?;
    let systems = SimulatedFileSystem::rivals(&AssumedValues::from_session(session)?);
    let per_case = systems.len() * settings.runs as usize;
    let mut rows = Vec::new();
    let mut left_out = Table::new(&["nvram", "order", "utilisation", "workload"]);
    for (case, of_case) in cases.iter().zip(found.chunks(per_case)) {
        // Some workloads later take more space than their files did at first.
        let Some(of_case) = of_case.iter().cloned().collect::<Option<Vec<Vec<Observation>>>>() else {
            let Case { nvram_divisor: one_over, order, utilisation, workload } = case;
            left_out.push(vec![
                format!("1/{one_over}"),
                (*order).to_owned(),
                utilisation.to_string(),
                (*workload).to_owned(),
            ]);
            continue;
        };
        let by_system: Vec<&[Vec<Observation>]> = of_case.chunks(settings.runs as usize).collect();
        for (rival, rival_observations) in systems.iter().zip(&by_system).skip(1) {
            for counted in ["mkfs", "steady"] {
                for &written in &settings.written {
                    rows.push(Row {
                        case: *case,
                        rival: rival.name,
                        counted_from: counted,
                        written,
                        nvmfs: settings.between(by_system[0], counted, written),
                        conquest: settings.between(rival_observations, counted, written),
                    });
                }
            }
        }
    }
    left_out.publish(session, "left_out")?;
    table(rows.iter().filter(|row| row.is_in_interpretation(&interpretation))).publish(session, "reading")?;
    count_signs(&rows).publish(session, "signs")?;
    let moments = settings.written.len();
    crossings(moments, &rows).write(session, "crossings")?;
    table(rows.iter()).write(session, "grid")?;
    draw_counts(session, &settings.utilisations, &rows)?;
    draw_sign_changes(session, &interpretation, moments, &rows)?;
    draw_course(session, &interpretation, &settings.utilisations, &rows)?;
    check(&interpretation, &rows).publish(session)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::tests::with_settings;
    use crate::table::read_table;

    #[test]
    fn cases_without_space_are_skipped_and_reported() {
        let settings = toml::toml! {
            disk_mib = 24
            nvram_one_over = [6]
            utilisations = [0.87]
            orders = ["zipf"]
            written = [0.25, 1.0]
            steady_after = 0.5
            runs = 1
        };
        with_settings(settings, |session, folder| {
            run(session).unwrap();
            let left_out = read_table(folder, "left_out").unwrap();
            let fields: Vec<_> = left_out.iter().map(|row| row.columns_and_fields().1).collect();
            assert_eq!(fields, [["1/6", "zipf", "0.87", "postmark"]]);
            let grid = read_table(folder, "grid").unwrap();
            let workloads: std::collections::BTreeSet<_> =
                grid.iter().map(|row| row.field("workload").unwrap()).collect();
            assert_eq!(workloads.into_iter().collect::<Vec<_>>(), ["fileserver", "fio", "iozone"]);
            // The grid has each of the other cases with three rivals, two starts and two moments.
            assert_eq!(grid.len(), 3 * 3 * 2 * 2);
            let map = std::fs::read_to_string(folder.join("surface_periodic_mkfs.svg")).unwrap();
            assert!(!map.contains("postmark") && map.contains("fileserver"), "{map}");
        });
    }
}
