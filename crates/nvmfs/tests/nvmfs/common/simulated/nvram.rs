//! Simulated NVRAM with power cuts, for crash tests.

use super::power::{CrashEffect, PowerSource};
use rand::RngCore;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wearwell_nvmfs::api::BLOCK_BYTES;
use wearwell_nvmfs::nvram::{LINE_BYTES, Nvram};

const WORD_BYTES: usize = 8;
/// Maximum number of old values of a cache line that may survive a crash. This bounds the memory for a line that is
/// stored to repeatedly without a fence.
const MAX_VERSIONS: usize = 8;

type Line = [u8; LINE_BYTES];

/// Cache line with stores that are not durable yet.
struct PendingLine {
    /// Values that the line has had since it was last durable; the last value is the current value.
    versions: Vec<Line>,
    /// Index of the value that was written back last and becomes durable with the next fence.
    written_back: Option<usize>,
}

impl PendingLine {
    fn push(&mut self, line: Line) {
        if self.versions.len() == MAX_VERSIONS {
            // The value that was written back is needed at the fence, so the next value is dropped instead.
            let drop = usize::from(self.written_back == Some(0));
            self.versions.remove(drop);
            self.written_back = self.written_back.map(|at| at.saturating_sub(1));
        }
        self.versions.push(line);
    }

    fn latest(&self) -> &Line {
        self.versions.last().expect("a pending line was stored to")
    }
}

/// Durable content of the NVRAM, and pending changes.
struct DurableState {
    durable: Vec<u8>,
    pending: BTreeMap<usize, PendingLine>,
    /// Numbers of pending lines that were written back and wait for a fence.
    written_back: BTreeSet<usize>,
}

/// Possible content of a [`SimulatedNvram`] after a crash, either now or at the power cut. This handle stays valid
/// while a file system uses the NVRAM, and afterwards.
#[derive(Clone)]
pub struct CrashImages(Arc<Mutex<DurableState>>);

impl CrashImages {
    fn state(&self) -> MutexGuard<'_, DurableState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of lines whose content after a crash may differ from the current value (or the
    /// value at the power cut).
    pub fn pending_lines(&self) -> usize {
        self.state().pending.len()
    }

    /// Returns a random possible content after a crash.
    pub fn crash(&self, random: &mut impl RngCore) -> Vec<u8> {
        let state = self.state();
        let mut image = state.durable.clone();
        let mut crash = CrashEffect::new(random);
        for (&line, pending) in &state.pending {
            crash.apply(&mut image[line * LINE_BYTES..][..LINE_BYTES], &pending.versions, WORD_BYTES);
        }
        image
    }

    /// Returns the content after a crash that loses every pending store.
    pub fn crash_losing_all(&self) -> Vec<u8> {
        self.state().durable.clone()
    }

    /// Returns the content after a crash that keeps every store.
    pub fn crash_keeping_all(&self) -> Vec<u8> {
        let state = self.state();
        let mut image = state.durable.clone();
        for (&line, pending) in &state.pending {
            image[line * LINE_BYTES..][..LINE_BYTES].copy_from_slice(pending.latest());
        }
        image
    }
}

/// NVRAM that tracks stores, write-backs and fences for each line of 64 bytes.
///
/// A fence makes durable the value that each line had when it was written back; later stores are not covered. After a
/// crash, the content of each line that is not durable is random and independent of other lines. It is the last
/// durable value, any later value, or a mixture of these at a granularity of 8 bytes.
pub struct SimulatedNvram {
    /// Content that the processor sees.
    view: Vec<u8>,
    crash_images: CrashImages,
    power: PowerSource,
}

impl SimulatedNvram {
    /// Creates NVRAM with `bytes` zeros (a multiple of 4096).
    pub fn new(bytes: usize, power: PowerSource) -> Self {
        SimulatedNvram::from_image(vec![0; bytes], power)
    }

    /// Creates NVRAM with the content that a crash left.
    pub fn from_image(image: Vec<u8>, power: PowerSource) -> Self {
        assert!(image.len().is_multiple_of(BLOCK_BYTES), "{} bytes are no region of NVRAM", image.len());
        let view = image.clone();
        let state = DurableState { durable: image, pending: BTreeMap::new(), written_back: BTreeSet::new() };
        SimulatedNvram { view, crash_images: CrashImages(Arc::new(Mutex::new(state))), power }
    }

    /// Returns a handle for the possible content after a crash.
    pub fn crash_images(&self) -> CrashImages {
        self.crash_images.clone()
    }
}

/// Returns the range of cache lines that contain `length` bytes at offset `at`.
fn lines_of(at: usize, length: usize) -> std::ops::Range<usize> {
    if length == 0 { 0..0 } else { at / LINE_BYTES..(at + length).div_ceil(LINE_BYTES) }
}

impl Nvram for SimulatedNvram {
    fn bytes(&self) -> &[u8] {
        &self.view
    }

