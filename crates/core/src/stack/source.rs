//! What drives a stack: a synthetic workload without end, or a trace replayed in a loop.

use super::scenario::{AddressRule, TraceConfig, VolumeRule};
use crate::trace::{self, Op, ReadOptions, RequestBatch, TraceError, TraceReader};
use crate::units::Lpn;
use crate::workload::{PageBatch, Workload};
use std::collections::{BTreeMap, HashMap};

/// Requests read from a trace at a time.
const REQUESTS: usize = 1024;

/// A trace that does not fit the drive.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A request past the drive's end.
    #[error(
        "{path}: request {request} ends at byte {end}, the drive has {capacity}; enlarge `device.capacity`, or choose \
         `trace.address`: wrap, scale or compact"
    )]
    PastEnd {
        /// The trace.
        path: String,
        /// Number of the request, from 1.
        request: u64,
        /// One past its last byte.
        end: u64,
        /// Bytes of the drive.
        capacity: u64,
    },
    /// More distinct pages than the drive has.
    #[error(
        "{path}: request {request}: the trace touches more than the drive's {pages} pages; enlarge `device.capacity`"
    )]
    TooManyPages {
        /// The trace.
        path: String,
        /// Number of the request, from 1.
        request: u64,
        /// Pages of the drive.
        pages: u32,
    },
    /// A second volume where one was expected.
    #[error(
        "{path}: request {request} is for volume {volume}, earlier ones for volume {first}; name one in \
         `trace.volumes`, or choose `trace.volume_rule`: side_by_side or overlay"
    )]
    SecondVolume {
        /// The trace.
        path: String,
        /// Number of the request, from 1.
        request: u64,
        /// Its volume.
        volume: u32,
        /// The volume of those before.
        first: u32,
    },
    /// Nothing to write.
    #[error("{path}: no request writes anything, so there is nothing to simulate")]
    NoWrites {
        /// The trace.
        path: String,
    },
}

/// Where a stack's page operations come from.
pub(super) trait Source {
    /// Appends operations to `batch`: `pages` pages or a little more, or less at the end of a pass.
    fn fill(&mut self, batch: &mut PageBatch, pages: usize) -> Result<(), SourceError>;

    /// Passes completed; `None` for a source without end.
    fn passes(&self) -> Option<u64>;

    /// Requests that could not be read and were skipped, over all passes.
    fn skipped(&self) -> u64 {
        0
    }

    /// A number drawn from the source's generator; ends its use.
    fn final_draw(&mut self) -> u64;
}

impl Source for Box<dyn Workload> {
    fn fill(&mut self, batch: &mut PageBatch, pages: usize) -> Result<(), SourceError> {
        (**self).fill(batch, pages);
        Ok(())
    }

    fn passes(&self) -> Option<u64> {
        None
    }

    fn final_draw(&mut self) -> u64 {
        (**self).final_draw()
    }
}

/// A trace, begun again at its end.
pub(super) struct TraceReplay {
    config: TraceConfig,
    path: String,
    addresses: Addresses,
    page_bytes: u64,
    reader: TraceReader,
    requests: RequestBatch,
    /// The next of `requests` to be replayed.
    next: usize,
    /// Number of that request in the trace, from 1.
    number: u64,
    passes: u64,
    wrote: bool,
    skipped: u64,
}

impl TraceReplay {
    /// The trace on a drive of `logical_pages` pages; reads it through once where a rule needs to know its extent.
    pub fn new(config: &TraceConfig, logical_pages: u32, page_bytes: u32) -> Result<Self, SourceError> {
        let needs_extent =
            config.address == AddressRule::Scale || config.volume_rule == VolumeRule::SideBySide;
        let volume_bytes = if needs_extent { extent(config)? } else { BTreeMap::new() };
        Ok(TraceReplay {
            path: config.path.display().to_string(),
            addresses: Addresses::new(config, volume_bytes, logical_pages, u64::from(page_bytes)),
            page_bytes: u64::from(page_bytes),
            reader: open(config)?,
            config: config.clone(),
            requests: RequestBatch::default(),
            next: 0,
            number: 1,
            passes: 0,
            wrote: false,
            skipped: 0,
        })
    }

    /// Reads the next requests; at the end of the trace goes back to its beginning and reads none.
    fn read_on(&mut self) -> Result<bool, SourceError> {
        self.requests.clear();
        self.next = 0;
        if self.reader.read_batch(&mut self.requests, REQUESTS)? > 0 {
            return Ok(true);
        }
        if !self.wrote {
            return Err(SourceError::NoWrites { path: self.path.clone() });
        }
        self.passes += 1;
        self.skipped += self.reader.skipped().count;
        self.number = 1;
        self.reader = open(&self.config)?;
        Ok(false)
    }

    fn replay(&mut self, at: usize, batch: &mut PageBatch) -> Result<(), SourceError> {
        let request = self.requests.get(at);
        if request.op == Op::Flush {
            batch.push_request(Op::Flush, request.hint, Lpn(0), 0);
            return Ok(());
        }
        if request.op == Op::Trim && !self.config.trim {
            return Ok(());
        }
        self.wrote |= request.op == Op::Write;
        let (offset, length) = (request.offset_bytes, request.length_bytes);
        let end =
            self.addresses.base(request.volume, &self.path, self.number)?.saturating_add(offset + length);
        let start = end - length;
        // A write or read touches every page it overlaps; a trim frees only pages it covers whole.
        let (first, last) = match request.op {
            Op::Trim => (start.div_ceil(self.page_bytes), end / self.page_bytes),
            _ => (start / self.page_bytes, end.div_ceil(self.page_bytes)),
        };
        let refusal = self.addresses.append(batch, request.op, request.hint, first, last.max(first));
        refusal.map_err(|refusal| refusal.into_error(&self.path, self.number, end))
    }
}

