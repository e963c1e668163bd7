//! Mount of an image that a power cut left, and checks of the result.

use crate::crash::cuts::Cuts;
use crate::crash::expected::Expected;
use crate::crash::machine::{Image, options};
use crate::crash::tree::Tree;
use std::sync::Arc;
use wearwell_nvmfs::api::{Caller, Error, FileSystem, Kind, ROOT};
use wearwell_nvmfs::fs::Nvmfs;
use wearwell_nvmfs::names;
use wearwell_nvmfs::nvram::PlainNvram;

/// Number of bytes that are written to test if the file system is usable.
const TRIAL_BYTES: usize = 50_000;
const TRIAL_NAME: &[u8] = b"a trial after a cut";

/// Mounts an image, cuts the power at an event of the mount, then mounts the image again and checks the result.
///
/// # Errors
/// Describes the problem found.
pub fn recover_again(image: &Image, expected: &Arc<Expected>, event: u64, seed: u64) -> Result<(), String> {
    let expected = Arc::clone(expected);
    image.cut_mount(Cuts::new([event], 1, move |crash| recover(crash.image, &expected)).with_seed(seed))
}

/// Mounts an image and checks the result.
///
/// # Errors
/// Describes the problem found.
pub fn recover(image: Image, expected: &Expected) -> Result<(), String> {
    // The mount uses simple devices, which are faster.
    let nvram = PlainNvram::from(image.nvram);
    let mounted = Nvmfs::mount(nvram, Arc::new(image.ssd), options());
    let (mut fs, _) = mounted.map_err(|error| format!("it does not mount: {error}"))?;
    fs.store().check()?;
    let problems = names::check::check(&fs.store().region).map_err(|error| error.to_string())?;
    if let Some(problem) = problems.first() {
        return Err(format!("{} problems with names: {problem}", problems.len()));
    }
    let statistics = fs.statistics().map_err(|error| error.to_string())?;
    let tree = Tree::read(&mut fs)?;
    expected.check(&tree)?;
    let (used, counted) = (statistics.inodes - statistics.free_inodes, tree.nodes.len() as u64);
    if used != counted {
        return Err(format!("{used} inodes are said to be used, and {counted} are"));
    }
    exercise(&mut fs, statistics.free_blocks).map_err(|error| format!("a trial: {error}"))?;
    fs.store().check()?;
    let data_problems = fs.store().check_all_data().map_err(|error| error.to_string())?;
    data_problems.first().map_or(Ok(()), |one| Err(format!("after a trial: {one}")))
}

/// Creates a file, writes it, reads it and removes it.
fn exercise(fs: &mut dyn FileSystem, free_blocks: u64) -> Result<(), Error> {
    let caller = Caller::default();
    let ino = match fs.create(ROOT, TRIAL_NAME, Kind::File, 0o600, 0, &caller) {
        // A nearly full file system may refuse a new file.
        Err(Error::NoSpace(_)) if free_blocks < 16 => return Ok(()),
        made => made?.ino,
    };
    let data: Vec<u8> = (0..TRIAL_BYTES).map(|at| (at % 253) as u8).collect();
    let written = match fs.write(ino, 5, &data, &caller) {
        Err(Error::NoSpace(_)) if free_blocks < 16 => 0,
        written => written?,
    };
    if written < TRIAL_BYTES && free_blocks > 200 {
        return Err(Error::NoSpace("blocks are said to be free and cannot be written"));
    }
    let mut found = vec![0; written];
    fs.read(ino, 5, &mut found, &caller)?;
    if found != data[..written] {
        return Err(Error::Damaged("what was written is not read".into()));
    }
    fs.unlink(ROOT, TRIAL_NAME, &caller)?;
    let after = fs.statistics()?.free_blocks;
    // Blocks of pointers, directories and inodes reduce the space for data.
    if after > free_blocks || free_blocks - after > 4 {
        return Err(Error::Damaged(format!("of {free_blocks} free blocks {after} are left")));
    }
    Ok(())
}
