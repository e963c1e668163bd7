//! NVMFS on devices that record their operations, whose power can be cut, and which may be faulty.

use crate::common::simulated::{CrashImages, PowerSource, SimulatedNvram, SimulatedSsd};
use crate::crash::cuts::{Cuts, SurvivingChanges};
use rand::RngCore;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use wearwell_nvmfs::fs::Nvmfs;
use wearwell_nvmfs::layout::Checksums;
use wearwell_nvmfs::nvram::Nvram;
use wearwell_nvmfs::options::{Format, Options};
use wearwell_nvmfs::placement::PlacementKind;
use wearwell_nvmfs::ssd::{MemorySsd, Ssd};

/// Nearly the minimum size of the NVRAM, so that pages are evicted.
const NVRAM_BYTES: usize = 13 << 18;
/// Minimum number of extents, so that extents are recycled all the time.
const SSD_BLOCKS: u64 = 16 * 128;

/// Minimum initial number of inodes, so that inode pages are added.
const INODES: u32 = 16;

pub type Fs = Nvmfs<LoggingNvram, LoggingSsd>;

/// Returns options with which the file system flushes and recycles early.
pub fn options() -> Options {
    Options {
        flush_above: 0.5,
        flush_below: 0.3,
        recycle_free: 0.9,
        recycle_fragmentation: 0.02,
        ..Options::default()
    }
}

/// Content of both devices.
#[derive(Clone)]
pub struct Image {
    pub nvram: Vec<u8>,
    pub ssd: MemorySsd,
}

/// Recorded operation of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceOp {
    Fence,
    Read,
    Flush,
}

/// Operation that a faulty device skips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    Nothing,
    /// Every second write-back of NVRAM: its data is not durable until the line is written back again. (Skipping a
    /// fence would have less effect: the next fence makes its lines durable.)
    WriteBacks,
    /// Flushes of the SSD.
    Flushes,
}

/// Recorded operations, each with the number of events that had taken effect when it was complete.
#[derive(Clone, Default)]
pub struct OpLog(Arc<Mutex<Vec<(u64, DeviceOp)>>>);

impl OpLog {
    fn note(&self, power: &PowerSource, op: DeviceOp) {
        self.0.lock().expect("nobody panics with it").push((power.events(), op));
    }

    /// Returns all operations since power-on.
    pub fn ops(&self) -> Vec<(u64, DeviceOp)> {
        self.0.lock().expect("nobody panics with it").clone()
    }
}

/// Environment of a mounted file system.
#[derive(Clone)]
pub struct Machine {
    pub power: PowerSource,
    pub op_log: OpLog,
    fault: Fault,
    nvram: CrashImages,
    ssd: Arc<SimulatedSsd>,
    /// Number of changes to the content of a device, durable or not.
    changes: Arc<AtomicU64>,
    cuts: Arc<Mutex<Option<Cuts>>>,
}

impl Machine {
    /// Called after each operation of a device; `changed` is true if the content of the device changed.
    fn op_done(&self, changed: bool) {
        self.changes.fetch_add(changed.into(), Relaxed);
        if let Some(cuts) = self.cuts.lock().expect("nobody panics with it").as_mut() {
            cuts.check_if_due(self);
        }
    }

    /// Returns the number of changes to the content of a device.
    pub fn changes(&self) -> u64 {
        self.changes.load(Relaxed)
    }

    /// Starts cutting the power at these events, including the current one.
    pub fn begin_cuts(&self, mut cuts: Cuts) {
        cuts.check_if_due(self);
        *self.cuts.lock().expect("nobody panics with it") = Some(cuts);
    }

    /// Stops cutting the power.
    ///
    /// # Errors
    /// The event of the first cut with a wrong image, and the problem.
    pub fn end_cuts(&self) -> Result<(), (u64, String)> {
        self.cuts.lock().expect("nobody panics with it").take().expect("they were begun").end()
    }

    /// Returns the content of the devices if the power is cut now, or the content when it was cut.
    pub fn image(&self, surviving: SurvivingChanges, random: &mut impl RngCore) -> Image {
        let (nvram, ssd) = (&self.nvram, &self.ssd);
        match surviving {
            SurvivingChanges::Nothing => {
                Image { nvram: nvram.crash_losing_all(), ssd: ssd.crash_losing_all() }
            }
            SurvivingChanges::Everything => {
                Image { nvram: nvram.crash_keeping_all(), ssd: ssd.crash_keeping_all() }
            }
            SurvivingChanges::Some => Image { nvram: nvram.crash(random), ssd: ssd.crash(random) },
        }
    }

    /// Closes the file system; returns the content of the devices.
    pub fn close(&self, fs: Fs) -> Image {
        drop(fs.close());
        Image { nvram: self.nvram.crash_losing_all(), ssd: self.ssd.crash_keeping_all() }
    }
}

/// NVRAM that records its operations.
pub struct LoggingNvram {
    inner: SimulatedNvram,
    machine: Machine,
    write_backs: usize,
}

