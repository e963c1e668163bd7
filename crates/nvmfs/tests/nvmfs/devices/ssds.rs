//! Comparison of every SSD with a vector of blocks.

use crate::common::simulated::{PowerSource, SimulatedSsd};
use proptest::prelude::*;
use wearwell_nvmfs::api::BLOCK_BYTES;
use wearwell_nvmfs::ssd::{MemorySsd, NullSsd, RecordingSsd, Ssd, StackSsd};
use wearwell_stack::Scenario;

pub const BLOCKS: u64 = 64;

/// Request to an SSD; all bytes of a block have the same value.
#[derive(Clone, Debug)]
pub enum Step {
    Write(u64, Vec<u8>),
    Trim(u64, u64),
    Read(u64, u64),
    Flush,
}

pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    let range = (0..BLOCKS, 0..9u64).prop_map(|(first, count)| (first, count.min(BLOCKS - first)));
    let step = prop_oneof![
        4 => (0..BLOCKS, prop::collection::vec(any::<u8>(), 0..9)).prop_map(|(first, mut values)| {
            values.truncate((BLOCKS - first) as usize);
            Step::Write(first, values)
        }),
        2 => range.clone().prop_map(|(first, count)| Step::Trim(first, count)),
        3 => range.prop_map(|(first, count)| Step::Read(first, count)),
        1 => Just(Step::Flush),
    ];
    prop::collection::vec(step, 1..60)
}

/// Executes a step; returns the bytes read.
pub fn apply(ssd: &dyn Ssd, step: &Step) -> Vec<u8> {
    let done = match step {
        Step::Write(first, values) => {
            let data: Vec<u8> = values.iter().flat_map(|&value| [value; BLOCK_BYTES]).collect();
            ssd.write(*first, &data, 1)
        }
        Step::Trim(first, count) => ssd.trim(*first, *count),
        Step::Flush => ssd.flush(),
        Step::Read(first, count) => {
            let mut out = vec![1; *count as usize * BLOCK_BYTES];
            ssd.read(*first, &mut out).expect("within");
            return out;
        }
    };
    done.expect("within");
    Vec::new()
}

/// Returns an SSD of each type that holds content; the files live as long as the folder.
fn all(folder: &std::path::Path) -> Vec<Box<dyn Ssd>> {
    let text = "[device]\ncapacity = \"256 KiB\"\nover_provisioning = 3.0\npages_per_block = 4\npage_size = \"4 KiB\"";
    let scenario: Scenario = toml::from_str(text).expect("a scenario");
    #[cfg_attr(not(target_os = "linux"), expect(unused_mut))]
    let mut ssds: Vec<Box<dyn Ssd>> = vec![
        Box::new(MemorySsd::new(BLOCKS)),
        Box::new(SimulatedSsd::new(BLOCKS, PowerSource::new())),
        Box::new(RecordingSsd::new(MemorySsd::new(BLOCKS), |_| ())),
        Box::new(StackSsd::with_content(MemorySsd::new(BLOCKS), &scenario).expect("a small drive")),
    ];
    #[cfg(target_os = "linux")]
    {
        use wearwell_nvmfs::backing::Existing;
        use wearwell_nvmfs::ssd::{Caching, FileSsd};
        let bytes = BLOCKS * BLOCK_BYTES as u64;
        let file = FileSsd::create(folder.join("file"), bytes, Existing::Refuse, Caching::Cached);
        ssds.push(Box::new(file.expect("a new file")));
        ssds.push(Box::new(StackSsd::with_file(folder.join("stack"), &scenario).expect("a new file")));
    }
    ssds
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_ssd_behaves_like_a_vector_of_blocks(steps in steps()) {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let ssds = all(folder.path());
        // The content of trimmed blocks is undefined.
        let mut model = vec![Some(0); BLOCKS as usize];
        for step in &steps {
            match step {
                Step::Write(first, values) => {
                    let values = values.iter().copied().map(Some);
                    model.iter_mut().skip(*first as usize).zip(values).for_each(|(block, value)| *block = value);
                }
                Step::Trim(first, count) => model[*first as usize..(first + count) as usize].fill(None),
                Step::Read(..) | Step::Flush => (),
            }
            for (at, ssd) in ssds.iter().enumerate() {
                let read = apply(&**ssd, step);
                let Step::Read(first, _) = step else { continue };
                for (block, content) in (*first..).zip(read.chunks(BLOCK_BYTES)) {
                    let expected = model[block as usize];
                    let holds = |value| content.iter().all(|&byte| byte == value);
                    prop_assert!(expected.is_none_or(holds), "SSD {at}, block {block}: not {expected:?}");
                }
            }
        }
    }
}

#[test]
fn every_ssd_rejects_requests_out_of_range() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let mut ssds = all(folder.path());
    ssds.push(Box::new(NullSsd::new(BLOCKS)));
    for ssd in ssds {
        assert_eq!(ssd.blocks(), BLOCKS);
        let mut data = vec![0; 2 * BLOCK_BYTES];
        for first in [BLOCKS - 1, BLOCKS, u64::MAX] {
            assert!(ssd.read(first, &mut data).is_err());
            assert!(ssd.write(first, &data, 0).is_err());
            assert!(ssd.trim(first, 2).is_err());
        }
        assert!(ssd.read(0, &mut data[1..]).is_err() && ssd.write(0, &data[1..], 0).is_err());
        ssd.trim(BLOCKS, 0).expect("nothing at the end is within");
    }
}
