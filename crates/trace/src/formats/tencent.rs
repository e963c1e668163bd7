//! Tencent Cloud Block Storage traces of 2018.

use std::collections::VecDeque;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::prelude::*;
use crate::decode::{Decoder, Sink};
use crate::error::TraceError;
use crate::input::Input;
use crate::request::RequestBatch;

/// Nanoseconds in a second.
const SECOND_NS: u64 = 1_000_000_000;

/// Maximum number of requests held back for an incomplete second: about 200 MB. The whole service has far fewer
/// requests in a second.
const MAX_PENDING_REQUESTS: usize = 4 << 20;

/// Requests parsed at a time.
const STEP_REQUESTS: usize = 4096;

/// The `tencent` format.
pub static FORMAT: Format = Format {
    name: "tencent",
    help: "Tencent CBS 2018: CSV without header, whole seconds, sectors, 0 reads and 1 writes",
    columns: "Timestamp[s since 1970],Offset[512 B],Size[sectors],IOType[0 read, 1 write],VolumeID. The requests of a \
              second, in file order, are spread evenly over it: the k-th of n gets k/n seconds more. A second \
              counts as complete when a timestamp two seconds later occurs, since neighbouring seconds are mixed \
              in the files; requests that come later still are spread on their own.",
    source: "SNIA IOTTA trace 28064, README; Zhang et al., OSCA, ATC 2020; spreading as in Wang et al., SepBIT, FAST 2022",
    extensions: &["csv"],
    time_step_ns: SECOND_NS,
    options: &[],
    detect: None, // five whole numbers, as in other formats
    read: |_| Box::new(SecondSpreader::default()),
    write: Some(|_| Box::new(Tencent)),
};

struct Tencent;

impl LineFormat for Tencent {
    fn line(&mut self, line: &[u8], _: &mut Vec<Digest>) -> Result<Option<Request>, BadValue> {
        let mut fields = Fields::commas(line);
        let time_ns = fields.time("Timestamp", SECOND_NS)?;
        let offset_bytes = fields.bytes("Offset", SECTOR_BYTES)?;
        let length_bytes = fields.bytes("Size", SECTOR_BYTES)?;
        let op = fields.op_code("IOType", b'0', b'1', "0 (read) or 1 (write)")?;
        let volume = fields.u32("VolumeID")?;
        fields.end()?;
        // Spreading adds less than a second; the last second before 2^64 ns would overflow.
        if time_ns > u64::MAX - SECOND_NS {
            return Err(BadValue::new("Timestamp", line, "a time that stays below 2^64 in ns"));
        }
        Ok(Some(Request { time_ns, op, volume, offset_bytes, length_bytes, hint: 0 }))
    }
}

impl Encoder for Tencent {
    fn encode(&mut self, request: &Request, _: RequestContent<'_>, out: &mut Vec<u8>) -> Result<(), Reason> {
        let op = read_or_write(request.op, 0, 1)?;
        let (sector, sectors) = in_sectors(request)?;
        put!(out, "{},{sector},{sectors},{op},{}\n", request.time_ns / SECOND_NS, request.volume);
        Ok(())
    }
}

/// Holds requests back until their second is complete, then spreads the requests over that second.
struct SecondSpreader {
    lines: Lines<Tencent>,
    pending: VecDeque<Request>,
    /// State of each second with pending requests.
    seconds: HashMap<u64, SecondCounts, FixedState>,
    latest_ns: u64,
    is_at_end: bool,
    step: RequestBatch,
}

#[derive(Clone, Copy, Default)]
struct SecondCounts {
    requests: u64,
    returned: u64,
}

impl Default for SecondSpreader {
    fn default() -> Self {
        let lines = Lines::new(Tencent);
        let (pending, seconds, step) = Default::default();
        SecondSpreader { lines, pending, seconds, latest_ns: 0, is_at_end: false, step }
    }
}

impl SecondSpreader {
    fn read_pending(&mut self, input: &mut Input, sink: &mut Sink<'_>) -> Result<(), TraceError> {
        self.step.clear();
        // Requests of all volumes count for the spreading; volumes are filtered when requests are returned.
        self.lines.fill(input, &mut sink.redirect(&mut self.step, STEP_REQUESTS))?;
        self.is_at_end = self.step.is_empty();
        for index in 0..self.step.len() {
            let request = self.step.get(index);
            self.latest_ns = self.latest_ns.max(request.time_ns);
            self.seconds.entry(request.time_ns).or_default().requests += 1;
            self.pending.push_back(request);
        }
        Ok(())
    }

    /// Returns the first pending request, with a time within its second, if that second is complete.
    fn next_spread(&mut self) -> Option<Request> {
        let start_ns = self.pending.front()?.time_ns;
        let is_complete = self.is_at_end
            || start_ns.saturating_add(2 * SECOND_NS) <= self.latest_ns
            || self.pending.len() >= MAX_PENDING_REQUESTS;
        if !is_complete {
            return None;
        }
        let second = self.seconds.get_mut(&start_ns).expect("every held request is counted");
        let within_ns = u128::from(second.returned) * u128::from(SECOND_NS) / u128::from(second.requests);
        second.returned += 1;
        if second.returned == second.requests {
            self.seconds.remove(&start_ns);
        }
        let mut request = self.pending.pop_front()?;
        request.time_ns += within_ns as u64;
        Some(request)
    }
}

impl Decoder for SecondSpreader {
    fn fill(&mut self, input: &mut Input, sink: &mut Sink<'_>) -> Result<(), TraceError> {
        while sink.has_room() {
            match self.next_spread() {
                Some(request) => sink.accept(&request, 0).expect("checked when it was held"),
                None if self.is_at_end => return Ok(()),
                None => self.read_pending(input, sink)?,
            }
        }
        Ok(())
    }
}
