//! Device as seen by the driver of a guest: virtio features, configuration and queues.

use super::requests::{
    MAX_RANGE_SECTORS, MAX_RANGES, MAX_SEGMENT_BYTES, MAX_SEGMENTS, RequestContext, SECTOR_BYTES, Status,
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

/// Number of queues, each with its own thread. A guest uses one queue per processor.
const QUEUES: u16 = 4;
/// Maximum length of a queue.
const MAX_QUEUED: usize = 1024;
/// Number of requests after which the guest is notified and the lock of the queue is released, so that the guest can
/// work in parallel.
const BATCH: usize = 8;
/// Bytes of the configuration, up to the field `write_zeroes_may_unmap` and its padding.
const CONFIG_BYTES: usize = 60;

/// Feature bits, VIRTIO sections 5.2.3 and 6.
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

/// Memory of a guest.
pub type Memory = GuestMemoryAtomic<GuestMemoryMmap>;

/// Device for one guest.
pub struct Drive {
    device: SharedDevice,
    config: [u8; CONFIG_BYTES],
    memory: Memory,
    writes_through: AtomicBool,
    is_stopping: AtomicBool,
    /// Polling state of each queue.
    polling: [Mutex<Polling>; QUEUES as usize],
    /// Connection to the front end. User-mode Linux treats its closing as the end of the device.
    front: Mutex<Option<Backend>>,
    /// Event descriptors that wake the queue threads at the end; they are not closed elsewhere.
    exits: Mutex<Vec<OwnedFd>>,
}

impl Drive {
    /// Creates the device for a guest with this memory.
    pub fn new(device: SharedDevice, memory: Memory) -> Result<Self, DeviceError> {
        let (bytes, page_bytes) = device.with(|device| Ok((device.bytes(), device.page_bytes())))?;
        Ok(Drive {
            device,
            config: config(bytes, page_bytes),
            memory,
            writes_through: AtomicBool::new(true),
            is_stopping: AtomicBool::new(false),
            polling: Default::default(),
            front: Mutex::default(),
            exits: Mutex::default(),
        })
    }

    /// Stops the queue threads, which begin no further request.
    pub fn end(&self) {
        self.is_stopping.store(true, Ordering::SeqCst);
    }

    /// Serves up to [`BATCH`] requests of a queue. Returns their number.
    fn serve_batch(&self, queue: &VringMutex<Memory>) -> usize {
        let mut state = queue.get_mut();
        if !state.is_enabled() || !state.get_queue().ready() {
            return 0;
        }
        let memory = self.memory.memory();
        let mut served = 0;
        while served < BATCH {
            let Some(chain) = state.get_queue_mut().pop_descriptor_chain(memory.clone()) else { break };
            let head = chain.head_index();
            let written = self.answer(chain, &memory).unwrap_or(0);
            served += 1;
            if state.add_used(head, written).is_err() {
                // The queue is outside of the guest's memory.
                return 0;
            }
        }
        if served > 0 && state.needs_notification().unwrap_or(true) {
            // A failed notification means that the front end has disconnected, which its socket reports, too.
            let _ = state.signal_used_queue();
        }
        served
    }

    /// Polls an empty queue for a short time, if polling pays off. Returns true if a request arrived.
    fn poll_for_more(&self, queue: &VringMutex<Memory>, polling: &Polling) -> bool {
        let polled = polling.poll(|| match self.is_stopping.load(Ordering::SeqCst) {
            true => Some(false),
            false => self.has_more(queue).then_some(true),
        });
        polled == Some(true)
    }

    /// True if an active queue has requests.
    fn has_more(&self, queue: &VringMutex<Memory>) -> bool {
        let state = queue.get_ref();
        let at = state.get_queue();
        let is_served = state.is_enabled() && at.ready();
        let memory = self.memory.memory();
        is_served
            && at.avail_idx(&*memory, Ordering::Acquire).is_ok_and(|available| available.0 != at.next_avail())
    }

    /// Serves a request. Returns the number of bytes written to the guest's memory; `None` if there is no space even
    /// for the status.
    fn answer(
        &self,
        chain: DescriptorChain<GuestMemoryLoadGuard<GuestMemoryMmap>>,
        memory: &GuestMemoryMmap,
    ) -> Option<u32> {
        let mut readable = chain.clone().reader(memory).ok()?;
        let mut writable = chain.writer(memory).ok()?;
        let writable_bytes = writable.available_bytes().checked_sub(1)?;
        let mut status = writable.split_at(writable_bytes).ok()?;
        let requests = RequestContext {
            device: &self.device,
            writes_through: self.writes_through.load(Ordering::Relaxed),
        };
        let bytes = readable.available_bytes();
        let done = if bytes < 16 {
            Err(Status::IoError)
        } else {
            requests.serve((&mut readable, bytes), (&mut writable, writable_bytes))
        };
        status.write_obj(done.err().unwrap_or(Status::Ok) as u8).ok()?;
        Some((writable.bytes_written() + 1) as u32)
    }
}

/// Encodes `struct virtio_blk_config` (VIRTIO section 5.2.4).
fn config(bytes: u64, page_bytes: u32) -> [u8; CONFIG_BYTES] {
    let mut config = [0; CONFIG_BYTES];
    let mut put = |at: usize, bytes: &[u8]| config[at..at + bytes.len()].copy_from_slice(bytes);
    // Drivers support blocks of 512 to 4096 bytes; a page may be several blocks.
    let block_bytes = page_bytes.clamp(SECTOR_BYTES as u32, 4096);
    let blocks_of_page = (page_bytes / block_bytes).max(1);
    put(0, &(bytes / SECTOR_BYTES).to_le_bytes());
    put(8, &MAX_SEGMENT_BYTES.to_le_bytes());
    put(12, &MAX_SEGMENTS.to_le_bytes());
    put(20, &block_bytes.to_le_bytes());
    put(24, &[blocks_of_page.ilog2() as u8]);
    put(26, &(blocks_of_page.min(u16::MAX.into()) as u16).to_le_bytes());
    put(34, &QUEUES.to_le_bytes());
    let sectors_of_page = (page_bytes / SECTOR_BYTES as u32).max(1);
    for (at, number) in [
        (36, MAX_RANGE_SECTORS),
        (40, MAX_RANGES),
        (44, sectors_of_page),
        (48, MAX_RANGE_SECTORS),
        (52, MAX_RANGES),
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
        MAX_QUEUED
    }

    fn features(&self) -> u64 {
        FEATURES | VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits()
    }

    fn acked_features(&self, features: u64) {
        self.writes_through.store(features & feature::FLUSH == 0, Ordering::Relaxed);
    }

    /// The feature BACKEND_REQ is needed because User-mode Linux refuses devices without it.
    fn protocol_features(&self) -> VhostUserProtocolFeatures {
        VhostUserProtocolFeatures::CONFIG
            | VhostUserProtocolFeatures::MQ
            | VhostUserProtocolFeatures::REPLY_ACK
            | VhostUserProtocolFeatures::BACKEND_REQ
            | VhostUserProtocolFeatures::CONFIGURE_MEM_SLOTS
    }

    /// This does nothing, because each queue stores the setting.
    fn set_event_idx(&self, _: bool) {}

    fn get_config(&self, offset: u32, size: u32) -> Vec<u8> {
        // A driver may request more bytes than exist; fields of features that are not offered are 0.
        let (from, size) = (offset as usize, size as usize);
        let config = self.config.get(from..).unwrap_or_default();
        config.iter().copied().chain(std::iter::repeat(0)).take(size).collect()
    }

    fn update_memory(&self, _: Memory) -> io::Result<()> {
        // The argument is the memory object that `self` already has, with changed regions.
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
        polling.after_sleep(Instant::now());
        let mut found_more = false;
        while !self.is_stopping.load(Ordering::SeqCst) {
            // An error means that the queue is outside of the guest's memory; `serve_batch` then finds no request.
            let _ = queue.disable_notification();
            let served = self.serve_batch(queue);
            if served == BATCH {
                found_more = false;
                continue;
            }
            // A queue that announces requests but has none is ignored until its next notification.
            let lies = found_more && served == 0;
            let found = !lies && self.poll_for_more(queue, &polling);
            let has_more = !found && queue.enable_notification().unwrap_or(false);
            found_more = found || (has_more && !lies);
            if !found_more {
                break;
            }
        }
        polling.before_sleep(Instant::now());
        Ok(())
    }
}

/// Returns an owner that closes the descriptor `number`; without this owner, the event loop would leak the descriptor.
fn owned(number: RawFd) -> OwnedFd {
    // SAFETY: the event loop takes the descriptor from its owner (`into_raw_fd`) and never closes it. The returned owner is
    // dropped with `Drive`, which outlives the event loop because the loop holds a handle to it.
    unsafe { OwnedFd::from_raw_fd(number) }
}
