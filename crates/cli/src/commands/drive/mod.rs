//! `wearwell drive`.

mod figure_parsers;
mod parts;
mod sheet;
mod smart;

use super::run::Format;
use super::trace::bytes_per_day;
use crate::exit::Failure;
use crate::interrupt::Interruptible;
use crate::output::{check_not_input, print, write_text};
use crate::progress::ProgressArgs;
use crate::report::{csv_rows, pretty, wrap};
use crate::scenario_args::size;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use wearwell_base::config::ConfigError;
use wearwell_stack::{ByteSize, Draft};
use wearwell_study::drive::{DataSheet, DriveError, SmartReport, evaluate_reports, scenario, summarize};

/// Largest report that is read, in bytes; a longer report is cut and then rejected by the parser.
const MAX_REPORT_BYTES: u64 = 32 << 20;

/// Evaluates the data sheet of a drive and its SMART counters
///
/// From capacity, spare space, TBW, DWPD and warranty: whether they are consistent, the write amplification that theory
/// predicts for that spare space, and the life of the drive. From reports of nvme-cli or smartctl in JSON: the measured
/// write amplification compared with the models, the remaining life at the measured rate, and the spare space that
/// explains the measurement.
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    #[command(flatten)]
    sheet: SheetArgs,
    #[command(flatten)]
    usage: UsageArgs,
    #[command(flatten)]
    models: ModelArgs,
    #[command(flatten)]
    reports: ReportArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table, help_heading = "Output")]
    format: Format,
    /// Also write a scenario of the drive, TOML
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Capacity of the drive in the scenario, with the same share of spare space and TBW in proportion; a small drive
    /// behaves alike and takes less time to simulate
    #[arg(long, value_name = "SIZE", value_parser = size, requires = "output", help_heading = "Output")]
    scaled_to: Option<ByteSize>,
    /// Give the scenario's drive the spare space that explains the measured write amplification, instead of the given or assumed flash
    #[arg(long, requires_all = ["output", "smart"], help_heading = "Output")]
    calibrated: bool,
    #[command(flatten)]
    progress: ProgressArgs,
}

/// Figures of the data sheet.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Data sheet")]
struct SheetArgs {
    /// Capacity of the drive: 1.92TB; that of the report unless given
    #[arg(long, value_name = "SIZE", value_parser = size)]
    capacity: Option<ByteSize>,
    /// Raw flash capacity: 2TiB; the next power of two above the capacity unless given
    #[arg(long, value_name = "SIZE", value_parser = size, conflicts_with_all = ["over_provisioning", "spare_factor"])]
    raw_capacity: Option<ByteSize>,
    /// Spare flash as a share of the capacity: 7% or 0.07
    #[arg(long, value_name = "RATIO", value_parser = figure_parsers::ratio, conflicts_with = "spare_factor")]
    over_provisioning: Option<f64>,
    /// Spare flash as a share of the raw flash
    #[arg(long, value_name = "SHARE", value_parser = figure_parsers::ratio)]
    spare_factor: Option<f64>,
    /// Terabytes written (TBW) within the warranty: 3500, or 3.5PB
    #[arg(long, value_name = "TB", value_parser = figure_parsers::terabytes)]
    tbw: Option<f64>,
    /// Drive writes per day over the warranty
    #[arg(long, value_name = "N", value_parser = figure_parsers::positive)]
    dwpd: Option<f64>,
    /// Length of the warranty: 5y
    #[arg(long, value_name = "YEARS", value_parser = figure_parsers::years)]
    warranty: Option<f64>,
    /// Type of the cells: slc, mlc, tlc, qlc, or another of `wearwell list presets`
    #[arg(long, value_name = "NAME")]
    cells: Option<String>,
    /// Program/erase cycles of a block; set by --cells unless given
    #[arg(long, value_name = "N")]
    endurance_cycles: Option<u32>,
    /// Write amplification for which TBW is stated; the endurance in cycles follows from it
    #[arg(long, value_name = "WA", value_parser = figure_parsers::positive, conflicts_with = "endurance_cycles")]
    rated_wa: Option<f64>,
    /// Sequential write rate: 2.7GB/s
    #[arg(long, value_name = "RATE", value_parser = figure_parsers::rate)]
    sequential_write: Option<ByteSize>,
    /// Sustained random writes of 4 KiB per second: 130k; with --sequential-write, determines the spare space of the drive
    #[arg(long, value_name = "IOPS", value_parser = figure_parsers::operations, requires = "sequential_write")]
    random_write: Option<f64>,
    /// Transfer rate of the interface, for the timing of the scenario: 7GB/s
    #[arg(long, value_name = "RATE", value_parser = figure_parsers::rate)]
    interface: Option<ByteSize>,
}

