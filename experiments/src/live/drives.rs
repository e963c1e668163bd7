//! Simulated drives that process the requests of the same disk.

use crate::Failure;
use crate::nvmfs::recorder::Media;
use crate::replicas::scenario;
use serde::{Deserialize, Serialize};
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use wearwell_engine::counters::{Cause, Counters, Operation};
use wearwell_serve::Device;

/// Bytes of a page.
pub const PAGE_BYTES: u64 = 4096;

/// Capacity beyond the size of the disk, which leaves space for rounding to whole blocks and log blocks.
const EXTRA_BYTES: u64 = 4 << 20;

/// Number of bytes per write while a drive is filled.
const FILL_BYTES: usize = 1 << 20;

/// A kind of drive.
pub struct DriveKind {
    /// Name of the kind in settings and tables.
    pub name: &'static str,
    /// Scenario of the drive; `CAPACITY` stands for its capacity in bytes.
    scenario: &'static str,
}

/// The kinds of drives. They have pages of 4 KiB and a tenth of the flash in reserve, like the commercial drive of
/// the log-on-log experiments.
pub const DRIVE_KINDS: [DriveKind; 7] = [
    DriveKind {
        name: "page",
        scenario: "[device]\ncapacity = CAPACITY\nspare_factor = 0.1\npages_per_block = 64\n",
    },
    DriveKind {
        name: "page_2m",
        scenario: "[device]\ncapacity = CAPACITY\nspare_factor = 0.1\npages_per_block = 512\n",
    },
    DriveKind {
        name: "dftl",
        scenario: "[device]\ncapacity = CAPACITY\nspare_factor = 0.1\npages_per_block = 64\n\
                   [ftl]\nstructure = \"dftl\"\n",
    },
    DriveKind {
        name: "gecko",
        scenario: "[device]\ncapacity = CAPACITY\nspare_factor = 0.1\npages_per_block = 64\n\
                   [ftl]\nstructure = \"gecko\"\n",
    },
    DriveKind {
        name: "fast",
        scenario: "[device]\ncapacity = CAPACITY\nspare_factor = 0.1\npages_per_block = 64\n\
                   [ftl]\nstructure = \"fast\"\n",
    },
    DriveKind {
        name: "cagc",
        scenario: "[device]\ncapacity = CAPACITY\nspare_factor = 0.1\npages_per_block = 64\n\
                   [ftl]\ndedup = \"cagc\"\nplacement = \"references\"\nvictim = \"greedy\"\nfree_blocks_low = 8\n",
    },
    // This drive has the log of a host on zones of 2 MiB, and all of the reserve is for the log. A file system
    // without zone support needs such a log.
    DriveKind {
        name: "zoned",
        scenario: "[device]\nraw_capacity = RAW\npages_per_block = 64\n\
                   [ftl]\nstructure = { kind = \"zones\", zone_blocks = 8, max_open_zones = 14 }\n\
                   [[log]]\nsegment_blocks = 1\nspare_factor = 0.1\n",
    },
];

/// Returns the kind with this name.
///
/// # Errors
///
/// Returns an error for an unknown name.
pub fn kind(name: &str) -> Result<&'static DriveKind, Failure> {
    DRIVE_KINDS.iter().find(|kind| kind.name == name).ok_or_else(|| {
        let names: Vec<&str> = DRIVE_KINDS.iter().map(|kind| kind.name).collect();
        format!("there is no drive `{name}`; there are {}", names.join(", ")).into()
    })
}

/// Operations of a drive, in pages of 4 KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriveCounts {
    /// Number of pages written by the host.
    pub host_pages: u64,
    /// Number of pages programmed for each cause in the lowest layer, in the order of [`Cause::ALL`].
    pub programs: [u64; 7],
    /// Number of pages that a log above the lowest layer moved or wrote as metadata; the lowest layer counts these as
    /// host pages.
    #[serde(rename = "above")]
    pub upper_log_pages: u64,
    /// Number of pages that were trimmed.
    pub trimmed_pages: u64,
    /// Number of pages read from flash.
    pub reads: u64,
    /// Number of blocks erased.
    pub erases: u64,
    /// Number of pages programmed, as counted by the flash.
    pub flash_programs: u64,
}

impl DriveCounts {
    fn of_device(device: &Device) -> Result<DriveCounts, Failure> {
        let snapshot = device.status().snapshot;
        let reports = snapshot.reports();
        let nand = reports.nand.as_ref().ok_or("a drive has flash")?;
        let lowest = &reports.layers.last().ok_or("a drive has a layer")?.counters;
        let first = &reports.layers[0].counters;
        let own_pages = |counters: &Counters| {
            counters.outgoing_total(Operation::Write) - counters.outgoing(Cause::Host, Operation::Write)
        };
        let above =
            reports.layers[..reports.layers.len() - 1].iter().map(|layer| own_pages(&layer.counters)).sum();
        Ok(DriveCounts {
            host_pages: first.incoming(Operation::Write),
            programs: Cause::ALL.map(|cause| lowest.outgoing(cause, Operation::Write)),
            upper_log_pages: above,
            trimmed_pages: first.incoming(Operation::Trim),
            reads: nand.reads,
            erases: nand.erases,
            flash_programs: nand.programs,
        })
    }

