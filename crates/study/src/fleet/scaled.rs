//! A small drive that stands for a large one: blocks of as many pages or a power of two fewer, fewer blocks, the same spare factor.

use super::FleetError;
use crate::sweep::SweepObserver;
use serde::Serialize;
use wearwell_base::seed::Seed;
use wearwell_stack::device::Device;
use wearwell_stack::{ByteSize, Progress, ResolvedScenario, RunError, Scenario, run};

/// Pages of a block above which blocks are halved: write amplification hardly depends on them from there on.
const PAGES: u32 = 128;

/// What was simulated instead of a drive.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scale {
    /// Blocks of the drive.
    pub blocks_of_drive: u64,
    /// Mapping units of each.
    pub pages_per_block_of_drive: u32,
    /// Blocks of the small one.
    pub blocks: u32,
    /// Mapping units of each.
    pub pages_per_block: u32,
}

/// The scenario on a drive of `blocks` blocks, measured long enough to be held against theory.
///
/// # Errors
/// A setting that does not fit a small drive.
pub fn scaled(scenario: &Scenario, blocks: u32) -> Result<(Scenario, Scale), FleetError> {
    let resolved = ResolvedScenario::of(scenario.clone())?;
    let geometry = &resolved.device.geometry;
    let of_drive = geometry.pages_per_block;
    let mut pages_per_block = of_drive;
    while pages_per_block > PAGES && pages_per_block.is_multiple_of(2) {
        pages_per_block /= 2;
    }
    let spare_factor = 1.0 - f64::from(resolved.device.logical_pages) / geometry.pages() as f64;
    let blocks_of_drive = geometry.pages() / u64::from(of_drive);
    let blocks = blocks.min(u32::try_from(blocks_of_drive).unwrap_or(u32::MAX));
    let mut small = scenario.clone();
    let unit = ByteSize(geometry.page_bytes.into());
    small.device = Device {
        blocks_per_plane: Some(blocks),
        pages_per_block: Some(pages_per_block),
        page_size: Some(unit),
        mapping_unit: Some(unit),
        spare_factor: Some(spare_factor),
        endurance_cycles: scenario.device.endurance_cycles,
        ..Device::default()
    };
    // What filling in order leaves behind is thrown together first.
    small.precondition.random_overwrites = 1.0;
    small.measure.drive_writes = 10.0;
    small.measure.window = 0.5;
    small.measure.tolerance = 0.005;
    let scale = Scale { blocks_of_drive, pages_per_block_of_drive: of_drive, blocks, pages_per_block };
    Ok((small, scale))
}

/// What a run of a small drive found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Simulated {
    /// Write amplification.
    pub write_amplification: f64,
    /// Whether it had become steady.
    pub is_steady: bool,
    /// Seconds of the clock, which are no part of any result.
    pub seconds: f64,
}

/// Runs `scenario`, which is number `at` to the observer.
///
/// # Errors
/// A run that failed, or in which nothing was cleaned.
pub fn simulate(
    scenario: &Scenario,
    seed: Seed,
    at: usize,
    observer: &dyn SweepObserver,
) -> Result<Simulated, FleetError> {
    if observer.begin(at).is_break() {
        return Err(RunError::Interrupted.into());
    }
    // As many bits as TOML has for whole numbers.
    let scenario = Scenario { seed: seed.0 >> 1, ..scenario.clone() };
    let result = run(&scenario, &mut |progress: &Progress| observer.progress(at, progress))?;
    let seconds = result.performance.seconds;
    let write_amplification =
        result.write_amplification.ok_or_else(|| FleetError::Nothing(result.warnings.join("; ")))?;
    Ok(Simulated { write_amplification, is_steady: result.course.steady, seconds })
}
