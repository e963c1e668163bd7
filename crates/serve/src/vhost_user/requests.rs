//! Requests of a virtio block device, VIRTIO section 5.2.6.

use crate::error::DeviceError;
use crate::shared::SharedDevice;
use std::cell::RefCell;
use std::io::{Read, Write};

/// Unit of sizes and offsets, which does not depend on the block size.
pub const SECTOR_BYTES: u64 = 512;
/// Maximum data of a request in bytes. The configuration announces this limit as a number of segments.
pub const MAX_BYTES: usize = (MAX_SEGMENTS * MAX_SEGMENT_BYTES) as usize;
/// Maximum number of data segments in a request.
pub const MAX_SEGMENTS: u32 = 126;
/// Maximum size of a segment in bytes.
pub const MAX_SEGMENT_BYTES: u32 = 1 << 16;
/// Maximum number of ranges in a request to discard or to write zeroes.
pub const MAX_RANGES: u32 = 32;
/// Maximum length of such a range in sectors: 1 GiB.
pub const MAX_RANGE_SECTORS: u32 = 1 << 21;
/// Bytes of a device name in GET_ID.
const NAME_BYTES: usize = 20;

/// Request types, VIRTIO_BLK_T_*.
mod kind {
    pub const IN: u32 = 0;
    pub const OUT: u32 = 1;
    pub const FLUSH: u32 = 4;
    pub const GET_ID: u32 = 8;
    pub const DISCARD: u32 = 11;
    pub const WRITE_ZEROES: u32 = 13;
}

/// Status of a completed request, VIRTIO_BLK_S_*.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Status {
    /// Success.
    Ok = 0,
    /// Failure.
    IoError = 1,
    /// Unsupported request.
    Unsupported = 2,
}

impl From<DeviceError> for Status {
    fn from(_: DeviceError) -> Self {
        Status::IoError
    }
}

impl From<std::io::Error> for Status {
    fn from(_: std::io::Error) -> Self {
        Status::IoError
    }
}

thread_local! {
    /// Buffer between the device and the guest's memory; the guest may change its memory at any time.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Device and settings with which a request is served.
pub struct RequestContext<'a> {
    /// The device.
    pub device: &'a SharedDevice,
    /// True if writes must be durable without a flush, because the driver does not support flushes.
    pub writes_through: bool,
}

impl RequestContext<'_> {
    /// Serves the request in `readable`, and writes the reply to `writable`. Both are given with their sizes in
    /// bytes.
    pub fn serve(
        &self,
        (readable, readable_bytes): (&mut impl Read, usize),
        (writable, writable_bytes): (&mut impl Write, usize),
    ) -> Result<(), Status> {
        let mut head = [0; 16];
        readable.read_exact(&mut head)?;
        let [kind, _, low, high] = numbers(&head);
        let sector = u64::from(low) | u64::from(high) << 32;
        let data_bytes = readable_bytes - head.len();
        match kind {
            kind::IN => with_buffer(writable_bytes, |data| {
                self.device.with(|device| device.read(offset(sector)?, data))?;
                Ok(writable.write_all(data)?)
            }),
            kind::OUT => with_buffer(data_bytes, |data| {
                readable.read_exact(data)?;
                self.device.with(|device| device.write(offset(sector)?, data))?;
                self.finish_write()
            }),
            kind::FLUSH => Ok(self.device.with(|device| device.flush())?),
            kind::GET_ID => {
                let mut name = [0; NAME_BYTES];
                name[..8].copy_from_slice(b"wearwell");
                Ok(writable.write_all(&name[..writable_bytes.min(NAME_BYTES)])?)
            }
            kind::DISCARD | kind::WRITE_ZEROES => {
                for range in ranges(readable, data_bytes, kind == kind::WRITE_ZEROES)? {
                    self.discard(&range, kind == kind::WRITE_ZEROES)?;
                }
                self.finish_write()
            }
            _ => Err(Status::Unsupported),
        }
    }

    fn discard(&self, range: &Range, zeroes: bool) -> Result<(), Status> {
        let length = u64::from(range.sectors) * SECTOR_BYTES;
        let done = self.device.with(|device| match zeroes {
            true => device.write_zeroes(offset(range.sector)?, length, !range.unmap),
            false => device.trim(offset(range.sector)?, length),
        });
        Ok(done?)
    }

    fn finish_write(&self) -> Result<(), Status> {
        if self.writes_through {
            self.device.with(|device| device.flush())?;
        }
        Ok(())
    }
}

/// Converts a sector number to a byte offset. Fails on overflow, as it does for a range beyond the end.
fn offset(sector: u64) -> Result<u64, DeviceError> {
    let beyond = DeviceError::OutOfRange { offset: u64::MAX, end: u128::MAX, bytes: 0 };
    sector.checked_mul(SECTOR_BYTES).ok_or(beyond)
}

/// Calls `work` with a buffer for data of whole sectors.
fn with_buffer(bytes: usize, work: impl FnOnce(&mut [u8]) -> Result<(), Status>) -> Result<(), Status> {
    if bytes > MAX_BYTES || !bytes.is_multiple_of(SECTOR_BYTES as usize) {
        return Err(Status::IoError);
    }
    BUFFER.with_borrow_mut(|buffer| {
        if buffer.len() < bytes {
            buffer.resize(bytes, 0);
        }
        work(&mut buffer[..bytes])
    })
}

/// Range to discard or to zero.
struct Range {
    sector: u64,
    sectors: u32,
    unmap: bool,
}

/// Reads all ranges of a request before any of them is processed.
fn ranges(source: &mut impl Read, bytes: usize, may_unmap: bool) -> Result<Vec<Range>, Status> {
    const RANGE_BYTES: usize = 16;
    let count = bytes / RANGE_BYTES;
    if !bytes.is_multiple_of(RANGE_BYTES) || count == 0 || count > MAX_RANGES as usize {
        return Err(Status::IoError);
    }
    let range = |_| {
        let mut range = [0; RANGE_BYTES];
        source.read_exact(&mut range)?;
        let [low, high, sectors, flags] = numbers(&range);
        if flags & !u32::from(may_unmap) != 0 {
            return Err(Status::Unsupported);
        }
        if sectors > MAX_RANGE_SECTORS {
            return Err(Status::IoError);
        }
        Ok(Range { sector: u64::from(low) | u64::from(high) << 32, sectors, unmap: flags != 0 })
    };
    (0..count).map(range).collect()
}

/// Decodes little-endian 32-bit numbers of a guest's structure.
fn numbers(bytes: &[u8; 16]) -> [u32; 4] {
    let (numbers, _) = bytes.as_chunks::<4>();
    std::array::from_fn(|at| u32::from_le_bytes(numbers[at]))
}
