//! Zoned drives without a log: rules for writes and resets.

use super::Device;
use crate::error::DeviceError;
use crate::image::JournalEntry;
use std::ops::Range;
use wearwell_engine::layer::{LayerError, ZoneState};
use wearwell_stack::LiveStack;

/// Zones of a drive, which all have the same size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zones {
    /// Number of zones.
    pub count: u32,
    /// Bytes of a zone.
    pub bytes: u64,
}

impl Zones {
    /// Returns the zones of a stack, if it has any.
    pub(super) fn of_stack(stack: &LiveStack) -> Option<Self> {
        let pages = stack.zone(0)?.pages;
        let bytes = u64::from(pages) * u64::from(stack.page_bytes());
        Some(Zones { count: stack.logical_pages() / pages, bytes })
    }
}

impl Device {
    /// Returns the zones if the drive is zoned. Each zone is written in order, and a trim resets it as a whole.
    pub fn zones(&self) -> Option<Zones> {
        self.zones
    }

    /// Returns the state of zone `number` (from 0), or `None` if there is no such zone.
    pub fn zone(&self, number: u32) -> Option<ZoneState> {
        let zones = self.zones()?;
        let pages = (zones.bytes / u64::from(self.page_bytes)) as u32;
        (number < zones.count).then(|| self.stack.zone(number * pages)).flatten()
    }

    /// Finishes zone `number` (from 0): closes it and refuses further writes until it is reset. Its unwritten part reads as
    /// zeroes. Does nothing if the zone is full or does not exist.
    ///
    /// # Errors
    /// Fails if the zone is offline or the image cannot be written.
    pub fn finish_zone(&mut self, number: u32) -> Result<(), DeviceError> {
        let Some(zone) = self.zone(number).filter(|zone| zone.write_pointer() < zone.pages) else {
            return Ok(());
        };
        if zone.is_offline {
            return Err(LayerError::ZoneOffline { zone: number }.into());
        }
        let first = number * zone.pages;
        if let Some(image) = &mut self.image {
            image.record(JournalEntry::Finish(first..first + zone.pages))?;
        }
        self.stack.finish_zone(first).map_err(|error| self.convert_error(error))?;
        Ok(())
    }

    /// Refuses writes that a zoned drive would refuse, before anything is recorded. A write must consist of whole
    /// pages, begin at the write pointer of its zone, and end within the zone.
    pub(super) fn check_written(&self, offset: u64, length: u64) -> Result<(), DeviceError> {
        let Some(Zones { bytes, .. }) = self.zones().filter(|_| length > 0) else { return Ok(()) };
        let number = (offset / bytes) as u32;
        let Some(zone) = self.zone(number) else { return Ok(()) };
        let page = u64::from(self.page_bytes);
        let at = offset % bytes;
        if zone.is_offline {
            return Err(LayerError::ZoneOffline { zone: number }.into());
        }
        let expected = zone.write_pointer();
        if at != u64::from(expected) * page || !length.is_multiple_of(page) || at + length > bytes {
            let written = LayerError::NotSequential { zone: number, page: (at / page) as u32, expected };
            return Err(written.into());
        }
        match zone.open_limit {
            Some(limit) => Err(LayerError::TooManyOpenZones { zone: number, limit }.into()),
            None => Ok(()),
        }
    }

    /// Refuses a trim that covers only a part of a zone.
    pub(super) fn check_trimmed(&self, offset: u64, length: u64) -> Result<(), DeviceError> {
        let Some(Zones { bytes, .. }) = self.zones().filter(|_| length > 0) else { return Ok(()) };
        match [offset, offset + length].into_iter().find(|end| !end.is_multiple_of(bytes)) {
            Some(end) => Err(LayerError::PartialReset { zone: (end / bytes) as u32 }.into()),
            None => Ok(()),
        }
    }

    /// Returns the part of `pages` that was written before an error.
    pub(super) fn written_in_part(&self, pages: Range<u32>) -> Range<u32> {
        let end = self
            .stack
            .zone(pages.start)
            .map_or(pages.start, |zone| pages.start / zone.pages * zone.pages + zone.written);
        pages.start..end.clamp(pages.start, pages.end)
    }
}
