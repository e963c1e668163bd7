//! fatcache, README.md.

use super::{OptionLine, Software, preset};
use serde_json::Value;

pub(super) const SOFTWARE: Software = Software {
    name: "fatcache",
    caveat: "fatcache: what a larger slab does to the hit ratio is not modelled, and it does not discard.",
    matches: |layer| preset(layer) == "fatcache",
    options,
};

fn options(layer: &Value) -> Vec<OptionLine> {
    let slab = layer["segment_size"].as_u64();
    slab.map(|bytes| OptionLine::new("fatcache", "--slab-size", format!("fatcache --slab-size={bytes}")))
        .into_iter()
        .collect()
}
