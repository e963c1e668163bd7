//! Extensions of Qiu and Reddy (2013): the update likelihood by which NVMFS groups data is sent to the FTL as a
//! stream; trims; and extents that fill a superblock or straddle two superblocks.

use crate::Failure;
use crate::nvmfs::assumed_values::AssumedValues;
use crate::nvmfs::load::Load;
use crate::nvmfs::replay::{Drive, ReplayCounts, replay_on, written_pages};
use crate::nvmfs::simulate::{SimulatedFileSystem, Sizes};
use crate::nvmfs::trial::Trial;
use crate::session::Session;
use crate::table::{Fields, Table};
use serde::{Deserialize, Serialize};
use wearwell_nvmfs::options::{Grouping, Options};
use wearwell_trace::{Op, Request, RequestBatch};

const HALF_EXTENT_BYTES: u64 = 256 << 10;

/// Use of streams in the FTL: all host writes in one stream, or a separate stream for each of the four likelihoods
/// and one for unknown likelihood. Moved pages have a separate stream in both cases.
const FTLS: [(&str, &str); 2] = [
    ("double", "placement = \"double\""),
    ("host_hint", "placement = { kind = \"host_hint\", streams = 5, cleaned = \"apart\" }"),
];

fn loads() -> [Load; 4] {
    let skewed = |name: &str, skew| Load {
        name: name.to_owned(),
        kind: "fio".to_owned(),
        settings: format!("skew = {skew:?}\n"),
    };
    [Load::named("postmark"), Load::named("fileserver"), Load::named("fio"), skewed("fio, zipf 0.9", 0.9)]
}

fn file_systems(assumed: &AssumedValues) -> Vec<SimulatedFileSystem> {
    let [nvmfs, ..] = SimulatedFileSystem::all(assumed);
    let groupings = [("update_likelihood", Grouping::UpdateLikelihood), ("lru", Grouping::Lru)];
    let each = groupings.map(|(name, grouping)| {
        [true, false].map(|trim| SimulatedFileSystem {
            name,
            options: Options { grouping, trim, ..nvmfs.options.clone() },
            ..nvmfs.clone()
        })
    });
    each.into_iter().flatten().collect()
}

/// Returns the requests shifted by half an extent, so that each extent starts in the middle of a block of its size.
fn shift_by_half_extent(requests: &RequestBatch) -> RequestBatch {
    let mut all = RequestBatch::default();
    let half = Request {
        time_ns: 0,
        op: Op::Write,
        volume: 0,
        offset_bytes: 0,
        length_bytes: HALF_EXTENT_BYTES,
        hint: 0,
    };
    all.push(&half);
    (0..requests.len()).for_each(|at| all.push(&requests.get(at)));
    all
}

#[derive(Serialize, Deserialize)]
struct Case {
    block_pages: u32,
    placement: String,
    #[serde(rename = "straddles")]
    is_shifted: bool,
    replayed: ReplayCounts,
}

fn cases(trial: &Trial, shown_bytes: u64, block_pages: &[u32]) -> Result<Vec<Case>, Failure> {
    let straddling = shift_by_half_extent(&trial.requests);
    let mut cases = Vec::new();
    for &pages_per_block in block_pages {
        for (placement, ftl) in FTLS {
            let drive = Drive::with_paper_reserve(shown_bytes, pages_per_block, ftl);
            let mut push = |requests, from, straddles| -> Result<(), Failure> {
                let replayed = replay_on(requests, from, &drive)?;
                let placement = placement.to_owned();
                cases.push(Case { block_pages: pages_per_block, placement, is_shifted: straddles, replayed });
                Ok(())
            };
            push(&trial.requests, trial.measured_from, false)?;
            if pages_per_block == 128 {
                push(&straddling, trial.measured_from + 1, true)?;
            }
        }
    }
    Ok(cases)
}

/// Settings of the program.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Size of the SSD in MiB.
    disk_mib: u64,
    /// Share of the SSD that the files take.
    utilisation: f64,
    /// Numbers of pages per block or superblock: 64 are 256 KiB as in the paper, 128 are an extent, and 1024 are eight
    /// extents. For the last size, the reserve of less than 504 MiB is too small.
    block_pages: Vec<u32>,
}

pub fn run(session: &Session) -> Result<(), Failure> {
    let Settings { disk_mib, utilisation, block_pages } = session.settings()?;
    let disk_bytes = disk_mib << 20;
    let sizes = Sizes::with_nvram(disk_bytes, 16, 2 * disk_bytes, 1);
    let assumed = AssumedValues::from_session(session)?;
    let (loads, systems) = (loads().map(|load| assumed.with_scaled_files(load)), file_systems(&assumed));
    let jobs: Vec<_> = loads
        .iter()
        .flat_map(|load| systems.iter().map(move |simulated| (load, simulated.clone(), sizes)))
        .collect();
    let found = session.compute_each("hints and trims", &jobs, |(load, simulated, sizes)| {
        let trial = simulated.play(load, utilisation, sizes)?;
        let sent = written_pages(&trial.requests, trial.measured_from..trial.requests.len());
        Ok((sent as f64 * 4096.0 / trial.written_bytes as f64, cases(&trial, disk_bytes, &block_pages)?))
    })?;
    let mut table = Table::default();
    for ((load, simulated, _), (traffic, cases)) in jobs.iter().zip(found) {
        for Case { block_pages, placement, is_shifted: straddles, replayed } in cases {
            table.add(
                Fields::default()
                    .text("workload", load.name.replace(", ", " "))
                    .text("grouping", simulated.name)
                    .text("trim", simulated.options.trim)
                    .text("block_kib", block_pages * 4)
                    .text("ftl_placement", placement)
                    .text("extents", if straddles { "straddle" } else { "as written" })
                    .number("traffic", traffic, 3)
                    .number("ftl_wa", replayed.write_amplification(), 3)
                    .text("erases", replayed.erases)
                    .number("erase_cost", replayed.erase_cost(), 3),
            );
        }
    }
    table.publish(session, "data")
}
