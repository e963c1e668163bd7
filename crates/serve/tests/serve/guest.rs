//! Guest and front end in one: those parts of a virtual machine that use a virtio block device.

use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::path::Path;
use std::sync::atomic::{Ordering, fence};
use vhost::vhost_user::message::{VhostUserConfigFlags, VhostUserProtocolFeatures};
use vhost::vhost_user::{Frontend, VhostUserFrontend};
use vhost::{VhostBackend, VhostUserMemoryRegionInfo, VringConfigData};
use vm_memory::{Bytes, FileOffset, GuestAddress, GuestMemoryBackend, GuestMemoryMmap};
use vmm_sys_util::eventfd::EventFd;

/// Bytes of the guest's memory.
pub const MEMORY_BYTES: u64 = 64 << 20;
/// Length of the queue.
const QUEUE_LENGTH: u16 = 256;
const DESCRIPTORS: u64 = 0;
const AVAILABLE: u64 = 0x4000;
const USED: u64 = 0x8000;
const HEADS: u64 = 0x1_0000;
const STATUSES: u64 = 0x2_0000;
/// Address of request data.
pub const DATA: u64 = 0x10_0000;

pub const NEXT: u16 = 1;
pub const WRITE: u16 = 2;
pub const INDIRECT: u16 = 4;

pub const IN: u32 = 0;
pub const OUT: u32 = 1;
pub const FLUSH: u32 = 4;
pub const GET_ID: u32 = 8;
pub const DISCARD: u32 = 11;
pub const WRITE_ZEROES: u32 = 13;

/// Feature bit: the device and the driver announce the next chain for which they need a notification.
pub const EVENT_IDX: u64 = 1 << 29;
/// All features except EVENT_IDX.
pub const FEATURES: u64 = !EVENT_IDX;

/// Descriptor of a queue.
#[derive(Clone, Copy, Debug)]
pub struct Descriptor {
    pub address: u64,
    pub length: u32,
    pub flags: u16,
    pub next: u16,
}

pub struct Guest {
    pub front: Frontend,
    pub memory: GuestMemoryMmap,
    pub features: u64,
    kick: EventFd,
    call: EventFd,
    available: u16,
    /// Number of chains at the last notification.
    kicked: u16,
    used: u16,
}

impl Guest {
    /// Connects, and sets up queue 0 with those features in `wanted` that are available.
    pub fn connect(path: &Path, wanted: u64) -> Guest {
        Guest::try_connect(path, wanted).unwrap()
    }

    /// Does what `connect` does, but returns an error if the server disconnects.
    pub fn try_connect(path: &Path, wanted: u64) -> Result<Guest, vhost::Error> {
        let file = File::from(memfd_create("guest", MemfdFlags::CLOEXEC).unwrap());
        file.set_len(MEMORY_BYTES).unwrap();
        let range = (GuestAddress(0), MEMORY_BYTES as usize, Some(FileOffset::new(file, 0)));
        let memory = GuestMemoryMmap::from_ranges_with_files([range]).unwrap();
        let mut front = Frontend::connect(path, 4)?;
        front.set_owner()?;
        let features = front.get_features()? & wanted;
        front.set_features(features)?;
        let offered = front.get_protocol_features()?;
        let wanted = VhostUserProtocolFeatures::CONFIG | VhostUserProtocolFeatures::MQ;
        front.set_protocol_features(offered & wanted)?;
        let region = memory.iter().next().unwrap();
        let region = VhostUserMemoryRegionInfo::from_guest_region(region).unwrap();
        front.set_mem_table(&[region])?;
        let (kick, call) = (EventFd::new(0).unwrap(), EventFd::new(0).unwrap());
        let base = region.userspace_addr;
        let config = VringConfigData {
            queue_max_size: 1024,
            queue_size: QUEUE_LENGTH,
            flags: 0,
            desc_table_addr: base + DESCRIPTORS,
            used_ring_addr: base + USED,
            avail_ring_addr: base + AVAILABLE,
            log_addr: None,
        };
        front.set_vring_num(0, QUEUE_LENGTH)?;
        front.set_vring_addr(0, &config)?;
        front.set_vring_base(0, 0)?;
        front.set_vring_call(0, &call)?;
        front.set_vring_kick(0, &kick)?;
        front.set_vring_enable(0, true)?;
        Ok(Guest { front, memory, features, kick, call, available: 0, kicked: 0, used: 0 })
    }

    /// Reads the configuration.
    pub fn config(&mut self) -> Vec<u8> {
        let (_, config) = self.front.get_config(0, 60, VhostUserConfigFlags::WRITABLE, &[0; 60]).unwrap();
        config
    }

    pub fn put(&self, address: u64, bytes: &[u8]) {
        self.memory.write_slice(bytes, GuestAddress(address)).unwrap();
    }

    pub fn get(&self, address: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.get_into(address, &mut bytes);
        bytes
    }

    pub fn get_into(&self, address: u64, bytes: &mut [u8]) {
        self.memory.read_slice(bytes, GuestAddress(address)).unwrap();
    }

