//! Drives and requests for tests.

use wearwell_base::seed::{Seed, random_below};
use wearwell_serve::{Device, DeviceError};
use wearwell_stack::Scenario;

/// Drive of 4.5 MiB on 6 MiB of flash.
pub const SMALL: &str =
    "[device]\nblocks_per_plane = 96\npages_per_block = 16\nspare_factor = 0.25\npage_size = 4096\n";

pub const PAGE: u64 = 4096;

pub fn scenario(text: &str) -> Scenario {
    toml::from_str(text).unwrap_or_else(|error| panic!("{error}\nin\n{text}"))
}

pub fn device(text: &str) -> Device {
    Device::in_memory(&scenario(text)).unwrap_or_else(|error| panic!("{error}\nin\n{text}"))
}

/// Request to a device.
#[derive(Clone, Debug)]
pub enum Step {
    Write(u64, Vec<u8>),
    Read(u64, usize),
    Trim(u64, u64),
    Zero(u64, u64, bool),
    Flush,
}

/// Returns `count` requests of whole pages for a device of `bytes` bytes: mostly overwrites, often with equal
/// content.
pub fn page_steps(bytes: u64, count: u32, seed: u64) -> Vec<Step> {
    let mut random = Seed(seed).random();
    let mut draw = |limit: u64| random_below(&mut random, limit);
    let pages = bytes / PAGE;
    let step = |_| {
        let (length, kind) = (1 + draw(4), draw(100));
        let first = draw(pages - length) * PAGE;
        match kind {
            0..80 => {
                let fill = |_| vec![1 + draw(40) as u8; PAGE as usize];
                Step::Write(first, (0..length).flat_map(fill).collect())
            }
            80..90 => Step::Read(first, (length * PAGE) as usize),
            90..98 => Step::Trim(first, length * PAGE),
            _ => Step::Flush,
        }
    };
    (0..count).map(step).collect()
}

/// Performs a step. Returns the bytes of a read.
pub fn run_step(device: &mut Device, step: &Step) -> Result<Vec<u8>, DeviceError> {
    let mut out = Vec::new();
    match step {
        Step::Write(offset, data) => device.write(*offset, data)?,
        Step::Read(offset, length) => {
            out.resize(*length, 0);
            device.read(*offset, &mut out)?;
        }
        Step::Trim(offset, length) => device.trim(*offset, *length)?,
        Step::Zero(offset, length, allocated) => device.write_zeroes(*offset, *length, *allocated)?,
        Step::Flush => device.flush()?,
    }
    Ok(out)
}

/// Reference disk in memory. Trimmed pages read as zeroes.
pub struct ReferenceDisk(pub Vec<u8>);

impl ReferenceDisk {
    pub fn apply(&mut self, step: &Step) -> Vec<u8> {
        match step {
            Step::Write(offset, data) => self.0[*offset as usize..][..data.len()].copy_from_slice(data),
            Step::Read(offset, length) => return self.0[*offset as usize..][..*length].to_vec(),
            Step::Zero(offset, length, _) => self.0[*offset as usize..][..*length as usize].fill(0),
            Step::Trim(offset, length) => {
                let (first, end) = (offset.div_ceil(PAGE), (offset + length) / PAGE);
                if first < end {
                    self.0[(first * PAGE) as usize..(end * PAGE) as usize].fill(0);
                }
            }
            Step::Flush => {}
        }
        Vec::new()
    }
}
