//! Conditions under which cleaning by the host is better than using the same NVRAM as a write-back cache in front of
//! an FTL. They are predicted by [`Space`], then simulated.

use crate::Failure;
use crate::heat_map::HeatMap;
use crate::interval::mean;
use crate::nvmfs::assumed_values::AssumedValues;
use crate::nvmfs::load::Load;
use crate::nvmfs::replay::{Drive, ReplayCounts, replay_to_marks};
use crate::nvmfs::simulate::{SimulatedFileSystem, Sizes};
use crate::nvmfs::spare::Space;
use crate::session::Session;
use crate::statements::Statements;
use crate::table::{Fields, Table};
use serde::{Deserialize, Serialize};

/// Settings of the program.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Size of the SSD in MiB.
    disk_mib: u64,
    /// Ratios of SSD size to NVRAM size.
    #[serde(rename = "nvram_one_over")]
    nvram_divisors: Vec<u64>,
    /// Shares of the SSD that the file takes.
    utilisations: Vec<f64>,
    /// Exponents of Zipf's law over the blocks of the file; 0 for uniform writes.
    skews: Vec<f64>,
    /// Spare pages of the drive, as shares of its capacity.
    over_provisioning: Vec<f64>,
    /// Numbers of pages per erase block; an extent has 128 pages.
    pages_per_block: Vec<u32>,
    /// Number of bytes written before the measurement, as a multiple of the size of the SSD.
    warm_up: f64,
    /// Number of bytes written during the measurement, as a multiple of the size of the SSD.
    measured: f64,
    /// Number of runs of each case, with the seeds 1, 2, …
    runs: u64,
}

/// A file system under a workload, and the drives on which its requests are replayed.
#[derive(Clone, Serialize)]
struct Point {
    simulated: SimulatedFileSystem,
    load: Load,
    utilisation: f64,
    sizes: Sizes,
    warm_up: f64,
    measured: f64,
    drives: Vec<(f64, u32)>,
}

/// Number of bytes sent to the drive, and the results of each drive.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct SimulatedRun {
    written_bytes: u64,
    sent_bytes: u64,
    replayed: Vec<ReplayCounts>,
}

impl Point {
    fn run(&self) -> Result<SimulatedRun, Failure> {
        let disk = self.sizes.disk_bytes as f64;
        let until = [self.warm_up, self.warm_up + self.measured].map(|disks| (disks * disk) as u64);
        let (requests, marks) = self.simulated.play_to(&self.load, self.utilisation, &self.sizes, &until)?;
        let [_, from, to] = marks[..] else { return Err("three marks were asked for".into()) };
        let on = |&(over_provisioning, pages_per_block): &(f64, u32)| {
            let drive = Drive {
                capacity_bytes: self.sizes.disk_bytes,
                pages_per_block,
                extra_bytes: 0,
                spare_factor: over_provisioning / (1.0 + over_provisioning),
                ftl: "structure = \"log\", victim = \"greedy\"",
            };
            let done = replay_to_marks(&requests, &[from.requests, to.requests], &drive)?;
            Ok(done[1].since(done[0]))
        };
        Ok(SimulatedRun {
            written_bytes: to.written_bytes - from.written_bytes,
            sent_bytes: to.sent_bytes - from.sent_bytes,
            replayed: self.drives.iter().map(on).collect::<Result<_, Failure>>()?,
        })
    }
}

/// NVMFS compared with the cache, on one drive.
struct Row {
    space: Space,
    nvram_divisor: u64,
    skew: f64,
    /// Predicted ratio of the pages programmed with NVMFS to those programmed with the cache.
    predicted: f64,
    /// Simulated ratio, with one value per seed.
    programs: Vec<f64>,
    erases: f64,
    traffic: f64,
}

impl Row {
    fn mean_ratio(&self) -> f64 {
        mean(&self.programs, |programs| *programs)
    }

    fn name(&self) -> String {
        let Space { utilisation, over_provisioning, pages_per_block, .. } = self.space;
        let Row { nvram_divisor: one_over, skew, .. } = self;
        format!(
            "NVRAM 1/{one_over}; files {utilisation}; spare {over_provisioning}; block {pages_per_block}; Zipf {skew}"
        )
    }

    /// True if the simulation confirms the predicted winner.
    fn is_as_predicted(&self) -> bool {
        (self.predicted < 1.0) == (self.mean_ratio() < 1.0)
    }
}

/// Distance from 1 below which a predicted or simulated ratio counts as a tie.
const TIE_DISTANCE: f64 = 0.03;

impl Settings {
    fn drives(&self) -> Vec<(f64, u32)> {
        let with = |&over_provisioning: &f64| {
            self.pages_per_block.iter().map(move |pages| (over_provisioning, *pages))
        };
        self.over_provisioning.iter().flat_map(with).collect()
    }

