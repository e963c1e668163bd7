//! The model of F2FS under the loads that were recorded: a log with its metadata on a drive, both new.

use crate::Failure;
use crate::layer_model::LayerModel;

/// Which data share a log: with 2 all, with 4 those of all files, with 6 what cleaning moves is apart.
fn placement(logs: u8) -> &'static str {
    match logs {
        2 => "\"single\"",
        4 => "{ kind = \"host_hint\", streams = 2 }",
        _ => "{ kind = \"host_hint\", streams = 2, cleaned = \"apart\" }",
    }
}

/// F2FS with `logs` logs, on a disk of `disk_bytes`, a checkpoint after so many bytes, and cleaning at so many erased
/// segments; 18 % of the disk are not shown, so that there is room for those.
///
/// # Errors
///
/// Sizes that do not fit.
pub fn model(
    logs: u8,
    disk_bytes: u64,
    checkpoint_bytes: u64,
    cleans_at: u32,
) -> Result<LayerModel, Failure> {
    LayerModel::new(&format!(
        "[device]\ncapacity = {disk_bytes}\nspare_factor = 0.1\npages_per_block = 512\n\
         [[log]]\nsegment_size = \"2 MiB\"\nspare_factor = 0.18\nfree_blocks_low = {cleans_at}\nplacement = {}\n\
         metadata = {{ preset = \"f2fs_{logs}\", checkpoint_every = {checkpoint_bytes} }}\n\
         [workload]\nkind = \"uniform\"\n",
        placement(logs)
    ))
}
