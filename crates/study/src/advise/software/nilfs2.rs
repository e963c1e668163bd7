//! NILFS2: mkfs.nilfs2(8), mount.nilfs2(8).

use super::{OptionLine, Software, preset};
use serde_json::Value;

pub(super) const SOFTWARE: Software = Software {
    name: "NILFS2",
    caveat: "NILFS2: its cleaner is a program of its own that takes the oldest segments; the model cleans by the policy of the scenario.",
    matches: |layer| preset(layer) == "nilfs2",
    options,
};

const MOUNT: &str = "mount -t nilfs2 -o";
const MAKE: &str = "mkfs.nilfs2";

/// Default block size of NILFS2, in bytes.
const BLOCK_BYTES: u64 = 4096;

/// Minimum number of blocks per segment: Linux, `include/uapi/linux/nilfs2_ondisk.h`.
const MIN_BLOCKS_PER_SEGMENT: u64 = 16;

fn options(layer: &Value) -> Vec<OptionLine> {
    let blocks = layer["segment_size"].as_u64().unwrap_or(0) / BLOCK_BYTES;
    let reserved = layer["spare_factor"].as_f64().map(|spare| format!("{MAKE} -m {:.0}", spare * 100.0));
    let discard = if layer["trim"] == false { "nodiscard" } else { "discard" };
    let mut lines = vec![OptionLine::new(MOUNT, "discard", discard.to_owned())];
    if blocks >= MIN_BLOCKS_PER_SEGMENT {
        lines.push(OptionLine::new(MAKE, "-B", format!("{MAKE} -B {blocks}")));
    }
    lines.extend(reserved.map(|text| OptionLine::new(MAKE, "-m", text)));
    lines
}
