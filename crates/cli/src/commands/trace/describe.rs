//! `wearwell trace describe`.

use super::{TraceInput, failure, report_skipped};
use crate::commands::list::ListFormat;
use crate::exit::Failure;
use crate::output::print;
use crate::report::table::{duration, gigabytes, short, years};
use crate::report::{count, grid, pretty, wrap};
use serde_json::json;
use wearwell_stack::{ByteSize, Lifetime};
use wearwell_trace::{
    DescribeOptions, Distribution, OpDescription, PercentileBounds, SampleDescription, SampleErrors,
    SampleRate, SizeBucket, TraceDescription, VolumeDescription, describe,
};

/// Maximum number of volumes in the table; JSON has all volumes.
const MAX_SHOWN_VOLUMES: usize = 20;

/// Describes a trace: requests, sizes, footprint, overwriting, reuse, duplication
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  wearwell trace describe traces/rocksdb-pgbench-ext4.blkparse.zst
  wearwell trace describe my.csv.gz --trace-format alibaba --volumes 3,7 --format json
  wearwell trace describe year.csv.zst --trace-format tencent --sample 0.01
  wearwell trace describe my.csv --columns time=ts:us,op=type,offset=lba:512,size=len:bytes --tbw 600")]
pub struct Args {
    #[command(flatten)]
    input: TraceInput,
    /// Page size that footprint and overwriting are counted with, bytes
    #[arg(long, value_name = "BYTES", default_value_t = 4096, value_parser = clap::value_parser!(u64).range(1..))]
    page_size: u64,
    /// Do not compute the distance in distinct pages between two writes of a page
    #[arg(long)]
    no_stack_distance: bool,
    /// Follow only this fraction of the pages, above 0 and at most 1: for traces whose pages do not fit into memory
    ///
    /// Pages are sampled by a hash of volume and page number (SHARDS; Waldspurger et al., FAST 2015). Footprint, overwriting,
    /// reuse, live discards and duplication are estimated, each with its expected error; counts of requests, bytes and sizes
    /// stay exact.
    #[arg(long, value_name = "RATE")]
    sample: Option<SampleRate>,
    /// Endurance of a drive in terabytes (10^12 bytes) of host writes; prints its life in years at the trace's rate
    #[arg(long, value_name = "TB", value_parser = positive)]
    tbw: Option<f64>,
    /// Output format
    #[arg(long, value_enum, default_value_t = ListFormat::Table)]
    format: ListFormat,
}

fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| "write a number above 0".to_owned())
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let (mut reader, display) = args.input.open()?;
    let options = DescribeOptions {
        page_bytes: args.page_size,
        stack_distance: !args.no_stack_distance,
        sample: args.sample,
    };
    let description = describe(&mut reader, &options).map_err(failure)?;
    display.clear();
    report_skipped(&reader);
    match args.format {
        ListFormat::Json => {
            let mut description = serde_json::to_value(&description).expect("plain data");
            if let Some(tbw) = args.tbw {
                let years = description["write_bytes_per_day"]
                    .as_f64()
                    .map(|a_day| Lifetime::years(tbw * 1e12, a_day));
                description["years"] = json!(years);
            }
            print(&pretty(&description))
        }
        ListFormat::Table => print(&wrap(&table(reader.format().name, &description, args.tbw))),
    }
}

fn table(format: &str, description: &TraceDescription, tbw: Option<f64>) -> String {
    let mut text = format!("{} requests in the format {format}\n", count(description.requests));
    text += &grid(&[], fact_rows(description, tbw), &[]);
    text.push('\n');
    text += &grid(
        &["operation", "requests", "bytes", "pages", "sequential"],
        operations(description),
        &[1, 2, 3, 4],
    );
    text.push('\n');
    text += &grid(&["request size", "reads", "writes"], sizes(description), &[1, 2]);
    text.push('\n');
    if description.volumes.len() > 1 {
        let head =
            ["volume", "requests", "writes", "bytes written", "pages written", "overwrite ratio", "end"];
        text += &grid(
            &head,
            description.volumes.iter().take(MAX_SHOWN_VOLUMES).map(volume).collect(),
            &[1, 2, 3, 4, 5, 6],
        );
        text.push('\n');
        if description.volumes.len() > MAX_SHOWN_VOLUMES {
            text += &format!(
                "and {} volumes more; --format json has them\n",
                description.volumes.len() - MAX_SHOWN_VOLUMES
            );
        }
    }
    text
}

