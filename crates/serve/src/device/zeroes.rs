//! Writes of zeroes, executed as a trim or as a write of ordinary bytes.

use super::Device;
use crate::error::DeviceError;

impl Device {
    /// Makes the range read as zeroes. Whole pages are trimmed, or are written if they must be `allocated`.
    ///
    /// # Errors
    /// The errors of [`Device::write`].
    pub fn write_zeroes(&mut self, offset: u64, length: u64, allocated: bool) -> Result<(), DeviceError> {
        self.pages(offset, length)?;
        let whole = self.whole_pages(offset, length);
        let page = u64::from(self.page_bytes);
        let (first, end) = (u64::from(whole.start) * page, u64::from(whole.end) * page);
        if whole.is_empty() || allocated {
            return self.write_zeros_as_bytes(offset, offset + length);
        }
        self.write_zeros_as_bytes(offset, first)?;
        self.trim_pages(whole)?;
        self.write_zeros_as_bytes(end, offset + length)
    }

    fn write_zeros_as_bytes(&mut self, mut offset: u64, end: u64) -> Result<(), DeviceError> {
        let at_once = u64::from(self.page_bytes) * 256;
        let zeroes = vec![0; (end - offset).min(at_once) as usize];
        while offset < end {
            // Chunks end at page boundaries, so only the first and the last chunk need a read.
            let until = ((offset / at_once + 1) * at_once).min(end);
            self.write(offset, &zeroes[..(until - offset) as usize])?;
            offset = until;
        }
        Ok(())
    }
}
