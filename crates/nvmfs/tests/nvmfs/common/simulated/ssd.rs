//! Simulated SSD with power cuts, for crash tests.

use super::power::{CrashEffect, PowerSource};
use rand::RngCore;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use wearwell_base::seed::random_below;
use wearwell_nvmfs::api::BLOCK_BYTES;
use wearwell_nvmfs::ssd::{MemorySsd, Ssd};

type Block = [u8; BLOCK_BYTES];

/// Bytes of a sector: a drive may tear a block between sectors, but not within a sector.
const SECTOR_BYTES: usize = 512;
/// Maximum number of old values of a block that may survive a crash. This bounds the memory for a block that is
/// written repeatedly without a flush.
const MAX_VERSIONS: usize = 8;

const ZEROS: &Block = &[0; BLOCK_BYTES];
/// Content of trimmed blocks. It is not zeros, to expose a file system that expects zeros.
const GARBAGE: &Block = &[0xA5; BLOCK_BYTES];

/// Pending change of a block.
enum Version {
    Written(Box<Block>),
    Trimmed,
}

/// SSD with a volatile write cache that only a flush reliably empties.
///
/// After a crash, each block that was written or trimmed since the last flush has one of several contents,
/// independently of other blocks. These are the content at the flush, the content after any later write, or a mixture
/// at a granularity of 512 bytes. Trimmed blocks read as 0xA5; after a crash without a flush in between, they may
/// read as zeros instead.
pub struct SimulatedSsd {
    /// Content that reads return.
    view: MemorySsd,
    cache: Mutex<Cache>,
    power: PowerSource,
}

struct Cache {
    durable: MemorySsd,
    /// Changes of blocks since the last flush.
    pending: BTreeMap<u64, Vec<Version>>,
}

impl Cache {
    fn push(&mut self, block: u64, version: Version) {
        let versions = self.pending.entry(block).or_default();
        if versions.len() == MAX_VERSIONS {
            versions.remove(0);
        }
        versions.push(version);
    }

    /// Returns the content after a crash that calls `apply` for each block with pending changes.
    fn image(&self, mut apply: impl FnMut(&mut Block, &[Version])) -> MemorySsd {
        let image = self.durable.clone();
        let mut content = *ZEROS;
        for (&block, versions) in &self.pending {
            image.read(block, &mut content).expect("pending blocks are within the device");
            apply(&mut content, versions);
            image.write(block, &content, 0).expect("pending blocks are within the device");
        }
        image
    }
}

impl SimulatedSsd {
    /// Creates an SSD of `blocks` blocks of zeros.
    pub fn new(blocks: u64, power: PowerSource) -> Self {
        SimulatedSsd::from_image(MemorySsd::new(blocks), power)
    }

    /// Creates an SSD with the content that a crash left.
    pub fn from_image(image: MemorySsd, power: PowerSource) -> Self {
        let cache = Cache { durable: image.clone(), pending: BTreeMap::new() };
        SimulatedSsd { view: image, cache: Mutex::new(cache), power }
    }

    /// Returns the number of blocks whose content after a crash may differ from the current content (or the
    /// content at the power cut).
    pub fn pending_blocks(&self) -> usize {
        self.cache().pending.len()
    }

    /// Returns a random possible content after a crash now, or at the power cut.
    pub fn crash(&self, random: &mut impl RngCore) -> MemorySsd {
        let trimmed = if random_below(random, 2) == 0 { ZEROS } else { GARBAGE };
        let mut crash = CrashEffect::new(random);
        self.cache().image(|content, versions| {
            let versions: Vec<&Block> = versions.iter().map(|version| content_of(version, trimmed)).collect();
            crash.apply(content, &versions, SECTOR_BYTES);
        })
    }

    /// Returns the content after a crash that loses every pending change.
    pub fn crash_losing_all(&self) -> MemorySsd {
        self.cache().durable.clone()
    }

    /// Returns the content after a crash that keeps every write.
    pub fn crash_keeping_all(&self) -> MemorySsd {
        self.cache().image(|content, versions| *content = *latest(versions))
    }

