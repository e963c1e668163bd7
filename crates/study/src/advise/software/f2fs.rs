//! F2FS: Linux, `Documentation/filesystems/f2fs.rst` and `Documentation/ABI/testing/sysfs-fs-f2fs`; mkfs.f2fs(8).
//!
//! A segment of the model corresponds to a section, the unit that F2FS cleans. No option is given for sections that are
//! not whole multiples of segments of 2 MiB, nor for victim policies: F2FS selects the policy by foreground or
//! background cleaning.

use super::{OptionLine, Software, preset};
use crate::advise::layout;
use serde_json::Value;
use wearwell_stack::ByteSize;
use wearwell_stack::layers::MetadataConfig;

pub(super) const SOFTWARE: Software = Software {
    name: "F2FS",
    caveat: "F2FS: it takes a checkpoint by time as well as by need, and at each fsync with active_logs=2, and sends its discards \
             after one; the model counts bytes and flushes.",
    matches: |layer| preset(layer).starts_with("f2fs"),
    options,
};

const MOUNT: &str = "mount -t f2fs -o";
const MAKE: &str = "mkfs.f2fs";
const INTERVAL: &str = "/sys/fs/f2fs/<disk>/cp_interval";

/// Size of an F2FS segment.
const SEGMENT_BYTES: u64 = 2 << 20;

fn options(layer: &Value) -> Vec<OptionLine> {
    let mut lines = Vec::new();
    if let Some(logs) = preset(layer).strip_prefix("f2fs_") {
        lines.push(OptionLine::new(MOUNT, "active_logs", format!("active_logs={logs}")));
    }
    let section = layer["segment_size"].as_u64().unwrap_or(0);
    let segments = section / SEGMENT_BYTES;
    lines.extend(discards(&layer["trim"], segments));
    if segments > 0 && section.is_multiple_of(SEGMENT_BYTES) {
        lines.push(OptionLine::new(MAKE, "-s", format!("{MAKE} -s {segments}")));
    }
    if let Some(spare) = layer["spare_factor"].as_f64() {
        lines.push(OptionLine::new(MAKE, "-o", format!("{MAKE} -o {:.2}", spare * 100.0)));
    }
    let metadata = serde_json::from_value::<MetadataConfig>(layer["metadata"].clone()).ok();
    if let Some(every) = metadata.and_then(|metadata| layout::size_of(&metadata, "checkpoint_every")) {
        let text = format!("seconds in which {} are written to it", ByteSize(every));
        lines.push(OptionLine::new(INTERVAL, "cp_interval", text));
    }
    lines
}

fn discards(trim: &Value, segments: u64) -> Vec<OptionLine> {
    let line = |key, text: &str| OptionLine::new(MOUNT, key, text.to_owned());
    let unit = match trim {
        Value::Bool(false) => return vec![line("discard", "nodiscard")],
        Value::Object(table) if table.get("unit").is_some_and(|unit| unit == "page") => "block",
        _ if segments > 1 => "section",
        _ => "segment",
    };
    vec![line("discard", "discard"), line("discard_unit", &format!("discard_unit={unit}"))]
}
