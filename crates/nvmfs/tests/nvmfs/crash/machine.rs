//! NVMFS on devices whose power can be cut, which keep a record of what is done with them, and may lie.

use crate::crash::tally;
use rand::RngCore;
use std::io;
use std::sync::{Arc, Mutex};
use wearwell_nvmfs::fs::Nvmfs;
use wearwell_nvmfs::layout::Checksums;
use wearwell_nvmfs::nvram::{Nvram, SimulatedNvram};
use wearwell_nvmfs::options::{Format, Options};
use wearwell_nvmfs::placement::PlacementKind;
use wearwell_nvmfs::power::Power;
use wearwell_nvmfs::ssd::{MemorySsd, SimulatedSsd, Ssd};

/// Nearly as little as there may be, so that pages are evicted.
const NVRAM_BYTES: usize = 13 << 18;
/// As few extents as there may be, so that they are recycled all the time.
const SSD_BLOCKS: u64 = 16 * 128;

/// As few inodes as there may be at first, so that more come.
const INODES: u32 = 16;

pub type Fs = Nvmfs<WatchedNvram, WatchedSsd>;

/// How the file system uses its devices here: it flushes and recycles early.
pub fn options() -> Options {
    Options {
        flush_above: 0.5,
        flush_below: 0.3,
        recycle_free: 0.9,
        recycle_fragmentation: 0.02,
        ..Options::default()
    }
}

/// What both devices hold.
#[derive(Clone)]
pub struct Image {
    pub nvram: Vec<u8>,
    pub ssd: MemorySsd,
}

/// What makes something safe, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    Fence,
    Read,
    Flush,
}

/// What a device says it did, and did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    Nothing,
    /// Every second write-back of NVRAM: what it was for is not safe before the line is written back again. (A fence that is
    /// left out would matter less: the next one makes its lines safe.)
    WriteBacks,
    /// Flushes of the SSD.
    Flushes,
}

/// Acts and the number of events that had taken effect after them.
#[derive(Clone, Default)]
pub struct Record(Arc<Mutex<Vec<(u64, Act)>>>);

impl Record {
    fn note(&self, power: &Power, act: Act) {
        self.0.lock().expect("nobody panics with it").push((power.events(), act));
    }

    /// All acts since power was put on.
    pub fn acts(&self) -> Vec<(u64, Act)> {
        self.0.lock().expect("nobody panics with it").clone()
    }
}

/// NVRAM that keeps a record.
pub struct WatchedNvram {
    inner: SimulatedNvram,
    power: Power,
    record: Record,
    lie: Lie,
    write_backs: usize,
}

impl Nvram for WatchedNvram {
    fn bytes(&self) -> &[u8] {
        self.inner.bytes()
    }

    fn store(&mut self, at: usize, bytes: &[u8]) {
        self.inner.store(at, bytes);
    }

    fn store_word(&mut self, at: usize, word: u64) {
        self.inner.store_word(at, word);
    }

    fn write_back(&mut self, at: usize, length: usize) {
        self.write_backs += 1;
        if self.lie != Lie::WriteBacks || self.write_backs.is_multiple_of(2) {
            self.inner.write_back(at, length);
        }
    }

    fn fence(&mut self) {
        self.record.note(&self.power, Act::Fence);
        self.inner.fence();
    }
}

/// An SSD that keeps a record.
pub struct WatchedSsd {
    inner: SimulatedSsd,
    power: Power,
    record: Record,
    lie: Lie,
}

impl Ssd for WatchedSsd {
    fn blocks(&self) -> u64 {
        self.inner.blocks()
    }

    fn read(&self, first: u64, out: &mut [u8]) -> io::Result<()> {
        self.record.note(&self.power, Act::Read);
        self.inner.read(first, out)
    }

    fn write(&self, first: u64, data: &[u8], stream: u16) -> io::Result<()> {
        self.inner.write(first, data, stream)
    }

    fn trim(&self, first: u64, blocks: u64) -> io::Result<()> {
        self.inner.trim(first, blocks)
    }