impl Nvram for LoggingNvram {
    fn bytes(&self) -> &[u8] {
        self.inner.bytes()
    }

    fn store(&mut self, at: usize, bytes: &[u8]) {
        self.inner.store(at, bytes);
        self.machine.op_done(true);
    }

    fn store_word(&mut self, at: usize, word: u64) {
        self.inner.store_word(at, word);
        self.machine.op_done(true);
    }

    fn write_back(&mut self, at: usize, length: usize) {
        self.write_backs += 1;
        if self.machine.fault != Fault::WriteBacks || self.write_backs.is_multiple_of(2) {
            self.inner.write_back(at, length);
            self.machine.op_done(false);
        }
    }

    fn fence(&mut self) {
        self.machine.op_log.note(&self.machine.power, DeviceOp::Fence);
        self.inner.fence();
        self.machine.op_done(false);
    }
}

/// SSD that records its operations.
pub struct LoggingSsd(Machine);

impl Ssd for LoggingSsd {
    fn blocks(&self) -> u64 {
        self.0.ssd.blocks()
    }

    fn read(&self, first: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.op_log.note(&self.0.power, DeviceOp::Read);
        self.0.ssd.read(first, out)
    }

    fn write(&self, first: u64, data: &[u8], stream: u16) -> io::Result<()> {
        self.0.ssd.write(first, data, stream)?;
        self.0.op_done(true);
        Ok(())
    }

    fn trim(&self, first: u64, blocks: u64) -> io::Result<()> {
        self.0.ssd.trim(first, blocks)?;
        self.0.op_done(true);
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        self.0.op_log.note(&self.0.power, DeviceOp::Flush);
        if self.0.fault != Fault::Flushes {
            self.0.ssd.flush()?;
            self.0.op_done(false);
        }
        Ok(())
    }
}

/// Creates devices with a given content.
fn devices(image: &Image, fault: Fault) -> (Machine, LoggingNvram) {
    let power = PowerSource::new();
    let inner = SimulatedNvram::from_image(image.nvram.clone(), power.clone());
    let machine = Machine {
        fault,
        nvram: inner.crash_images(),
        ssd: Arc::new(SimulatedSsd::from_image(image.ssd.clone(), power.clone())),
        power,
        op_log: OpLog::default(),
        changes: Arc::default(),
        cuts: Arc::default(),
    };
    (machine.clone(), LoggingNvram { inner, machine, write_backs: 0 })
}

impl Image {
    /// Returns a newly created file system.
    pub fn new_fs(placement: PlacementKind) -> Image {
        let empty = Image { nvram: vec![0; NVRAM_BYTES], ssd: MemorySsd::new(SSD_BLOCKS) };
        let (machine, nvram) = devices(&empty, Fault::Nothing);
        let format = Format { id: 9, inodes: Some(INODES), placement, ..Format::default() };
        let fs = Fs::format(nvram, Arc::new(LoggingSsd(machine.clone())), &format, options())
            .expect("it can be made");
        machine.close(fs)
    }

    /// Returns a file system in the format of old versions, without checksums, after `act` was performed.
    pub fn old_format(placement: PlacementKind, act: impl FnOnce(&mut Fs)) -> Image {
        let empty = Image { nvram: vec![0; NVRAM_BYTES], ssd: MemorySsd::new(SSD_BLOCKS) };
        let (machine, nvram) = devices(&empty, Fault::Nothing);
        let checksums = Checksums::None;
        let format = Format { id: 9, inodes: Some(256), placement, checksums, ..Format::default() };
        let mut fs = Fs::format(nvram, Arc::new(LoggingSsd(machine.clone())), &format, options())
            .expect("it can be made");
        act(&mut fs);
        machine.close(fs)
    }

    /// Mounts the image.
    pub fn mount(&self, fault: Fault) -> Result<(Machine, Fs), String> {
        let (machine, nvram) = devices(self, fault);
        mount_on(machine, nvram)
    }

    /// Mounts the image and cuts the power during the mount.
    ///
    /// # Errors
    /// The mount fails, or the state after a cut is wrong.
    pub fn cut_mount(&self, cuts: Cuts) -> Result<(), String> {
        let (machine, nvram) = devices(self, Fault::Nothing);
        machine.begin_cuts(cuts);
        let (machine, _) = mount_on(machine, nvram)?;
        machine.end_cuts().map_err(|(event, problem)| format!("cut at event {event} of a mount: {problem}"))
    }

    /// Returns the number of events of a mount.
    pub fn events_of_mount(&self) -> Result<u64, String> {
        Ok(self.mount(Fault::Nothing)?.0.power.events())
    }
}

fn mount_on(machine: Machine, nvram: LoggingNvram) -> Result<(Machine, Fs), String> {
    match Fs::mount(nvram, Arc::new(LoggingSsd(machine.clone())), options()) {
        Ok((fs, _)) => Ok((machine, fs)),
        Err(error) => Err(format!("it does not mount: {error}")),
    }
}
