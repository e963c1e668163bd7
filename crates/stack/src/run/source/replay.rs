//! A trace as a source.

use super::addresses::Addresses;
use super::clock::{Late, SORT_WINDOW, Sorter, TraceClock};
use super::digests::{Digested, Digests, Missing};
use super::{FirstPass, Source, SourceError, Wants};
use crate::scenario::{AddressRule, Backwards, MissingDigests, TraceConfig, VolumeRule};
use std::collections::BTreeMap;
use wearwell_base::units::Lpn;
use wearwell_engine::layer::Content;
use wearwell_trace::{Op, ReadOptions, RequestBatch, TraceError, TraceReader};
use wearwell_workload::PageBatch;

/// Requests read from a trace at a time.
const REQUESTS: usize = 1024;

/// A trace, begun again at its end.
pub struct TraceReplay {
    config: TraceConfig,
    path: String,
    addresses: Addresses,
    page_bytes: u64,
    reader: TraceReader,
    requests: RequestBatch,
    /// Their numbers in the trace, from 1, where they were put into another order.
    numbers: Vec<u64>,
    /// The next of `requests` to be replayed.
    next: usize,
    /// Requests read in this pass.
    read: u64,
    passes: u64,
    first_pass: FirstPass,
    /// Whether any request asks for a page.
    asked: bool,
    skipped: u64,
    /// Where the run wants contents.
    digests: Option<Digests>,
    /// Where the run wants times.
    clock: Option<TraceClock>,
    sorter: Option<Sorter>,
}

impl TraceReplay {
    /// The trace on a drive of `logical_pages` pages; reads it through once where a rule needs to know its extent.
    ///
    /// Contents, if wanted, are taken from the trace's digests.
    pub fn new(
        config: &TraceConfig,
        logical_pages: u32,
        page_bytes: u32,
        wants: &Wants,
    ) -> Result<Self, SourceError> {
        let needs_extent =
            config.address == AddressRule::Scale || config.volume_rule == VolumeRule::SideBySide;
        let volume_bytes = if needs_extent { extent(config)? } else { BTreeMap::new() };
        let page_bytes = u64::from(page_bytes);
        let digests = || Digests::new(page_bytes, config.missing_digests, config.repeat_contents);
        let clock = wants.time.as_ref().map(|clock| TraceClock::new(config.backwards, clock.speed_up));
        Ok(TraceReplay {
            path: config.path.display().to_string(),
            addresses: Addresses::new(config, volume_bytes, logical_pages, page_bytes),
            page_bytes,
            reader: open(config)?,
            config: config.clone(),
            requests: RequestBatch::default(),
            numbers: Vec::new(),
            next: 0,
            read: 0,
            passes: 0,
            first_pass: FirstPass::default(),
            asked: false,
            skipped: 0,
            digests: wants.contents.then(digests),
            sorter: (clock.is_some() && config.backwards == Backwards::Sort).then(Sorter::default),
            clock,
        })
    }

    /// Share of the trace that was read in this pass; 0 where its length is not known.
    pub fn share_read(&self) -> f64 {
        match self.reader.total_bytes() {
            Some(bytes) if bytes > 0 => self.reader.bytes_read() as f64 / bytes as f64,
            _ => 0.0,
        }
    }

    /// Pages that were read or written so far; only with the rule `compact`.
    pub fn touched_pages(&self) -> u64 {
        self.addresses.numbered_pages()
    }

    /// One past the last page of the trace so far.
    pub fn end_page(&self) -> u64 {
        self.addresses.end_page()
    }

    /// Reads the next requests; at the end of the trace goes back to its beginning and reads none.
    fn read_on(&mut self) -> Result<bool, SourceError> {
        self.requests.clear();
        self.next = 0;
        while self.requests.is_empty() {
            let limit = if self.sorter.is_some() { SORT_WINDOW } else { REQUESTS };
            let count = self.reader.read_batch(&mut self.requests, limit)?;
            if let Some(sorter) = &mut self.sorter {
                sorter.sort(&mut self.requests, self.read + 1, &mut self.numbers);
            }
            self.read += count as u64;
            if count == 0 && self.requests.is_empty() {
                return self.begin_again();
            }
        }
        let carries_digests =
            self.requests.digest_bytes > 0 || self.config.missing_digests == MissingDigests::Unique;
        if self.digests.is_some() && !carries_digests {
            let format = self.reader.format().name;
            return Err(SourceError::NoDigests { path: self.path.clone(), format });
        }
        Ok(true)
    }

    fn begin_again(&mut self) -> Result<bool, SourceError> {
        if !self.asked {
            return Err(SourceError::NoPages { path: self.path.clone() });
        }
        self.passes += 1;
        self.skipped += self.reader.skipped().count;
        self.read = 0;
        self.reader = open(&self.config)?;
        self.digests.iter_mut().for_each(Digests::begin_pass);
        self.clock.iter_mut().for_each(TraceClock::end_pass);
        Ok(false)
    }

    /// The number in the trace, from 1, of one of the requests in hand.
    fn number(&self, at: usize) -> u64 {
        let in_order = || self.read - (self.requests.len() - at) as u64 + 1;
        self.numbers.get(at).copied().unwrap_or_else(in_order)
    }

