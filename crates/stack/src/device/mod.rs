//! Conversion of the configured drive to a geometry and a number of logical pages.

mod drive_size;
mod rating;

use crate::size::ByteSize;
use drive_size::DriveSize;
pub use rating::{Rating, WARRANTY_DAYS_A_YEAR};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wearwell_base::config::ConfigError;
use wearwell_engine::nand::{Faults, Geometry, PRESETS, Preset, Wear};

/// The drive: a preset, a size, and all settings that differ from the preset.
///
/// Give two of these three: the physical size (`raw_capacity` or `blocks_per_plane`), the logical size (`capacity`) and the spare
/// space between them (`spare_factor`, `over_provisioning`, `alpha` or `load`). A preset supplies the spare space if it is not
/// given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Device preset, see `wearwell list presets`. Without a preset, every field of the geometry that is not given is 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// Logical capacity, as the host sees it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<ByteSize>,
    /// Physical capacity, including all blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_capacity: Option<ByteSize>,
    /// Erase blocks of each plane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks_per_plane: Option<u32>,
    /// Number of planes with one block less than `blocks_per_plane`. Computed from the configured size if that is no whole number of
    /// blocks on every plane; default 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unused_blocks: Option<u32>,
    /// Sizes the logical capacity to fit the replayed trace, which is read through once beforehand.
    #[serde(default, skip_serializing_if = "Fit::is_off")]
    pub fit: Fit,
    /// Spare space as (T - U) / T, for T physical and U logical pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spare_factor: Option<f64>,
    /// Spare space as (T - U) / U, for T physical and U logical pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_provisioning: Option<f64>,
    /// Spare space as T / U, for T physical and U logical pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// Spare space as U / T, for T physical and U logical pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<f64>,
    /// Channels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channels: Option<u32>,
    /// Chips on each channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ways: Option<u32>,
    /// Dies in each chip.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dies: Option<u32>,
    /// Planes of each die.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planes: Option<u32>,
    /// Erase blocks of different planes that are filled and erased together as one superblock, which all other settings and results
    /// call a block; default 1. A divisor of `planes`, or all planes of several dies. Pages of a superblock on one die are
    /// programmed one after another; those of a superblock on many dies are programmed in parallel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superblock_blocks: Option<u32>,
    /// Flash pages of each block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages_per_block: Option<u32>,
    /// User bytes of a flash page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_size: Option<ByteSize>,
    /// Spare bytes of a flash page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spare_size: Option<ByteSize>,
    /// The unit in which the drive maps data, at most a flash page; default 4 KiB. Results call this unit a page: a 16 KiB flash
    /// page holds four.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mapping_unit: Option<ByteSize>,
    /// Program/erase cycles that a block endures; default from the preset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endurance_cycles: Option<u32>,
    /// Terabytes (10^12 bytes) that the host may write according to the data sheet (TBW); results compare the computed value with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tbw: Option<f64>,
    /// Drive writes per day (DWPD) that the data sheet allows over `measure.warranty_years`; must agree with `tbw` if both are
    /// given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dwpd: Option<f64>,
    /// Half-width of the uniform spread of the blocks' endurance, as a fraction of `endurance_cycles`; 0 to below 1.
    #[serde(default)]
    pub endurance_spread: f64,
    /// True if blocks go bad when they reach their endurance. Otherwise endurance only enters the lifetime figures.
    #[serde(default)]
    pub wears_out: bool,
    /// Blocks bad from the factory.
    #[serde(default)]
    pub factory_bad_blocks: u32,
    /// Probability that programming a page fails; its block is then emptied and retired. 0 to below 1.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub program_failure_rate: f64,
    /// Page reads that a block endures after an erase before its pages are rewritten (read disturb); default unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub read_disturb_limit: Option<u32>,
}

/// Sizing of a drive to fit its trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Fit {
    /// Request to size the drive, or not.
    Requested(bool),
    /// Measured extent of the trace. Results have this form, and `capacity` is set accordingly.
    Measured(TraceExtent),
}

impl Default for Fit {
    fn default() -> Self {
        Fit::Requested(false)
    }
}

impl Fit {
    fn is_off(&self) -> bool {
        *self == Fit::Requested(false)
    }
}

/// Extent of a trace, in pages of the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceExtent {
    /// Distinct pages that are read or written.
    pub touched_pages: u64,
    /// One past the last page of any request.
    pub end_page: u64,
}

fn is_zero(rate: &f64) -> bool {
    *rate == 0.0
}

