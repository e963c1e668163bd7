//! What a guest's driver finds: features, a configuration, and queues.

use super::requests::{
    MOST_RANGE_SECTORS, MOST_RANGES, MOST_SEGMENT_BYTES, MOST_SEGMENTS, Requests, SECTOR_BYTES, Status,
};
use crate::error::DeviceError;
use crate::polling::Polling;
use crate::shared::SharedDevice;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use vhost::vhost_user::Backend;
use vhost::vhost_user::message::{VhostUserProtocolFeatures, VhostUserVirtioFeatures};
use vhost_user_backend::{VhostUserBackend, VringMutex, VringT};
use virtio_queue::{DescriptorChain, QueueT};
use vm_memory::{GuestAddressSpace, GuestMemoryAtomic, GuestMemoryLoadGuard, GuestMemoryMmap};
use vmm_sys_util::epoll::EventSet;
use vmm_sys_util::event::{EventConsumer, EventFlag, EventNotifier, new_event_consumer_and_notifier};

/// Queues, each with a thread: a guest uses one for each of its processors.
const QUEUES: u16 = 4;
/// Longest queue.
const MOST_QUEUED: usize = 1024;
/// Requests that are served before whoever waits for the queue gets it, and before the guest hears of them: it works beside the device.
const AT_ONCE: usize = 8;
/// Bytes of the configuration, up to `write_zeroes_may_unmap` and its padding.
const CONFIG_BYTES: usize = 60;

/// Features by their bits, 5.2.3 and 6.
mod feature {
    pub const SIZE_MAX: u64 = 1 << 1;
    pub const SEG_MAX: u64 = 1 << 2;
    pub const BLK_SIZE: u64 = 1 << 6;
    pub const FLUSH: u64 = 1 << 9;
    pub const TOPOLOGY: u64 = 1 << 10;
    pub const MQ: u64 = 1 << 12;
    pub const DISCARD: u64 = 1 << 13;
    pub const WRITE_ZEROES: u64 = 1 << 14;
    pub const INDIRECT_DESC: u64 = 1 << 28;
    pub const EVENT_IDX: u64 = 1 << 29;
    pub const VERSION_1: u64 = 1 << 32;
}

const FEATURES: u64 = feature::SIZE_MAX
    | feature::SEG_MAX
    | feature::BLK_SIZE
    | feature::FLUSH
    | feature::TOPOLOGY
    | feature::MQ
    | feature::DISCARD
    | feature::WRITE_ZEROES
    | feature::INDIRECT_DESC
    | feature::EVENT_IDX
    | feature::VERSION_1;

/// The memory of a guest.
pub type Memory = GuestMemoryAtomic<GuestMemoryMmap>;

/// The device as one guest sees it.
pub struct Drive {
    device: SharedDevice,
    config: [u8; CONFIG_BYTES],
    memory: Memory,
    writes_through: AtomicBool,
    ended: AtomicBool,
    /// Of each queue, whether looking for more pays.
    polling: [Mutex<Polling>; QUEUES as usize],
    /// The way back to the front. User-mode Linux takes it for the end of the device if it is closed.
    front: Mutex<Option<Backend>>,
    /// What wakes the threads of the queues at the end, whose numbers nobody else closes.
    exits: Mutex<Vec<OwnedFd>>,
}

impl Drive {
    /// For a guest with this memory.
    pub fn of(device: SharedDevice, memory: Memory) -> Result<Self, DeviceError> {
        let (bytes, page_bytes) = device.with(|device| Ok((device.bytes(), device.page_bytes())))?;
        Ok(Drive {
            device,
            config: config(bytes, page_bytes),
            memory,
            writes_through: AtomicBool::new(true),
            ended: AtomicBool::new(false),
            polling: Default::default(),
            front: Mutex::default(),
            exits: Mutex::default(),
        })
    }

    /// No request is begun any more.
    pub fn end(&self) {
        self.ended.store(true, Ordering::SeqCst);
    }

