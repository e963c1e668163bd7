//! A small drive that stands for a large one: blocks of as many pages or a power of two fewer, fewer blocks, the same spare factor.

use super::FleetError;
use crate::measured;
use crate::points::Point;
use crate::sweep::{SweepObserver, SweepOptions};
use serde::Serialize;
use wearwell_base::seed::Seed;
use wearwell_stack::device::Device;
use wearwell_stack::{ByteSize, ResolvedScenario, Scenario};

/// Pages of a block above which blocks are halved: write amplification hardly depends on them from there on.
const PAGES: u32 = 128;

/// Blocks of a drive that is measured over ten drive writes; one of more blocks is over fewer.
const FEW_BLOCKS: f64 = 1000.0;

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
    measure(&mut small, 10.0);
    let scale = Scale { blocks_of_drive, pages_per_block_of_drive: of_drive, blocks, pages_per_block };
    Ok((small, scale))
}

/// The scenario on the whole drive. The more blocks are cleaned, the less chance is left in a mean over them: on a drive of thousands of
/// blocks a drive write says as much as ten do on a small one.
///
/// # Errors
/// A setting that does not fit the drive.
pub fn whole(scenario: &Scenario) -> Result<(Scenario, Scale), FleetError> {
    let geometry = ResolvedScenario::of(scenario.clone())?.device.geometry;
    let blocks = geometry.pages() / u64::from(geometry.pages_per_block);
    let mut whole = scenario.clone();
    measure(&mut whole, (10.0 * FEW_BLOCKS / blocks as f64).clamp(1.0, 10.0));
    let scale = Scale {
        blocks_of_drive: blocks,
        pages_per_block_of_drive: geometry.pages_per_block,
        blocks: blocks as u32,
        pages_per_block: geometry.pages_per_block,
    };
    Ok((whole, scale))
}

/// Lets the drive be measured over so many drive writes, once it is steady.
fn measure(scenario: &mut Scenario, drive_writes: f64) {
    // What filling in order leaves behind is thrown together first.
    scenario.precondition.random_overwrites = 1.0;
    scenario.measure.drive_writes = drive_writes;
    scenario.measure.window = (drive_writes / 4.0).min(0.5);
    scenario.measure.tolerance = 0.005;
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

/// A run of `scenario`, a small drive that stands for those `of` a group under the load of a tenant.
///
/// # Errors
/// A scenario that cannot be.
pub fn point(scenario: &Scenario, seed: Seed, replica: u32, of: &str) -> Result<Point, FleetError> {
    // As many bits as TOML has for whole numbers.
    let scenario = measured::resolved(Scenario { seed: seed.0 >> 1, ..scenario.clone() })?;
    Ok(Point { settings: [("drives".to_owned(), of.into())].into(), replica, scenario })
}

/// Makes the runs.
///
/// # Errors
/// A run that failed, or in which nothing was cleaned; runs that cannot be made or kept.
pub fn simulate(
    points: Vec<Point>,
    sweep: &SweepOptions<'_>,
    observer: &dyn SweepObserver,
) -> Result<Vec<Simulated>, FleetError> {
    let found = measured::measure(points, sweep, observer, |write_amplification, result| Simulated {
        write_amplification,
        is_steady: result.course.steady,
        seconds: result.performance.seconds,
    });
    Ok(found?)
}
