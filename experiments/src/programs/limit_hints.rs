//! Upper limit of the benefit of hints for a log on a log: how much could the upper log save if its hints described all
//! its future operations?
//!
//! A log runs on a drive, and its writes and trims to the drive are recorded. The drive then replays the recording
//! three times: unchanged, with the log's streams as hints, and with policies that know the future. These policies are
//! a placement and a victim policy that know all future writes and trims, which is more than any hint can express.

use crate::Failure;
use crate::interval::{Interval, closed_percent, mean};
use crate::replicas::{amplification, scenario};
use crate::session::{Interrupted, Session};
use crate::statements::Statements;
use crate::table::{Fields, Table};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::ops::ControlFlow;
use wearwell_base::config::ConfigError;
use wearwell_engine::counters::Cause;
use wearwell_engine::layer::MediumEvent;
use wearwell_stack::{
    CustomParts, PageObserver, Phase, ResolvedScenario, RunResult, Scenario, run as simulate, run_observed,
};
use wearwell_study::limit::LowerBoundRun;

/// Settings of the program.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Settings {
    /// Capacity of the drive in MiB.
    drive_mib: u32,
    /// Host writes before the recording, and during it, as a multiple of the log's pages.
    #[allow(dead_code, reason = "read by the session")]
    length: f64,
    /// Number of seeds for the host's writes.
    #[allow(dead_code, reason = "read by the session")]
    runs: u64,
}

/// Segment sizes of the log in KiB, on blocks of 256 KiB.
const SEGMENTS_KIB: [u32; 3] = [64, 384, 1024];

const WORKLOADS: [(&str, &str); 2] = [
    ("uniform", "kind = \"uniform\""),
    ("hot and cold 90/10", "kind = \"hot_cold\"\nhot_writes = 0.9\nhot_space = 0.1"),
];

/// Variants of the drive with the same writes: unchanged, with hints, and with knowledge of the future.
const DRIVES: [(&str, &str); 3] = [
    ("as it is", "placement = \"double\"\nvictim = \"greedy\""),
    ("streams as hints", "placement = { kind = \"host_hint\", streams = 4 }\nvictim = \"greedy\""),
    ("all that could be known", "placement = \"death_windows\"\nvictim = \"foresight\""),
];

const PAGE_BYTES: u32 = 4096;

#[derive(Clone, Debug, Serialize)]
struct Point {
    workload: &'static str,
    segment_kib: u32,
    drive_mib: u32,
    length: f64,
    seed: u64,
}

/// Figures of a stack.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct RunFigures {
    #[serde(rename = "log")]
    log_amplification: f64,
    /// Write amplification of the drive in each variant, in the order of [`DRIVES`].
    #[serde(rename = "drive")]
    drive_amplifications: Vec<f64>,
    lower_bound: f64,
}

/// Records the writes and trims of a log to the drive below.
struct Recorder<'a> {
    session: &'a Session<'a>,
    segment_pages: u32,
    /// Numbers of host pages at the start and at the end of the recording.
    begin: u64,
    end: u64,
    host_pages: u64,
    sent_pages: u64,
    csv: String,
}

impl Recorder<'_> {
    fn is_recording(&self) -> bool {
        self.host_pages >= self.begin
    }

    fn line(&mut self, op: &str, first: u32, pages: u32, hint: u8) {
        if self.is_recording() {
            let [offset, length] = [first, pages].map(|pages| u64::from(pages) * u64::from(PAGE_BYTES));
            let _ = writeln!(self.csv, "0,{op},0,{offset},{length},{hint}");
        }
    }
}

