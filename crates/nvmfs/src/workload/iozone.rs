//! Random write test of IOzone on one large file.

use super::kind::Kind;
use super::order::{NumberSource, Order, order_and_skew};
use super::size::{given_twice, request_bytes, require, require_ratio, require_request, share_of};
use super::stream::{Queue, StepGenerator, Stream};
use super::{FileId, FileOp, FileWorkload};
use rand::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wearwell_base::config::ConfigError;
use wearwell_base::seed::{Random, Seed};

/// One file, written sequentially; then random records of it are written (or read).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Iozone {
    /// Size of the file. Default: derived from `utilisation`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_bytes: Option<u64>,
    /// Fraction of the capacity that the file uses; default 0.6.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub utilisation: Option<f64>,
    /// Order of the records.
    #[serde(default)]
    pub order: Order,
    /// Exponent of Zipf's law, above 0, with `order = "zipf"`: the record of rank `k` is drawn in
    /// proportion to `k^-skew`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skew: Option<f64>,
    /// Fraction of the operations that are reads.
    #[serde(default)]
    pub read_share: f64,
    /// Bytes of a record, the unit of all requests.
    #[serde(default = "request_bytes")]
    pub request_bytes: u32,
    /// Number of records written or read; unlimited by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<u64>,
}

impl Kind for Iozone {
    fn build(&self, capacity_bytes: u64, seed: Seed) -> Result<Box<dyn FileWorkload>, ConfigError> {
        require_request(self.request_bytes)?;
        require_ratio("read_share", self.read_share)?;
        let bytes = match (self.file_bytes, self.utilisation) {
            (Some(_), Some(_)) => return Err(given_twice("file_bytes")),
            (Some(bytes), None) => bytes,
            (None, utilisation) => share_of(capacity_bytes, utilisation)? as u64,
        };
        let records = bytes / u64::from(self.request_bytes);
        let allowed = "must hold from 1 to 2^31 records";
        require((1..=1 << 31).contains(&records), "file_bytes", bytes, allowed)?;
        let generator = IozoneGenerator {
            record_bytes: u64::from(self.request_bytes),
            records: records as u32,
            draws: NumberSource::new(records as u32, order_and_skew(Some(self.order), self.skew)?, seed),
            read_share: self.read_share,
            set_up: false,
        };
        Ok(Stream::boxed(generator, self.operations, self.request_bytes, seed))
    }
}

struct IozoneGenerator {
    record_bytes: u64,
    records: u32,
    draws: NumberSource,
    read_share: f64,
    set_up: bool,
}

impl StepGenerator for IozoneGenerator {
    fn set_up(&mut self, _random: &mut Random, queue: &mut Queue) {
        if !std::mem::replace(&mut self.set_up, true) {
            let file = FileId(0);
            queue.push_back(FileOp::Create { file, directory: None });
            queue.push_back(FileOp::Append { file, bytes: u64::from(self.records) * self.record_bytes });
        }
    }

    fn step(&mut self, random: &mut Random, queue: &mut Queue) {
        let file = FileId(0);
        let bytes = self.record_bytes;
        let offset_bytes = u64::from(self.draws.next(random)) * bytes;
        queue.push_back(if random.random_bool(self.read_share) {
            FileOp::Read { file, offset_bytes, bytes }
        } else {
            FileOp::Write { file, offset_bytes, bytes }
        });
    }
}
