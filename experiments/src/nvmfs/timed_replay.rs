//! Timed replay of requests to a drive.

use crate::Failure;
use crate::nvmfs::replay::{pages_of, written_pages};
use crate::replicas::scenario;
use crate::session::Session;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;
use wearwell_base::units::Lpn;
use wearwell_stack::{CustomParts, run_with};
use wearwell_trace::{Op, RequestBatch};
use wearwell_workload::{PageBatch, Workload};

/// Window of a run in drive writes; the measurement begins at the end of a window.
const WINDOW: f64 = 0.002;

/// Assumptions about the timing of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Clock {
    /// Microseconds of a memory access for a block of 4 KiB, on NVRAM or in a page cache. The NVRAM runs "with the
    /// latency and endurance of the fastest DRAM" (section II).
    pub memory_us: f64,
    /// Queue depth of the drive.
    pub queue_depth: u32,
}

impl Clock {
    /// Reads the values of a session.
    ///
    /// # Errors
    ///
    /// Returns an error if the register lacks a number.
    pub fn from_session(session: &Session) -> Result<Clock, Failure> {
        let queue_depth = session.assumed_value("nvmfs/queue-depth")? as u32;
        Ok(Clock { memory_us: session.assumed_value("nvmfs/memory-us")?, queue_depth })
    }
}

/// Source of the requests in order; the measured requests are repeated.
struct RequestSource {
    requests: RequestBatch,
    next: usize,
    measured_from: usize,
}

impl RequestSource {
    fn push_next(&mut self, batch: &mut PageBatch) {
        let request = self.requests.get(self.next);
        self.next += 1;
        if self.next == self.requests.len() {
            self.next = self.measured_from;
        }
        let pages = pages_of(&request);
        if request.op == Op::Flush || pages.start < pages.end {
            let count = (pages.end - pages.start) as u32;
            batch.push_request(request.op, request.hint, Lpn(pages.start as u32), count);
        }
    }
}

impl Workload for RequestSource {
    fn fill(&mut self, batch: &mut PageBatch, pages: usize) {
        let (end, runs) = (batch.pages.len() + pages, batch.runs.len());
        if pages == 1 {
            // A flush has no pages, but it is a request.
            while batch.runs.len() == runs {
                self.push_next(batch);
            }
        }
        while pages > 1 && batch.pages.len() < end {
            self.push_next(batch);
        }
    }

    fn final_draw(&mut self) -> u64 {
        self.next as u64
    }
}

/// Bytes of an erase block of the preset: 64 pages of 4 KiB.
const BLOCK_BYTES: f64 = 64.0 * 4096.0;

/// Drive for the timed replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplayDrive {
    /// SLC of 2008 (preset `slc`) with superblocks of eight blocks, so that the drive writes faster than a die: eight
    /// dies of one plane, each on a separate channel. A small request takes as long as a large one with the same
    /// number of pages.
    #[serde(rename = "single")]
    SinglePlane,
    /// Flash of `SinglePlane`, but with sixteen dies of four planes; a superblock is on two dies. A die programs the
    /// pages of one request on all planes at the same time, so large requests are faster.
    #[serde(rename = "together")]
    MultiPlane,
    /// The paper's drive (preset `x25_e`, which has the sources): 170 MB/s sequential, 3,300 requests of 4 KiB per second.
    X25E,
}

impl ReplayDrive {
    /// Drives that are not calibrated to a real drive.
    pub const ALL: [ReplayDrive; 2] = [ReplayDrive::SinglePlane, ReplayDrive::MultiPlane];

    /// Returns the device and the timing in the form of a scenario.
    fn settings(self, blocks_per_plane: u64, queue_depth: u32) -> String {
        let slc = |more: &str| {
            format!(
                "preset = \"slc\"\nblocks_per_plane = {blocks_per_plane}\nsuperblock_blocks = 8\n{more}\n\
                 [timing]\nqueue_depth = {queue_depth}\ncontroller = \"ideal\"\nhost_mb_per_s = 300\n"
            )
        };
        match self {
            ReplayDrive::SinglePlane => slc("planes = 1\ndies = 1"),
            ReplayDrive::MultiPlane => slc("planes = 4\ndies = 2"),
            ReplayDrive::X25E => {
                format!(
                    "preset = \"x25_e\"\nblocks_per_plane = {blocks_per_plane}\n[timing]\nqueue_depth = {queue_depth}\n"
                )
            }
        }
    }

