//! Sizing of a drive to fit the traces that are replayed on it.

use super::error::RunError;
use super::observer::{Observer, Progress};
use super::source::{Source, SourceError, SourceNeeds, TraceReplay};
use super::window::Phase;
use crate::build::{BuildContext, build_resolved};
use crate::device::{self, Fit, TraceExtent};
use crate::layers::CustomPolicies;
use crate::scenario::resolve::{CallerFeatures, resolve};
use crate::scenario::{AddressRule, Scenario, TraceConfig, writers};
use crate::size::ByteSize;
use wearwell_base::config::ConfigError;
use wearwell_base::foresight::Foresight;
use wearwell_engine::layer::ContentId;
use wearwell_workload::PageBatch;

/// Number of pages read from the trace at a time.
const BATCH_PAGES: usize = 4096;

/// Number of batches between two reports of progress.
const BATCHES_PER_PROGRESS: u64 = 64;

/// Smallest drive, in pages, at which the search gives up: far above what any preset needs for its planes.
const LARGE_DRIVE_PAGES: u64 = 1 << 24;

/// Bisection steps between a drive that is too small and one that is large enough.
const BISECTION_STEPS: u32 = 5;

/// Sizes the drive of `scenario` to fit its traces, if `device.fit` requests it: computes the capacity, and the address
/// rules that go with it. With several tenants, each tenant with a trace gets as many pages as its trace touches.
///
/// Reads each trace once. The extent is stored in `device.fit`, so that the scenario needs no second search.
///
/// # Errors
/// Returns an error if there is no trace to fit, if a size is given as well, if a trace cannot be read, or if no size
/// can be built.
pub(crate) fn fit(
    scenario: &mut Scenario,
    caller: CallerFeatures,
    observer: &mut dyn Observer,
) -> Result<(), RunError> {
    if scenario.device.fit != Fit::Requested(true) {
        return Ok(());
    }
    let refuse = |key: &str, problem: &str| Err(ConfigError::new(key, problem).into());
    if !writers::any_trace(scenario) {
        return refuse(
            "device.fit",
            "makes a drive that fits what is replayed, and the scenario has no `trace`",
        );
    }
    let sizes = [
        ("device.capacity", scenario.device.capacity.is_some()),
        ("device.raw_capacity", scenario.device.raw_capacity.is_some()),
        ("device.blocks_per_plane", scenario.device.blocks_per_plane.is_some()),
    ];
    if let Some((key, _)) = sizes.into_iter().find(|(_, given)| *given) {
        return refuse(
            key,
            "stands beside `device.fit`, which works the size out from what is replayed; leave one of them out",
        );
    }
    let page_bytes = device::page_bytes(&scenario.device)?;
    let writers = scenario.tenant.len().max(1);
    let traces = (0..writers).map(|at| writers::trace_of(scenario, at));
    let extents = traces
        .map(|trace| trace.map(|trace| measure_extent(trace, page_bytes, observer)).transpose())
        .collect::<Result<_, RunError>>()?;
    *scenario = FitSearch { scenario, caller, extents, page_bytes }.find_smallest()?;
    Ok(())
}

/// Returns the extent of the trace, in pages.
fn measure_extent(
    trace: &TraceConfig,
    page_bytes: u32,
    observer: &mut dyn Observer,
) -> Result<TraceExtent, RunError> {
    let numbered = TraceConfig { address: AddressRule::Compact, ..trace.clone() };
    let mut replay = TraceReplay::new(&numbered, u32::MAX, page_bytes, &SourceNeeds::default())?;
    let mut batch = PageBatch::default();
    let mut batches = 0;
    while replay.passes() == Some(0) {
        batch.clear();
        replay.fill(&mut batch, BATCH_PAGES)?;
        if observer.should_continue().is_break() {
            return Err(RunError::Interrupted);
        }
        batches += 1;
        if batches % BATCHES_PER_PROGRESS == 0 {
            let done = replay.fraction_read().min(1.0);
            let progress = Progress {
                phase: Phase::ReadTrace,
                fraction_done: done,
                drive_writes: 0.0,
                write_amplification: None,
            };
            if observer.progress(&progress).is_break() {
                return Err(RunError::Interrupted);
            }
        }
    }
    Ok(TraceExtent { touched_pages: replay.touched_pages(), end_page: replay.end_page() })
}

/// Search for the smallest drive that the traces fit on.
struct FitSearch<'a> {
    scenario: &'a Scenario,
    caller: CallerFeatures,
    /// Extent of each writer's trace, if it has one.
    extents: Vec<Option<TraceExtent>>,
    page_bytes: u32,
}