/// Workload of the drive.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Use")]
struct UsageArgs {
    /// Host writes per day: 500GB
    #[arg(long, value_name = "SIZE", value_parser = figure_parsers::per_day, conflicts_with = "trace")]
    per_day: Option<ByteSize>,
    /// Trace whose write rate is the rate of use; it is read once to compute the rate
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Format of the trace, where the content is ambiguous; see `wearwell trace formats`
    #[arg(long, value_name = "NAME", requires = "trace")]
    trace_format: Option<String>,
    /// The trace is a table with these columns, as printed by `wearwell trace columns`
    #[arg(long, value_name = "FIELD=COLUMN,...", requires = "trace")]
    columns: Option<String>,
}

/// Assumptions of the models about writes and cleaning.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Models")]
struct ModelArgs {
    /// Share of the writes that go to hot pages; 0.8 unless given
    #[arg(long, value_name = "R", value_parser = figure_parsers::ratio, requires = "hot_space")]
    hot_writes: Option<f64>,
    /// Share of the pages that are hot; 0.2 unless given
    #[arg(long, value_name = "F", value_parser = figure_parsers::ratio, requires = "hot_writes")]
    hot_space: Option<f64>,
    /// Pages of a block; 128 unless given
    #[arg(long, value_name = "B")]
    pages_per_block: Option<u32>,
}

/// SMART reports of the drive.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "SMART reports")]
struct ReportArgs {
    /// A report in JSON: `nvme smart-log -o json`, optionally with other nvme-cli output appended, or `smartctl -a -j`;
    /// `-` for standard input. Given twice, the earlier first: evaluates the time in between
    #[arg(long, value_name = "FILE")]
    smart: Vec<PathBuf>,
    /// The report of `nvme ocp smart-add-log -o json` for each --smart, where it is in a separate file
    #[arg(long, value_name = "FILE", requires = "smart")]
    ocp: Vec<PathBuf>,
    /// Days between the two reports, or in service, where the reports have no times or power-on hours: 30d
    #[arg(long, value_name = "DAYS", value_parser = figure_parsers::days, requires = "smart")]
    days: Option<f64>,
}

const HELP: &str = "\
Examples:
  wearwell drive --capacity 1.92TB --dwpd 1 --warranty 5y --cells tlc
  wearwell drive --capacity 1.92TB --raw-capacity 2TiB --tbw 3504 --warranty 5y --cells tlc --per-day 800GB
  wearwell drive --capacity 3.84TB --dwpd 1 --warranty 5y --sequential-write 2.7GB/s --random-write 130k
  wearwell drive --capacity 960GB --tbw 1752 --cells tlc --output my.toml --scaled-to 8GiB
  wearwell drive --smart docs/samples/nvme-june.json --smart docs/samples/nvme-july.json --cells tlc --tbw 3504
  wearwell drive --smart docs/samples/sata.json --format json
  wearwell drive --smart docs/samples/sata.json --cells tlc --calibrated --output my.toml --scaled-to 8GiB
  nvme smart-log -o json /dev/nvme0 | wearwell drive --smart - --capacity 1.92TB --tbw 3504";

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let mut sheet = data_sheet(args)?;
    let inputs: Vec<PathBuf> =
        [&args.reports.smart[..], &args.reports.ocp[..], args.usage.trace.as_slice()].concat();
    if let Some(output) = &args.output {
        check_not_input(output, &inputs)?;
    }
    let text = if args.reports.smart.is_empty() {
        let found = summarize(&sheet.resolve().map_err(of_sheet)?).map_err(failure)?;
        match args.format {
            Format::Table => wrap(&sheet::table(&found)),
            Format::Json => pretty(&found),
            Format::Csv => csv_rows(&sheet::rows(&found))?,
        }
    } else {
        let reports = reports(&args.reports)?;
        let (earlier, later) = match &reports[..] {
            [only] => (None, only),
            [earlier, later] => (Some(earlier), later),
            _ => {
                return Err(Failure::Usage("--smart: one report, or two in the order of their times".into()));
            }
        };
        let found = evaluate_reports(&sheet, earlier, later, args.reports.days).map_err(failure)?;
        sheet.capacity = sheet.capacity.or(found.capacity_bytes.map(ByteSize));
        if args.calibrated {
            let spare = found.effective_spare_factor.ok_or_else(|| {
                Failure::run("--calibrated: no spare space explains what was seen, or nothing was".to_owned())
            })?;
            // The endurance derived from the original flash size remains.
            sheet = DataSheet {
                raw_capacity: None,
                over_provisioning: None,
                spare_factor: Some(spare.value),
                endurance_cycles: found.endurance_cycles,
                rated_write_amplification: None,
                ..sheet
            };
        }
        match args.format {
            Format::Table => wrap(&smart::table(&found)),
            Format::Json => pretty(&found),
            Format::Csv => csv_rows(&smart::rows(&found))?,
        }
    };
    if let Some(output) = &args.output {
        write_scenario(output, &sheet, args.scaled_to)?;
    }
    print(&text)
}