    /// Returns the points of both file systems with each seed, by file size, NVRAM size and exponent.
    fn points(&self, assumed: &AssumedValues) -> Vec<((u64, f64, f64), Vec<Point>)> {
        let disk_bytes = self.disk_mib << 20;
        let [nvmfs, cache, ..] = SimulatedFileSystem::rivals(assumed);
        let mut cases = Vec::new();
        for &one_over in &self.nvram_divisors {
            for &utilisation in &self.utilisations {
                for &skew in &self.skews {
                    let point = |simulated: &SimulatedFileSystem, seed| Point {
                        simulated: simulated.clone(),
                        load: load(skew),
                        utilisation,
                        sizes: Sizes::with_nvram(disk_bytes, one_over, 0, seed),
                        warm_up: self.warm_up,
                        measured: self.measured,
                        drives: self.drives(),
                    };
                    let point_pair = |seed| [point(&nvmfs, seed), point(&cache, seed)];
                    cases.push((
                        (one_over, utilisation, skew),
                        (1..=self.runs).flat_map(point_pair).collect(),
                    ));
                }
            }
        }
        cases
    }

    fn rows(
        &self,
        (one_over, utilisation, skew): (u64, f64, f64),
        courses: &[SimulatedRun],
    ) -> Result<Vec<Row>, Failure> {
        let row = |(at, (over_provisioning, pages_per_block)): (usize, (f64, u32))| {
            let space = Space {
                disk_blocks: (self.disk_mib << 8) as f64,
                nvram: 1.0 / one_over as f64,
                utilisation,
                over_provisioning,
                pages_per_block,
            };
            let ratios = |of: &dyn Fn(&SimulatedRun) -> f64| -> Vec<f64> {
                courses.chunks(2).map(|pair| of(&pair[0]) / of(&pair[1])).collect()
            };
            let per_byte = |value: u64, course: &SimulatedRun| value as f64 / course.written_bytes as f64;
            let average = |of: &dyn Fn(&SimulatedRun) -> f64| mean(&ratios(of), |ratio| *ratio);
            Ok(Row {
                space,
                nvram_divisor: one_over,
                skew,
                predicted: space.program_ratio()?,
                programs: ratios(&|course| per_byte(course.replayed[at].programs, course)),
                erases: average(&|course| per_byte(course.replayed[at].erases, course)),
                traffic: average(&|course| per_byte(course.sent_bytes, course)),
            })
        };
        self.drives().into_iter().enumerate().map(row).collect()
    }
}

/// Returns the load: one large file, all of which Conquest writes in place.
fn load(skew: f64) -> Load {
    let settings = match skew {
        0.0 => "order = \"uniform\"".to_owned(),
        skew => format!("order = \"zipf\"\nskew = {skew:?}"),
    };
    Load { name: format!("iozone zipf {skew}"), kind: "iozone".to_owned(), settings }
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::default();
    for row in rows {
        let bound = |better: fn(f64, f64) -> f64| row.programs.iter().copied().reduce(better).expect("a run");
        table.add(
            Fields::default()
                .text("utilisation", row.space.utilisation)
                .text("over_provisioning", row.space.over_provisioning)
                .text("pages_per_block", row.space.pages_per_block)
                .text("zipf", row.skew)
                .text("nvram", format!("1/{}", row.nvram_divisor))
                .number("predicted", row.predicted, 3)
                .number("programs", row.mean_ratio(), 3)
                .number("least", bound(f64::min), 3)
                .number("most", bound(f64::max), 3)
                // NaN if nothing was erased.
                .text("erases", format!("{:.3}", row.erases))
                .number("traffic", row.traffic, 3),
        );
    }
    table
}

/// Returns the NVRAM size at which both file systems program the same number of pages: the predicted size, and the
/// size interpolated between the simulated ones.
fn crossings(rows: &[Row]) -> Result<Table, Failure> {
    let mut table =
        Table::new(&["utilisation", "over_provisioning", "pages_per_block", "zipf", "predicted", "found"]);
    let key = |row: &Row| {
        let Space { utilisation, over_provisioning, pages_per_block, .. } = row.space;
        (utilisation, over_provisioning, pages_per_block, row.skew)
    };
    let mut keys: Vec<_> = rows.iter().map(key).collect();
    keys.sort_by(|one, other| one.partial_cmp(other).expect("no setting is NaN"));
    keys.dedup();
    for case in keys {
        let mut selected: Vec<&Row> = rows.iter().filter(|row| key(row) == case).collect();
        selected.sort_by(|one, other| one.space.nvram.total_cmp(&other.space.nvram));
        let crossed =
            selected.windows(2).find(|pair| pair[0].mean_ratio() >= 1.0 && pair[1].mean_ratio() < 1.0);
        let found = match crossed {
            Some(pair) => {
                let [(from, above), (to, below)] =
                    [0, 1].map(|at| (pair[at].space.nvram.ln(), pair[at].mean_ratio().ln()));
                format!("{:.4}", (from + (to - from) * above / (above - below)).exp())
            }
            None if selected[0].mean_ratio() < 1.0 => format!("below {:.4}", selected[0].space.nvram),
            None => format!("above {:.4}", selected[selected.len() - 1].space.nvram),
        };
        let predicted = selected[0].space.break_even_nvram(0.9)?;
        let (utilisation, over_provisioning, pages_per_block, skew) = case;
        table.push(vec![
            utilisation.to_string(),
            over_provisioning.to_string(),
            pages_per_block.to_string(),
            skew.to_string(),
            predicted.map_or("none".to_owned(), |share| format!("{share:.4}")),
            found,
        ]);
    }
    Ok(table)
}

