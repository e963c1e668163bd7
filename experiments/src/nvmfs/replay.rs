//! Replay of requests to a drive on the two FTLs in the paper (section IV-C).

use crate::Failure;
use crate::replicas::scenario;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use wearwell_base::units::Lpn;
use wearwell_engine::counters::{Cause, Operation};
use wearwell_stack::{Stack, build};
use wearwell_trace::{Op, Request, RequestBatch};

/// Bytes per page: "4KB page, 256 KB block".
pub const PAGE_BYTES: u64 = 4096;

/// The FTLs: "(a)FAST as a representative hybrid FTL scheme and (b)page-level FTL".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayFtl {
    /// A page-level map with greedy cleaning.
    Page,
    /// FAST, with 3 % of the blocks as log blocks.
    Fast,
}

impl ReplayFtl {
    /// Both FTLs.
    pub const ALL: [ReplayFtl; 2] = [ReplayFtl::Page, ReplayFtl::Fast];

    /// Returns the name of the FTL in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            ReplayFtl::Page => "log",
            ReplayFtl::Fast => "fast",
        }
    }
}

/// Operations of the drive for the measured requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayCounts {
    /// Number of pages that the host wrote.
    pub host_pages: u64,
    /// Number of blocks erased.
    pub erases: u64,
    /// Number of valid pages copied by cleaning or merging.
    pub copied_pages: u64,
    /// Number of pages programmed in total.
    pub programs: u64,
    /// Number of pages read in total.
    pub reads: u64,
}

impl ReplayCounts {
    /// Returns the number of valid pages copied per erase, which is the erase cost of the paper; `None` without
    /// erases.
    pub fn erase_cost(&self) -> Option<f64> {
        (self.erases > 0).then(|| self.copied_pages as f64 / self.erases as f64)
    }

    /// Returns the number of pages programmed per host page.
    pub fn write_amplification(&self) -> Option<f64> {
        (self.host_pages > 0).then(|| self.programs as f64 / self.host_pages as f64)
    }

    /// Returns the number of seconds that dies were busy, one after the other. The flash is like that of the paper's
    /// drive: SLC with 25 µs to read, 250 µs to program and 1.5 ms to erase (Agrawal et al., USENIX ATC 2008, Table 1
    /// with 200 to 300 µs).
    pub fn die_seconds(&self) -> f64 {
        (self.reads as f64 * 25.0 + self.programs as f64 * 250.0 + self.erases as f64 * 1500.0) / 1e6
    }

    /// Returns the operations since `earlier`.
    pub fn since(self, earlier: ReplayCounts) -> ReplayCounts {
        ReplayCounts {
            host_pages: self.host_pages - earlier.host_pages,
            erases: self.erases - earlier.erases,
            copied_pages: self.copied_pages - earlier.copied_pages,
            programs: self.programs - earlier.programs,
            reads: self.reads - earlier.reads,
        }
    }

    fn from_stack(stack: &Stack<()>) -> ReplayCounts {
        let reports = stack.describe();
        let ftl = &reports.layers.last().expect("a stack has an FTL").counters;
        let copies = [Cause::Cleaning, Cause::WearLevelling];
        ReplayCounts {
            host_pages: ftl.incoming(Operation::Write),
            erases: ftl.outgoing_total(Operation::Erase),
            copied_pages: copies.map(|cause| ftl.outgoing(cause, Operation::Write)).iter().sum(),
            programs: ftl.outgoing_total(Operation::Write),
            reads: ftl.outgoing_total(Operation::Read),
        }
    }
}

/// Replays requests on a fresh drive with a capacity of `shown_bytes`, pages of 4 KiB, blocks of 256 KiB and 10 % of
/// its flash in reserve. Only requests from number `measured_from` on are counted; earlier requests set up the state.
///
/// Discards are forwarded. Errors: a request beyond the end of the drive.
pub fn replay(
    requests: &RequestBatch,
    measured_from: usize,
    ftl: ReplayFtl,
    shown_bytes: u64,
) -> Result<ReplayCounts, Failure> {
    let settings = format!("structure = \"{}\"", ftl.name());
    replay_on(requests, measured_from, &Drive::with_paper_reserve(shown_bytes, 64, &settings))
}

/// Share of the flash in reserve: "10% over-provisioned capacity".
pub const SPARE_FACTOR: f64 = 0.1;

/// A drive for replays.
#[derive(Clone, Copy, Debug)]
pub struct Drive<'a> {
    /// Capacity in bytes.
    pub capacity_bytes: u64,
    /// Number of 4 KiB pages per block.
    pub pages_per_block: u32,
    /// Additional capacity in bytes, which requests do not use.
    pub extra_bytes: u64,
    /// Share of the flash in reserve.
    pub spare_factor: f64,
    /// Settings of the FTL, in the form of a scenario.
    pub ftl: &'a str,
}

/// Additional capacity for the rounding to whole blocks; FAST takes its log blocks from the reserve.
pub const EXTRA_BYTES: u64 = 4 << 20;

impl<'a> Drive<'a> {
    /// Returns a drive with the reserve of the paper.
    pub fn with_paper_reserve(shown_bytes: u64, pages_per_block: u32, ftl: &'a str) -> Self {
        Drive {
            capacity_bytes: shown_bytes,
            pages_per_block,
            extra_bytes: EXTRA_BYTES,
            spare_factor: SPARE_FACTOR,
            ftl,
        }
    }