impl PageObserver for Recorder<'_> {
    fn begin(&mut self, _: &ResolvedScenario) -> Result<(), ConfigError> {
        Ok(())
    }

    fn observe(&mut self, phase: Phase, seen: Vec<(usize, MediumEvent)>) -> ControlFlow<()> {
        // The log is layer 0, and its segments are contiguous.
        for (_, seen) in seen.into_iter().filter(|(layer, _)| *layer == 0) {
            match seen {
                MediumEvent::Programmed { block, page, pages, cause, stream, .. } => {
                    if cause == Cause::Host && phase != Phase::Fill {
                        self.host_pages += u64::from(pages);
                    }
                    self.line("W", block.0 * self.segment_pages + page, pages, stream.0 + 1);
                    self.sent_pages += if self.is_recording() { u64::from(pages) } else { 0 };
                }
                MediumEvent::Erased { block, .. } => {
                    self.line("T", block.0 * self.segment_pages, self.segment_pages, 0);
                }
                MediumEvent::Read { .. } | MediumEvent::Invalidated(_) => {}
            }
        }
        self.session.flow()?;
        if self.host_pages >= self.end { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

fn device(drive_mib: u32) -> String {
    format!("[device]\ncapacity = \"{drive_mib} MiB\"\nspare_factor = 0.1\npages_per_block = 64\n")
}

fn measure(session: &Session, point: &Point) -> Result<RunFigures, Failure> {
    let workload =
        WORKLOADS.iter().find(|(name, _)| *name == point.workload).ok_or("a workload of the list")?.1;
    let device = device(point.drive_mib);
    let stack = scenario(&format!(
        "seed = {}\n{device}[[log]]\nsegment_size = \"{} KiB\"\nspare_factor = 0.15\n[workload]\n{workload}\n",
        point.seed, point.segment_kib
    ))?;
    let host_pages = (f64::from(point.drive_mib) * 256.0 * 0.85 * point.length) as u64;
    let mut recorder = Recorder {
        session,
        segment_pages: point.segment_kib * 1024 / PAGE_BYTES,
        begin: host_pages,
        end: 2 * host_pages,
        host_pages: 0,
        sent_pages: 0,
        csv: "time_ns,op,volume,offset_bytes,length_bytes,hint\n".to_owned(),
    };
    run_observed(&stack, CustomParts::default(), &mut recorder)?;
    if session.flow().is_break() {
        return Err(Interrupted.into());
    }
    let log = recorder.sent_pages as f64 / (recorder.host_pages - recorder.begin) as f64;
    let file = tempfile::Builder::new().suffix(".csv").tempfile()?;
    std::fs::write(file.path(), &recorder.csv)?;
    let mut results = Vec::new();
    for (_, ftl) in DRIVES {
        let path = file.path().to_string_lossy();
        let scenario = scenario(&format!(
            "{device}[ftl]\n{ftl}\n[trace]\npath = {path:?}\nformat = \"wearwell-csv\"\n[measure]\nwarm_up = 2.0\ndrive_writes = 2.0\n"
        ))?;
        results.push(replay(session, &scenario)?);
    }
    let drive = results.iter().map(amplification).collect::<Result<Vec<f64>, Failure>>()?;
    let first = results.swap_remove(0);
    let lower_bound = LowerBoundRun::of(first, &mut || session.flow())?.lower_bound();
    Ok(RunFigures { log_amplification: log, drive_amplifications: drive, lower_bound })
}

fn replay(session: &Session, scenario: &Scenario) -> Result<RunResult, Failure> {
    match simulate(scenario, &mut |_: &_| session.flow()) {
        Err(_) if session.flow().is_break() => Err(Interrupted.into()),
        other => Ok(other?),
    }
}

pub fn run(session: &Session) -> Result<(), Failure> {
    let Settings { drive_mib, .. } = session.settings()?;
    let length = session.length;
    let cases = WORKLOADS.iter().flat_map(|(workload, _)| SEGMENTS_KIB.map(|kib| (*workload, kib)));
    let of_case = |(workload, segment_kib)| {
        (1..=session.runs).map(move |seed| Point { workload, segment_kib, drive_mib, length, seed })
    };
    let points: Vec<Point> = cases.flat_map(of_case).collect();
    let found = session.compute_each("hints", &points, |point| measure(session, point))?;
    let mut table = Table::default();
    let mut ordered = Vec::new();
    let seeds = session.runs as usize;
    for (point, figures) in points.iter().step_by(seeds).zip(found.chunks(seeds)) {
        if figures.iter().any(|kept| kept.drive_amplifications.len() != DRIVES.len()) {
            return Err("a drive is missing".into());
        }
        let plain = Interval::from_values(
            &figures.iter().map(|kept| kept.drive_amplifications[0]).collect::<Vec<_>>(),
        );
        let [hinted, offline] = [1, 2].map(|drive| mean(figures, |kept| kept.drive_amplifications[drive]));
        let [log, lower_bound] =
            [mean(figures, |kept| kept.log_amplification), mean(figures, |kept| kept.lower_bound)];
        let [drive, drive_ci] = plain.numbers(4);
        table.add(
            Fields::default()
                .text("workload", point.workload)
                .text("segment_kib", point.segment_kib)
                .number("log", log, 4)
                .text("drive", drive)
                .text("drive_ci", drive_ci)
                .number("drive_with_stream_hints", hinted, 4)
                .number("drive_knowing_all", offline, 4)
                .number("lower_bound", lower_bound, 4)
                .number("stack", log * plain.mean, 4)
                .number("stack_knowing_all", log * offline, 4)
                .number("closed_by_stream_hints_percent", closed_percent(plain.mean, 1.0, hinted), 1)
                .number("closed_at_best_percent", closed_percent(plain.mean, 1.0, offline), 1),
        );
        let case = format!("{}, segments of {} KiB", point.workload, point.segment_kib);
        let is_between = |kept: &RunFigures| {
            kept.lower_bound <= kept.drive_amplifications[2] + 1e-9
                && kept.drive_amplifications[2] <= kept.drive_amplifications[0] + 1e-9
        };
        ordered.push((case, figures.iter().all(is_between)));
    }
    table.publish(session, "data")?;
    let mut statements = Statements::default();
    statements.check("ours: what knows all is between the bound and the drive as it is", ordered);
    statements.publish(session)
}
