//! Directory of zones, each of which is a file that is written sequentially. It is compatible with zonefs
//! (Documentation/filesystems/zonefs.rst), which Linux offers for zoned block devices.

use super::replies::errno;
use crate::device::Zones;
use crate::error::DeviceError;
use crate::shared::SharedDevice;
use std::ffi::OsStr;
use std::time::Duration;
use wearwell_fuse::fuser::{Errno, FileAttr, FileType, FopenFlags, INodeNo, InitFlags};
use wearwell_fuse::{Files, MAX_WRITE_BYTES, Owner};

/// Name of the directory with the sequential zones.
pub const SEQUENTIAL: &str = "seq";

const ROOT: INodeNo = INodeNo::ROOT;
const FOLDER: INodeNo = INodeNo(2);
/// Inode number of the first zone's file.
const FIRST: u64 = 3;
/// Directory with a file for each zone.
pub struct ZoneFolder {
    device: SharedDevice,
    zones: Zones,
    page_bytes: u32,
    owner: Owner,
}

/// Zone to which a file belongs.
struct Zone {
    number: u32,
    /// Offset on the device in bytes.
    offset: u64,
    /// Number of bytes up to the write pointer.
    length: u64,
    is_offline: bool,
}

impl ZoneFolder {
    /// Creates the directory for the zones of `device`.
    pub fn new(device: SharedDevice, zones: Zones) -> Result<Self, DeviceError> {
        let page_bytes = device.with(|device| Ok(device.page_bytes()))?;
        Ok(ZoneFolder { device, zones, page_bytes, owner: Owner::default() })
    }

    /// Returns the number of bytes that are written of a request of `length` bytes.
    ///
    /// The kernel divides a long write if its buffer is not aligned to pages, and the first request then ends within a
    /// page. Such a request is a short write that ends with the last whole page, and the caller continues there. A
    /// request of at most half of the longest length was not divided, unless it has many small buffers.
    fn accepted_bytes(&self, length: usize) -> usize {
        let may_be_divided = length > MAX_WRITE_BYTES as usize / 2;
        let partial_page = length % self.page_bytes as usize;
        if may_be_divided && partial_page < length { length - partial_page } else { length }
    }

    fn zone(&self, node_id: INodeNo) -> Result<Zone, Errno> {
        let number = node_id.0.checked_sub(FIRST).and_then(|number| u32::try_from(number).ok());
        let number = number.ok_or(Errno::EISDIR)?;
        let state =
            self.device.with(|device| Ok(device.zone(number))).map_err(errno)?.ok_or(Errno::ENOENT)?;
        let (offset, length) = (
            u64::from(number) * self.zones.bytes,
            u64::from(state.write_pointer()) * u64::from(self.page_bytes),
        );
        Ok(Zone { number, offset, length, is_offline: state.is_offline })
    }
}

impl Files for ZoneFolder {
    /// Sizes of files change with writes and resets, so attributes are not cached.
    const CACHE_TIME: Duration = Duration::ZERO;
    /// Concurrent writes are disabled, because their order would be undefined.
    const CAPABILITIES: InitFlags = InitFlags::empty();
    const OPEN_FLAGS: FopenFlags = FopenFlags::FOPEN_DIRECT_IO;

    fn bytes(&self) -> u64 {
        u64::from(self.zones.count) * self.zones.bytes
    }

    fn content_bytes(&self) -> Result<u64, Errno> {
        self.device.with(|device| Ok(device.content_bytes())).map_err(errno)
    }

    fn page_bytes(&self) -> u32 {
        self.page_bytes
    }

    fn count(&self) -> u64 {
        u64::from(self.zones.count) + 2
    }

    fn attributes(&self, node_id: INodeNo) -> Result<FileAttr, Errno> {
        let (kind, sizes) = if node_id == ROOT || node_id == FOLDER {
            ((FileType::Directory, 0o555, if node_id == ROOT { 3 } else { 2 }), (0, 0))
        } else {
            let zone = self.zone(node_id)?;
            let mode = if zone.is_offline { 0o400 } else { 0o600 };
            // As in zonefs, the allocated size is that of the zone.
            ((FileType::RegularFile, mode, 1), (zone.length, self.zones.bytes))
        };
        Ok(self.owner.attributes(node_id, kind, sizes, self.page_bytes))
    }

    fn lookup(&self, parent: INodeNo, name: &OsStr) -> Result<INodeNo, Errno> {
        if parent == ROOT && name == SEQUENTIAL {
            return Ok(FOLDER);
        }
        let number = name.to_str().and_then(|name| name.parse().ok().filter(|n: &u32| n.to_string() == name));
        let number = number.filter(|number| parent == FOLDER && *number < self.zones.count);
        number.map(|number| INodeNo(FIRST + u64::from(number))).ok_or(Errno::ENOENT)
    }

    fn entries(&self, node_id: INodeNo, from: u64) -> impl Iterator<Item = (INodeNo, FileType, String)> {
        let folder = |number, name: &str| (number, FileType::Directory, name.to_owned());
        let (first, count) = match node_id {
            ROOT => (vec![folder(ROOT, "."), folder(ROOT, ".."), folder(FOLDER, SEQUENTIAL)], 0),
            _ => (vec![folder(FOLDER, "."), folder(ROOT, "..")], u64::from(self.zones.count)),
        };
        let skipped = first.len() as u64;
        let zones = (from.saturating_sub(skipped)..count)
            .map(|number| (INodeNo(FIRST + number), FileType::RegularFile, number.to_string()));
        first.into_iter().skip(from.min(skipped) as usize).chain(zones)
    }

    /// Truncates a file: size 0 resets its zone, the full zone size finishes it, and the present size has no effect.
    fn resize(&self, node_id: INodeNo, size: u64) -> Result<(), Errno> {
        let zone = self.zone(node_id)?;
        match size {
            _ if size == zone.length => Ok(()),
            0 => self.device.with(|device| device.trim(zone.offset, self.zones.bytes)).map_err(errno),
            _ if size == self.zones.bytes => {
                self.device.with(|device| device.finish_zone(zone.number)).map_err(errno)
            }
            _ => Err(Errno::EPERM),
        }
    }

    fn range(&self, node_id: INodeNo, offset: u64, bytes: u64) -> Result<(u64, u64), Errno> {
        let zone = self.zone(node_id)?;
        Ok((zone.offset + offset.min(zone.length), zone.length.saturating_sub(offset).min(bytes)))
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), Errno> {
        self.device.with(|device| device.read(offset, out)).map_err(errno)
    }

    fn write(&self, node_id: INodeNo, offset: u64, data: &[u8]) -> Result<u32, Errno> {
        let zone = self.zone(node_id)?;
        let end = offset.saturating_add(data.len() as u64);
        if end > self.zones.bytes {
            return Err(Errno::EFBIG);
        }
        let data = &data[..self.accepted_bytes(data.len())];
        self.device.with(|device| device.write(zone.offset + offset, data)).map_err(errno)?;
        Ok(data.len() as u32)
    }

    fn flush(&self) -> Result<(), Errno> {
        self.device.with(|device| device.flush()).map_err(errno)
    }
}