    /// Returns the empty stack.
    fn stack(&self) -> Result<Stack<()>, Failure> {
        let capacity = self.capacity_bytes + self.extra_bytes;
        // The reserve is at least as large as requested, because it is rounded up to whole blocks.
        let pages = (capacity as f64 / 4096.0 / (1.0 - self.spare_factor)).round() as u64;
        let blocks = pages.div_ceil(self.pages_per_block.into());
        let mut scenario = scenario(&format!(
            "ftl = {{ {} }}\n\
             [device]\ncapacity = {capacity}\nblocks_per_plane = {blocks}\npages_per_block = {}\n\
             [workload]\nkind = \"uniform\"\n",
            self.ftl, self.pages_per_block
        ))?;
        Ok(build(&mut scenario)?)
    }
}

/// Replays requests on any drive as [`replay`] does.
pub fn replay_on(
    requests: &RequestBatch,
    measured_from: usize,
    drive: &Drive,
) -> Result<ReplayCounts, Failure> {
    let done = replay_to_marks(requests, &[measured_from, requests.len()], drive)?;
    Ok(done[1].since(done[0]))
}

/// Replays requests on a fresh drive. Returns the numbers of operations so far at each of these numbers of requests,
/// which must be in ascending order.
pub fn replay_to_marks(
    requests: &RequestBatch,
    marks: &[usize],
    drive: &Drive,
) -> Result<Vec<ReplayCounts>, Failure> {
    let (mut stack, mut begin) = (drive.stack()?, 0);
    let by = |&to: &usize| {
        replay_range(&mut stack, requests, begin..to)?;
        begin = to;
        Ok(ReplayCounts::from_stack(&stack))
    };
    marks.iter().map(by).collect()
}

/// Returns the pages that a request covers; none for a flush.
pub fn pages_of(request: &Request) -> Range<u64> {
    let end = request.offset_bytes + request.length_bytes;
    match request.op {
        // A page that is partly discarded keeps its content.
        Op::Trim => request.offset_bytes.div_ceil(PAGE_BYTES)..end / PAGE_BYTES,
        Op::Read | Op::Write => request.offset_bytes / PAGE_BYTES..end.div_ceil(PAGE_BYTES),
        Op::Flush => 0..0,
    }
}

/// Returns the number of pages that the requests in a range write.
pub fn written_pages(requests: &RequestBatch, range: Range<usize>) -> u64 {
    let writes = range.map(|at| requests.get(at)).filter(|request| request.op == Op::Write);
    writes.map(|request| pages_of(&request)).map(|pages| pages.end - pages.start).sum()
}

fn replay_range(stack: &mut Stack<()>, requests: &RequestBatch, range: Range<usize>) -> Result<(), Failure> {
    let layer = &mut stack.targets[0].layer;
    let mut read = Vec::new();
    for request in range.map(|at| requests.get(at)) {
        let pages = pages_of(&request);
        if pages.end > u64::from(layer.logical_pages()) {
            let end = request.offset_bytes + request.length_bytes;
            return Err(format!("a request ends at byte {end}, beyond the end of the drive").into());
        }
        let pages: Vec<Lpn> = pages.map(|page| Lpn(page as u32)).collect();
        match request.op {
            Op::Trim => layer.trim(&pages)?,
            Op::Write => layer.write(&pages, wearwell_engine::layer::no_data(pages.len()), request.hint)?,
            Op::Read => {
                read.clear();
                layer.read(&pages, &mut read)?;
            }
            Op::Flush => layer.flush()?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wearwell_base::seed::{Seed, random_below};

    const CAPACITY: u64 = 64 << 20;

    fn request(op: Op, page: u64, pages: u64) -> Request {
        let (offset_bytes, length_bytes) = (page * PAGE_BYTES, pages * PAGE_BYTES);
        Request { time_ns: 0, op, volume: 0, offset_bytes, length_bytes, hint: 0 }
    }

    #[test]
    fn sequential_writes_copy_nothing_and_random_ones_do() {
        let pages = CAPACITY / PAGE_BYTES;
        let mut requests = RequestBatch::default();
        let mut random = Seed(3).random();
        (0..pages / 64).for_each(|block| requests.push(&request(Op::Write, block * 64, 64)));
        let filled = requests.len();
        (0..3 * pages / 64).for_each(|block| requests.push(&request(Op::Write, block * 64 % pages, 64)));
        let rewritten = requests.len();
        (0..2 * pages).for_each(|_| requests.push(&request(Op::Write, random_below(&mut random, pages), 1)));
        for ftl in ReplayFtl::ALL {
            let mut sequential = requests.clone();
            sequential.op.truncate(rewritten);
            let sequential = replay(&sequential, filled, ftl, CAPACITY).unwrap();
            assert_eq!(sequential.host_pages, 3 * pages, "{ftl:?}");
            assert_eq!(sequential.copied_pages, 0, "{ftl:?}");
            let random = replay(&requests, rewritten, ftl, CAPACITY).unwrap();
            assert_eq!(random.host_pages, 2 * pages);
            assert_eq!(random.programs, random.host_pages + random.copied_pages, "{ftl:?}");
            assert!(random.erase_cost().unwrap() > 10.0, "{ftl:?} {random:?}");
        }
        let at = |ftl| replay(&requests, rewritten, ftl, CAPACITY).unwrap().copied_pages;
        assert!(at(ReplayFtl::Fast) > at(ReplayFtl::Page));
    }

    #[test]
    fn request_beyond_capacity_is_an_error() {
        let mut requests = RequestBatch::default();
        requests.push(&request(Op::Trim, 0, CAPACITY / PAGE_BYTES));
        assert_eq!(replay(&requests, 0, ReplayFtl::Page, CAPACITY).unwrap(), ReplayCounts::default());
        requests.push(&request(Op::Write, 2 * CAPACITY / PAGE_BYTES, 1));
        assert!(replay(&requests, 0, ReplayFtl::Page, CAPACITY).is_err());
    }
}
