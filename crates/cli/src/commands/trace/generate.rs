//! `wearwell trace generate`.

use super::rewrite::TraceOutput;
use crate::exit::Failure;
use crate::interrupt::interrupted;
use crate::scenario_args::{key_and_value, size};
use serde_json::json;
use std::path::PathBuf;
use wearwell_base::seed::Seed;
use wearwell_stack::{ByteSize, Draft};
use wearwell_trace::RequestBatch;
use wearwell_workload::{ArrivalConfig, Spacing, TimedRequests, WorkloadConfig, as_requests};

/// Number of requests generated at a time.
const BATCH_REQUESTS: u64 = 8192;

/// Writes a synthetic workload as a trace
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  wearwell trace generate zipf.csv.zst --to msr --kind zipf --set exponent=0.9 --requests 1000000
  wearwell trace generate mix.blkparse --to blkparse --workload my.toml --capacity '64 GiB' --rate 20000 --poisson")]
pub struct Args {
    #[command(flatten)]
    output: TraceOutput,
    /// The trace's format; see `wearwell trace formats`
    #[arg(long, value_name = "NAME")]
    to: String,
    /// Scenario with the workload (TOML), or a file that contains only the keys of a workload
    #[arg(long, value_name = "FILE")]
    workload: Option<PathBuf>,
    /// Kind of workload; --set gives the keys it requires; see `wearwell list workloads`
    #[arg(long, value_name = "NAME", required_unless_present = "workload")]
    kind: Option<String>,
    /// A key of the workload, such as read_ratio=0.5
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Size of the address space
    #[arg(long, value_name = "SIZE", default_value = "1 GiB", value_parser = size)]
    capacity: ByteSize,
    /// Size of a page
    #[arg(long, value_name = "SIZE", default_value = "4 KiB", value_parser = size)]
    page_size: ByteSize,
    /// Number of requests
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    requests: u64,
    /// Mean number of requests per second
    #[arg(long, value_name = "N", default_value_t = 10_000.0)]
    rate: f64,
    /// Random arrivals (a Poisson process) instead of even ones
    #[arg(long)]
    poisson: bool,
    /// Root seed; the requests are those that a run with this seed would get
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let mut requests = source(args)?;
    let mut writer = args.output.create(&args.to)?;
    let mut batch = RequestBatch::default();
    let mut remaining = args.requests;
    while remaining > 0 {
        if interrupted() {
            return Err(Failure::Interrupted);
        }
        batch.clear();
        requests.fill(&mut batch, remaining.min(BATCH_REQUESTS) as usize);
        if batch.is_empty() {
            break;
        }
        remaining -= batch.len() as u64;
        writer.write_batch(&batch).map_err(super::failure)?;
    }
    args.output.finish(writer)
}

fn source(args: &Args) -> Result<TimedRequests, Failure> {
    let (capacity, page) = (args.capacity.0, args.page_size.0);
    let pages =
        capacity.checked_div(page).and_then(|pages| u32::try_from(pages).ok()).filter(|pages| *pages > 0);
    let pages = pages.ok_or_else(|| {
        let problem = "pages that 32 bits can number, at least one";
        Failure::Usage(format!("--capacity {capacity} --page-size {page}: there must be {problem}"))
    })?;
    let page_bytes = u32::try_from(page).map_err(|_| Failure::Usage("--page-size: at most 4 GiB".into()))?;
    let config = workload(args)?;
    let seed = Seed(args.seed).derive("workload");
    let spacing = if args.poisson { Spacing::Exponential } else { Spacing::Constant };
    let arrivals = ArrivalConfig { requests_per_second: args.rate, spacing };
    let workload = config.build(pages, seed).map_err(|error| Failure::usage(error.within("workload")))?;
    as_requests(workload, page_bytes, &arrivals, seed).map_err(|error| match error.key.as_str() {
        "requests_per_second" => Failure::Usage(format!("--rate: {}", error.problem)),
        _ => Failure::usage(error),
    })
}

fn workload(args: &Args) -> Result<WorkloadConfig, Failure> {
    let mut draft = match &args.workload {
        Some(path) => {
            let draft = Draft::from_file(path)?;
            if draft.get("workload").is_some() {
                draft
            } else {
                Draft::from_value(json!({ "workload": draft.value() }))
            }
        }
        None => Draft::from_value(json!({})),
    };
    if let Some(kind) = &args.kind {
        draft.set("workload.kind", json!(kind))?;
    }
    for setting in &args.set {
        let (key, value) = key_and_value(setting)?;
        draft.set(&format!("workload.{key}"), value)?;
    }
    let table = draft.get("workload").cloned().unwrap_or_default();
    serde_json::from_value(table).map_err(|error| Failure::Usage(format!("workload: {error}")))
}
