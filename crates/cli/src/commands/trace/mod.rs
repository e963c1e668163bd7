//! `wearwell trace`: describe, convert, cut, generate, check, columns, formats.

mod columns;
mod describe;
mod formats;
mod generate;
mod rewrite;

use crate::exit::Failure;
use crate::interrupt::{Interruptible, interrupted};
use crate::output::print;
use crate::progress::{ProgressArgs, ReadProgress};
use std::fs::File;
use std::path::{Path, PathBuf};
use wearwell_trace::{DescribeOptions, ReadOptions, RequestBatch, TraceError, TraceReader, describe};

/// Number of requests read at a time.
const BATCH_REQUESTS: usize = 8192;

/// Describes, converts, cuts, checks and generates traces
#[derive(clap::Subcommand)]
pub enum Command {
    Describe(describe::Args),
    Convert(rewrite::ConvertArgs),
    Cut(rewrite::CutArgs),
    Generate(generate::Args),
    Check(CheckArgs),
    Columns(columns::Args),
    Formats(formats::Args),
}

/// Runs the command.
pub fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Describe(args) => describe::run(args),
        Command::Convert(args) => rewrite::convert(args),
        Command::Cut(args) => rewrite::cut(args),
        Command::Generate(args) => generate::run(args),
        Command::Check(args) => check(args),
        Command::Columns(args) => columns::run(args),
        Command::Formats(args) => formats::run(args),
    }
}

/// A trace to read.
#[derive(clap::Args, Clone, Debug)]
pub struct TraceInput {
    /// The trace, plain or compressed (gzip, xz, zstd); `-` for standard input
    #[arg(value_name = "TRACE")]
    file: PathBuf,
    /// Its format; may be left out where the content is unmistakable. See `wearwell trace formats`
    #[arg(long, value_name = "NAME")]
    trace_format: Option<String>,
    /// An option of the format
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_pair)]
    trace_option: Vec<(String, String)>,
    /// The trace is a table with these columns: FIELD=COLUMN:UNIT,... as `wearwell trace columns` suggests them
    ///
    /// For example --columns time=ts:us,op=type,offset=lba:512,size=len:bytes; columns by their name in the header or by
    /// number. The same as --trace-format table --trace-option columns=...; see `wearwell trace formats table`.
    #[arg(long, value_name = "FIELD=COLUMN,...")]
    columns: Option<String>,
    /// Count lines that cannot be read and go on, instead of stopping at the first
    #[arg(long)]
    skip_bad: bool,
    /// Only these volumes, separated by commas
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    volumes: Option<Vec<u32>>,
    #[command(flatten)]
    progress: ProgressArgs,
}

/// Splits `NAME=VALUE` into two parts.
fn parse_pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

impl TraceInput {
    fn options(&self) -> Vec<(String, String)> {
        let columns = self.columns.iter().map(|columns| ("columns".to_owned(), columns.clone()));
        self.trace_option.iter().cloned().chain(columns).collect()
    }

    /// Opens the trace; after Ctrl-C, reading it fails.
    fn open(&self) -> Result<(TraceReader, ReadProgress), Failure> {
        let options = ReadOptions {
            format: self.trace_format.clone(),
            skip_bad: self.skip_bad,
            volumes: self.volumes.clone(),
            options: self.options(),
        };
        if self.file.as_os_str() == "-" {
            let display = ReadProgress::new(self.progress, 0);
            let source = display.watch(Interruptible(std::io::stdin()));
            return Ok((TraceReader::new("(standard input)", source, &options).map_err(failure)?, display));
        }
        let name = self.file.display().to_string();
        let broken = |error| Failure::run(format!("{name}: {error}"));
        let file = File::open(&self.file).map_err(broken)?;
        let metadata = file.metadata().map_err(broken)?;
        let display = ReadProgress::new(self.progress, metadata.len());
        let source = display.watch(Interruptible(file));
        Ok((TraceReader::new(&name, source, &options).map_err(failure)?, display))
    }
}

/// Returns the bytes that the trace in `file` writes per day, by its own times.
pub fn bytes_per_day(
    file: &Path,
    trace_format: Option<String>,
    columns: Option<String>,
    progress: ProgressArgs,
) -> Result<f64, Failure> {
    let input = TraceInput {
        file: file.to_owned(),
        trace_format,
        trace_option: Vec::new(),
        columns,
        skip_bad: false,
        volumes: None,
        progress,
    };
    let (mut reader, display) = input.open()?;
    let options = DescribeOptions { stack_distance: false, ..Default::default() };
    let description = describe(&mut reader, &options).map_err(failure)?;
    display.clear();
    description.write_bytes_per_day.filter(|bytes| *bytes > 0.0).ok_or_else(|| {
        let problem = "has no times, or writes nothing, and so no rate; give --per-day";
        Failure::run(format!("{}: {problem}", file.display()))
    })
}

/// Returns the failure of a command on a trace: a usage error for wrong names and options, otherwise a failed run.
fn failure(error: TraceError) -> Failure {
    match error {
        _ if interrupted() => Failure::Interrupted,
        TraceError::UnknownFormat { .. }
        | TraceError::FormatNeeded { .. }
        | TraceError::UnknownOption { .. }
        | TraceError::BadOption { .. }
        | TraceError::NotWritable { .. } => Failure::usage(error),
        other => Failure::run(other),
    }
}

/// Reports lines that were skipped.
fn report_skipped(reader: &TraceReader) {
    let skipped = reader.skipped();
    if skipped.count > 0 {
        crate::messages::print_message(format_args!(
            "warning: {} lines or records could not be read and were skipped, for example",
            skipped.count
        ));
        skipped
            .messages
            .iter()
            .for_each(|message| crate::messages::print_message(format_args!("  {message}")));
    }
}

/// Reads a trace to its end and says whether every line is sound
#[derive(clap::Args)]
#[command(after_help = "\
With --skip-bad, all bad lines are counted and the first few shown; the exit code is 1 if there is one.

Example:
  wearwell trace check my-trace.csv.gz --trace-format alibaba --skip-bad")]
pub struct CheckArgs {
    #[command(flatten)]
    input: TraceInput,
}

fn check(args: &CheckArgs) -> Result<(), Failure> {
    let (mut reader, display) = args.input.open()?;
    let mut batch = RequestBatch::default();
    let mut requests = 0;
    loop {
        match reader.read_batch(&mut batch, BATCH_REQUESTS).map_err(failure)? {
            0 => break,
            more => requests += more,
        }
    }
    display.clear();
    report_skipped(&reader);
    let bad = reader.skipped().count;
    if bad > 0 {
        let trace = reader.path().display();
        return Err(Failure::Run(format!("{trace}: {bad} bad lines beside {requests} sound requests")));
    }
    print(&format!("{requests} requests in the format {}, all sound\n", reader.format().name))
}