    /// Writes a descriptor to a table.
    pub fn describe(&self, table: u64, index: u16, of: Descriptor) {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&of.address.to_le_bytes());
        bytes[8..12].copy_from_slice(&of.length.to_le_bytes());
        bytes[12..14].copy_from_slice(&of.flags.to_le_bytes());
        bytes[14..].copy_from_slice(&of.next.to_le_bytes());
        self.put(table + u64::from(index) * 16, &bytes);
    }

    /// Submits a request in three descriptors of `slot`: the header, the data at `DATA + slot MiB / 16`, and the
    /// status.
    pub fn submit(&mut self, slot: u16, (kind, sector): (u32, u64), data_bytes: u32, is_read: bool) {
        let (head, status) = (HEADS + u64::from(slot) * 16, STATUSES + u64::from(slot));
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&kind.to_le_bytes());
        bytes[8..].copy_from_slice(&sector.to_le_bytes());
        self.put(head, &bytes);
        self.put(status, &[0xff]);
        let first = slot * 3;
        let address = Guest::data(slot);
        self.describe(
            DESCRIPTORS,
            first,
            Descriptor {
                address: head,
                length: 16,
                flags: NEXT,
                next: first + 1 + u16::from(data_bytes == 0),
            },
        );
        let flags = NEXT | if is_read { WRITE } else { 0 };
        self.describe(
            DESCRIPTORS,
            first + 1,
            Descriptor { address, length: data_bytes, flags, next: first + 2 },
        );
        self.describe(
            DESCRIPTORS,
            first + 2,
            Descriptor { address: status, length: 1, flags: WRITE, next: 0 },
        );
        self.make_available(first);
    }

    /// Returns the address of the data of a slot.
    pub fn data(slot: u16) -> u64 {
        DATA + (u64::from(slot) << 16)
    }

    /// Makes the chain at descriptor `head` available.
    pub fn make_available(&mut self, head: u16) {
        let at = AVAILABLE + 4 + u64::from(self.available % QUEUE_LENGTH) * 2;
        self.put(at, &head.to_le_bytes());
        self.available = self.available.wrapping_add(1);
        self.memory.store(self.available.to_le(), GuestAddress(AVAILABLE + 2), Ordering::Release).unwrap();
    }

    /// Announces `chains` more chains than are available.
    pub fn announce_missing_chains(&mut self, chains: u16) {
        let available = self.available.wrapping_add(chains);
        self.memory.store(available.to_le(), GuestAddress(AVAILABLE + 2), Ordering::Release).unwrap();
    }

    /// Notifies the device unless it suppresses notifications, VIRTIO section 2.7.10.
    pub fn kick(&mut self) {
        fence(Ordering::SeqCst);
        let load = |at: u64| u16::from_le(self.memory.load(GuestAddress(at), Ordering::Acquire).unwrap());
        let wants = if self.features & EVENT_IDX == 0 {
            load(USED) & 1 == 0
        } else {
            let event = load(USED + 4 + u64::from(QUEUE_LENGTH) * 8);
            let [offered, after] =
                [self.kicked, event.wrapping_add(1)].map(|from| self.available.wrapping_sub(from));
            after < offered
        };
        self.kicked = self.available;
        if wants {
            self.kick.write(1).unwrap();
        }
    }

    /// Returns the chains that the device has used since the last call, each with the number of bytes written to it.
    pub fn used(&mut self) -> Vec<(u32, u32)> {
        let now: u16 = self.memory.load(GuestAddress(USED + 2), Ordering::Acquire).unwrap();
        let mut found = Vec::new();
        while self.used != u16::from_le(now) {
            let entry = self.get(USED + 4 + u64::from(self.used % QUEUE_LENGTH) * 8, 8);
            let number = |at: usize| u32::from_le_bytes(entry[at..at + 4].try_into().unwrap());
            found.push((number(0), number(4)));
            self.used = self.used.wrapping_add(1);
        }
        found
    }

    /// Waits until the device has used some chains.
    pub fn wait(&mut self) -> Vec<(u32, u32)> {
        loop {
            // With EVENT_IDX, the device notifies at the chain after the given number; otherwise, it ignores the
            // number.
            let event = GuestAddress(AVAILABLE + 4 + u64::from(QUEUE_LENGTH) * 2);
            self.memory.store(self.used.to_le(), event, Ordering::Release).unwrap();
            fence(Ordering::SeqCst);
            let used = self.used();
            if !used.is_empty() {
                return used;
            }
            self.call.read().unwrap();
        }
    }

    /// Returns the status of a slot's request.
    pub fn status(&self, slot: u16) -> u8 {
        self.get(STATUSES + u64::from(slot), 1)[0]
    }

    /// Performs a request in slot 0 and returns its status.
    pub fn request(&mut self, kind: u32, sector: u64, data_bytes: u32, is_read: bool) -> u8 {
        self.submit(0, (kind, sector), data_bytes, is_read);
        self.kick();
        assert_eq!(self.wait().len(), 1);
        self.status(0)
    }

    pub fn write(&mut self, offset: u64, data: &[u8]) -> u8 {
        self.put(Guest::data(0), data);
        self.request(OUT, offset / 512, data.len() as u32, false)
    }

    pub fn read(&mut self, offset: u64, length: usize) -> Vec<u8> {
        assert_eq!(self.request(IN, offset / 512, length as u32, true), 0);
        self.get(Guest::data(0), length)
    }

    /// Discards or zeroes one range.
    pub fn range(&mut self, kind: u32, offset: u64, length: u64, flags: u32) -> u8 {
        let mut range = (offset / 512).to_le_bytes().to_vec();
        range.extend(((length / 512) as u32).to_le_bytes());
        range.extend(flags.to_le_bytes());
        self.put(Guest::data(0), &range);
        self.request(kind, 0, 16, false)
    }
}