/// A drive with every default filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedDevice {
    /// Geometry in mapping units: a page of the simulation is one mapping unit.
    pub geometry: Geometry,
    /// Pages shown to the host.
    pub logical_pages: u32,
    /// Wear model of the blocks in the run.
    pub wear: Wear,
    /// Failures of the flash other than wear-out, if configured.
    pub faults: Option<Faults>,
    /// Program/erase cycles for lifetime figures, even if blocks do not wear out in the run.
    pub endurance_cycles: Option<u32>,
    /// Rating in the drive's data sheet.
    pub rating: Option<Rating>,
}

/// Duration of flash operations, microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlashTimes {
    /// Time to read a page, microseconds.
    pub read_us: f64,
    /// Time to program a page, microseconds.
    pub program_us: f64,
    /// Time to read a spare area, microseconds.
    pub spare_read_us: f64,
    /// Time to erase a block, microseconds.
    pub erase_us: f64,
}

impl FlashTimes {
    /// Returns the seconds that these operations take one after another.
    pub fn seconds(&self, spare_reads: u64, page_reads: u64, page_writes: u64, erases: u64) -> f64 {
        let us = spare_reads as f64 * self.spare_read_us
            + page_reads as f64 * self.read_us
            + page_writes as f64 * self.program_us
            + erases as f64 * self.erase_us;
        us / 1e6
    }
}

const DEFAULT_UNIT_BYTES: u64 = 4096;
const MIN_UNIT_BYTES: u64 = 512;

/// Resolves the drive and writes every choice back into `device`, so that a run can be repeated.
///
/// A zoned drive has zones of `zone_blocks` blocks, shows all its pages and needs no setting but its size. Drive writes
/// per day are over `warranty_years`.
pub(crate) fn resolve(
    device: &mut Device,
    zone_blocks: Option<u32>,
    warranty_years: f64,
) -> Result<ResolvedDevice, ConfigError> {
    if device.fit == Fit::Requested(true) {
        let problem = "is worked out from the trace before the drive is built, which is not done here; give `device.capacity`";
        return Err(ConfigError::new("device.fit", problem));
    }
    let preset = find_preset(device)?;
    fill_from_preset(device, preset);
    let mut geometry = units_geometry(device)?;
    let extent = DriveSize::of(device, preset, &geometry, zone_blocks)?;
    (geometry.blocks_per_plane, geometry.unused_blocks) = extent.rows(&geometry)?;
    geometry.validate().map_err(|error| ConfigError::new("device", error.to_string()))?;
    let logical_pages = u32::try_from(extent.logical_pages).map_err(|_| {
        ConfigError::new(
            "device.capacity",
            "has more pages than 32 bits can number; use a larger `mapping_unit`",
        )
    })?;
    let is_full = zone_blocks.is_none() && u64::from(logical_pages) >= geometry.pages();
    if logical_pages == 0 || is_full {
        return Err(ConfigError::new(
            "device",
            format!(
                "{logical_pages} logical pages on {} physical ones; there must be at least one, and fewer than physical ones",
                geometry.pages()
            ),
        ));
    }
    device.blocks_per_plane = Some(geometry.blocks_per_plane);
    device.unused_blocks = Some(geometry.unused_blocks).filter(|&blocks| blocks > 0);
    let capacity_bytes = u64::from(logical_pages) * u64::from(geometry.page_bytes);
    device.capacity = Some(ByteSize(capacity_bytes));
    let rating = Rating::of(capacity_bytes, device.tbw, device.dwpd, Some(warranty_years));
    let rating = rating.map_err(|error| error.within("device"))?;
    (device.raw_capacity, device.spare_factor, device.over_provisioning, device.alpha, device.load) =
        (None, None, None, None, None);
    Ok(ResolvedDevice {
        geometry,
        logical_pages,
        wear: wear(device, &geometry)?,
        faults: faults(device)?,
        endurance_cycles: device.endurance_cycles,
        rating,
    })
}

/// Returns the bytes of a page of the drive, its mapping unit.
pub(crate) fn page_bytes(device: &Device) -> Result<u32, ConfigError> {
    let mut filled = device.clone();
    fill_from_preset(&mut filled, find_preset(device)?);
    units_geometry(&filled).map(|geometry| geometry.page_bytes)
}

fn find_preset(device: &Device) -> Result<Option<&'static Preset>, ConfigError> {
    let Some(name) = &device.preset else { return Ok(None) };
    let names = || PRESETS.iter().map(|preset| preset.entry.name).collect::<Vec<_>>().join(", ");
    Preset::find(name).map(Some).ok_or_else(|| {
        ConfigError::new("device.preset", format!("\"{name}\" is unknown; one of {}", names()))
    })
}