    fn store(&mut self, at: usize, bytes: &[u8]) {
        self.view[at..at + bytes.len()].copy_from_slice(bytes);
        if !self.power.event() {
            return;
        }
        let mut state = self.crash_images.state();
        for line in lines_of(at, bytes.len()) {
            let (lines, _) = self.view.as_chunks();
            let pending =
                state.pending.entry(line).or_insert(PendingLine { versions: vec![], written_back: None });
            pending.push(lines[line]);
        }
    }

    fn store_word(&mut self, at: usize, word: u64) {
        assert!(at.is_multiple_of(WORD_BYTES), "a word at {at} may be torn");
        self.store(at, &word.to_le_bytes());
    }

    fn write_back(&mut self, at: usize, length: usize) {
        assert!(at + length <= self.view.len(), "{length} bytes at {at} are not all in the region");
        if !self.power.event() {
            return;
        }
        let state = &mut *self.crash_images.state();
        for line in lines_of(at, length) {
            if let Some(pending) = state.pending.get_mut(&line) {
                pending.written_back = Some(pending.versions.len() - 1);
                state.written_back.insert(line);
            }
        }
    }

    fn fence(&mut self) {
        if !self.power.persistence_point() {
            return;
        }
        let state = &mut *self.crash_images.state();
        for line in std::mem::take(&mut state.written_back) {
            let pending = state.pending.get_mut(&line).expect("lines that wait for a fence are pending");
            let version = pending.written_back.take().expect("it was written back");
            state.durable[line * LINE_BYTES..][..LINE_BYTES].copy_from_slice(&pending.versions[version]);
            pending.versions.drain(..=version);
            if pending.versions.is_empty() {
                state.pending.remove(&line);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wearwell_base::seed::Seed;

    fn word(image: &[u8], at: usize) -> u64 {
        u64::from_le_bytes(image[at..at + 8].try_into().expect("8 bytes"))
    }

    #[test]
    fn fence_covers_earlier_write_backs_but_not_later_stores() {
        let mut nvram = SimulatedNvram::new(4096, PowerSource::new());
        nvram.store_word(0, 1);
        nvram.write_back(0, 8);
        nvram.store_word(0, 2);
        nvram.store_word(64, 3);
        assert_eq!(word(&nvram.crash_images().crash_losing_all(), 0), 0, "written back, but not fenced");
        nvram.fence();
        let lost = nvram.crash_images().crash_losing_all();
        assert_eq!((word(&lost, 0), word(&lost, 64)), (1, 0));
        let kept = nvram.crash_images().crash_keeping_all();
        assert_eq!((word(&kept, 0), word(&kept, 64)), (2, 3));
        nvram.fence();
        assert_eq!(word(&nvram.crash_images().crash_losing_all(), 0), 1, "a fence alone writes nothing back");
        assert_eq!(nvram.crash_images().pending_lines(), 2);
        nvram.write_back(0, 128);
        nvram.fence();
        assert_eq!(nvram.crash_images().pending_lines(), 0);
        assert_eq!(nvram.crash_images().crash_losing_all(), nvram.bytes());
    }

    #[test]
    fn crashes_yield_every_state_of_a_line_and_mixtures() {
        let mut nvram = SimulatedNvram::new(4096, PowerSource::new());
        for value in [1, 2] {
            nvram.store(0, &[value; 16]);
        }
        let mut random = Seed(1).random();
        let mut seen: Vec<_> = (0..400)
            .map(|_| nvram.crash_images().crash(&mut random))
            .map(|image| (word(&image, 0) as u8, word(&image, 8) as u8))
            .collect();
        seen.sort_unstable();
        seen.dedup();
        let all: Vec<_> = (0..3).flat_map(|first| (0..3).map(move |second| (first, second))).collect();
        assert_eq!(seen, all);
    }

    #[test]
    fn written_back_value_survives_many_later_stores() {
        let mut nvram = SimulatedNvram::new(4096, PowerSource::new());
        nvram.store_word(0, 1);
        nvram.write_back(0, 8);
        for value in 2..1000 {
            nvram.store_word(0, value);
        }
        nvram.fence();
        assert_eq!(word(&nvram.crash_images().crash_losing_all(), 0), 1);
        assert_eq!(word(&nvram.crash_images().crash_keeping_all(), 0), 999);
    }

    #[test]
    fn stores_after_power_cut_are_visible_but_not_durable() {
        let power = PowerSource::new();
        power.cut_at(3);
        let mut nvram = SimulatedNvram::new(4096, power.clone());
        for value in [1, 2] {
            nvram.store_word(0, value);
            nvram.write_back(0, 8);
            nvram.fence();
        }
        assert!(power.is_off());
        assert_eq!(word(nvram.bytes(), 0), 2);
        assert_eq!(nvram.crash_images().crash_keeping_all(), nvram.crash_images().crash_losing_all());
        assert_eq!(word(&nvram.crash_images().crash_keeping_all(), 0), 1);
    }
}
