//! Scaled-down drives: the same spare factor, fewer blocks, and pages per block halved until the blocks are small
//! enough.

use super::FleetError;
use crate::measurement;
use crate::points::Point;
use crate::sweep::{SweepObserver, SweepOptions};
use serde::Serialize;
use wearwell_base::seed::Seed;
use wearwell_stack::device::Device;
use wearwell_stack::{ByteSize, ResolvedScenario, Scenario};

/// Pages per block above which blocks are halved: larger blocks barely change the write amplification.
const MAX_SCALED_BLOCK_PAGES: u32 = 128;

/// Number of blocks for which ten drive writes are measured; larger drives are measured over fewer.
const REFERENCE_BLOCKS: f64 = 1000.0;

/// Scaled-down drive that was simulated instead of a drive.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scale {
    /// Blocks of the drive.
    pub blocks_of_drive: u64,
    /// Mapping units per block of the drive.
    pub pages_per_block_of_drive: u32,
    /// Blocks of the scaled-down drive.
    pub blocks: u32,
    /// Mapping units per block of the scaled-down drive.
    pub pages_per_block: u32,
}

/// Returns the scenario on a drive of `blocks` blocks, measured long enough to compare with theory.
///
/// # Errors
/// Returns an error for a setting that does not fit a scaled-down drive.
pub fn scaled_down(scenario: &Scenario, blocks: u32) -> Result<(Scenario, Scale), FleetError> {
    let resolved = ResolvedScenario::of(scenario.clone())?;
    let geometry = &resolved.device.geometry;
    let drive_pages_per_block = geometry.pages_per_block;
    let mut pages_per_block = drive_pages_per_block;
    while pages_per_block > MAX_SCALED_BLOCK_PAGES && pages_per_block.is_multiple_of(2) {
        pages_per_block /= 2;
    }
    let spare_factor = 1.0 - f64::from(resolved.device.logical_pages) / geometry.pages() as f64;
    let blocks_of_drive = geometry.pages() / u64::from(drive_pages_per_block);
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
    measure(&mut small, 10.0);
    let scale =
        Scale { blocks_of_drive, pages_per_block_of_drive: drive_pages_per_block, blocks, pages_per_block };
    Ok((small, scale))
}

/// Returns the scenario on the whole drive. Means over more cleaned blocks vary less: on a drive of thousands of
/// blocks, one drive write is as accurate as ten on a scaled-down drive.
///
/// # Errors
/// Returns an error for a setting that does not fit the drive.
pub fn full_size(scenario: &Scenario) -> Result<(Scenario, Scale), FleetError> {
    let geometry = ResolvedScenario::of(scenario.clone())?.device.geometry;
    let blocks = geometry.pages() / u64::from(geometry.pages_per_block);
    let mut full = scenario.clone();
    measure(&mut full, (10.0 * REFERENCE_BLOCKS / blocks as f64).clamp(1.0, 10.0));
    let scale = Scale {
        blocks_of_drive: blocks,
        pages_per_block_of_drive: geometry.pages_per_block,
        blocks: blocks as u32,
        pages_per_block: geometry.pages_per_block,
    };
    Ok((full, scale))
}

/// Sets a measurement over `drive_writes` drive writes, after the drive is steady.
fn measure(scenario: &mut Scenario, drive_writes: f64) {
    // Random overwrites first mix the order left by the sequential fill.
    scenario.precondition.random_overwrites = 1.0;
    scenario.measure.drive_writes = drive_writes;
    scenario.measure.window = (drive_writes / 4.0).min(0.5);
    scenario.measure.tolerance = 0.005;
}

/// Result of simulating a scaled-down drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SimulatedDrive {
    /// Write amplification.
    pub write_amplification: f64,
    /// True if the run reached a steady state.
    pub is_steady: bool,
    /// Wall-clock seconds; not part of any result.
    pub seconds: f64,
}

/// Returns a run of `scenario`. `drives` names the group and the tenant whose drives it represents.
///
/// # Errors
/// Returns an error for an invalid scenario.
pub fn point(scenario: &Scenario, seed: Seed, replica: u32, drives: &str) -> Result<Point, FleetError> {
    // TOML integers have 63 bits.
    let scenario = measurement::resolve(Scenario { seed: seed.0 >> 1, ..scenario.clone() })?;
    Ok(Point { settings: [("drives".to_owned(), drives.into())].into(), replica, scenario })
}

/// Executes the runs.
///
/// # Errors
/// Returns an error for a run that failed or cleaned nothing, and for runs that cannot be executed or stored.
pub fn simulate(
    points: Vec<Point>,
    sweep: &SweepOptions<'_>,
    observer: &dyn SweepObserver,
) -> Result<Vec<SimulatedDrive>, FleetError> {
    let found = measurement::measure(points, sweep, observer, |write_amplification, result| SimulatedDrive {
        write_amplification,
        is_steady: result.phases.steady,
        seconds: result.performance.seconds,
    });
    Ok(found?)
}
