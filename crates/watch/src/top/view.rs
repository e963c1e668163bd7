//! What is seen of something that writes to flash, whatever it is.

use std::collections::BTreeMap;
use wearwell_engine::counters::Operation;
use wearwell_serve::{Reading, RequestReading};

/// What is seen at one moment. Counts are since the drive was new, or the file system mounted.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// What is looked at.
    pub title: String,
    /// Why it takes no more writes, if so.
    pub died: Option<String>,
    /// What each layer wrote below, from the top, by cause.
    pub writes: Vec<Writes>,
    /// Pages that came in at the top.
    pub host_pages: u64,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Pages programmed.
    pub programs: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Erased blocks that wait to be written, by layer.
    pub free: Vec<(String, u64)>,
    /// How often blocks were erased.
    pub wear: Option<Wear>,
    /// Requests, by what they ask for.
    pub requests: BTreeMap<String, RequestReading>,
    /// Whatever else there is to say: name and value.
    pub facts: Vec<(String, String)>,
}

/// Pages that a layer wrote below for one cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writes {
    /// The layer.
    pub layer: String,
    /// Why.
    pub cause: String,
    /// Pages.
    pub pages: u64,
}

/// Erases of blocks.
#[derive(Clone, Debug, Default)]
pub struct Wear {
    /// Of the block that was erased least.
    pub least: u32,
    /// Mean.
    pub mean: f64,
    /// Of the block that was erased most.
    pub most: u32,
    /// After which a block is worn out, where that is known.
    pub endurance: Option<u32>,
    /// Mean erases of neighbouring blocks, in their order; empty where that is not told.
    pub map: Vec<f64>,
}

impl View {
    /// Of a drive.
    pub fn of_drive(reading: &Reading) -> View {
        let so_far = &reading.so_far;
        let write = Operation::Write.name();
        let writes = so_far.layers.iter().flat_map(|layer| {
            layer.outgoing.iter().filter_map(|(cause, amounts)| {
                Some(Writes { layer: layer.name.clone(), cause: cause.clone(), pages: *amounts.get(write)? })
            })
        });
        let of_layer = |layer: &str| Some((layer.to_owned(), u64::from(*reading.erased_blocks.get(layer)?)));
        let wear = &so_far.wear;
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        View {
            title: reading.name.clone().unwrap_or_else(|| "a live drive".into()),
            died: reading.died.clone(),
            writes: writes.collect(),
            host_pages: so_far.host_pages,
            page_bytes: u64::from(so_far.device.page_bytes),
            programs: so_far.nand.programs,
            erases: so_far.nand.erases,
            free: so_far.layers.iter().filter_map(|layer| of_layer(&layer.name)).collect(),
            wear: Some(Wear {
                least: wear.erases_min,
                mean: wear.erases_mean,
                most: wear.erases_max,
                endurance: reading.endurance_cycles,
                map: wear.map.as_ref().map(|map| map.erases.clone()).unwrap_or_default(),
            }),
            requests: reading.requests.clone(),
            facts: vec![
                ("blocks".into(), so_far.device.blocks.to_string()),
                ("bad blocks".into(), wear.bad_blocks.to_string()),
                (
                    "held, MiB".into(),
                    format!("{:.0} of {:.0}", mib(reading.content_bytes), mib(reading.bytes)),
                ),
            ],
        }
    }
}
