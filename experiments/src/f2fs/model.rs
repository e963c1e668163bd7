//! The model of F2FS under the loads that were recorded: a log with its metadata on a drive, both new.

use crate::Failure;
use crate::replicas::scenario;
use serde::{Deserialize, Serialize};
use wearwell_base::seed::{Seed, below};
use wearwell_base::units::Lpn;
use wearwell_engine::counters::{Cause, Operation};
use wearwell_engine::layer::no_data;
use wearwell_stack::{Stack, build};

/// Bytes of a page.
pub const PAGE_BYTES: u64 = 4096;

/// What the log wrote below.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// Pages of all kinds.
    pub pages: u64,
    /// Those that cleaning moved.
    pub moved_pages: u64,
}

/// A log like F2FS with so many logs on a drive.
pub struct Model(Stack<()>);

/// Which data share a log: with 2 all, with 4 those of all files, with 6 what cleaning moves is apart.
fn placement(logs: u8) -> &'static str {
    match logs {
        2 => "\"single\"",
        4 => "{ kind = \"host_hint\", streams = 2 }",
        _ => "{ kind = \"host_hint\", streams = 2, cleaned = \"apart\" }",
    }
}

impl Model {
    /// With `logs` logs, on a disk of `disk_bytes`, a checkpoint after so many bytes, and cleaning at so many erased
    /// segments; 18 % of the disk are not shown, so that there is room for those.
    ///
    /// # Errors
    ///
    /// Sizes that do not fit.
    pub fn new(logs: u8, disk_bytes: u64, checkpoint_bytes: u64, cleans_at: u32) -> Result<Model, Failure> {
        let mut scenario = scenario(&format!(
            "[device]\ncapacity = {disk_bytes}\nspare_factor = 0.1\npages_per_block = 512\n\
             [[log]]\nsegment_size = \"2 MiB\"\nspare_factor = 0.18\nfree_blocks_low = {cleans_at}\nplacement = {}\n\
             metadata = {{ preset = \"f2fs_{logs}\", checkpoint_every = {checkpoint_bytes} }}\n\
             [workload]\nkind = \"uniform\"\n",
            placement(logs)
        ))?;
        Ok(Model(build(&mut scenario)?))
    }

    /// Logical pages.
    pub fn pages(&self) -> u32 {
        self.0.targets[0].layer.logical_pages()
    }

    /// Writes these pages one after the other, with a flush after each if they are `synced`.
    ///
    /// # Errors
    ///
    /// A log without room.
    pub fn write(&mut self, pages: impl Iterator<Item = u32>, synced: bool) -> Result<(), Failure> {
        let layer = &mut self.0.targets[0].layer;
        // With 4 logs those of directories come first.
        let hint = 1;
        for page in pages {
            layer.write(&[Lpn(page)], no_data(1), hint)?;
            if synced {
                layer.flush()?;
            }
        }
        Ok(())
    }

    /// What it has written so far.
    pub fn written(&self) -> Written {
        let reports = self.0.describe();
        let log = &reports.layers[0].counters;
        Written {
            pages: log.outgoing_total(Operation::Write),
            moved_pages: log.outgoing(Cause::Cleaning, Operation::Write),
        }
    }
}

/// Each of `pages` pages once, at random.
pub fn permuted(pages: u32, seed: u64) -> Vec<u32> {
    let mut random = Seed(seed).random();
    let mut order: Vec<u32> = (0..pages).collect();
    for at in (1..order.len()).rev() {
        order.swap(at, below(&mut random, at as u64 + 1) as usize);
    }
    order
}