    fn cache(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn content_of<'a>(version: &'a Version, trimmed: &'a Block) -> &'a Block {
    match version {
        Version::Written(content) => content,
        Version::Trimmed => trimmed,
    }
}

fn latest(versions: &[Version]) -> &Block {
    content_of(versions.last().expect("pending blocks were written or trimmed"), GARBAGE)
}

impl Ssd for SimulatedSsd {
    fn blocks(&self) -> u64 {
        self.view.blocks()
    }

    fn read(&self, first: u64, out: &mut [u8]) -> io::Result<()> {
        self.view.read(first, out)
    }

    fn write(&self, first: u64, data: &[u8], stream: u16) -> io::Result<()> {
        let mut cache = self.cache();
        self.view.write(first, data, stream)?;
        if self.power.event() {
            let (data, _) = data.as_chunks::<BLOCK_BYTES>();
            for (block, content) in (first..).zip(data) {
                cache.push(block, Version::Written(Box::new(*content)));
            }
        }
        Ok(())
    }

    fn trim(&self, first: u64, blocks: u64) -> io::Result<()> {
        let mut cache = self.cache();
        self.view.trim(first, blocks)?;
        let on = self.power.event();
        for block in first..first + blocks {
            self.view.write(block, GARBAGE, 0)?;
            if on {
                cache.push(block, Version::Trimmed);
            }
        }
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        let mut cache = self.cache();
        if !self.power.persistence_point() {
            return Ok(());
        }
        for (block, versions) in std::mem::take(&mut cache.pending) {
            cache.durable.write(block, latest(&versions), 0)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wearwell_base::seed::Seed;

    fn first_bytes(ssd: &impl Ssd) -> Vec<u8> {
        let mut content = vec![0; BLOCK_BYTES];
        (0..ssd.blocks())
            .map(|block| {
                ssd.read(block, &mut content).expect("within");
                content[0]
            })
            .collect()
    }

    #[test]
    fn flush_makes_earlier_writes_durable() {
        let ssd = SimulatedSsd::new(4, PowerSource::new());
        ssd.write(0, &[1; 3 * BLOCK_BYTES], 0).expect("within");
        assert_eq!(first_bytes(&ssd.crash_losing_all()), [0, 0, 0, 0]);
        ssd.flush().expect("it cannot fail");
        ssd.write(1, &[2; BLOCK_BYTES], 0).expect("within");
        ssd.trim(2, 2).expect("within");
        assert_eq!(ssd.pending_blocks(), 3);
        assert_eq!(first_bytes(&ssd.crash_losing_all()), [1, 1, 1, 0]);
        assert_eq!(first_bytes(&ssd.crash_keeping_all()), [1, 2, 0xA5, 0xA5]);
        assert_eq!(first_bytes(&ssd), [1, 2, 0xA5, 0xA5]);
        ssd.flush().expect("it cannot fail");
        assert_eq!(first_bytes(&ssd.crash_losing_all()), [1, 2, 0xA5, 0xA5]);
    }

    #[test]
    fn crashes_lose_keep_and_tear_blocks() {
        let ssd = SimulatedSsd::new(1, PowerSource::new());
        ssd.write(0, &[1; BLOCK_BYTES], 0).expect("within");
        ssd.flush().expect("it cannot fail");
        ssd.write(0, &[2; BLOCK_BYTES], 0).expect("within");
        ssd.trim(0, 1).expect("within");
        let mut random = Seed(1).random();
        let (mut whole, mut torn) = (Vec::new(), 0);
        for _ in 0..200 {
            let mut content = *ZEROS;
            ssd.crash(&mut random).read(0, &mut content).expect("within");
            let mut seen = content.to_vec();
            seen.dedup();
            assert!(content.chunks(SECTOR_BYTES).all(|sector| sector.iter().all(|&byte| byte == sector[0])));
            assert!(seen.iter().all(|byte| [0, 1, 2, 0xA5].contains(byte)));
            torn += u32::from(seen.len() > 1);
            whole.extend((seen.len() == 1).then(|| seen[0]));
        }
        whole.sort_unstable();
        whole.dedup();
        assert_eq!(whole, [0, 1, 2, 0xA5]);
        assert!(torn > 0);
    }

    #[test]
    fn writes_after_power_cut_are_visible_but_not_durable() {
        let power = PowerSource::new();
        power.cut_at(2);
        let ssd = SimulatedSsd::new(2, power.clone());
        for value in [1, 2] {
            ssd.write(0, &[value; BLOCK_BYTES], 0).expect("within");
            ssd.flush().expect("it cannot fail");
        }
        ssd.trim(1, 1).expect("within");
        assert!(power.is_off());
        assert_eq!(first_bytes(&ssd), [2, 0xA5]);
        assert_eq!(first_bytes(&ssd.crash_keeping_all()), [1, 0]);
        assert_eq!(ssd.pending_blocks(), 0);
    }
}
