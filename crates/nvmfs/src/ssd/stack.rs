//! Simulated drive that is used as the SSD.

#[cfg(target_os = "linux")]
use super::{Caching, FileSsd};
use super::{Drive, DriveLayer, Ssd, check_range, whole_blocks};
use crate::api::BLOCK_BYTES;
#[cfg(target_os = "linux")]
use crate::backing::Existing;
use std::io;
use std::ops::Range;
#[cfg(target_os = "linux")]
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use wearwell_base::config::ConfigError;
use wearwell_base::units::Lpn;
use wearwell_engine::counters::{Cause, Counters, Operation};
use wearwell_engine::layer::{LayerError, Reports, no_data};
use wearwell_stack::{Scenario, Stack};

/// Maximum number of blocks passed to the stack in one batch.
const BATCH_BLOCKS: u64 = 4096;

/// Reason why a scenario or a content store cannot be used as an SSD.
#[derive(Debug, thiserror::Error)]
pub enum StackError {
    /// The scenario does not describe a stack.
    #[error(transparent)]
    Scenario(#[from] ConfigError),
    /// The stack of the scenario cannot be used as an SSD.
    #[error("{key}: {problem}")]
    Unfit {
        /// Setting of the scenario.
        key: &'static str,
        /// Problem with the setting.
        problem: String,
    },
    /// The content store failed.
    #[error(transparent)]
    Content(#[from] io::Error),
}

/// SSD backed by a Wearwell stack: the stack receives every request and counts the operations of its flash; `S`
/// holds the content.
///
/// The stack lives as long as this value, and the content as long as `S`. If the stack is new but the content already
/// exists, the stack counts no block as written; [`StackSsd::precondition`] writes the existing blocks to the stack.
/// Only the stack of the scenario is used: its workloads, times and measurement settings are ignored.
pub struct StackSsd<S> {
    content: S,
    blocks: u64,
    stack: Mutex<CountingStack>,
    /// Reports of the stack after it was filled with the existing content.
    before: Mutex<Reports>,
}

/// Stack, and a buffer for the pages of a batch.
struct CountingStack {
    stack: Stack<()>,
    /// Number of mapping units of the drive per block.
    units: u64,
    pages: Vec<Lpn>,
}

impl CountingStack {
    /// Fills in defaults, builds the stack, and refuses scenarios that cannot serve as an SSD.
    fn build(scenario: &Scenario) -> Result<(Self, u64), StackError> {
        let unfit = |key, problem: &str| Err(StackError::Unfit { key, problem: problem.to_owned() });
        if scenario.holds_content() {
            return unfit("ftl.dedup", "needs to know what pages hold, which this drive does not look at");
        }
        if scenario.power.is_some() {
            return unfit("power", "cuts the power of a run; a file system loses it when its process ends");
        }
        let stack = wearwell_stack::build::<()>(&mut scenario.clone())?;
        if stack.targets.len() > 1 {
            return unfit("tenant", "an SSD has one user; give the scenario one tenant or none");
        }
        let unit_bytes = stack.page_bytes as usize;
        if !BLOCK_BYTES.is_multiple_of(unit_bytes) {
            let problem = format!("is {unit_bytes} bytes; it has to divide blocks of {BLOCK_BYTES} bytes");
            return unfit("device.mapping_unit", &problem);
        }
        let units = (BLOCK_BYTES / unit_bytes) as u64;
        let blocks = stack.logical_pages() / units;
        Ok((CountingStack { stack, units, pages: Vec::new() }, blocks))
    }

    /// Calls `work` with the stack for `blocks`, one batch after the other.
    fn each_batch(
        &mut self,
        blocks: Range<u64>,
        mut work: impl FnMut(&mut Stack<()>, &[Lpn]) -> Result<(), LayerError>,
    ) -> io::Result<()> {
        for first in blocks.clone().step_by(BATCH_BLOCKS as usize) {
            let end = blocks.end.min(first + BATCH_BLOCKS);
            self.pages.clear();
            self.pages.extend((first * self.units..end * self.units).map(|page| Lpn(page as u32)));
            work(&mut self.stack, &self.pages).map_err(io::Error::other)?;
        }
        Ok(())
    }

    fn write(&mut self, blocks: Range<u64>, stream: u16) -> io::Result<()> {
        self.each_batch(blocks, |stack, pages| {
            stack.targets[0].layer.write(pages, no_data(pages.len()), stream)
        })
    }
}

impl<S: Ssd> StackSsd<S> {
    /// Builds the stack of `scenario` over `content`, which must be at least as large.
    pub fn with_content(content: S, scenario: &Scenario) -> Result<Self, StackError> {
        let (stack, blocks) = CountingStack::build(scenario)?;
        StackSsd::from_parts(content, stack, blocks)
    }

    fn from_parts(content: S, stack: CountingStack, blocks: u64) -> Result<Self, StackError> {
        if content.blocks() < blocks {
            let problem =
                format!("has {blocks} blocks of {BLOCK_BYTES} bytes; there is room for {}", content.blocks());
            return Err(StackError::Unfit { key: "device", problem });
        }
        let before = Mutex::new(stack.stack.describe());
        Ok(StackSsd { content, blocks, stack: Mutex::new(stack), before })
    }

    /// Writes ranges of blocks with existing content to the stack, in the given order, as preconditioning. These
    /// operations appear in the reports of the stack, but not in [`Ssd::drive`], except for their wear.
    pub fn precondition(&self, ranges: impl IntoIterator<Item = Range<u64>>) -> io::Result<()> {
        let mut stack = self.stack();
        for range in ranges {
            check_range(self.blocks, range.start, range.end.saturating_sub(range.start))?;
            stack.write(range, 0)?;
        }
        *self.before.lock().unwrap_or_else(PoisonError::into_inner) = stack.stack.describe();
        Ok(())
    }

    /// Returns the names of the layers in the order of their reports, the FTL last.
    pub fn names(&self) -> Vec<String> {
        self.stack().stack.names().map(str::to_owned).collect()
    }

    /// Returns the reports of the layers and the flash so far.
    pub fn reports(&self) -> Reports {
        self.stack().stack.describe()
    }

    /// Recounts all counters of the stack; an error is a bug in Wearwell.
    pub fn check(&self) -> Result<(), String> {
        self.stack().stack.check()
    }

    fn stack(&self) -> MutexGuard<'_, CountingStack> {
        // The stack is consistent after each call, so a poisoned lock is harmless.
        self.stack.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(target_os = "linux")]
impl StackSsd<FileSsd> {
    /// Builds the stack of `scenario` with its content in a file or block device; creates the file if it
    /// does not exist.
    pub fn with_file(path: impl AsRef<Path>, scenario: &Scenario) -> Result<Self, StackError> {
        let (path, (stack, blocks)) = (path.as_ref(), CountingStack::build(scenario)?);
        let content = if path.exists() {
            FileSsd::open(path, Caching::Cached)
        } else {
            FileSsd::create(path, blocks * BLOCK_BYTES as u64, Existing::Refuse, Caching::Cached)
        };
        StackSsd::from_parts(content?, stack, blocks)
    }
}

impl<S: Ssd> Ssd for StackSsd<S> {
    fn blocks(&self) -> u64 {
        self.blocks
    }

    fn read(&self, first: u64, out: &mut [u8]) -> io::Result<()> {
        let blocks = whole_blocks(self.blocks, first, out.len())?;
        self.content.read(first, out)?;
        let mut nothing = Vec::new();
        self.stack().each_batch(first..first + blocks, |stack, pages| {
            stack.targets[0].layer.read(pages, &mut nothing)
        })
    }

    fn write(&self, first: u64, data: &[u8], stream: u16) -> io::Result<()> {
        let blocks = whole_blocks(self.blocks, first, data.len())?;
        self.content.write(first, data, stream)?;
        self.stack().write(first..first + blocks, stream)
    }

    fn trim(&self, first: u64, blocks: u64) -> io::Result<()> {
        check_range(self.blocks, first, blocks)?;
        self.content.trim(first, blocks)?;
        self.stack().each_batch(first..first + blocks, |stack, pages| stack.targets[0].layer.trim(pages))
    }

    fn flush(&self) -> io::Result<()> {
        self.content.flush()?;
        self.stack().stack.targets[0].layer.flush().map_err(io::Error::other)
    }

    fn drive(&self) -> Option<Drive> {
        let (names, now) = (self.names(), self.reports());
        let before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        let layers = names.into_iter().zip(now.layers.iter().zip(&before.layers));
        let layers: Vec<DriveLayer> =
            layers.map(|(name, (now, before))| layer_since(name, &now.counters, &before.counters)).collect();
        let (nand, nand_before) = (now.nand?, before.nand.as_ref()?);
        let erases = &nand.erase_counts;
        let programs = nand.programs - nand_before.programs;
        let written = layers.first().map_or(0, |top| top.written_pages);
        let total: u64 = erases.iter().map(|erases| u64::from(*erases)).sum();
        Some(Drive {
            write_amplification: (written > 0).then(|| programs as f64 / written as f64),
            layers,
            programs,
            reads: nand.reads - nand_before.reads,
            erases: nand.erases - nand_before.erases,
            min_erases: erases.iter().copied().min().unwrap_or(0),
            mean_erases: total as f64 / erases.len().max(1) as f64,
            max_erases: erases.iter().copied().max().unwrap_or(0),
            bad_blocks: nand.bad_blocks,
            blocks: erases.len() as u32,
        })
    }
}

/// Returns the activity of a layer between two reports.
fn layer_since(name: String, now: &Counters, before: &Counters) -> DriveLayer {
    let write = Operation::Write;
    let below = |cause: &Cause| now.outgoing(*cause, write) - before.outgoing(*cause, write);
    let causes = Cause::ALL.iter().map(|cause| (cause.name().to_owned(), below(cause)));
    DriveLayer {
        name,
        written_pages: now.incoming(write) - before.incoming(write),
        writes_below: causes.filter(|(_, pages)| *pages > 0).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ssd::NullSsd;

    fn scenario(text: &str) -> Scenario {
        let small =
            "capacity = \"8 MiB\"\nover_provisioning = 0.5\npages_per_block = 16\npage_size = \"16 KiB\"";
        toml::from_str(&format!("[device]\n{small}\n{text}")).expect("a scenario")
    }

    fn incoming(ssd: &StackSsd<impl Ssd>, operation: Operation) -> u64 {
        ssd.reports().layers[0].counters.incoming(operation)
    }

    #[test]
    fn each_block_is_several_mapping_units_of_the_stack() {
        for (unit, units) in [(512, 8), (2048, 2), (4096, 1)] {
            let scenario = scenario(&format!("mapping_unit = {unit}"));
            let ssd = StackSsd::with_content(NullSsd::new(2048), &scenario).expect("it fits");
            assert_eq!(ssd.blocks(), 2048);
            let mut data = vec![3; 5 * BLOCK_BYTES];
            ssd.write(1, &data, 4).expect("within");
            ssd.read(2, &mut data[..2 * BLOCK_BYTES]).expect("within");
            ssd.trim(3, 1).expect("within");
            ssd.precondition([10..20, 5..5, 2040..2048]).expect("within");
            ssd.flush().expect("it cannot fail");
            ssd.check().expect("the stack counts right");
            assert_eq!(incoming(&ssd, Operation::Write), (5 + 10 + 8) * units);
            assert_eq!(incoming(&ssd, Operation::Read), 2 * units);
            assert_eq!(incoming(&ssd, Operation::Trim), units);
            assert_eq!(ssd.reports().layers[0].mapped_pages as u64, (4 + 18) * units);
        }
    }

    #[test]
    fn overwrites_cause_flash_programs_and_erases() {
        let ssd = StackSsd::with_content(NullSsd::new(2048), &scenario("")).expect("it is large enough");
        let data = vec![0; BLOCK_BYTES];
        for turn in 0..3 {
            (0..2048).for_each(|at| ssd.write(at * 7 % 2048, &data, turn).expect("within"));
        }
        let nand = ssd.reports().nand.expect("there is flash");
        assert!(nand.programs >= 3 * 2048 && nand.erases > 0);
        assert_eq!(ssd.names(), ["ftl"]);
        let drive = ssd.drive().expect("it is simulated");
        assert_eq!(
            (drive.programs, drive.erases, drive.layers[0].written_pages),
            (nand.programs, nand.erases, 6144)
        );
        let causes: u64 = drive.layers[0].writes_below.values().sum();
        assert_eq!(causes, drive.programs, "each program has a cause");
        assert!(drive.layers[0].writes_below["host"] >= 6144 && drive.write_amplification >= Some(1.0));
        let erases = drive.mean_erases * f64::from(drive.blocks);
        assert!(drive.max_erases > 0 && (erases - nand.erases as f64).abs() < 1e-6, "{drive:?}");
        // The statistics include only the wear of the preconditioning.
        ssd.precondition(std::iter::once(0..2048)).expect("within");
        let after = ssd.drive().expect("it is simulated");
        assert_eq!((after.programs, after.erases, after.write_amplification), (0, 0, None));
        assert!(after.mean_erases > drive.mean_erases);
        ssd.check().expect("the stack counts right");
    }

    #[test]
    fn scenarios_unfit_for_an_ssd_are_rejected_with_the_setting() {
        let refused = |text: &str| {
            StackSsd::with_content(NullSsd::new(2048), &scenario(text)).map(|_| ()).unwrap_err().to_string()
        };
        assert!(refused("mapping_unit = 16384").starts_with("device.mapping_unit: is 16384"));
        let tenant = "[[tenant]]\nshare = 0.5\nworkload = { kind = \"uniform\" }\n";
        assert!(refused(&tenant.repeat(2)).starts_with("tenant"), "{}", refused(&tenant.repeat(2)));
        assert!(refused("[ftl]\ndedup = \"cagc\"").starts_with("ftl.dedup: needs to know"));
        assert!(refused("[power]\nat_end = true").starts_with("power: cuts"));
        let small =
            StackSsd::with_content(NullSsd::new(2047), &scenario("")).map(|_| ()).unwrap_err().to_string();
        assert!(small.ends_with("there is room for 2047"), "{small}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn content_in_a_file_outlives_the_stack() {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let path = folder.path().join("content");
        let open = || StackSsd::with_file(&path, &scenario("")).expect("a file of the right size");
        let ssd = open();
        ssd.write(9, &[5; BLOCK_BYTES], 0).expect("within");
        drop(ssd);
        let ssd = open();
        let mut out = vec![0; BLOCK_BYTES];
        ssd.precondition(std::iter::once(9..10)).expect("within");
        ssd.read(9, &mut out).expect("within");
        assert_eq!(out, [5; BLOCK_BYTES]);
        assert_eq!(incoming(&ssd, Operation::Write), 1);
    }
}
