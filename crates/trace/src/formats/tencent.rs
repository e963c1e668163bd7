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

/// Maximum number of requests held back for an open second: about 200 MB. The whole service stays far below.
const HELD_REQUESTS: usize = 4 << 20;

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
    read: |_| Box::new(Spread::default()),
    write: Some(|_| Box::new(Tencent)),
};

struct Tencent;

impl LineFormat for Tencent {
    fn line(&mut self, line: &[u8], _: &mut Vec<Digest>) -> Result<Option<Request>, Bad> {
        let mut fields = Fields::commas(line);
        let time_ns = fields.time("Timestamp", SECOND_NS)?;
        let offset_bytes = fields.bytes("Offset", SECTOR_BYTES)?;
        let length_bytes = fields.bytes("Size", SECTOR_BYTES)?;
        let op = fields.coded("IOType", b'0', b'1', "0 (read) or 1 (write)")?;
        let volume = fields.u32("VolumeID")?;
        fields.end()?;
        // Spreading adds less than a second; the last second before 2^64 ns would overflow.
        if time_ns > u64::MAX - SECOND_NS {
            return Err(Bad::new("Timestamp", line, "a time that stays below 2^64 in ns"));
        }
        Ok(Some(Request { time_ns, op, volume, offset_bytes, length_bytes, hint: 0 }))
    }
}

impl Encode for Tencent {
    fn request(&mut self, request: &Request, _: Content<'_>, out: &mut Vec<u8>) -> Result<(), Reason> {
        let op = read_or_write(request.op, 0, 1)?;
        let (sector, sectors) = in_sectors(request)?;
        put!(out, "{},{sector},{sectors},{op},{}\n", request.time_ns / SECOND_NS, request.volume);
        Ok(())
    }
}

/// Holds requests back until their second is complete, then spreads them over it.
struct Spread {
    lines: Lines<Tencent>,
    held: VecDeque<Request>,
    /// State of each second with held requests.
    seconds: HashMap<u64, Second, FixedState>,
    latest_ns: u64,
    at_end: bool,
    step: RequestBatch,
}

#[derive(Clone, Copy, Default)]
struct Second {
    requests: u64,
    given_out: u64,
}

impl Default for Spread {
    fn default() -> Self {
        let lines = Lines::new(Tencent);
        let (held, seconds, step) = Default::default();
        Spread { lines, held, seconds, latest_ns: 0, at_end: false, step }
    }
}

impl Spread {
    fn hold_more(&mut self, input: &mut Input, sink: &mut Sink<'_>) -> Result<(), TraceError> {
        self.step.clear();
        // Requests of all volumes count for the spreading; volumes are filtered when requests are returned.
        self.lines.fill(input, &mut sink.detour(&mut self.step, STEP_REQUESTS))?;
        self.at_end = self.step.is_empty();
        for index in 0..self.step.len() {
            let request = self.step.get(index);
            self.latest_ns = self.latest_ns.max(request.time_ns);
            self.seconds.entry(request.time_ns).or_default().requests += 1;
            self.held.push_back(request);
        }
        Ok(())
    }

    /// Returns the first held request with its time within its second, if that second is complete.
    fn give_out(&mut self) -> Option<Request> {
        let start_ns = self.held.front()?.time_ns;
        let complete = self.at_end
            || start_ns.saturating_add(2 * SECOND_NS) <= self.latest_ns
            || self.held.len() >= HELD_REQUESTS;
        if !complete {
            return None;
        }
        let second = self.seconds.get_mut(&start_ns).expect("every held request is counted");
        let within_ns = u128::from(second.given_out) * u128::from(SECOND_NS) / u128::from(second.requests);
        second.given_out += 1;
        if second.given_out == second.requests {
            self.seconds.remove(&start_ns);
        }
        let mut request = self.held.pop_front()?;
        request.time_ns += within_ns as u64;
        Some(request)
    }
}

impl Decoder for Spread {
    fn fill(&mut self, input: &mut Input, sink: &mut Sink<'_>) -> Result<(), TraceError> {
        while sink.wants_more() {
            match self.give_out() {
                Some(request) => sink.accept(&request, 0).expect("checked when it was held"),
                None if self.at_end => return Ok(()),
                None => self.hold_more(input, sink)?,
            }
        }
        Ok(())
    }
}