/// Draws the ratio of the pages programmed with NVMFS to those with the cache, by size of NVRAM and files, for the
/// first drive and the given exponent.
fn map(session: &Session, settings: &Settings, rows: &[Row], skew: f64) -> Result<(), Failure> {
    let (over_provisioning, pages_per_block) =
        (settings.over_provisioning[settings.over_provisioning.len() / 3], settings.pages_per_block[0]);
    let at = |one_over: u64, utilisation: f64| {
        rows.iter().find(|row| {
            row.nvram_divisor == one_over
                && row.skew == skew
                && row.space.utilisation == utilisation
                && row.space.over_provisioning == over_provisioning
                && row.space.pages_per_block == pages_per_block
        })
    };
    let mut cells = Vec::new();
    for &utilisation in &settings.utilisations {
        for &one_over in &settings.nvram_divisors {
            let row = at(one_over, utilisation).ok_or("every case was tried")?;
            cells.push((row.mean_ratio().ln().clamp(-0.5, 0.5), format!("{:.2}", row.mean_ratio())));
        }
    }
    let title =
        format!("Programmed pages, NVMFS over a write-back cache; {over_provisioning} hidden, Zipf {skew}");
    let across = settings.nvram_divisors.iter().map(|one_over| format!("1/{one_over}")).collect();
    let up = settings.utilisations.iter().map(f64::to_string).collect();
    let map = HeatMap { title: &title, x: ("NVRAM over SSD", across), y: ("files", up), cells };
    crate::heat_map::draw(&map, session, &format!("programs_zipf_{skew}"))
}

fn check(rows: &[Row]) -> Statements {
    let mut statements = Statements::default();
    let clear = |row: &&Row| (row.predicted - 1.0).abs() > TIE_DISTANCE;
    let selected = |uniform: bool, small: bool| {
        rows.iter()
            .filter(move |row| (row.skew == 0.0) == uniform && (row.space.pages_per_block <= 128) == small)
    };
    let side = |row: &Row| (row.name(), row.is_as_predicted());
    let blocks = [(true, "blocks up to an extent"), (false, "blocks of two extents")];
    for (small, name) in blocks {
        let text = format!("uniform writes {name}: the side that was predicted programs less");
        statements.check(&text, selected(true, small).filter(clear).map(side));
        let text =
            format!("skewed writes {name}: the side that was predicted for uniform ones programs less");
        statements.check(&text, selected(false, small).filter(clear).map(side));
    }
    let is_near = |row: &Row| (row.name(), (row.mean_ratio() / row.predicted - 1.0).abs() <= 0.15);
    statements.check(
        "uniform writes blocks up to an extent: the ratio is within 15 % of the prediction",
        selected(true, true).map(is_near),
    );
    let host_wins = |row: &Row| (row.name(), row.mean_ratio() < 1.0);
    let predicted_to_win = selected(false, true).filter(|row| row.predicted < 1.0 - TIE_DISTANCE);
    statements.check(
        "where cleaning by the host wins under uniform writes by prediction it wins under skewed ones",
        predicted_to_win.map(host_wins),
    );
    statements.check(
        "NVMFS never sends less than the cache",
        rows.iter().map(|row| (row.name(), row.traffic > 0.999)),
    );
    statements
}

pub fn run(session: &Session) -> Result<(), Failure> {
    let settings: Settings = session.settings()?;
    let cases = settings.points(&AssumedValues::from_session(session)?);
    let points: Vec<Point> = cases.iter().flat_map(|(_, points)| points.clone()).collect();
    let courses = session.compute_each("host cleaning and cache on drives", &points, Point::run)?;
    let (mut rows, mut rest) = (Vec::new(), &courses[..]);
    for (case, points) in &cases {
        let (results, after) = rest.split_at(points.len());
        rows.extend(settings.rows(*case, results)?);
        rest = after;
    }
    crossings(&rows)?.publish(session, "crossings")?;
    table(&rows).write(session, "points")?;
    for &skew in &settings.skews {
        map(session, &settings, &rows, skew)?;
    }
    check(&rows).publish(session)
}