impl Source for TraceReplay {
    fn fill(&mut self, batch: &mut PageBatch, pages: usize) -> Result<(), SourceError> {
        let wanted = batch.pages.len() + pages;
        while batch.pages.len() < wanted {
            if self.next == self.requests.len() && !self.read_on()? {
                break;
            }
            self.replay(self.next, batch)?;
            self.next += 1;
            self.number += 1;
        }
        Ok(())
    }

    fn passes(&self) -> Option<u64> {
        Some(self.passes)
    }

    fn skipped(&self) -> u64 {
        self.skipped + self.reader.skipped().count
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
    trace::open(&config.path, &options)
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

/// How a request fails to fit, before it is known which request it was.
enum Refusal {
    PastEnd { capacity: u64 },
    TooManyPages { pages: u32 },
}

impl Refusal {
    fn into_error(self, path: &str, request: u64, end: u64) -> SourceError {
        let path = path.to_owned();
        match self {
            Refusal::PastEnd { capacity } => SourceError::PastEnd { path, request, end, capacity },
            Refusal::TooManyPages { pages } => SourceError::TooManyPages { path, request, pages },
        }
    }
}

/// From a volume's bytes to the drive's pages.
struct Addresses {
    rule: AddressRule,
    volume_rule: VolumeRule,
    logical_pages: u32,
    page_bytes: u64,
    /// First byte of each volume, where they lie side by side.
    bases: HashMap<u32, u64>,
    first_volume: Option<u32>,
    /// Pages of the whole trace, for scaling.
    span_pages: u64,
    /// Numbers given to pages so far, for compacting.
    numbers: HashMap<u64, u32>,
}

impl Addresses {
    fn new(
        config: &TraceConfig,
        volume_bytes: BTreeMap<u32, u64>,
        logical_pages: u32,
        page_bytes: u64,
    ) -> Self {
        let mut bases = HashMap::new();
        let mut next = 0u64;
        let mut highest = 0;
        for (volume, bytes) in volume_bytes {
            let whole = bytes.div_ceil(page_bytes).saturating_mul(page_bytes);
            bases.insert(volume, next);
            next = next.saturating_add(whole);
            highest = highest.max(whole);
        }
        let span = if config.volume_rule == VolumeRule::SideBySide { next } else { highest };
        Addresses {
            rule: config.address,
            volume_rule: config.volume_rule,
            logical_pages,
            page_bytes,
            bases,
            first_volume: None,
            span_pages: (span / page_bytes).max(1),
            numbers: HashMap::new(),
        }
    }

    /// Where the volume begins.
    fn base(&mut self, volume: u32, path: &str, request: u64) -> Result<u64, SourceError> {
        match self.volume_rule {
            VolumeRule::Overlay => Ok(0),
            VolumeRule::SideBySide => Ok(self.bases[&volume]),
            VolumeRule::Single => {
                let first = *self.first_volume.get_or_insert(volume);
                if first == volume {
                    return Ok(0);
                }
                Err(SourceError::SecondVolume { path: path.to_owned(), request, volume, first })
            }
        }
    }

    /// Appends the request for the trace's pages `first .. last`, in runs of consecutive device pages.
    fn append(
        &mut self,
        batch: &mut PageBatch,
        op: Op,
        hint: u16,
        first: u64,
        last: u64,
    ) -> Result<(), Refusal> {
        let pages = u64::from(self.logical_pages);
        if self.rule == AddressRule::Direct {
            if last > pages {
                return Err(Refusal::PastEnd { capacity: pages * self.page_bytes });
            }
            if last > first {
                batch.push_request(op, hint, Lpn(first as u32), (last - first) as u32);
            }
            return Ok(());
        }
        // No request needs to touch any page of the drive twice. Compacted, one that is longer than the drive has too
        // many pages, and is left to be refused.
        let longest = if self.rule == AddressRule::Compact { u64::MAX } else { self.span_pages.max(pages) };
        let last = last.min(first.saturating_add(longest));
        let mut run: Option<(u32, u32)> = None;
        for page in first..last {
            let Some(mapped) = self.map(page, op)? else { continue };
            run = match run {
                Some((start, length)) if start + length == mapped => Some((start, length + 1)),
                // Scaling down maps neighbours to the same page, which one request touches once.
                Some((start, length)) if length > 0 && start + length - 1 == mapped => Some((start, length)),
                Some((start, length)) => {
                    batch.push_request(op, hint, Lpn(start), length);
                    Some((mapped, 1))
                }
                None => Some((mapped, 1)),
            };
        }
        if let Some((start, length)) = run {
            batch.push_request(op, hint, Lpn(start), length);
        }
        Ok(())
    }

    /// The device page of a page of the trace; `None` for a trim of a page never seen.
    fn map(&mut self, page: u64, op: Op) -> Result<Option<u32>, Refusal> {
        let pages = u64::from(self.logical_pages);
        match self.rule {
            AddressRule::Direct => unreachable!("handled by the caller"),
            AddressRule::Wrap => Ok(Some((page % pages) as u32)),
            AddressRule::Scale => {
                let scaled = u128::from(page) * u128::from(pages) / u128::from(self.span_pages);
                Ok(Some(scaled.min(u128::from(pages - 1)) as u32))
            }
            AddressRule::Compact => {
                if let Some(&number) = self.numbers.get(&page) {
                    return Ok(Some(number));
                }
                if op == Op::Trim {
                    return Ok(None);
                }
                let number = self.numbers.len() as u32;
                if number == self.logical_pages {
                    return Err(Refusal::TooManyPages { pages: self.logical_pages });
                }
                self.numbers.insert(page, number);
                Ok(Some(number))
            }
        }
    }
}