    /// Returns the number of pages programmed for all causes.
    pub fn programmed(&self) -> u64 {
        self.programs.iter().sum()
    }

    /// Returns the number of pages programmed for one cause.
    pub fn for_cause(&self, cause: Cause) -> u64 {
        self.programs[cause as usize]
    }

    /// Returns the number of pages programmed per host page; 1 without host pages.
    pub fn write_amplification(&self) -> f64 {
        if self.host_pages == 0 { 1.0 } else { self.programmed() as f64 / self.host_pages as f64 }
    }

    /// Returns the numbers of operations since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &DriveCounts) -> DriveCounts {
        DriveCounts {
            host_pages: self.host_pages - earlier.host_pages,
            programs: std::array::from_fn(|at| self.programs[at] - earlier.programs[at]),
            upper_log_pages: self.upper_log_pages - earlier.upper_log_pages,
            trimmed_pages: self.trimmed_pages - earlier.trimmed_pages,
            reads: self.reads - earlier.reads,
            erases: self.erases - earlier.erases,
            flash_programs: self.flash_programs - earlier.flash_programs,
        }
    }
}

/// One of the drives.
struct Drive {
    device: Device,
    supports_trim: bool,
}

/// Several drives that process each request. The first drive answers reads; all drives with the same TRIM support
/// must give the same answer.
pub struct Drives {
    state: Mutex<State>,
}

struct State {
    drives: Vec<Drive>,
    scratch: Vec<u8>,
    /// Reason why the first failed request failed.
    problem: Option<String>,
}

/// Kind of a drive, and true if it receives TRIMs.
pub type DriveSpec<'a> = (&'a str, bool);

impl Drives {
    /// Creates drives under a disk of `disk_bytes`.
    ///
    /// # Errors
    ///
    /// Returns an error for an unknown kind.
    pub fn new(wanted: &[DriveSpec], disk_bytes: u64) -> Result<Drives, Failure> {
        let one = |&(name, supports_trim): &DriveSpec| -> Result<Drive, Failure> {
            let capacity = disk_bytes + EXTRA_BYTES;
            // The log on zones has a capacity of nine tenths of this size, minus one or two segments.
            let raw = ((capacity as f64 / 0.9) as u64 + (16 << 20)).next_multiple_of(2 << 20);
            let text = kind(name)?
                .scenario
                .replace("CAPACITY", &capacity.to_string())
                .replace("RAW", &raw.to_string());
            let device = Device::in_memory(&scenario(&text)?)?;
            if device.bytes() < disk_bytes {
                return Err(
                    format!("the drive `{name}` shows {} bytes of {disk_bytes}", device.bytes()).into()
                );
            }
            Ok(Drive { device, supports_trim })
        };
        let drives = wanted.iter().map(one).collect::<Result<_, _>>()?;
        Ok(Drives { state: Mutex::new(State { drives, scratch: Vec::new(), problem: None }) })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fills the drives by writing the whole disk once, in order, with different content in each page.
    ///
    /// # Errors
    ///
    /// Returns an error if a drive fails.
    pub fn fill(&self, disk_bytes: u64) -> Result<(), Failure> {
        let mut data = vec![0xa5; FILL_BYTES];
        for offset in (0..disk_bytes).step_by(FILL_BYTES) {
            for (page, bytes) in (offset / PAGE_BYTES..).zip(data.chunks_exact_mut(PAGE_BYTES as usize)) {
                bytes[..8].copy_from_slice(&page.to_le_bytes());
            }
            self.write(offset, &data[..FILL_BYTES.min((disk_bytes - offset) as usize)])?;
        }
        Ok(())
    }

    /// Returns the numbers of operations of each drive so far.
    ///
    /// # Errors
    ///
    /// Returns the reason why the first failed request failed.
    pub fn counts(&self) -> Result<Vec<DriveCounts>, Failure> {
        let row = self.lock();
        match &row.problem {
            Some(problem) => Err(problem.clone().into()),
            None => row.drives.iter().map(|drive| DriveCounts::of_device(&drive.device)).collect(),
        }
    }

    /// Checks all counts by counting again.
    ///
    /// # Errors
    ///
    /// Returns an error if a count is wrong.
    pub fn check(&self) -> Result<(), Failure> {
        Ok(self.lock().drives.iter().try_for_each(|drive| drive.device.check())?)
    }
}

impl State {
    /// Sends a request to each drive; records the reason of the first failure.
    fn for_each<E: std::fmt::Display>(
        &mut self,
        operation: &str,
        mut serve: impl FnMut(&mut Drive) -> Result<(), E>,
    ) -> io::Result<()> {
        let result = self.drives.iter_mut().enumerate().try_for_each(|(number, drive)| {
            serve(drive).map_err(|error| format!("drive {}: {operation}: {error}", number + 1))
        });
        result.map_err(|problem| {
            self.problem.get_or_insert_with(|| problem.clone());
            io::Error::other(problem)
        })
    }
}

impl Media for Drives {
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mut row = self.lock();
        let mut scratch = std::mem::take(&mut row.scratch);
        scratch.resize(out.len(), 0);
        let mut first_trims = None;
        let served = row.for_each("read", |drive| {
            let supports_trim = drive.supports_trim;
            let is_first = first_trims.is_none();
            let into = if is_first { &mut *out } else { &mut scratch[..] };
            drive.device.read(offset, into).map_err(|error| error.to_string())?;
            let same =
                *first_trims.get_or_insert(supports_trim) != supports_trim || is_first || scratch[..] == *out;
            if same { Ok(()) } else { Err(format!("other bytes than the first drive's at {offset}")) }
        });
        row.scratch = scratch;
        served
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.lock().for_each("write", |drive| drive.device.write(offset, data))
    }

