//! Model of F2FS under the recorded loads: a log with its metadata on a drive, both new at the start.

use crate::Failure;
use crate::layer_model::LayerModel;

/// Returns the placement for a number of logs. With 2 logs, all data shares a log; with 4 logs, the data of all files
/// shares a log; with 6 logs, moved data has a separate log.
fn placement(logs: u8) -> &'static str {
    match logs {
        2 => "\"single\"",
        4 => "{ kind = \"host_hint\", streams = 2 }",
        _ => "{ kind = \"host_hint\", streams = 2, cleaned = \"apart\" }",
    }
}

/// Returns F2FS with `logs` logs on a disk of `disk_bytes`, with a checkpoint after each `checkpoint_bytes`, and with
/// cleaning at `low_watermark` erased segments. The capacity is 18 % below the size of the disk, to leave space for
/// these segments.
///
/// # Errors
///
/// Returns an error if the sizes do not fit.
pub fn model(
    logs: u8,
    disk_bytes: u64,
    checkpoint_bytes: u64,
    low_watermark: u32,
) -> Result<LayerModel, Failure> {
    LayerModel::new(&format!(
        "[device]\ncapacity = {disk_bytes}\nspare_factor = 0.1\npages_per_block = 512\n\
         [[log]]\nsegment_size = \"2 MiB\"\nspare_factor = 0.18\nfree_blocks_low = {low_watermark}\nplacement = {}\n\
         metadata = {{ preset = \"f2fs_{logs}\", checkpoint_every = {checkpoint_bytes} }}\n\
         [workload]\nkind = \"uniform\"\n",
        placement(logs)
    ))
}
