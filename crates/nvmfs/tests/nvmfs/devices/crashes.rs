//! Content after a power cut at any moment: it has everything durable, and nothing that was never stored.

use crate::common::simulated::{PowerSource, SimulatedNvram, SimulatedSsd};
use crate::devices::{nvrams, ssds};
use proptest::prelude::*;
use std::collections::BTreeSet;
use wearwell_base::seed::Seed;
use wearwell_nvmfs::api::BLOCK_BYTES;
use wearwell_nvmfs::nvram::{LINE_BYTES, Nvram};
use wearwell_nvmfs::ssd::Ssd;

const SECTOR_BYTES: usize = 512;
const IMAGES: u64 = 8;

/// Possible content of each part of a device, found by recording every step from the beginning. This computation is
/// slower than that of the device, and independent of it.
struct PossibleContents<T> {
    /// For each part, the content it has had so far, beginning with the durable content.
    parts: Vec<Vec<T>>,
    /// For each part, the number of these that become obsolete at the next flush or fence.
    obsolete: Vec<usize>,
}

impl<T: Clone + PartialEq> PossibleContents<T> {
    fn new(parts: usize, content: T) -> Self {
        PossibleContents { parts: vec![vec![content]; parts], obsolete: vec![0; parts] }
    }

    /// Records that the current content of the part becomes durable at the next flush or fence.
    fn mark_current(&mut self, part: usize) {
        self.obsolete[part] = self.parts[part].len() - 1;
    }

    fn drop_obsolete(&mut self) {
        for (held, begun) in self.parts.iter_mut().zip(&mut self.obsolete) {
            held.drain(..std::mem::take(begun));
        }
    }
}

/// Returns the possible words of the NVRAM after these steps.
fn possible_words(steps: &[nvrams::Step]) -> PossibleContents<[u8; 8]> {
    let mut possible = PossibleContents::new(nvrams::BYTES / 8, [0; 8]);
    for step in steps {
        if let Some((at, bytes)) = nvrams::stored(step) {
            for word in at / 8..(at + bytes.len()).div_ceil(8) {
                let mut content = *possible.parts[word].last().expect("there is always one");
                for (place, byte) in (at..).zip(&bytes).filter(|(place, _)| place / 8 == word) {
                    content[place % 8] = *byte;
                }
                possible.parts[word].push(content);
            }
        }
        match step {
            nvrams::Step::WriteBack(at, length) if *length > 0 => {
                let lines = at / LINE_BYTES..(at + length).div_ceil(LINE_BYTES);
                (lines.start * 8..lines.end * 8).for_each(|word| possible.mark_current(word));
            }
            nvrams::Step::Fence => possible.drop_obsolete(),
            _ => (),
        }
    }
    possible
}

/// Returns the possible values of each sector of the SSD after these steps.
fn possible_values(steps: &[ssds::Step]) -> Vec<BTreeSet<u8>> {
    let mut possible = PossibleContents::new(ssds::BLOCKS as usize, vec![0]);
    for step in steps {
        match step {
            ssds::Step::Write(first, values) => {
                (*first as usize..).zip(values).for_each(|(at, &value)| possible.parts[at].push(vec![value]));
            }
            ssds::Step::Trim(first, count) => {
                (*first..first + count).for_each(|at| possible.parts[at as usize].push(vec![0, 0xA5]));
            }
            ssds::Step::Flush => {
                (0..ssds::BLOCKS as usize).for_each(|at| possible.mark_current(at));
                possible.drop_obsolete();
            }
            ssds::Step::Read(..) => (),
        }
    }
    possible.parts.into_iter().map(|held| held.into_iter().flatten().collect()).collect()
}

proptest! {
    #[test]
    fn nvram_words_are_durable_or_previously_stored_values(steps in nvrams::steps(), cut in 0..60usize, seed: u64) {
        let power = PowerSource::new();
        power.cut_at(cut as u64);
        let mut nvram = SimulatedNvram::new(nvrams::BYTES, power.clone());
        steps.iter().for_each(|step| nvrams::apply(&mut nvram, step));
        prop_assert_eq!(power.is_off(), cut <= steps.len());
        let possible = possible_words(&steps[..cut.min(steps.len())]);
        let mut random = Seed(seed).random();
        let mut images: Vec<_> = (0..IMAGES).map(|_| nvram.crash_images().crash(&mut random)).collect();
        images.extend([nvram.crash_images().crash_losing_all(), nvram.crash_images().crash_keeping_all()]);
        for image in images {
            for (word, content) in image.as_chunks::<8>().0.iter().enumerate() {
                let held = &possible.parts[word];
                prop_assert!(held.contains(content), "word {}: {:?} of {:?}", word, content, held);
            }
        }
        let lost = nvram.crash_images().crash_losing_all();
        prop_assert!(lost.as_chunks::<8>().0.iter().zip(&possible.parts).all(|(word, held)| *word == held[0]));
        // NVRAM that is created from an image has the content of the image, and a crash can lose nothing of it.
        let again = SimulatedNvram::from_image(lost.clone(), PowerSource::new());
        prop_assert!(again.bytes() == lost && again.crash_images().crash(&mut random) == lost);
    }

    #[test]
    fn ssd_sectors_are_durable_or_previously_written_values(steps in ssds::steps(), cut in 0..60usize, seed: u64) {
        let power = PowerSource::new();
        power.cut_at(cut as u64);
        let ssd = SimulatedSsd::new(ssds::BLOCKS, power.clone());
        let mut took_effect = Vec::new();
        for step in &steps {
            let was_off = power.is_off();
            ssds::apply(&ssd, step);
            took_effect.extend((!was_off).then(|| step.clone()));
        }
        let possible = possible_values(&took_effect);
        let mut random = Seed(seed).random();
        let mut images: Vec<_> = (0..IMAGES).map(|_| ssd.crash(&mut random)).collect();
        images.extend([ssd.crash_losing_all(), ssd.crash_keeping_all()]);
        let mut content = vec![0; BLOCK_BYTES];
        for image in images {
            for block in 0..ssds::BLOCKS {
                image.read(block, &mut content).expect("within");
                for sector in content.chunks(SECTOR_BYTES) {
                    prop_assert!(sector.iter().all(|&byte| byte == sector[0]), "block {block}: a sector is torn");
                    let held = &possible[block as usize];
                    prop_assert!(held.contains(&sector[0]), "block {block}: {} of {held:?}", sector[0]);
                }
            }
        }
    }

    #[test]
    fn power_cut_affects_all_devices_at_one_moment(order in prop::collection::vec(any::<bool>(), 1..40), cut in 0..40u64) {
        let power = PowerSource::new();
        power.cut_at(cut);
        let mut nvram = SimulatedNvram::new(4096, power.clone());
        let ssd = SimulatedSsd::new(64, power);
        for (at, on_ssd) in order.iter().enumerate() {
            match on_ssd {
                true => ssd.write(at as u64, &[1; BLOCK_BYTES], 0).expect("within"),
                false => nvram.store(at, &[1]),
            }
        }
        let (image, blocks) = (nvram.crash_images().crash_keeping_all(), ssd.crash_keeping_all());
        for (at, &on_ssd) in order.iter().enumerate() {
            let mut content = vec![0; BLOCK_BYTES];
            blocks.read(at as u64, &mut content).expect("within");
            let found = if on_ssd { content[0] } else { image[at] };
            prop_assert_eq!(found == 1, (at as u64) < cut);
        }
    }
}
