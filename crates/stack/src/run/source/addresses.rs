//! From a trace's volumes and bytes to the pages of the drive.

use super::SourceError;
use crate::scenario::{AddressRule, TraceConfig, VolumeRule};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use wearwell_base::units::Lpn;
use wearwell_engine::layer::Content;
use wearwell_trace::Op;
use wearwell_workload::PageBatch;

/// How a request fails to fit, before it is known which request it was.
pub enum Refusal {
    PastEnd { capacity: u64 },
    TooManyPages { pages: u32 },
}

impl Refusal {
    pub fn into_error(self, path: &str, request: u64, end: u64) -> SourceError {
        let path = path.to_owned();
        match self {
            Refusal::PastEnd { capacity } => SourceError::PastEnd { path, request, end, capacity },
            Refusal::TooManyPages { pages } => SourceError::TooManyPages { path, request, pages },
        }
    }
}

/// From a volume's bytes to the drive's pages.
pub struct Addresses {
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
    /// One past the last page of the trace so far.
    end_page: u64,
    /// Pages of discards that were passed over, because they had no number.
    unnumbered_trims: u64,
}

impl Addresses {
    pub fn new(
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
            end_page: 0,
            unnumbered_trims: 0,
        }
    }

    /// Pages that were read or written so far, where they are compacted.
    pub fn numbered_pages(&self) -> u64 {
        self.numbers.len() as u64
    }

    /// One past the last page of the trace so far.
    pub fn end_page(&self) -> u64 {
        self.end_page
    }

    /// Pages of discards that were passed over: compacted, a page has no place on the drive before it is read or written.
    pub fn unnumbered_trims(&self) -> u64 {
        self.unnumbered_trims
    }

    /// Where the volume begins.
    pub fn base(&mut self, volume: u32, path: &str, request: u64) -> Result<u64, SourceError> {
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

    /// Appends the request for the trace's `pages`, in runs of consecutive device pages; where `content` is given, also
    /// what it says that each of these pages of the trace holds.
    pub fn append(
        &mut self,
        batch: &mut PageBatch,
        op: Op,
        hint: u16,
        Range { start: first, end: last }: Range<u64>,
        mut content: Option<&mut dyn FnMut(u64) -> Content>,
    ) -> Result<(), Refusal> {
        let pages = u64::from(self.logical_pages);
        self.end_page = self.end_page.max(last);
        if self.rule == AddressRule::Compact && op == Op::Trim {
            self.append_numbered_trim(batch, hint, first..last);
            return Ok(());
        }
        if self.rule == AddressRule::Direct {
            if last > pages {
                return Err(Refusal::PastEnd { capacity: pages * self.page_bytes });
            }
            if last > first {
                batch.push_request(op, hint, Lpn(first as u32), (last - first) as u32);
                batch.contents.extend(content.into_iter().flat_map(|content| (first..last).map(content)));
            }
            return Ok(());
        }
        // No request needs to touch any page of the drive twice. Compacted, one that is longer than the drive has too
        // many pages, and is left to be refused.
        let longest = if self.rule == AddressRule::Compact { u64::MAX } else { self.span_pages.max(pages) };
        let last = last.min(first.saturating_add(longest));
        let mut run: Option<(u32, u32)> = None;
        for page in first..last {
            let mapped = self.map(page)?;
            let is_repeated = run.is_some_and(|(start, length)| start + length - 1 == mapped);
            if let Some(content) = &mut content {
                // Of neighbours that fall on one page, the last one's content stays.
                batch.contents.truncate(batch.contents.len() - usize::from(is_repeated));
                batch.contents.push(content(page));
            }
            run = match run {
                Some((start, length)) if start + length == mapped => Some((start, length + 1)),
                // Scaling down maps neighbours to the same page, which one request touches once.
                Some((start, length)) if is_repeated => Some((start, length)),
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

    /// Appends a discard of those of the trace's `pages` that have a number.
    ///
    /// A discard of what was neither read nor written before gets no numbers: one of a whole disk, before a file system is
    /// made on it, would use up the drive's pages.
    fn append_numbered_trim(&mut self, batch: &mut PageBatch, hint: u16, pages: Range<u64>) {
        let known = |page: &u64| self.numbers.get(page).copied();
        let numbered: Vec<u32> = if pages.end - pages.start <= self.numbers.len() as u64 {
            pages.clone().filter_map(|page| known(&page)).collect()
        } else {
            let mut within: Vec<u64> =
                self.numbers.keys().copied().filter(|page| pages.contains(page)).collect();
            within.sort_unstable();
            within.iter().filter_map(known).collect()
        };
        let unnumbered = pages.end - pages.start - numbered.len() as u64;
        self.unnumbered_trims = self.unnumbered_trims.saturating_add(unnumbered);
        for run in numbered.chunk_by(|page, next| page + 1 == *next) {
            batch.push_request(Op::Trim, hint, Lpn(run[0]), run.len() as u32);
        }
    }

    /// The device page of a page of the trace.
    fn map(&mut self, page: u64) -> Result<u32, Refusal> {
        let pages = u64::from(self.logical_pages);
        match self.rule {
            AddressRule::Direct => unreachable!("handled by the caller"),
            AddressRule::Wrap => Ok((page % pages) as u32),
            AddressRule::Scale => {
                let scaled = u128::from(page) * u128::from(pages) / u128::from(self.span_pages);
                Ok(scaled.min(u128::from(pages - 1)) as u32)
            }
            AddressRule::Compact => {
                let number = self.numbers.len() as u32;
                match self.numbers.entry(page) {
                    Entry::Occupied(known) => Ok(*known.get()),
                    Entry::Vacant(_) if number == self.logical_pages => {
                        Err(Refusal::TooManyPages { pages: self.logical_pages })
                    }
                    Entry::Vacant(new) => Ok(*new.insert(number)),
                }
            }
        }
    }
}
