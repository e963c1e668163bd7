//! A drive that fits the trace which is replayed on it.

use super::error::RunError;
use super::observer::{Observer, Progress};
use super::source::{Source, SourceError, TraceReplay, Wants};
use super::window::Phase;
use crate::build::build_resolved;
use crate::device::{self, Fit, TraceExtent};
use crate::layers::OwnPolicies;
use crate::scenario::resolve::{Caller, resolve};
use crate::scenario::{AddressRule, Scenario, TraceConfig};
use crate::size::ByteSize;
use wearwell_base::config::ConfigError;
use wearwell_engine::layer::Content;
use wearwell_workload::PageBatch;

/// Pages read from the trace at a time.
const BATCH_PAGES: usize = 4096;

/// Batches between two reports of progress.
const PROGRESS_BATCHES: u64 = 64;

/// The least drive that is given up on, pages: far above what any preset needs for its planes.
const LARGE_DRIVE_PAGES: u64 = 1 << 24;

/// Halvings of the stretch between a drive that is too small and one that is not.
const HALVINGS: u32 = 5;

/// Makes the drive of `scenario` fit its trace, where `device.fit` asks for it: works out its capacity, and the rule for
/// addresses that goes with it.
///
/// Reads the trace through once. What was found stays in `device.fit`, so that the scenario needs it no second time.
///
/// # Errors
/// No trace to fit, a size that is given as well, a trace that cannot be read, or no size that can be built.
pub(crate) fn fit(
    scenario: &mut Scenario,
    caller: Caller,
    observer: &mut dyn Observer,
) -> Result<(), RunError> {
    if scenario.device.fit != Fit::Wanted(true) {
        return Ok(());
    }
    let refuse = |key: &str, problem: &str| Err(ConfigError::new(key, problem).into());
    let Some(trace) = &scenario.trace else {
        return refuse("device.fit", "makes a drive that fits one trace, and the scenario has no `trace`");
    };
    let sizes = [
        ("device.capacity", scenario.device.capacity.is_some()),
        ("device.raw_capacity", scenario.device.raw_capacity.is_some()),
        ("device.blocks_per_plane", scenario.device.blocks_per_plane.is_some()),
    ];
    if let Some((key, _)) = sizes.into_iter().find(|(_, given)| *given) {
        return refuse(
            key,
            "stands beside `device.fit`, which works the size out from the trace; leave one of them out",
        );
    }
    let page_bytes = device::page_bytes(&scenario.device)?;
    let extent = extent(trace, page_bytes, observer)?;
    *scenario = Fitting { scenario, caller, extent, page_bytes }.smallest()?;
    Ok(())
}

/// What the trace touches, in pages.
fn extent(
    trace: &TraceConfig,
    page_bytes: u32,
    observer: &mut dyn Observer,
) -> Result<TraceExtent, RunError> {
    let numbered = TraceConfig { address: AddressRule::Compact, ..trace.clone() };
    let mut replay = TraceReplay::new(&numbered, u32::MAX, page_bytes, &Wants::default())?;
    let mut batch = PageBatch::default();
    let mut batches = 0;
    while replay.passes() == Some(0) {
        batch.clear();
        replay.fill(&mut batch, BATCH_PAGES)?;
        if observer.keep_going().is_break() {
            return Err(RunError::Interrupted);
        }
        batches += 1;
        if batches % PROGRESS_BATCHES == 0 {
            let done = replay.share_read().min(1.0);
            let progress =
                Progress { phase: Phase::ReadTrace, done, drive_writes: 0.0, write_amplification: None };
            if observer.progress(&progress).is_break() {
                return Err(RunError::Interrupted);
            }
        }
    }
    Ok(TraceExtent { touched_pages: replay.touched_pages(), end_page: replay.end_page() })
}

/// The search for the smallest drive that a trace fits on.
struct Fitting<'a> {
    scenario: &'a Scenario,
    caller: Caller,
    extent: TraceExtent,
    page_bytes: u32,
}

impl Fitting<'_> {
    fn smallest(&self) -> Result<Scenario, RunError> {
        let touched = self.extent.touched_pages;
        let most = LARGE_DRIVE_PAGES.max(touched.saturating_mul(16)).min(u64::from(u32::MAX));
        let (mut pages, mut too_small, mut first_error) = (touched, 0, None);
        let found = loop {
            match self.tried(pages) {
                Ok((shown, found)) if shown >= touched => break found,
                // Layers above the drive show less than it has.
                Ok((shown, _)) => {
                    too_small = pages;
                    pages = (pages * touched).div_ceil(shown.max(1)).max(pages + 1);
                }
                Err(RunError::Config(error)) => {
                    first_error.get_or_insert(error);
                    too_small = pages;
                    pages += (pages / 4).max(1);
                }
                Err(other) => return Err(other),
            }
            if pages > most {
                return Err(first_error.map_or_else(|| too_many(self.scenario), RunError::Config));
            }
        };
        Ok(self.halved(too_small, pages, found))
    }

    /// A smaller drive than one of `fits` pages, which is `found`, if there is one above `too_small` pages.
    fn halved(&self, mut too_small: u64, mut fits: u64, mut found: Scenario) -> Scenario {
        for _ in 0..if too_small == 0 { 0 } else { HALVINGS } {
            let pages = too_small.midpoint(fits);
            match self.tried(pages) {
                Ok((shown, smaller)) if shown >= self.extent.touched_pages => {
                    (fits, found) = (pages, smaller)
                }
                _ => too_small = pages,
            }
        }
        found
    }

    /// The scenario with a drive of so many logical pages, and the pages that the trace would see; an error if it cannot be
    /// built.
    fn tried(&self, pages: u64) -> Result<(u64, Scenario), RunError> {
        let mut scenario = self.scenario.clone();
        scenario.device.fit = Fit::Found(self.extent);
        scenario.device.capacity = Some(ByteSize(pages * u64::from(self.page_bytes)));
        let resolved = resolve(scenario.clone(), self.caller)?;
        let shown = match self.caller.holds_data {
            true => build_resolved::<Content>(&resolved, OwnPolicies::default(), None)?.logical_pages(),
            false => build_resolved::<()>(&resolved, OwnPolicies::default(), None)?.logical_pages(),
        };
        if let Some(trace) = scenario.trace.as_mut().filter(|trace| trace.address == AddressRule::Direct)
            && self.extent.end_page > shown
        {
            trace.address = AddressRule::Compact;
        }
        Ok((shown, scenario))
    }
}

fn too_many(scenario: &Scenario) -> RunError {
    let path = scenario.trace.as_ref().map(|trace| trace.path.display().to_string()).unwrap_or_default();
    SourceError::TooLargeToFit { path }.into()
}