    fn clear(&self, offset: u64, length: u64, trim: bool) -> io::Result<()> {
        self.lock().for_each("clear", |drive| match trim {
            true if drive.supports_trim => drive.device.trim(offset, length),
            true => Ok(()),
            false => drive.device.write_zeroes(offset, length, true),
        })
    }

    fn flush(&self) -> io::Result<()> {
        self.lock().for_each("flush", |drive| drive.device.flush())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DISK: u64 = 48 << 20;

    /// This disk has space for the blocks of 2 MiB that logs keep erased.
    const LARGER_DISK: u64 = 128 << 20;

    #[test]
    fn drives_of_all_kinds_return_the_written_data() {
        let specs: Vec<DriveSpec> = DRIVE_KINDS.iter().map(|kind| (kind.name, true)).collect();
        let drives = Drives::new(&specs, LARGER_DISK).unwrap();
        drives.fill(LARGER_DISK).unwrap();
        let mut page = vec![0; PAGE_BYTES as usize];
        for at in 0..2 * LARGER_DISK / PAGE_BYTES {
            page[..8].copy_from_slice(&at.to_le_bytes());
            drives.write(at * 7919 % (LARGER_DISK / PAGE_BYTES) * PAGE_BYTES, &page).unwrap();
        }
        drives.clear(1 << 20, 1 << 20, true).unwrap();
        drives.clear(4 << 20, 1 << 20, false).unwrap();
        drives.flush().unwrap();
        let mut out = vec![1; 2 << 20];
        for offset in (0..LARGER_DISK).step_by(out.len()) {
            drives.read(offset, &mut out).unwrap();
        }
        drives.check().unwrap();
        for (done, kind) in drives.counts().unwrap().iter().zip(&DRIVE_KINDS) {
            let name = kind.name;
            assert_eq!(done.host_pages, 3 * LARGER_DISK / PAGE_BYTES + 256, "{name}");
            assert_eq!(done.programmed(), done.flash_programs, "{name}");
            assert_eq!(done.trimmed_pages, 256, "{name}");
            assert!(done.erases > 0, "{name}");
        }
    }

    #[test]
    fn drive_without_trims_cleans_more() {
        let drives = Drives::new(&[("page", true), ("page", false)], DISK).unwrap();
        drives.fill(DISK).unwrap();
        drives.clear(DISK / 2, DISK / 2, true).unwrap();
        let before = drives.counts().unwrap();
        let page = vec![5; PAGE_BYTES as usize];
        let half = DISK / 2 / PAGE_BYTES;
        for at in 0..4 * half {
            drives.write(at * 7919 % half * PAGE_BYTES, &page).unwrap();
        }
        let done: Vec<DriveCounts> =
            drives.counts().unwrap().iter().zip(&before).map(|(now, before)| now.since(before)).collect();
        let [hears, not] = [0, 1].map(|drive| done[drive].for_cause(Cause::Cleaning));
        assert!(hears == 0 && not > 0, "{done:?}");
    }

    #[test]
    fn failed_request_is_reported_with_its_reason() {
        assert!(Drives::new(&[("nvme", true)], DISK).err().unwrap().to_string().contains("there are page"));
        let drives = Drives::new(&[("page", true)], DISK).unwrap();
        assert!(drives.write(1 << 40, &[0; 4096]).is_err());
        assert!(drives.counts().unwrap_err().to_string().contains("drive 1: write: bytes"));
    }
}
