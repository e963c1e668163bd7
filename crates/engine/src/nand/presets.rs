//! Named devices, with a source for each value.

use super::{Geometry, GeometryError};
use crate::config::Entry;

mod front_ends;
mod table;
#[cfg(test)]
mod tests;
mod x25_e;

pub use front_ends::{DriveFrontEnd, FRONT_ENDS};
pub use table::PRESETS;

/// A device with documented values; the user chooses its capacity.
///
/// `notes` gives the source of each value. A note that starts with "derived:" gives a value computed from a source; a
/// note with "assumed:" gives a value without a source for this device.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Name, help and main source.
    pub entry: Entry,
    /// Kind of cell: `SLC`, `MLC`, `TLC` or `QLC`.
    pub cell: &'static str,
    /// Buses to the controller.
    pub channels: u32,
    /// Chips on each channel.
    pub ways: u32,
    /// Dies in each chip.
    pub dies: u32,
    /// Planes of each die.
    pub planes: u32,
    /// Pages of each erase block.
    pub pages_per_block: u32,
    /// User bytes of each page.
    pub page_bytes: u32,
    /// Spare (out-of-band) bytes of each page.
    pub spare_bytes: u32,
    /// Erases that a block endures.
    pub endurance_cycles: u32,
    /// Microseconds from a page of cells to the chip's register, averaged over the kinds of page.
    pub read_us: f64,
    /// Microseconds from the register to a page of cells, averaged over the kinds of page.
    pub program_us: f64,
    /// Microseconds to erase a block.
    pub erase_us: f64,
    /// Transfer rate of one channel, in megabytes (10^6 bytes) per second.
    pub channel_mb_per_s: f64,
    /// Default over-provisioning (T - U) / U, with T physical and U logical pages.
    pub over_provisioning: f64,
    /// Fraction of free flash below which cleaning starts; `None` if the source gives no value.
    pub gc_watermark: Option<f64>,
    /// Field name and source of its value, for every field from `cell` to `gc_watermark`.
    pub notes: &'static [(&'static str, &'static str)],
}

impl Preset {
    /// Returns the preset called `name`.
    pub fn find(name: &str) -> Option<&'static Preset> {
        PRESETS.iter().find(|preset| preset.entry.name == name)
    }

    /// Returns link and controller of the modelled drive; `None` for presets that only serve for counting.
    pub fn front_end(&self) -> Option<&'static DriveFrontEnd> {
        FRONT_ENDS.iter().find(|front| front.preset == self.entry.name)
    }

    /// Returns the source of a field's value.
    pub fn note(&self, field: &str) -> Option<&'static str> {
        self.notes.iter().find(|(name, _)| *name == field).map(|(_, source)| *source)
    }

    /// Returns the geometry with the fewest whole blocks on every plane that hold `bytes` of physical capacity.
    pub fn geometry(&self, bytes: u64) -> Result<Geometry, GeometryError> {
        let planes = [self.channels, self.ways, self.dies, self.planes]
            .iter()
            .map(|&n| u128::from(n))
            .product::<u128>();
        let pages_per_plane_block = planes * u128::from(self.pages_per_block);
        let blocks = u128::from(bytes).div_ceil(pages_per_plane_block * u128::from(self.page_bytes));
        let blocks_per_plane = u32::try_from(blocks)
            .map_err(|_| GeometryError::TooManyPages { pages: blocks * pages_per_plane_block })?;
        let geometry = Geometry {
            channels: self.channels,
            ways: self.ways,
            dies: self.dies,
            planes: self.planes,
            blocks_per_plane,
            unused_blocks: 0,
            superblock_blocks: 1,
            pages_per_block: self.pages_per_block,
            page_bytes: self.page_bytes,
            spare_bytes: self.spare_bytes,
        };
        geometry.validate()?;
        Ok(geometry)
    }
}
