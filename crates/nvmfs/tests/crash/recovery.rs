//! Mounting what a power cut left, and looking whether all is right.

use crate::expected::Expected;
use crate::machine::{Fs, Image, Lie, nvram_of};
use crate::tree::Tree;
use rand::RngCore;
use wearwell_nvmfs::api::{Caller, Error, FileSystem, Kind, ROOT};
use wearwell_nvmfs::names;

/// Bytes written to see whether the file system can still be used.
const TRIAL_BYTES: usize = 300_000;
const TRIAL_NAME: &[u8] = b"a trial after a cut";

/// Mounts and looks. Where `second` is an event of the mount, power goes then, and it is mounted again.
///
/// # Errors
/// What is wrong.
pub fn recover(
    image: &Image,
    expected: &Expected,
    second: Option<u64>,
    random: &mut impl RngCore,
) -> Result<(), String> {
    let Some(event) = second else { return look(image, expected) };
    let (machine, fs) = image.mount_until(Lie::Nothing, Some(event))?;
    for image in machine.crashes(&nvram_of(fs), 1, random) {
        look(&image, expected).map_err(|text| format!("cut again at event {event}: {text}"))?;
    }
    Ok(())
}

/// Events of a mount.
pub fn events_of_mount(image: &Image) -> Result<u64, String> {
    Ok(image.mount(Lie::Nothing)?.0.power.events())
}

fn look(image: &Image, expected: &Expected) -> Result<(), String> {
    let (_, mut fs) = image.mount(Lie::Nothing)?;
    fs.store().check()?;
    let problems = names::check::check(&fs.store().region).map_err(|error| error.to_string())?;
    if let Some(problem) = problems.first() {
        return Err(format!("{} problems with names: {problem}", problems.len()));
    }
    let statistics = fs.statistics().map_err(|error| error.to_string())?;
    let tree = Tree::of(&mut fs)?;
    expected.check(&tree)?;
    let used = (statistics.blocks - statistics.free_blocks, statistics.inodes - statistics.free_inodes);
    let counted = (tree.blocks(), tree.nodes.len() as u64);
    if used != counted {
        return Err(format!("blocks and inodes: {used:?} are said to be used, and {counted:?} are"));
    }
    try_out(&mut fs, statistics.free_blocks).map_err(|error| format!("a trial: {error}"))?;
    fs.store().check()
}

/// Makes a file, writes, reads, and removes it.
fn try_out(fs: &mut Fs, free_blocks: u64) -> Result<(), Error> {
    let caller = Caller::default();
    let ino = match fs.make(ROOT, TRIAL_NAME, Kind::File, 0o600, 0, &caller) {
        // Nearly full.
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
    // Blocks of pointers and of directories lower what there is for data.
    if after > free_blocks || free_blocks - after > 2 {
        return Err(Error::Damaged(format!("of {free_blocks} free blocks {after} are left")));
    }
    Ok(())
}
