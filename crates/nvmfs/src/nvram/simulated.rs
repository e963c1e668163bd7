//! NVRAM whose power can be cut, for crash tests.

use super::{LINE_BYTES, Nvram, check_region, lines_of};
use crate::power::{Crash, Power};
use rand::RngCore;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const WORD_BYTES: usize = 8;
/// Older contents of a line than so many are no longer among its possible ones after a crash. It bounds the memory of a line
/// that is stored to again and again without a fence.
const MOST_VERSIONS: usize = 8;

type Line = [u8; LINE_BYTES];

/// A line whose content may be lost.
struct Pending {
    /// What it has held since its content was last safe; the last is what the processor sees.
    versions: Vec<Line>,
    /// Which of them was written back last and waits for a fence.
    written_back: Option<usize>,
}

impl Pending {
    fn push(&mut self, line: Line) {
        if self.versions.len() == MOST_VERSIONS {
            // What was written back is needed at the fence.
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

/// What of NVRAM is safe, and what else may be.
struct Safe {
    durable: Vec<u8>,
    pending: BTreeMap<usize, Pending>,
    /// Those of the pending lines that wait for a fence.
    written_back: BTreeSet<usize>,
}

/// What a crash of [`SimulatedNvram`] may leave: now, or when power went off. A handle, good also while a file system uses the
/// NVRAM, and after.
#[derive(Clone)]
pub struct Remains(Arc<Mutex<Safe>>);

impl Remains {
    fn safe(&self) -> MutexGuard<'_, Safe> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lines that a crash may leave with other content than the processor sees, or saw when power went off.
    pub fn pending_lines(&self) -> usize {
        self.safe().pending.len()
    }

    /// What a crash may leave.
    pub fn crash(&self, random: &mut impl RngCore) -> Vec<u8> {
        let safe = self.safe();
        let mut image = safe.durable.clone();
        let mut crash = Crash::new(random);
        for (&line, pending) in &safe.pending {
            crash.leave(&mut image[line * LINE_BYTES..][..LINE_BYTES], &pending.versions, WORD_BYTES);
        }
        image
    }

    /// The crash that loses whatever it may.
    pub fn crash_losing_all(&self) -> Vec<u8> {
        self.safe().durable.clone()
    }

    /// The crash that loses nothing that was stored.
    pub fn crash_keeping_all(&self) -> Vec<u8> {
        let safe = self.safe();
        let mut image = safe.durable.clone();
        for (&line, pending) in &safe.pending {
            image[line * LINE_BYTES..][..LINE_BYTES].copy_from_slice(pending.latest());
        }
        image
    }
}

/// NVRAM that knows of each line of 64 bytes what was stored, written back and fenced.
///
/// A fence makes safe what each line held when it was written back; later stores to it are not covered. After a crash every
/// line that is not safe is, independently, as it was when last safe, as it was after any store since, or a mixture of
/// these, word by word of 8 bytes.
pub struct SimulatedNvram {
    /// What the processor sees.
    view: Vec<u8>,
    remains: Remains,
    power: Power,
}

impl SimulatedNvram {
    /// `bytes` zeros, a multiple of 4096.
    pub fn new(bytes: usize, power: Power) -> Self {
        SimulatedNvram::from_image(vec![0; bytes], power)
    }

    /// NVRAM with the content that a crash left.
    pub fn from_image(image: Vec<u8>, power: Power) -> Self {
        check_region(image.len());
        let view = image.clone();
        let safe = Safe { durable: image, pending: BTreeMap::new(), written_back: BTreeSet::new() };
        SimulatedNvram { view, remains: Remains(Arc::new(Mutex::new(safe))), power }
    }

    /// What a crash may leave of it.
    pub fn remains(&self) -> Remains {
        self.remains.clone()
    }
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
        let mut safe = self.remains.safe();
        for line in lines_of(at, bytes.len()) {
            let (lines, _) = self.view.as_chunks();
            let pending =
                safe.pending.entry(line).or_insert(Pending { versions: vec![], written_back: None });
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
        let safe = &mut *self.remains.safe();
        for line in lines_of(at, length) {
            if let Some(pending) = safe.pending.get_mut(&line) {
                pending.written_back = Some(pending.versions.len() - 1);
                safe.written_back.insert(line);
            }
        }
    }

    fn fence(&mut self) {
        if !self.power.persistence_point() {
            return;
        }
        let safe = &mut *self.remains.safe();
        for line in std::mem::take(&mut safe.written_back) {
            let pending = safe.pending.get_mut(&line).expect("lines that wait for a fence are pending");
            let version = pending.written_back.take().expect("it was written back");
            safe.durable[line * LINE_BYTES..][..LINE_BYTES].copy_from_slice(&pending.versions[version]);
            pending.versions.drain(..=version);
            if pending.versions.is_empty() {
                safe.pending.remove(&line);
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
    fn a_fence_covers_what_was_written_back_and_nothing_later() {
        let mut nvram = SimulatedNvram::new(4096, Power::new());
        nvram.store_word(0, 1);
        nvram.write_back(0, 8);
        nvram.store_word(0, 2);
        nvram.store_word(64, 3);
        assert_eq!(word(&nvram.remains().crash_losing_all(), 0), 0, "written back, but not fenced");
        nvram.fence();
        let lost = nvram.remains().crash_losing_all();
        assert_eq!((word(&lost, 0), word(&lost, 64)), (1, 0));
        let kept = nvram.remains().crash_keeping_all();
        assert_eq!((word(&kept, 0), word(&kept, 64)), (2, 3));
        nvram.fence();
        assert_eq!(word(&nvram.remains().crash_losing_all(), 0), 1, "a fence alone writes nothing back");
        assert_eq!(nvram.remains().pending_lines(), 2);
        nvram.write_back(0, 128);
        nvram.fence();
        assert_eq!(nvram.remains().pending_lines(), 0);
        assert_eq!(nvram.remains().crash_losing_all(), nvram.bytes());
    }

    #[test]
    fn crashes_show_every_state_of_a_line_and_mixtures() {
        let mut nvram = SimulatedNvram::new(4096, Power::new());
        for value in [1, 2] {
            nvram.store(0, &[value; 16]);
        }
        let mut random = Seed(1).random();
        let mut seen: Vec<_> = (0..400)
            .map(|_| nvram.remains().crash(&mut random))
            .map(|image| (word(&image, 0) as u8, word(&image, 8) as u8))
            .collect();
        seen.sort_unstable();
        seen.dedup();
        let all: Vec<_> = (0..3).flat_map(|first| (0..3).map(move |second| (first, second))).collect();
        assert_eq!(seen, all);
    }

    #[test]
    fn what_was_written_back_outlives_many_stores() {
        let mut nvram = SimulatedNvram::new(4096, Power::new());
        nvram.store_word(0, 1);
        nvram.write_back(0, 8);
        for value in 2..1000 {
            nvram.store_word(0, value);
        }
        nvram.fence();
        assert_eq!(word(&nvram.remains().crash_losing_all(), 0), 1);
        assert_eq!(word(&nvram.remains().crash_keeping_all(), 0), 999);
    }

    #[test]
    fn without_power_nothing_takes_effect_but_is_seen() {
        let power = Power::new();
        power.cut_at(3);
        let mut nvram = SimulatedNvram::new(4096, power.clone());
        for value in [1, 2] {
            nvram.store_word(0, value);
            nvram.write_back(0, 8);
            nvram.fence();
        }
        assert!(power.is_off());
        assert_eq!(word(nvram.bytes(), 0), 2);
        assert_eq!(nvram.remains().crash_keeping_all(), nvram.remains().crash_losing_all());
        assert_eq!(word(&nvram.remains().crash_keeping_all(), 0), 1);
    }
}
