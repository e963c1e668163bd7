//! Size of a drive, computed from two of its physical size, logical size and spare space.

use super::Device;
use crate::size::ByteSize;
use wearwell_base::config::ConfigError;
use wearwell_base::units::SpareSpace;
use wearwell_engine::nand::{Geometry, Preset};

/// Largest deviation of the spare space from the configured value, as a fraction of it: flash comes in whole blocks.
const SPARE_TOLERANCE: f64 = 0.1;

/// A drive's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DriveSize {
    /// Erase blocks of all planes that are used.
    pub erase_blocks: u64,
    /// Pages shown to the host.
    pub logical_pages: u64,
}

impl DriveSize {
    /// Computes the size from the given fields of `device`. `geometry` is complete except for its number of blocks.
    pub(super) fn of(
        device: &Device,
        preset: Option<&Preset>,
        geometry: &Geometry,
        zone_blocks: Option<u32>,
    ) -> Result<Self, ConfigError> {
        let sizes = SizeUnits::of(geometry);
        let Some(zone_blocks) = zone_blocks else {
            let (extent, requested_spare) = sizes.solve(device, spare_measure(device, preset)?)?;
            sizes.check_spare(device, &extent, requested_spare)?;
            return Ok(extent);
        };
        sizes.zoned_size(device, zone_blocks)
    }

    /// Returns the number of blocks of each plane, and the number of planes whose last block is unused.
    pub(super) fn rows(&self, geometry: &Geometry) -> Result<(u32, u32), ConfigError> {
        let planes = u64::from(geometry.total_planes());
        let rows = self.erase_blocks.div_ceil(planes);
        let blocks_per_plane = u32::try_from(rows)
            .map_err(|_| ConfigError::new("device", "has more blocks than 32 bits can number"))?;
        Ok((blocks_per_plane, (rows * planes - self.erase_blocks) as u32))
    }
}

