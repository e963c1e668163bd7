//! `wearwell list`.

use crate::exit::Failure;
use crate::output::print;
use crate::report::{grid, pretty, wrap};
use clap::ValueEnum;
use serde::Serialize;
use wearwell_base::config::Entry;
use wearwell_engine::dedup::DEDUPS;
use wearwell_engine::nand::PRESETS;
use wearwell_engine::placement::PLACEMENTS;
use wearwell_engine::validity::VALIDITIES;
use wearwell_engine::victim::VICTIMS;
use wearwell_stack::{FTLS, LOG_LAYOUTS, structures};
use wearwell_trace::FORMATS;
use wearwell_workload::WORKLOADS;

/// Lists policies, placements, workloads, trace formats, device presets, FTLs, page-validity stores, layer structures,
/// layouts of log metadata and deduplication methods
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  wearwell list victims\n  wearwell list all --format json")]
pub struct Args {
    /// Kind of parts to list
    #[arg(value_enum, default_value_t = PartKind::All)]
    kind: PartKind,
    /// Output format
    #[arg(long, value_enum, default_value_t = ListFormat::Table)]
    format: ListFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PartKind {
    /// Choice of the next block to clean: `ftl.victim`
    Victims,
    /// Choice of the stream of a page: `ftl.placement`
    Placements,
    /// Synthetic workloads: `workload.kind`
    Workloads,
    /// Trace formats: `trace.format`
    Formats,
    /// Device presets: `device.preset`
    Presets,
    /// Flash translation layers: `ftl`, or `ftl.structure`
    Ftls,
    /// Places where an FTL stores page validity: `ftl.structure.validity`
    Validities,
    /// Structures of a layer: `ftl.structure`, `log[0].structure`
    Structures,
    /// Layouts of log metadata: `log[0].metadata`
    LogLayouts,
    /// Methods of deduplication: `ftl.dedup`
    Dedups,
    /// All of them
    All,
}

/// A table for people or JSON for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ListFormat {
    /// Table for people
    Table,
    /// For programs
    Json,
}

/// An entry of the list.
#[derive(Serialize)]
struct ListedPart {
    kind: &'static str,
    name: &'static str,
    help: &'static str,
    source: &'static str,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let kinds: Vec<PartKind> = match args.kind {
        PartKind::All => vec![
            PartKind::Victims,
            PartKind::Placements,
            PartKind::Workloads,
            PartKind::Formats,
            PartKind::Presets,
            PartKind::Ftls,
            PartKind::Validities,
            PartKind::Structures,
            PartKind::LogLayouts,
            PartKind::Dedups,
        ],
        one => vec![one],
    };
    match args.format {
        ListFormat::Table => print(&wrap(&kinds.into_iter().map(table).collect::<Vec<_>>().join("\n"))),
        ListFormat::Json => {
            let listed: Vec<ListedPart> = kinds.into_iter().flat_map(listed_parts).collect();
            print(&pretty(&listed))
        }
    }
}

fn table(kind: PartKind) -> String {
    let title = kind.to_possible_value().expect("no kind is hidden");
    let rows = listed_parts(kind)
        .into_iter()
        .map(|line| [line.name, line.help, line.source].map(str::to_owned).to_vec());
    let title =
        format!("{}: {}", title.get_name(), title.get_help().map(ToString::to_string).unwrap_or_default());
    format!("{title}\n{}\n", grid(&["name", "what it does", "source"], rows.collect(), &[]))
}

fn listed_parts(kind: PartKind) -> Vec<ListedPart> {
    let entries = |kind, entries: Vec<&Entry>| -> Vec<ListedPart> {
        entries
            .into_iter()
            .map(|entry| ListedPart { kind, name: entry.name, help: entry.help, source: entry.source })
            .collect()
    };
    match kind {
        PartKind::Victims => entries("victim", VICTIMS.iter().collect()),
        PartKind::Placements => entries("placement", PLACEMENTS.iter().collect()),
        PartKind::Dedups => entries("dedup", DEDUPS.iter().collect()),
        PartKind::Ftls => entries("ftl", FTLS.iter().collect()),
        PartKind::Validities => entries("validity", VALIDITIES.iter().collect()),
        PartKind::Structures => entries("structure", structures().collect()),
        PartKind::Workloads => WORKLOADS
            .iter()
            .map(|entry| ListedPart {
                kind: "workload",
                name: entry.name,
                help: entry.help,
                source: entry.source,
            })
            .collect(),
        PartKind::Formats => FORMATS
            .iter()
            .map(|format| ListedPart {
                kind: "format",
                name: format.name,
                help: format.help,
                source: format.source,
            })
            .collect(),
        PartKind::Presets => entries("preset", PRESETS.iter().map(|preset| &preset.entry).collect()),
        PartKind::LogLayouts => {
            entries("log layout", LOG_LAYOUTS.iter().map(|layout| &layout.entry).collect())
        }
        PartKind::All => Vec::new(),
    }
}
