//! Drive: spare space can only be increased by leaving part of the drive unused: sfdisk(8), blkdiscard(8).

use super::{OptionLine, Software};
use serde_json::Value;

pub(super) const SOFTWARE: Software = Software {
    name: "drive",
    caveat: "Drive: what a smaller partition leaves is spare space if it is trimmed once; a larger one than the drive shows needs \
             a drive with less spare space.",
    matches: |values| values["blocks_per_plane"].is_u64(),
    options,
};

fn options(device: &Value) -> Vec<OptionLine> {
    let capacity = device["capacity"].as_u64();
    capacity
        .map(|bytes| OptionLine::new("sfdisk", "size", format!("size={}KiB", bytes / 1024)))
        .into_iter()
        .collect()
}
