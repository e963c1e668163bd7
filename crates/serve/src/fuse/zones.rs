//! A directory of zones, each a file that is written at its end: what Linux shows of a zoned block device by zonefs
//! (Documentation/filesystems/zonefs.rst), and programs for zonefs take.

use super::answers::{Owner, ask_for_long_requests, attr, done, errno, read};
use crate::device::Zones;
use crate::error::DeviceError;
use crate::shared::SharedDevice;
use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry,
    ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};
use std::ffi::OsStr;
use std::io;
use std::time::{Duration, SystemTime};

/// What the directory of the zones is called: those that are written in order.
pub const SEQUENTIAL: &str = "seq";

const ROOT: INodeNo = INodeNo::ROOT;
const FOLDER: INodeNo = INodeNo(2);
/// The number of the first zone's file.
const FIRST: u64 = 3;
/// A file is as long as its zone is written, whoever else writes or resets it.
const KEEP: Duration = Duration::ZERO;

/// The directory.
pub struct ZoneFolder {
    device: SharedDevice,
    zones: Zones,
    page_bytes: u32,
    owner: Owner,
}

/// A zone and its file.
struct Zone {
    number: u32,
    /// Where it begins on the device.
    offset: u64,
    /// Bytes up to its write pointer.
    length: u64,
    is_offline: bool,
}

impl ZoneFolder {
    /// With a file for each of the zones of `device`.
    pub fn of(device: SharedDevice, zones: Zones) -> Result<Self, DeviceError> {
        let page_bytes = device.with(|device| Ok(device.page_bytes()))?;
        Ok(ZoneFolder { device, zones, page_bytes, owner: Owner::default() })
    }

    fn zone(&self, of: INodeNo) -> Result<Zone, Errno> {
        let number = of.0.checked_sub(FIRST).and_then(|number| u32::try_from(number).ok());
        let number = number.ok_or(Errno::EISDIR)?;
        let state =
            self.device.with(|device| Ok(device.zone(number))).map_err(errno)?.ok_or(Errno::ENOENT)?;
        let (offset, length) = (
            u64::from(number) * self.zones.bytes,
            u64::from(state.write_pointer()) * u64::from(self.page_bytes),
        );
        Ok(Zone { number, offset, length, is_offline: state.is_offline })
    }

    fn attributes(&self, of: INodeNo) -> Result<FileAttr, Errno> {
        let (kind, sizes) = if of == ROOT || of == FOLDER {
            ((FileType::Directory, 0o555, if of == ROOT { 3 } else { 2 }), (0, 0))
        } else {
            let zone = self.zone(of)?;
            let mode = if zone.is_offline { 0o400 } else { 0o600 };
            // As zonefs has it: the room is the zone's, whatever of it is written.
            ((FileType::RegularFile, mode, 1), (zone.length, self.zones.bytes))
        };
        Ok(self.owner.attributes(of, kind, sizes, self.page_bytes))
    }

    fn found(&self, parent: INodeNo, name: &OsStr) -> Result<INodeNo, Errno> {
        if parent == ROOT && name == SEQUENTIAL {
            return Ok(FOLDER);
        }
        let number = name.to_str().and_then(|name| name.parse().ok().filter(|n: &u32| n.to_string() == name));
        let number = number.filter(|number| parent == FOLDER && *number < self.zones.count);
        number.map(|number| INodeNo(FIRST + u64::from(number))).ok_or(Errno::ENOENT)
    }

    /// Makes a file so long: nothing, which resets its zone, what it has, or all of the zone, which finishes it.
    fn cut(&self, of: INodeNo, size: u64) -> Result<(), Errno> {
        let zone = self.zone(of)?;
        match size {
            _ if size == zone.length => Ok(()),
            0 => self.device.with(|device| device.trim(zone.offset, self.zones.bytes)).map_err(errno),
            _ if size == self.zones.bytes => {
                self.device.with(|device| device.finish_zone(zone.number)).map_err(errno)
            }
            _ => Err(Errno::EPERM),
        }
    }

    fn append(&self, of: INodeNo, offset: u64, data: &[u8]) -> Result<u32, Errno> {
        let zone = self.zone(of)?;
        let end = offset.saturating_add(data.len() as u64);
        if end > self.zones.bytes {
            return Err(Errno::EFBIG);
        }
        self.device.with(|device| device.write(zone.offset + offset, data)).map_err(errno)?;
        Ok(data.len() as u32)
    }

    /// What is in a directory, from entry `from` on.
    fn entries(&self, of: INodeNo, from: u64) -> impl Iterator<Item = (INodeNo, FileType, String)> {
        let folder = |number, name: &str| (number, FileType::Directory, name.to_owned());
        let (first, count) = match of {
            ROOT => (vec![folder(ROOT, "."), folder(ROOT, ".."), folder(FOLDER, SEQUENTIAL)], 0),
            _ => (vec![folder(FOLDER, "."), folder(ROOT, "..")], u64::from(self.zones.count)),
        };
        let skipped = first.len() as u64;
        let zones = (from.saturating_sub(skipped)..count)
            .map(|number| (INodeNo(FIRST + number), FileType::RegularFile, number.to_string()));
        first.into_iter().skip(from.min(skipped) as usize).chain(zones)
    }
}

impl Filesystem for ZoneFolder {
    /// Without writes that are under way together, whose order nobody knows.
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        ask_for_long_requests(config);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.found(parent, name).and_then(|number| self.attributes(number)) {
            Ok(attributes) => reply.entry(&KEEP, &attributes, Generation(0)),
            Err(error) => reply.error(error),
        }
    }

    fn getattr(&self, _: &Request, of: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        attr(reply, KEEP, self.attributes(of));
    }

    fn setattr(
        &self,
        _: &Request,
        of: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        atime: Option<TimeOrNow>,
        mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        if mode.is_some() || uid.is_some() || gid.is_some() || atime.is_some() || mtime.is_some() {
            return reply.error(Errno::EPERM);
        }
        let cut = size.map_or(Ok(()), |size| self.cut(of, size));
        attr(reply, KEEP, cut.and_then(|()| self.attributes(of)));
    }

    /// Without the kernel's cache, as what is written there would come in any order.
    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn read(
        &self,
        _: &Request,
        of: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match self.zone(of) {
            Ok(zone) => {
                let length = zone.length.saturating_sub(offset).min(size.into()) as usize;
                read(&self.device, zone.offset + offset.min(zone.length), length, reply);
            }
            Err(error) => reply.error(error),
        }
    }

    fn write(
        &self,
        _: &Request,
        of: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match self.append(of, offset, data) {
            Ok(written) => reply.written(written),
            Err(error) => reply.error(error),
        }
    }

    /// Called at every `close`; nothing is held back that had to be written then. The kernel asks once only.
    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.error(Errno::ENOSYS);
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _data_only: bool, reply: ReplyEmpty) {
        done(reply, self.device.with(|device| device.flush()).map_err(errno));
    }

    fn readdir(&self, _: &Request, of: INodeNo, _: FileHandle, from: u64, mut reply: ReplyDirectory) {
        for (next, (number, kind, name)) in (from + 1..).zip(self.entries(of, from)) {
            if reply.add(number, next, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let held = self.device.with(|device| Ok(device.content_bytes())).unwrap_or(0);
        let pages = |bytes: u64| bytes / u64::from(self.page_bytes);
        let all = u64::from(self.zones.count) * self.zones.bytes;
        let free = pages(all.saturating_sub(held));
        let files = u64::from(self.zones.count) + 2;
        reply.statfs(pages(all), free, free, files, 0, self.page_bytes, 255, self.page_bytes);
    }
}