    fn flush(&self) -> io::Result<()> {
        self.record.note(&self.power, Act::Flush);
        if self.lie == Lie::Flushes { Ok(()) } else { self.inner.flush() }
    }
}

/// What is around a file system that is mounted.
pub struct Machine {
    pub power: Power,
    pub record: Record,
    pub ssd: Arc<WatchedSsd>,
}

/// Devices with a content. Power goes off at an event if one is given.
fn devices(image: &Image, lie: Lie, cut: Option<u64>) -> (Machine, WatchedNvram) {
    let power = Power::new();
    if let Some(event) = cut {
        power.cut_at(event);
    }
    let record = Record::default();
    let nvram = WatchedNvram {
        inner: SimulatedNvram::from_image(image.nvram.clone(), power.clone()),
        power: power.clone(),
        record: record.clone(),
        lie,
        write_backs: 0,
    };
    let ssd = Arc::new(WatchedSsd {
        inner: SimulatedSsd::from_image(image.ssd.clone(), power.clone()),
        power: power.clone(),
        record: record.clone(),
        lie,
    });
    (Machine { power, record, ssd }, nvram)
}

impl Image {
    /// A file system that was just made.
    pub fn fresh(placement: PlacementKind) -> Image {
        let empty = Image { nvram: vec![0; NVRAM_BYTES], ssd: MemorySsd::new(SSD_BLOCKS) };
        let (machine, nvram) = devices(&empty, Lie::Nothing, None);
        let format = Format { id: 9, inodes: Some(INODES), placement, ..Format::default() };
        let fs = Fs::format(nvram, machine.ssd.clone(), &format, options()).expect("it can be made");
        machine.close(fs)
    }

    /// One without checksums, as those made before there were any, with something in it.
    pub fn of_before(placement: PlacementKind, act: impl FnOnce(&mut Fs)) -> Image {
        let empty = Image { nvram: vec![0; NVRAM_BYTES], ssd: MemorySsd::new(SSD_BLOCKS) };
        let (machine, nvram) = devices(&empty, Lie::Nothing, None);
        let checksums = Checksums::None;
        let format = Format { id: 9, inodes: Some(256), placement, checksums, ..Format::default() };
        let mut fs = Fs::format(nvram, machine.ssd.clone(), &format, options()).expect("it can be made");
        act(&mut fs);
        machine.close(fs)
    }

    /// Mounts it.
    pub fn mount(&self, lie: Lie) -> Result<(Machine, Fs), String> {
        self.mount_until(lie, None)
    }

    /// Mounts it; power goes off after so many events.
    pub fn mount_until(&self, lie: Lie, event: Option<u64>) -> Result<(Machine, Fs), String> {
        let (machine, nvram) = devices(self, lie, event);
        match Fs::mount(nvram, machine.ssd.clone(), options()) {
            Ok((fs, _)) => Ok((machine, fs)),
            Err(error) => Err(format!("it does not mount: {error}")),
        }
    }
}

impl Machine {
    /// Closes the file system; what is then on the devices.
    pub fn close(&self, fs: Fs) -> Image {
        Image { nvram: fs.close().inner.crash_losing_all(), ssd: self.ssd.inner.crash_keeping_all() }
    }

    /// What the cut may have left: with all lost that may be, with nothing lost, and `some` others.
    pub fn crashes(&self, nvram: &WatchedNvram, some: usize, random: &mut impl RngCore) -> Vec<Image> {
        let (nvram, ssd) = (&nvram.inner, &self.ssd.inner);
        let mut images = vec![
            Image { nvram: nvram.crash_losing_all(), ssd: ssd.crash_losing_all() },
            Image { nvram: nvram.crash_keeping_all(), ssd: ssd.crash_keeping_all() },
        ];
        for _ in 0..some {
            images.push(Image { nvram: nvram.crash(random), ssd: ssd.crash(random) });
        }
        tally::count(images.len());
        images
    }
}

/// The NVRAM under a file system.
pub fn nvram_of(fs: Fs) -> WatchedNvram {
    fs.into_store().region.into_nvram()
}