impl FitSearch<'_> {
    fn find_smallest(&self) -> Result<Scenario, RunError> {
        let touched = self.touched_pages();
        let max_pages = LARGE_DRIVE_PAGES.max(touched.saturating_mul(16)).min(u64::from(u32::MAX));
        let (mut pages, mut too_small, mut first_error) = (touched, 0, None);
        let found = loop {
            match self.try_size(pages) {
                Ok((None, found)) => break found,
                // Layers above the drive show fewer pages than the drive has, and each of several writers has only a
                // part of them.
                Ok((Some(short), _)) => {
                    too_small = pages;
                    pages = short.required_drive_pages(pages).max(pages + 1);
                }
                Err(RunError::Config(error)) => {
                    first_error.get_or_insert(error);
                    too_small = pages;
                    pages += (pages / 4).max(1);
                }
                Err(other) => return Err(other),
            }
            if pages > max_pages {
                return Err(first_error.map_or_else(|| self.too_large_error(), RunError::Config));
            }
        };
        Ok(self.bisect(too_small, pages, found))
    }

    /// Returns the smallest drive found by bisection between `too_small` pages and `large_enough` pages; `found` is the
    /// scenario for `large_enough`.
    fn bisect(&self, mut too_small: u64, mut large_enough: u64, mut found: Scenario) -> Scenario {
        for _ in 0..if too_small == 0 { 0 } else { BISECTION_STEPS } {
            let pages = too_small.midpoint(large_enough);
            match self.try_size(pages) {
                Ok((None, smaller)) => (large_enough, found) = (pages, smaller),
                _ => too_small = pages,
            }
        }
        found
    }

    /// Returns the pages that all traces touch together.
    fn touched_pages(&self) -> u64 {
        self.extents.iter().flatten().map(|extent| extent.touched_pages).sum()
    }

    /// Resolves the scenario with a drive of `pages` logical pages. Also returns the trace with the largest relative
    /// shortage of pages, if any trace does not fit. Fails if the drive cannot be built.
    fn try_size(&self, pages: u64) -> Result<(Option<PageShortage>, Scenario), RunError> {
        let mut scenario = self.scenario.clone();
        let end_page = self.extents.iter().flatten().map(|extent| extent.end_page).max().unwrap_or(0);
        scenario.device.fit = Fit::Measured(TraceExtent { touched_pages: self.touched_pages(), end_page });
        scenario.device.capacity = Some(ByteSize(pages * u64::from(self.page_bytes)));
        let resolved = resolve(scenario.clone(), self.caller)?;
        // Only the size of the stack is needed.
        let context = BuildContext { foresight: Some(Foresight::none()), ..BuildContext::default() };
        let exported_pages = match self.caller.holds_data {
            true => {
                build_resolved::<ContentId>(&resolved, CustomPolicies::default(), context)?.pages_per_writer()
            }
            false => build_resolved::<()>(&resolved, CustomPolicies::default(), context)?.pages_per_writer(),
        };
        let mut largest_shortage: Option<PageShortage> = None;
        for (at, (extent, &exported)) in self.extents.iter().zip(&exported_pages).enumerate() {
            let Some(extent) = extent else { continue };
            if let Some(trace) = writers::trace_of_mut(&mut scenario, at)
                && trace.address == AddressRule::Direct
                && extent.end_page > exported
            {
                trace.address = AddressRule::Compact;
            }
            let shortage = PageShortage { touched: extent.touched_pages, exported: exported.max(1) };
            if extent.touched_pages > exported
                && largest_shortage.is_none_or(|other| shortage.is_larger_than(other))
            {
                largest_shortage = Some(shortage);
            }
        }
        Ok((largest_shortage, scenario))
    }

    fn too_large_error(&self) -> RunError {
        let of = |at: usize| self.extents[at].map_or(0, |extent| extent.touched_pages);
        let largest = (0..self.extents.len()).max_by_key(|&at| of(at)).unwrap_or(0);
        let trace = writers::trace_of(self.scenario, largest);
        let path = trace.map(|trace| trace.path.display().to_string()).unwrap_or_default();
        SourceError::TooLargeToFit { path }.into()
    }
}

/// A trace that touches more pages than its layer shows.
#[derive(Clone, Copy)]
struct PageShortage {
    touched: u64,
    exported: u64,
}

impl PageShortage {
    /// Returns the drive size at which the trace would fit, if the exported pages grew in proportion to `pages`.
    fn required_drive_pages(self, pages: u64) -> u64 {
        let scaled = (u128::from(pages) * u128::from(self.touched)).div_ceil(u128::from(self.exported));
        u64::try_from(scaled).unwrap_or(u64::MAX)
    }

    fn is_larger_than(self, other: Self) -> bool {
        u128::from(self.touched) * u128::from(other.exported)
            > u128::from(other.touched) * u128::from(self.exported)
    }
}