    /// Serves some of what is in a queue; how many requests.
    fn serve_some(&self, queue: &VringMutex<Memory>) -> usize {
        let mut state = queue.get_mut();
        if !state.is_enabled() || !state.get_queue().ready() {
            return 0;
        }
        let memory = self.memory.memory();
        let mut served = 0;
        while served < AT_ONCE {
            let Some(chain) = state.get_queue_mut().pop_descriptor_chain(memory.clone()) else { break };
            let head = chain.head_index();
            let written = self.answer(chain, &memory).unwrap_or(0);
            served += 1;
            if state.add_used(head, written).is_err() {
                // The queue lies outside of the guest's memory.
                return 0;
            }
        }
        if served > 0 && state.needs_notification().unwrap_or(true) {
            // A front that hears nothing has gone, which its socket tells.
            let _ = state.signal_used_queue();
        }
        served
    }

    /// Looks for a moment whether there is more in an empty queue, where that pays.
    fn finds_more(&self, queue: &VringMutex<Memory>, polling: &Polling) -> bool {
        let looked = polling.look(|| match self.ended.load(Ordering::SeqCst) {
            true => Some(false),
            false => self.has_more(queue).then_some(true),
        });
        looked == Some(true)
    }

    /// Whether there is something in a queue that is served.
    fn has_more(&self, queue: &VringMutex<Memory>) -> bool {
        let state = queue.get_ref();
        let at = state.get_queue();
        let is_served = state.is_enabled() && at.ready();
        let memory = self.memory.memory();
        is_served
            && at.avail_idx(&*memory, Ordering::Acquire).is_ok_and(|available| available.0 != at.next_avail())
    }

    /// Does a request; bytes that were written to the guest's memory, or nothing if even the answer has no place there.
    fn answer(
        &self,
        chain: DescriptorChain<GuestMemoryLoadGuard<GuestMemoryMmap>>,
        memory: &GuestMemoryMmap,
    ) -> Option<u32> {
        let mut readable = chain.clone().reader(memory).ok()?;
        let mut writable = chain.writer(memory).ok()?;
        let room = writable.available_bytes().checked_sub(1)?;
        let mut status = writable.split_at(room).ok()?;
        let requests =
            Requests { device: &self.device, writes_through: self.writes_through.load(Ordering::Relaxed) };
        let bytes = readable.available_bytes();
        let done = if bytes < 16 {
            Err(Status::IoError)
        } else {
            requests.serve((&mut readable, bytes), (&mut writable, room))
        };
        status.write_obj(done.err().unwrap_or(Status::Ok) as u8).ok()?;
        Some((writable.bytes_written() + 1) as u32)
    }
}

/// `struct virtio_blk_config`, 5.2.4.
fn config(bytes: u64, page_bytes: u32) -> [u8; CONFIG_BYTES] {
    let mut config = [0; CONFIG_BYTES];
    let mut put = |at: usize, bytes: &[u8]| config[at..at + bytes.len()].copy_from_slice(bytes);
    // Drivers know blocks of 512 to 4096 bytes; a page may be more of them.
    let block_bytes = page_bytes.clamp(SECTOR_BYTES as u32, 4096);
    let blocks_of_page = (page_bytes / block_bytes).max(1);
    put(0, &(bytes / SECTOR_BYTES).to_le_bytes());
    put(8, &MOST_SEGMENT_BYTES.to_le_bytes());
    put(12, &MOST_SEGMENTS.to_le_bytes());
    put(20, &block_bytes.to_le_bytes());
    put(24, &[blocks_of_page.ilog2() as u8]);
    put(26, &(blocks_of_page.min(u16::MAX.into()) as u16).to_le_bytes());
    put(34, &QUEUES.to_le_bytes());
    let sectors_of_page = (page_bytes / SECTOR_BYTES as u32).max(1);
    for (at, number) in [
        (36, MOST_RANGE_SECTORS),
        (40, MOST_RANGES),
        (44, sectors_of_page),
        (48, MOST_RANGE_SECTORS),
        (52, MOST_RANGES),
    ] {
        put(at, &number.to_le_bytes());
    }
    put(56, &[1]);
    config
}