fn fill_from_preset(device: &mut Device, preset: Option<&Preset>) {
    let or = |field: &mut Option<u32>, value: Option<u32>| *field = field.or(value).or(Some(1));
    or(&mut device.channels, preset.map(|preset| preset.channels));
    or(&mut device.ways, preset.map(|preset| preset.ways));
    or(&mut device.dies, preset.map(|preset| preset.dies));
    or(&mut device.planes, preset.map(|preset| preset.planes));
    device.pages_per_block = device.pages_per_block.or(preset.map(|preset| preset.pages_per_block));
    let page_bytes = preset.map_or(DEFAULT_UNIT_BYTES, |preset| u64::from(preset.page_bytes));
    let page_size = *device.page_size.get_or_insert(ByteSize(page_bytes));
    device.spare_size.get_or_insert(ByteSize(preset.map_or(0, |preset| u64::from(preset.spare_bytes))));
    device.mapping_unit.get_or_insert(ByteSize(page_size.0.min(DEFAULT_UNIT_BYTES)));
    device.endurance_cycles = device.endurance_cycles.or(preset.map(|preset| preset.endurance_cycles));
}

/// Returns the geometry with the mapping unit as its page, without the number of blocks.
fn units_geometry(device: &Device) -> Result<Geometry, ConfigError> {
    let filled = |field: Option<u32>| field.expect("filled in from the preset");
    let page = device.page_size.expect("filled in").0;
    let unit = device.mapping_unit.expect("filled in").0;
    if unit < MIN_UNIT_BYTES {
        let problem = format!("is {unit} bytes; a page has at least {MIN_UNIT_BYTES}, those of a sector");
        return Err(ConfigError::new("device.mapping_unit", problem));
    }
    if !page.is_multiple_of(unit) {
        return Err(ConfigError::new(
            "device.mapping_unit",
            format!("is {unit} bytes; it must divide the flash page of {page} bytes"),
        ));
    }
    let pages_per_block = device.pages_per_block.ok_or_else(|| {
        ConfigError::new("device.pages_per_block", "is missing; give it, or a `preset` that has it")
    })?;
    let too_large = |key: &str| ConfigError::new(format!("device.{key}"), "is too large for 32 bits");
    let units = u32::try_from(page / unit).map_err(|_| too_large("page_size"))?;
    let superblock_blocks = device.superblock_blocks.unwrap_or(1);
    let pages_per_block = pages_per_block.checked_mul(superblock_blocks);
    let geometry = Geometry {
        channels: filled(device.channels),
        ways: filled(device.ways),
        dies: filled(device.dies),
        planes: filled(device.planes),
        blocks_per_plane: 1,
        unused_blocks: 0,
        superblock_blocks,
        pages_per_block: pages_per_block
            .and_then(|pages| pages.checked_mul(units))
            .ok_or_else(|| too_large("pages_per_block"))?,
        page_bytes: u32::try_from(unit).map_err(|_| too_large("mapping_unit"))?,
        spare_bytes: (device.spare_size.expect("filled in").0 / u64::from(units)) as u32,
    };
    geometry.validate().map_err(|error| ConfigError::new("device", error.to_string()))?;
    Ok(geometry)
}

fn wear(device: &Device, geometry: &Geometry) -> Result<Wear, ConfigError> {
    if !(0.0..1.0).contains(&device.endurance_spread) {
        let problem = format!("is {}; it must be at least 0 and below 1", device.endurance_spread);
        return Err(ConfigError::new("device.endurance_spread", problem));
    }
    if device.endurance_cycles == Some(0) {
        return Err(ConfigError::new("device.endurance_cycles", "is 0; a block endures at least 1 cycle"));
    }
    if device.wears_out && device.endurance_cycles.is_none() {
        return Err(ConfigError::new(
            "device.endurance_cycles",
            "is missing; blocks that wear out need it, or a `preset` that has it",
        ));
    }
    if device.factory_bad_blocks >= geometry.blocks() {
        let problem =
            format!("is {} of {} blocks; some must be good", device.factory_bad_blocks, geometry.blocks());
        return Err(ConfigError::new("device.factory_bad_blocks", problem));
    }
    Ok(Wear {
        endurance_cycles: device.endurance_cycles.filter(|_| device.wears_out),
        endurance_spread: device.endurance_spread,
        factory_bad_blocks: device.factory_bad_blocks,
    })
}

fn faults(device: &Device) -> Result<Option<Faults>, ConfigError> {
    let Device { program_failure_rate, read_disturb_limit, .. } = *device;
    if !(0.0..1.0).contains(&program_failure_rate) {
        let problem = format!("is {program_failure_rate}; it must be at least 0 and below 1");
        return Err(ConfigError::new("device.program_failure_rate", problem));
    }
    if read_disturb_limit == Some(0) {
        return Err(ConfigError::new("device.read_disturb_limit", "is 0; a block endures at least 1 read"));
    }
    let has_faults = program_failure_rate > 0.0 || read_disturb_limit.is_some();
    Ok(has_faults.then_some(Faults { program_failure_rate, read_disturb_limit }))
}
