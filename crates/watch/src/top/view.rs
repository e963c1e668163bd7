//! Data shown by `top`, independent of its source.

use std::collections::BTreeMap;
use wearwell_engine::counters::Operation;
use wearwell_serve::{Reading, RequestReading};

/// Counters at one moment, since the drive was new or the file system was mounted.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Name of the drive or file system.
    pub title: String,
    /// Reason why the drive or file system accepts no writes, if it is at its end of life.
    pub failure: Option<String>,
    /// Writes of each layer to the layer below, by cause; the top layer comes first.
    pub writes: Vec<Writes>,
    /// Number of pages written by the host.
    pub host_pages: u64,
    /// Bytes per page.
    pub page_bytes: u64,
    /// Number of pages programmed.
    pub programs: u64,
    /// Number of blocks erased.
    pub erases: u64,
    /// Number of erased blocks available for writes, by layer.
    pub free: Vec<(String, u64)>,
    /// Erase counts of the blocks, if they are known.
    pub wear: Option<Wear>,
    /// Statistics of requests, by kind.
    pub requests: BTreeMap<String, RequestReading>,
    /// Further facts about the drive or file system, each with a name and a value.
    pub facts: Vec<(String, String)>,
}

/// Pages that a layer wrote to the layer below for one cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writes {
    /// Name of the layer.
    pub layer: String,
    /// Cause of the writes.
    pub cause: String,
    /// Number of pages written.
    pub pages: u64,
}

/// Erase counts of blocks.
#[derive(Clone, Debug, Default)]
pub struct Wear {
    /// Smallest erase count of a block.
    pub min: u32,
    /// Mean erase count of the blocks.
    pub mean: f64,
    /// Largest erase count of a block.
    pub max: u32,
    /// Rated number of erase cycles, if it is known.
    pub endurance: Option<u32>,
    /// Mean erase count of each group of neighbouring blocks, in block order; empty if unknown.
    pub map: Vec<f64>,
}

impl View {
    /// Builds the view of a drive.
    pub fn from_reading(reading: &Reading) -> View {
        let so_far = &reading.intermediate_result;
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
            failure: reading.failure.clone(),
            writes: writes.collect(),
            host_pages: so_far.host_pages,
            page_bytes: u64::from(so_far.device.page_bytes),
            programs: so_far.nand.programs,
            erases: so_far.nand.erases,
            free: so_far.layers.iter().filter_map(|layer| of_layer(&layer.name)).collect(),
            wear: Some(Wear {
                min: wear.erases_min,
                mean: wear.erases_mean,
                max: wear.erases_max,
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