impl VhostUserBackend for Drive {
    type Bitmap = ();
    type Vring = VringMutex<Memory>;

    fn num_queues(&self) -> usize {
        QUEUES.into()
    }

    fn max_queue_size(&self) -> usize {
        MOST_QUEUED
    }

    fn features(&self) -> u64 {
        FEATURES | VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits()
    }

    fn acked_features(&self, features: u64) {
        self.writes_through.store(features & feature::FLUSH == 0, Ordering::Relaxed);
    }

    /// BACKEND_REQ is for User-mode Linux, which does without a device that has it not.
    fn protocol_features(&self) -> VhostUserProtocolFeatures {
        VhostUserProtocolFeatures::CONFIG
            | VhostUserProtocolFeatures::MQ
            | VhostUserProtocolFeatures::REPLY_ACK
            | VhostUserProtocolFeatures::BACKEND_REQ
            | VhostUserProtocolFeatures::CONFIGURE_MEM_SLOTS
    }

    /// Each queue has it in its own state.
    fn set_event_idx(&self, _: bool) {}

    fn get_config(&self, offset: u32, size: u32) -> Vec<u8> {
        // A driver may ask for more than there is; what it has no feature of is 0.
        let (from, size) = (offset as usize, size as usize);
        let known = self.config.get(from..).unwrap_or_default();
        known.iter().copied().chain(std::iter::repeat(0)).take(size).collect()
    }

    fn update_memory(&self, _: Memory) -> io::Result<()> {
        // It is the one that this has already, with other content.
        Ok(())
    }

    fn set_backend_req_fd(&self, front: Backend) {
        *self.front.lock().unwrap_or_else(PoisonError::into_inner) = Some(front);
    }

    fn queues_per_thread(&self) -> Vec<u64> {
        (0..QUEUES).map(|queue| 1 << queue).collect()
    }

    fn exit_event(&self, _: usize) -> Option<(EventConsumer, EventNotifier)> {
        let (consumer, notifier) =
            new_event_consumer_and_notifier(EventFlag::NONBLOCK | EventFlag::CLOEXEC).ok()?;
        self.exits.lock().unwrap_or_else(PoisonError::into_inner).push(owned(consumer.as_raw_fd()));
        Some((consumer, notifier))
    }

    fn handle_event(
        &self,
        queue: u16,
        _: EventSet,
        queues: &[VringMutex<Memory>],
        _: usize,
    ) -> io::Result<()> {
        let number = usize::from(queue);
        let (Some(queue), Some(polling)) = (queues.get(number), self.polling.get(number)) else {
            return Ok(());
        };
        let mut polling: MutexGuard<'_, Polling> = polling.lock().unwrap_or_else(PoisonError::into_inner);
        polling.woken(Instant::now());
        let mut said_more = false;
        while !self.ended.load(Ordering::SeqCst) {
            // A queue that lies outside of the guest's memory has nothing in it, which is seen next.
            let _ = queue.disable_notification();
            let served = self.serve_some(queue);
            if served == AT_ONCE {
                said_more = false;
                continue;
            }
            // A queue that has just said that it has more, and has nothing, lies: it is not listened to before it kicks again.
            let lies = said_more && served == 0;
            let found = !lies && self.finds_more(queue, &polling);
            let told = !found && queue.enable_notification().unwrap_or(false);
            said_more = found || (told && !lies);
            if !said_more {
                break;
            }
        }
        polling.sleeps(Instant::now());
        Ok(())
    }
}

/// What closes a number that its new owner, the loop that waits for events, forgets.
fn owned(number: RawFd) -> OwnedFd {
    // SAFETY: the loop takes the number out of what owned it (`into_raw_fd`) and never closes it; this does, when `Drive` is dropped,
    // after the loop, which has a handle of it.
    unsafe { OwnedFd::from_raw_fd(number) }
}