    fn replay(&mut self, at: usize, batch: &mut PageBatch) -> Result<(), SourceError> {
        let request = self.requests.get(at);
        let number = self.number(at);
        if self.passes == 0 {
            self.first_pass.arrived(request.time_ns);
        }
        if let Some(clock) = &mut self.clock {
            clock.advance(request.time_ns).map_err(|late| self.late(number, late))?;
        }
        if request.op == Op::Flush {
            batch.push_request(Op::Flush, request.hint, Lpn(0), 0);
            return Ok(());
        }
        if request.op == Op::Trim && !self.config.trim {
            return Ok(());
        }
        self.asked = true;
        let (offset, length) = (request.offset_bytes, request.length_bytes);
        let end = self.addresses.base(request.volume, &self.path, number)?.saturating_add(offset + length);
        let start = end - length;
        // A write or read touches every page it overlaps; a trim frees only pages it covers whole.
        let (first, last) = match request.op {
            Op::Trim => (start.div_ceil(self.page_bytes), end / self.page_bytes),
            _ => (start / self.page_bytes, end.div_ceil(self.page_bytes)),
        };
        let pages = first..last.max(first);
        if self.passes == 0 && request.op == Op::Write {
            self.first_pass.written_bytes += (pages.end - pages.start) * self.page_bytes;
        }
        let digested = Digested {
            start,
            end,
            digests: self.requests.digests_of(at),
            digest_bytes: self.requests.digest_bytes,
        };
        let refusal = match &mut self.digests {
            Some(digests) if request.op == Op::Write => {
                digests.check(&digested).map_err(|missing| missing.into_error(&self.path, number))?;
                let mut content = |page| digests.content(&digested, page);
                self.addresses.append(batch, request.op, request.hint, pages, Some(&mut content))
            }
            _ => self.addresses.append(batch, request.op, request.hint, pages, None),
        };
        if self.passes == 0 {
            self.first_pass.unnumbered_trims = self.addresses.unnumbered_trims();
        }
        if self.digests.is_some() {
            batch.dress(|_| Content::UNKNOWN);
        }
        refusal.map_err(|refusal| refusal.into_error(&self.path, number, end))
    }

    fn late(&self, request: u64, Late { time_ns, before_ns }: Late) -> SourceError {
        let choices = match self.config.backwards {
            Backwards::Sort => "clamp (sort looks ahead no further than 4096 requests)",
            _ => "clamp (such a request arrives with the one in front) or sort (within 4096 requests)",
        };
        SourceError::Backwards { path: self.path.clone(), request, time_ns, before_ns, choices }
    }
}

impl Missing {
    fn into_error(self, path: &str, request: u64) -> SourceError {
        let problem = match self {
            Missing::None => "has no digest".to_owned(),
            Missing::Count { found, expected } => {
                format!("has {found} digests where its length asks for {expected}")
            }
            Missing::Size { digest_bytes } => {
                format!("has a digest for each {digest_bytes} bytes, which do not divide the page size")
            }
        };
        SourceError::MissingDigests { path: path.to_owned(), request, problem }
    }
}

impl Source for TraceReplay {
    fn fill(&mut self, batch: &mut PageBatch, pages: usize) -> Result<(), SourceError> {
        let (wanted, runs) = (batch.pages.len() + pages, batch.runs.len());
        while batch.pages.len() < wanted {
            if self.next == self.requests.len() && !self.read_on()? {
                break;
            }
            self.replay(self.next, batch)?;
            self.next += 1;
            // A flush has no pages, but is a request.
            if pages == 1 && batch.runs.len() > runs {
                break;
            }
        }
        Ok(())
    }

    fn passes(&self) -> Option<u64> {
        Some(self.passes)
    }

    fn skipped(&self) -> u64 {
        self.skipped + self.reader.skipped().count
    }

    fn first_pass(&self) -> Option<FirstPass> {
        Some(self.first_pass)
    }

    fn arrival_ns(&self) -> Option<u64> {
        self.clock.as_ref().and_then(TraceClock::arrival_ns)
    }

    fn final_draw(&mut self) -> u64 {
        self.passes
    }
}

fn open(config: &TraceConfig) -> Result<TraceReader, TraceError> {
    let options = ReadOptions {
        format: config.format.clone(),
        skip_bad: config.skip_bad,
        volumes: config.volumes.clone(),
        options: config.options.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
    };
    wearwell_trace::open(&config.path, &options)
}

/// One past the highest byte of each volume.
fn extent(config: &TraceConfig) -> Result<BTreeMap<u32, u64>, TraceError> {
    let mut reader = open(config)?;
    let mut requests = RequestBatch::default();
    let mut ends = BTreeMap::new();
    while reader.read_batch(&mut requests, REQUESTS)? > 0 {
        for (at, &volume) in requests.volume.iter().enumerate() {
            let end = requests.offset_bytes[at].saturating_add(requests.length_bytes[at]);
            let highest = ends.entry(volume).or_insert(0);
            *highest = end.max(*highest);
        }
        requests.clear();
    }
    Ok(ends)
}