fn fact_rows(description: &TraceDescription, tbw: Option<f64>) -> Vec<Vec<String>> {
    let errors = description.sample.as_ref().map(|sample| &sample.expected_error);
    let pages = |pages: u64| {
        format!("{} pages ({})", count(pages), ByteSize(pages.saturating_mul(description.page_bytes)))
    };
    let margin = |part: fn(&SampleErrors) -> Option<f64>| margin(errors.and_then(part));
    let end = description.volumes.iter().map(|volume| volume.end_bytes).max().unwrap_or(0);
    let seconds = description.duration_ns.map(|ns| format!("{:.3} s", ns as f64 / 1e9));
    let overwrites = description.overwrite_ratio.map_or_else(missing, |ratio| {
        format!("{ratio:.3} writes of each written page{}", margin(|errors| errors.overwrite_ratio))
    });
    let mut rows = vec![
        ("Page size", ByteSize(description.page_bytes).to_string()),
        ("Duration", seconds.unwrap_or_else(missing)),
        ("Out of order", format!("{} requests earlier than the one before", count(description.out_of_order))),
        ("Written a day", rate(description, tbw)),
        ("Writes among reads and writes", percent(description.write_ratio)),
    ];
    rows.extend(description.sample.as_ref().map(|sample| ("Sample", self::sample(sample))));
    rows.extend([
        (
            "Footprint",
            pages(description.distinct_pages_touched) + &margin(|errors| errors.distinct_pages_touched),
        ),
        ("  read", pages(description.distinct_pages_read) + &margin(|errors| errors.distinct_pages_read)),
        (
            "  written",
            pages(description.distinct_pages_written) + &margin(|errors| errors.distinct_pages_written),
        ),
        ("Overwrite ratio", overwrites),
        ("Rewrite interval", description.reuse.interval_pages.as_ref().map_or_else(missing, distribution)),
    ]);
    rows.extend(
        errors
            .and_then(|errors| errors.interval_pages.as_deref())
            .map(|all| ("  expected within", bounds(all))),
    );
    rows.push((
        "  in distinct pages",
        description.reuse.stack_distance_pages.as_ref().map_or_else(missing, distribution),
    ));
    let distances = errors.and_then(|errors| errors.stack_distance_pages.as_deref());
    rows.extend(distances.map(|all| ("  expected within", bounds(all))));
    rows.extend([
        ("Discarded whole", pages(description.discards.pages)),
        ("  of them live", pages(description.discards.live_pages) + &margin(|errors| errors.live_pages)),
        ("End of the highest request", format!("{} ({} bytes)", ByteSize(end), count(end))),
        ("Volumes", count(description.volumes.len() as u64)),
    ]);
    if let Some(duplication) = &description.duplication {
        let unique =
            format!("{:.2} % unique{}", duplication.unique_ratio * 100.0, margin(|errors| errors.unique));
        let zero = duplication.zero_ratio * 100.0;
        let granularity = ByteSize(duplication.granularity_bytes);
        rows.push(("Content", format!("{unique}, {zero:.2} % zeros, in units of {granularity}")));
    }
    rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect()
}

/// Returns the sample in words.
fn sample(sample: &SampleDescription) -> String {
    let pages = count(sample.sampled_pages);
    let percent = short(sample.rate * 100.0);
    format!(
        "{percent} % of the pages, {pages} of those touched; expected errors are for a confidence of 95 %"
    )
}

/// Returns the expected error of an estimate as text to be appended; empty if the error is unknown.
fn margin(relative: Option<f64>) -> String {
    relative.map_or_else(String::new, |error| format!(", ± {:.2} %", error * 100.0))
}

/// Returns the bounds of percentiles.
fn bounds(bounds: &[PercentileBounds]) -> String {
    let one = |bounds: &PercentileBounds| {
        format!("{} %: {} to {}", bounds.percent, count(bounds.low), count(bounds.high))
    };
    bounds.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Formats the data that the trace writes per day, and the life of a drive with this endurance in terabytes written.
fn rate(description: &TraceDescription, tbw: Option<f64>) -> String {
    let (Some(a_day), Some(ns)) = (description.write_bytes_per_day, description.duration_ns) else {
        return missing();
    };
    let life =
        tbw.map(|tbw| format!(": {} TB last {}", short(tbw), years(Lifetime::years(tbw * 1e12, a_day))));
    let duration_text = duration(ns as f64 / 1e9);
    format!(
        "{}, as over the {duration_text} of the trace{}",
        gigabytes(a_day / 1e9),
        life.unwrap_or_default()
    )
}

fn missing() -> String {
    "–".into()
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(missing, |share| format!("{:.2} %", share * 100.0))
}

fn distribution(values: &Distribution) -> String {
    let percentiles: Vec<_> =
        values.percentiles.iter().map(|(percent, value)| format!("{percent} %: {}", count(*value))).collect();
    format!(
        "{} to {}, mean {:.1}; {}",
        count(values.min),
        count(values.max),
        values.mean,
        percentiles.join(", ")
    )
}

fn operations(description: &TraceDescription) -> Vec<Vec<String>> {
    let row = |name: &str, op: &OpDescription| {
        vec![
            name.to_owned(),
            count(op.requests),
            ByteSize(op.bytes).to_string(),
            count(op.pages),
            percent(op.sequential_ratio),
        ]
    };
    let flushes = vec!["flush".to_owned(), count(description.flushes), missing(), missing(), missing()];
    vec![
        row("read", &description.reads),
        row("write", &description.writes),
        row("discard", &description.trims),
        flushes,
    ]
}

fn sizes(description: &TraceDescription) -> Vec<Vec<String>> {
    let (reads, writes) = (&description.read_sizes.histogram, &description.write_sizes.histogram);
    let mut limits: Vec<u64> = reads.iter().chain(writes).map(|bucket| bucket.up_to_bytes).collect();
    limits.sort_unstable();
    limits.dedup();
    let of = |buckets: &[SizeBucket], limit: u64| {
        count(buckets.iter().find(|bucket| bucket.up_to_bytes == limit).map_or(0, |bucket| bucket.requests))
    };
    limits
        .iter()
        .map(|&limit| vec![format!("to {}", ByteSize(limit)), of(reads, limit), of(writes, limit)])
        .collect()
}

fn volume(volume: &VolumeDescription) -> Vec<String> {
    vec![
        volume
            .name
            .as_ref()
            .map_or_else(|| volume.volume.to_string(), |name| format!("{} ({name})", volume.volume)),
        count(volume.requests),
        count(volume.writes.requests),
        ByteSize(volume.writes.bytes).to_string(),
        count(volume.distinct_pages_written),
        volume.overwrite_ratio.map_or_else(missing, |ratio| format!("{ratio:.3}")),
        ByteSize(volume.end_bytes).to_string(),
    ]
}