/// Returns the data sheet that the options describe.
fn data_sheet(args: &Args) -> Result<DataSheet, Failure> {
    let Args { sheet, usage, models, .. } = args;
    let of_trace = match &usage.trace {
        None => None,
        Some(trace) => {
            let (format, columns) = (usage.trace_format.clone(), usage.columns.clone());
            Some(bytes_per_day(trace, format, columns, args.progress)?)
        }
    };
    Ok(DataSheet {
        capacity: sheet.capacity,
        raw_capacity: sheet.raw_capacity,
        over_provisioning: sheet.over_provisioning,
        spare_factor: sheet.spare_factor,
        tbw: sheet.tbw,
        dwpd: sheet.dwpd,
        warranty_years: sheet.warranty,
        cells: sheet.cells.clone(),
        endurance_cycles: sheet.endurance_cycles,
        rated_write_amplification: sheet.rated_wa,
        gb_per_day: usage.per_day.map(|size| size.0 as f64).or(of_trace).map(|bytes| bytes / 1e9),
        sequential_write: sheet.sequential_write,
        random_write_iops: sheet.random_write,
        interface: sheet.interface,
        hot_writes: models.hot_writes,
        hot_space: models.hot_space,
        pages_per_block: models.pages_per_block,
    })
}

fn reports(args: &ReportArgs) -> Result<Vec<SmartReport>, Failure> {
    let standard_inputs = args.smart.iter().chain(&args.ocp).filter(|path| path.as_os_str() == "-").count();
    if standard_inputs > 1 {
        return Err(Failure::Usage("--smart: standard input can be read once only".into()));
    }
    if args.ocp.len() > args.smart.len() {
        return Err(Failure::Usage("--ocp: there are more of these than of --smart".into()));
    }
    let one = |(at, path): (usize, &PathBuf)| {
        let mut text = read(path)?;
        if let Some(ocp) = args.ocp.get(at) {
            text += "\n";
            text += &read(ocp)?;
        }
        let name = if path.as_os_str() == "-" { "standard input".into() } else { path.display().to_string() };
        SmartReport::read(&name, &text).map_err(Failure::run)
    };
    args.smart.iter().enumerate().map(one).collect()
}

fn read(path: &Path) -> Result<String, Failure> {
    let failed = |error: std::io::Error| match crate::interrupt::interrupted() {
        true => Failure::Interrupted,
        false => Failure::run(format!("{}: {error}", path.display())),
    };
    let mut text = Vec::new();
    if path.as_os_str() == "-" {
        Interruptible(std::io::stdin()).take(MAX_REPORT_BYTES).read_to_end(&mut text).map_err(failed)?;
    } else {
        let file = File::open(path).map_err(failed)?;
        Interruptible(file).take(MAX_REPORT_BYTES).read_to_end(&mut text).map_err(failed)?;
    }
    String::from_utf8(text)
        .map_err(|_| Failure::run(format!("{}: is no JSON: it is not UTF-8", path.display())))
}

/// Writes the scenario, after checking that it can be built.
fn write_scenario(
    output: &Path,
    sheet: &DataSheet,
    simulated_capacity: Option<ByteSize>,
) -> Result<(), Failure> {
    if output.extension().is_none_or(|extension| extension != "toml") {
        return Err(Failure::Usage(format!("{}: a scenario ends in .toml", output.display())));
    }
    let text = scenario(&sheet.resolve().map_err(of_sheet)?, simulated_capacity).map_err(of_sheet)?;
    let checked = wearwell_stack::ResolvedScenario::of(Draft::from_toml(&text, "the scenario")?.scenario()?);
    checked.map_err(|error| Failure::Usage(format!("the scenario of this drive would not run: {error}")))?;
    write_text(output, &text)
}

/// Names the option in an error about a key of the data sheet.
fn of_sheet(error: ConfigError) -> Failure {
    let option = match error.key.as_str() {
        "warranty_years" => "warranty".into(),
        "rated_write_amplification" => "rated-wa".into(),
        "gb_per_day" => "per-day".into(),
        "random_write_iops" => "random-write".into(),
        "hot_writes, hot_space" => "hot-writes, --hot-space".into(),
        key => key.replace('_', "-"),
    };
    Failure::Usage(format!("--{option}: {}", error.problem))
}

fn failure(error: DriveError) -> Failure {
    match error {
        DriveError::Sheet(error) => of_sheet(error),
        DriveError::Report(error) => Failure::run(error),
        DriveError::Theory(error) => error.into(),
    }
}