    /// Returns the number of planes on all channels.
    fn planes(self) -> u64 {
        match self {
            ReplayDrive::SinglePlane => 8,
            ReplayDrive::MultiPlane => 64,
            ReplayDrive::X25E => 20,
        }
    }
}

/// Returns the number of seconds that a drive with a capacity of `shown_bytes` takes for the requests from number
/// `measured_from` on; earlier requests set up the state.
///
/// The drive has 10 % of its flash in reserve, a page-level map, and greedy cleaning. `clock` gives the queue depth; a
/// request is submitted as soon as the queue has a free slot. The link is SATA with 300 MB/s, or the link that the
/// preset of the drive specifies.
///
/// Errors: requests that do not fit on the drive.
pub fn timed_seconds(
    requests: &RequestBatch,
    measured_from: usize,
    shown_bytes: u64,
    planes: ReplayDrive,
    clock: &Clock,
) -> Result<f64, Failure> {
    let before = written_pages(requests, 0..measured_from);
    let measured = written_pages(requests, measured_from..requests.len());
    let pages = shown_bytes as f64 / 4096.0;
    // The measurement also ends at the end of a window, before the requests end.
    let drive_writes = measured as f64 / pages - 2.0 * WINDOW;
    if drive_writes <= 0.0 {
        return Err("too little is written to be timed".into());
    }
    let capacity = shown_bytes + (4 << 20);
    // At least a tenth of the flash is in reserve, and every plane has whole blocks.
    let blocks_per_plane = (capacity as f64 / 0.9 / BLOCK_BYTES).ceil() as u64;
    let blocks_per_plane = blocks_per_plane.div_ceil(planes.planes());
    let scenario = scenario(&format!(
        "ftl = {{ victim = \"greedy\" }}\n\
         [precondition]\nfill = \"none\"\nrandom_overwrites = 0\n\
         [measure]\nwarm_up = {}\ndrive_writes = {drive_writes}\nwindow = {WINDOW}\n\
         [device]\ncapacity = {capacity}\n{}",
        before as f64 / pages,
        planes.settings(blocks_per_plane, clock.queue_depth),
    ))?;
    let workload = RequestSource { requests: requests.clone(), next: 0, measured_from };
    let parts =
        CustomParts { workload: Some(Box::new(move |_| Box::new(workload))), ..CustomParts::default() };
    let result = run_with(&scenario, parts, &mut |_: &_| ControlFlow::Continue(()))?;
    let timing = result.timing.ok_or("a timed run has times")?;
    let share = result.phases.measured_host_pages as f64 / measured as f64;
    Ok(timing.elapsed_ns as f64 / 1e9 / share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wearwell_base::seed::{Seed, random_below};
    use wearwell_trace::Request;

    const SHOWN: u64 = 256 << 20;
    const CLOCK: Clock = Clock { memory_us: 0.75, queue_depth: 32 };

    #[test]
    fn random_writes_take_longer_than_sequential_ones() {
        let pages = SHOWN / 4096;
        let request = |page: u64, pages: u64| Request {
            time_ns: 0,
            op: Op::Write,
            volume: 0,
            offset_bytes: page * 4096,
            length_bytes: pages * 4096,
            hint: 0,
        };
        let mut sequential = RequestBatch::default();
        (0..pages / 64).for_each(|block| sequential.push(&request(block * 64, 64)));
        let filled = sequential.len();
        let mut random = sequential.clone();
        (0..pages / 64).for_each(|block| sequential.push(&request(block * 64, 64)));
        let mut seed = Seed(5).random();
        (0..pages).for_each(|_| random.push(&request(random_below(&mut seed, pages), 1)));
        let [single, together] = ReplayDrive::ALL.map(|planes| {
            [&sequential, &random].map(|all| timed_seconds(all, filled, SHOWN, planes, &CLOCK).unwrap())
        });
        // Random writes cause cleaning, and only large requests benefit from planes.
        assert!(single[1] > 1.2 * single[0], "{single:?}");
        assert!(together[1] > 2.0 * together[0] && together[0] < single[0], "{together:?} {single:?}");
        // The paper's drive executes 3,300 small requests per second, and has a rate several times higher with large
        // requests.
        let [large, small] = [&sequential, &random]
            .map(|all| timed_seconds(all, filled, SHOWN, ReplayDrive::X25E, &CLOCK).unwrap());
        let rate = pages as f64 / small;
        assert!((2600.0..4300.0).contains(&rate) && small > 6.0 * large, "{rate} {large} {small}");
        // Every page is transferred over the link.
        assert!(together[0] > pages as f64 * 4096.0 / 300e6, "{together:?}");
    }
}
