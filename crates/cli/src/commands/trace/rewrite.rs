//! `wearwell trace convert` and `wearwell trace cut`.

use super::{TraceInput, failure, parse_pair, report_skipped};
use crate::exit::Failure;
use clap::ValueEnum;
use std::ops::Range;
use std::path::PathBuf;
use std::str::FromStr;
use wearwell_stack::ByteSize;
use wearwell_trace::{Cut, Op, TraceWriter, WriteOptions, WriteSummary};

/// A trace to write.
#[derive(clap::Args, Clone, Debug)]
pub struct TraceOutput {
    /// The new trace; compressed if its name ends in .gz, .xz or .zst
    #[arg(value_name = "NEW_TRACE")]
    pub new_trace: PathBuf,
    /// An option of the new format
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_pair)]
    pub to_option: Vec<(String, String)>,
    /// Leave out requests that the new format cannot hold (discards, flushes, volumes) and count them, instead of
    /// stopping at the first
    #[arg(long)]
    pub drop_inexpressible: bool,
}

impl TraceOutput {
    /// Begins to write in `format`; without a call of [`TraceOutput::finish`], no file remains.
    pub fn create(&self, format: &str) -> Result<TraceWriter, Failure> {
        let options = WriteOptions {
            format: format.to_owned(),
            drop_inexpressible: self.drop_inexpressible,
            options: self.to_option.clone(),
        };
        TraceWriter::create(&self.new_trace, &options).map_err(failure)
    }

    /// Completes the trace and prints the number of requests.
    pub fn finish(&self, writer: TraceWriter) -> Result<(), Failure> {
        let format = writer.format().name;
        let WriteSummary { requests, dropped, first_dropped } = writer.finish().map_err(failure)?;
        crate::messages::print_message(format_args!(
            "{requests} requests written to {} in the format {format}",
            self.new_trace.display()
        ));
        if dropped > 0 {
            crate::messages::print_message(format_args!(
                "warning: {dropped} requests were left out, the first because {}",
                first_dropped.unwrap_or_default()
            ));
        }
        Ok(())
    }
}

/// Rewrites a trace in another format
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  wearwell trace convert my.csv.gz my.blkparse.zst --trace-format msr --to blkparse
  wearwell trace convert old.txt new.csv --trace-format disksim --to msr --drop-inexpressible")]
pub struct ConvertArgs {
    #[command(flatten)]
    input: TraceInput,
    #[command(flatten)]
    output: TraceOutput,
    /// The new format; see `wearwell trace formats`
    #[arg(long, value_name = "NAME")]
    to: String,
}

/// Runs `wearwell trace convert`.
pub fn convert(args: &ConvertArgs) -> Result<(), Failure> {
    rewrite(&args.input, &args.output, Some(&args.to), &Cut::default())
}

/// Keeps a part of a trace
#[derive(clap::Args)]
#[command(after_help = "\
Ranges include their first and exclude their last value; either may be left out.

Examples:
  wearwell trace cut big.csv.gz small.csv --trace-format msr --requests 0..100000
  wearwell trace cut big.csv.gz day2.csv.zst --trace-format alibaba --seconds 86400..172800 --rebase-time
  wearwell trace cut big.csv.gz writes.csv --trace-format msr --ops write --bytes ..1GiB")]
pub struct CutArgs {
    #[command(flatten)]
    input: TraceInput,
    #[command(flatten)]
    output: TraceOutput,
    /// The new format; that of the trace unless given
    #[arg(long, value_name = "NAME")]
    to: Option<String>,
    /// Numbers of requests, from 0
    #[arg(long, value_name = "FROM..TO", value_parser = parse_range::<u64>)]
    requests: Option<(Option<u64>, Option<u64>)>,
    /// Seconds since the trace's first request
    #[arg(long, value_name = "FROM..TO", value_parser = parse_range::<f64>)]
    seconds: Option<(Option<f64>, Option<f64>)>,
    /// Keep only requests that touch these addresses, such as 0..4GiB
    #[arg(long, value_name = "FROM..TO", value_parser = parse_range::<Bytes>)]
    bytes: Option<(Option<Bytes>, Option<Bytes>)>,
    /// Operations, separated by commas
    #[arg(long, value_enum, value_delimiter = ',', value_name = "OP,...")]
    ops: Option<Vec<OpName>>,
    /// Shift all times so that the first kept request is at time 0
    #[arg(long)]
    rebase_time: bool,
}

/// An operation as the command line names it.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum OpName {
    Read,
    Write,
    Trim,
    Flush,
}

impl From<OpName> for Op {
    fn from(name: OpName) -> Op {
        match name {
            OpName::Read => Op::Read,
            OpName::Write => Op::Write,
            OpName::Trim => Op::Trim,
            OpName::Flush => Op::Flush,
        }
    }
}

/// A number of bytes with or without a unit.
#[derive(Clone, Copy, Debug)]
struct Bytes(u64);

impl FromStr for Bytes {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let value = serde_json::Value::String(text.to_owned());
        let size: Result<ByteSize, _> = serde_json::from_value(value);
        size.map(|size| Bytes(size.0)).map_err(|error| error.to_string())
    }
}

/// Parses `FROM..TO`; either end may be missing.
fn parse_range<T: FromStr>(text: &str) -> Result<(Option<T>, Option<T>), String> {
    let (from, to) = text.split_once("..").ok_or("write FROM..TO")?;
    let end = |text: &str| match text.trim() {
        "" => Ok(None),
        text => text.parse().map(Some).map_err(|_| format!("`{text}` is no number")),
    };
    Ok((end(from)?, end(to)?))
}

fn to_range<T>((from, to): (Option<T>, Option<T>), number: impl Fn(T) -> u64) -> Range<u64> {
    from.map_or(0, &number)..to.map_or(u64::MAX, &number)
}

/// Runs `wearwell trace cut`.
pub fn cut(args: &CutArgs) -> Result<(), Failure> {
    let cut = Cut {
        requests: args.requests.map(|range| to_range(range, |number| number)),
        // The cast saturates: negative times become 0.
        time_ns: args.seconds.map(|range| to_range(range, |seconds| (seconds * 1e9) as u64)),
        bytes: args.bytes.map(|range| to_range(range, |bytes| bytes.0)),
        ops: args.ops.as_ref().map(|ops| ops.iter().map(|&op| op.into()).collect()),
        volumes: None,
        rebase_time: args.rebase_time,
    };
    rewrite(&args.input, &args.output, args.to.as_deref(), &cut)
}

fn rewrite(input: &TraceInput, output: &TraceOutput, format: Option<&str>, cut: &Cut) -> Result<(), Failure> {
    crate::output::check_not_input(&output.new_trace, std::slice::from_ref(&input.file))?;
    let (mut reader, display) = input.open()?;
    let mut writer = output.create(format.unwrap_or(reader.format().name))?;
    wearwell_trace::cut(&mut reader, &mut writer, cut).map_err(failure)?;
    display.clear();
    report_skipped(&reader);
    output.finish(writer)
}