/// Returns the four settings of the spare space, each with its configured value.
fn spare_measures(device: &Device) -> [(&'static str, Option<f64>); 4] {
    [
        ("spare_factor", device.spare_factor),
        ("over_provisioning", device.over_provisioning),
        ("alpha", device.alpha),
        ("load", device.load),
    ]
}

/// Returns the spare factor that corresponds to the given measure.
fn spare_measure(device: &Device, preset: Option<&Preset>) -> Result<Option<f64>, ConfigError> {
    let allowed = ["0 < spare_factor < 1", "over_provisioning > 0", "alpha > 1", "0 < load < 1"];
    let measures = spare_measures(device).into_iter().zip(allowed);
    let given: Vec<_> =
        measures.filter_map(|((name, value), allowed)| Some((name, value?, allowed))).collect();
    let (name, value, allowed) = match given[..] {
        [] => {
            let given_sizes = [
                device.capacity.is_some(),
                device.raw_capacity.is_some() || device.blocks_per_plane.is_some(),
            ];
            let from_preset = preset.filter(|_| given_sizes != [true, true]);
            return Ok(from_preset.map(|preset| preset.over_provisioning / (1.0 + preset.over_provisioning)));
        }
        [given] => given,
        _ => {
            let names: Vec<_> = given.iter().map(|(name, ..)| *name).collect();
            return Err(ConfigError::new(
                "device",
                format!("{} say the same thing; give one", names.join(" and ")),
            ));
        }
    };
    let spare_factor = SpareSpace::spare_factor_of(name, value);
    if !(spare_factor > 0.0 && spare_factor < 1.0) {
        return Err(ConfigError::new(
            format!("device.{name}"),
            format!("is {value}; it must satisfy {allowed}"),
        ));
    }
    Ok(Some(spare_factor))
}

/// Units in which sizes are computed.
struct SizeUnits {
    /// Erase blocks of a superblock.
    superblock_blocks: u64,
    /// Mapping units of a superblock.
    superblock_pages: u64,
    planes: u64,
    /// Bytes of a mapping unit.
    unit_bytes: u64,
}

impl SizeUnits {
    fn of(geometry: &Geometry) -> Self {
        SizeUnits {
            superblock_blocks: geometry.superblock_blocks.into(),
            superblock_pages: geometry.pages_per_block.into(),
            planes: geometry.total_planes().into(),
            unit_bytes: geometry.page_bytes.into(),
        }
    }

    /// Returns the erase blocks that hold `pages`, in whole superblocks on as many planes as needed.
    fn blocks_for(&self, pages: u64) -> u64 {
        pages.div_ceil(self.superblock_pages) * self.superblock_blocks
    }

    fn pages_of(&self, erase_blocks: u64) -> u64 {
        erase_blocks / self.superblock_blocks * self.superblock_pages
    }

    /// Returns the number of erase blocks, if `device` gives it.
    fn physical(&self, device: &Device) -> Result<Option<u64>, ConfigError> {
        let unused = device.unused_blocks.map(u64::from);
        match (device.raw_capacity, device.blocks_per_plane) {
            (Some(_), Some(_)) => {
                let problem = "raw_capacity and blocks_per_plane say the same thing; give one";
                Err(ConfigError::new("device", problem))
            }
            (_, None) if unused.is_some() => {
                let problem =
                    "means nothing without `blocks_per_plane`, of which it says how many there are less";
                Err(ConfigError::new("device.unused_blocks", problem))
            }
            (Some(raw), None) => Ok(Some(self.blocks_for(raw.0 / self.unit_bytes))),
            (None, Some(blocks)) => {
                let blocks = u64::from(blocks) * self.planes;
                let used = blocks.checked_sub(unused.unwrap_or(0)).ok_or_else(|| {
                    let problem = format!("is more than the {blocks} erase blocks of the drive");
                    ConfigError::new("device.unused_blocks", problem)
                })?;
                Ok(Some(used))
            }
            (None, None) => Ok(None),
        }
    }

    /// Returns the size of a zoned drive, which shows all its whole zones.
    fn zoned_size(&self, device: &Device, zone_blocks: u32) -> Result<DriveSize, ConfigError> {
        if let Some((key, _)) = spare_measures(device).iter().find(|(_, value)| value.is_some()) {
            let problem = "is for drives that clean; a zoned drive shows all its zones, leave it out";
            return Err(ConfigError::new(format!("device.{key}"), problem));
        }
        let physical = self.physical(device)?;
        let blocks_of_capacity =
            device.capacity.map(|capacity| self.blocks_for(capacity.0 / self.unit_bytes));
        let erase_blocks = physical.or(blocks_of_capacity).ok_or_else(|| {
            let problem = "its size is open; a zoned drive needs raw_capacity, blocks_per_plane or capacity";
            ConfigError::new("device", problem)
        })?;
        let zone_blocks = u64::from(zone_blocks.max(1)) * self.superblock_blocks;
        let exported_pages = self.pages_of(erase_blocks / zone_blocks * zone_blocks);
        let contradicting = device.capacity.filter(|capacity| capacity.0 != exported_pages * self.unit_bytes);
        if let Some(capacity) = contradicting.filter(|_| physical.is_some()) {
            let problem = format!(
                "is {capacity}; a zoned drive shows all its zones, {}; leave it out",
                ByteSize(exported_pages * self.unit_bytes)
            );
            return Err(ConfigError::new("device.capacity", problem));
        }
        Ok(DriveSize { erase_blocks, logical_pages: exported_pages })
    }

    /// Computes the size from the two given values out of physical size, logical size and spare space. Also returns the
    /// spare pages that these values request.
    fn solve(&self, device: &Device, spare: Option<f64>) -> Result<(DriveSize, u64), ConfigError> {
        if let Some(capacity) = device.capacity.filter(|capacity| !capacity.0.is_multiple_of(self.unit_bytes))
        {
            let problem = format!(
                "is {} bytes; it must be a multiple of the mapping unit of {}",
                capacity.0, self.unit_bytes
            );
            return Err(ConfigError::new("device.capacity", problem));
        }
        let logical = device.capacity.map(|capacity| capacity.0 / self.unit_bytes);
        let (erase_blocks, logical_pages, pages) = match (self.physical(device)?, logical, spare) {
            (Some(_), Some(_), Some(_)) => {
                let problem =
                    "the physical size, the logical size and the spare space are all given; leave one out";
                return Err(ConfigError::new("device", problem));
            }
            (Some(erase_blocks), Some(logical), None) => (erase_blocks, logical, self.pages_of(erase_blocks)),
            (Some(erase_blocks), None, Some(spare)) => {
                let pages = self.pages_of(erase_blocks);
                (erase_blocks, (pages as f64 * (1.0 - spare)).round() as u64, pages)
            }
            (None, Some(logical), Some(spare)) => {
                let pages = (logical as f64 / (1.0 - spare)).round() as u64;
                (self.blocks_for(pages), logical, pages)
            }
            _ => {
                let problem = "its size is open; give two of: physical size (raw_capacity or blocks_per_plane), logical \
                               size (capacity), spare space (spare_factor, over_provisioning, alpha or load, or a preset)";
                return Err(ConfigError::new("device", problem));
            }
        };
        Ok((DriveSize { erase_blocks, logical_pages }, pages.saturating_sub(logical_pages)))
    }

    /// Refuses a size in whole blocks that misses an explicitly configured spare space by too much.
    fn check_spare(&self, device: &Device, extent: &DriveSize, requested: u64) -> Result<(), ConfigError> {
        let configured = spare_measures(device).into_iter().find_map(|(name, value)| Some((name, value?)));
        // A drive sized to fit a trace is as small as whole blocks allow.
        let Some((name, value)) = configured.filter(|_| device.fit.is_off()) else { return Ok(()) };
        let spare = self.pages_of(extent.erase_blocks).saturating_sub(extent.logical_pages);
        if (spare as f64 - requested as f64).abs() <= SPARE_TOLERANCE * requested as f64 {
            return Ok(());
        }
        let spare_with = |erase_blocks: u64| {
            let (physical, logical) = (self.pages_of(erase_blocks), extent.logical_pages);
            let measure = || SpareSpace::from_pages(physical, logical).measure(name);
            (physical > logical).then(|| format!("{:.4}", measure()))
        };
        let [less, more] =
            [extent.erase_blocks - self.superblock_blocks, extent.erase_blocks].map(spare_with);
        let fits = less.into_iter().chain(more).collect::<Vec<_>>().join(" or ");
        let (block, superblocks) = (
            ByteSize(self.superblock_pages * self.unit_bytes),
            if self.superblock_blocks > 1 { "superblocks" } else { "blocks" },
        );
        let problem = format!(
            "is {value}, for which the flash would have to end within a block: with whole {superblocks} of {block} it is {fits}; \
             ask for that, or for another capacity, smaller {superblocks} or `blocks_per_plane`"
        );
        Err(ConfigError::new(format!("device.{name}"), problem))
    }
}
