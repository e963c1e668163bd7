//! Statistics of a trace: sizes, footprint, overwriting, reuse, duplication.

mod distribution;
mod footprint;
mod page;
mod pages;
mod ranked_bits;
mod report;
mod reuse;
mod sample;
mod sampling_error;
mod sizes;

use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::error::TraceError;
use super::reader::TraceReader;
use super::request::{Op, RequestBatch};
use crate::page_size::PageSize;
use footprint::{Footprint, PageCounts};
pub use report::*;
pub use sample::SampleRate;
use sizes::Sizes;

/// Requests read at a time.
const BATCH_REQUESTS: usize = 8192;

/// Batches that the decoding thread may be ahead.
const MAX_BATCHES_AHEAD: usize = 4;

/// Distance, in requests, at which the state of pages is prefetched.
const PAGE_PREFETCH_DISTANCE: usize = 16;

/// Distance, in requests, at which the index of page states is prefetched.
const INDEX_PREFETCH_DISTANCE: usize = 32;

/// Distance, in requests, at which memory is prefetched whose address depends on the state of a write's pages.
const REUSE_PREFETCH_DISTANCE: usize = 4;

/// Options for describing a trace.
#[derive(Clone, Debug)]
pub struct DescribeOptions {
    /// Page size, bytes. A request counts for every page that it touches, even partly: starts are rounded down and ends
    /// up. A discard only counts for pages that it covers completely.
    pub page_bytes: u64,
    /// True to compute the number of distinct pages written between two writes of a page.
    pub stack_distance: bool,
    /// Fraction of the pages that is sampled, for traces whose pages do not fit into memory; statistics of distinct
    /// pages are then estimates. `None` uses all pages.
    pub sample: Option<SampleRate>,
}

impl Default for DescribeOptions {
    fn default() -> Self {
        DescribeOptions { page_bytes: 4096, stack_distance: true, sample: None }
    }
}

/// Describes all remaining requests of `reader`, while a second thread decodes them.
///
/// # Errors
/// Returns an error for a line or record that cannot be read.
pub fn describe(reader: &mut TraceReader, options: &DescribeOptions) -> Result<TraceDescription, TraceError> {
    let mut describer = Describer::new(options);
    let decoded = thread::scope(|scope| {
        let (sender, batches) = sync_channel(MAX_BATCHES_AHEAD);
        let (return_sender, returned_batches) = channel();
        let source = &mut *reader;
        let decoder = scope.spawn(move || decode(source, sender, returned_batches));
        for batch in batches {
            describer.add(&batch);
            // Sending fails only if the decoder has ended.
            let _ = return_sender.send(batch);
        }
        decoder.join()
    });
    decoded.unwrap_or_else(|panic| resume_unwind(panic))?;
    let mut description = describer.finish();
    description.skipped = reader.skipped().count;
    for (number, name) in reader.volume_names() {
        if let Some(volume) = description.volumes.iter_mut().find(|volume| volume.volume == number) {
            volume.name = Some(name);
        }
    }
    Ok(description)
}

/// Sends all remaining requests of `reader` in batches, reusing memory from `returned_batches` if possible.
fn decode(
    reader: &mut TraceReader,
    sender: SyncSender<RequestBatch>,
    returned_batches: Receiver<RequestBatch>,
) -> Result<(), TraceError> {
    loop {
        let mut batch = returned_batches.try_recv().unwrap_or_default();
        // If the describing thread panics, the channel is closed.
        if reader.read_batch(&mut batch, BATCH_REQUESTS)? == 0 || sender.send(batch).is_err() {
            return Ok(());
        }
    }
}

/// Collects requests in batches and returns their description at the end.
///
/// Memory grows with the trace's footprint, not with its length. A distinct touched page takes 5 bytes, a written page
/// 9 to 17 more if pages are contiguous, up to 150 if they are scattered, and a distinct digest 20 to 40. A sample
/// takes 40 to 100 bytes for each sampled page.
pub struct Describer {
    page_size: PageSize,
    rate: Option<SampleRate>,
    ops: [OpCounts; 4],
    first_ns: Option<u64>,
    latest_ns: u64,
    earliest_ns: u64,
    previous_ns: u64,
    out_of_order: u64,
    sizes: [Sizes; 2],
    /// Index in `volumes` by volume number.
    indices: HashMap<u32, usize, FixedState>,
    volumes: Vec<VolumeCounts>,
    /// Index of the volume of each request of a batch.
    batch_volumes: Vec<usize>,
    footprint: Footprint,
}

/// Counts of the requests of one operation.
#[derive(Clone, Copy, Default)]
struct OpCounts {
    requests: u64,
    bytes: u64,
    pages: u64,
    sequential: u64,
}

/// Counts of one volume.
#[derive(Default)]
struct VolumeCounts {
    number: u32,
    ops: [OpCounts; 4],
    end_bytes: u64,
    /// One past the last byte of the previous request of each operation.
    previous_end: [Option<u64>; 4],
}

impl Describer {
    /// Returns an empty description.
    ///
    /// # Panics
    /// If the page size is 0.
    pub fn new(options: &DescribeOptions) -> Self {
        Describer {
            page_size: PageSize::new(options.page_bytes),
            rate: options.sample,
            ops: Default::default(),
            first_ns: None,
            latest_ns: 0,
            earliest_ns: u64::MAX,
            previous_ns: 0,
            out_of_order: 0,
            sizes: Default::default(),
            indices: HashMap::default(),
            volumes: Vec::new(),
            batch_volumes: Vec::new(),
            footprint: Footprint::new(options),
        }
    }

    /// Adds all requests of `batch`.
    pub fn add(&mut self, batch: &RequestBatch) {
        self.find_volumes(&batch.volume);
        for index in 0..batch.len() {
            self.prefetch(batch, index);
            self.add_time(batch.time_ns[index]);
            self.add_request(batch, index);
        }
    }

    /// Fills `batch_volumes` for requests to the volumes `numbers`.
    fn find_volumes(&mut self, numbers: &[u32]) {
        self.batch_volumes.clear();
        let mut last = None;
        for &number in numbers {
            let index = match last {
                Some((last_number, index)) if last_number == number => index,
                _ => *self.indices.entry(number).or_insert_with(|| {
                    self.volumes.push(VolumeCounts { number, ..Default::default() });
                    self.footprint.add_volume(number)
                }),
            };
            last = Some((number, index));
            self.batch_volumes.push(index);
        }
    }

    /// Prefetches memory for requests after `index`.
    #[inline]
    fn prefetch(&self, batch: &RequestBatch, index: usize) {
        if let Some(&volume) = self.batch_volumes.get(index + INDEX_PREFETCH_DISTANCE) {
            self.footprint.prefetch_index(
                volume,
                self.page_size.page_of(batch.offset_bytes[index + INDEX_PREFETCH_DISTANCE]),
            );
        }
        if let Some(&volume) = self.batch_volumes.get(index + PAGE_PREFETCH_DISTANCE) {
            let offset = batch.offset_bytes[index + PAGE_PREFETCH_DISTANCE];
            let last = offset.saturating_add(batch.length_bytes[index + PAGE_PREFETCH_DISTANCE]);
            self.footprint.prefetch_pages(
                volume,
                self.page_size.page_of(offset),
                self.page_size.page_of(last),
            );
        }
        if let Some(Op::Write) = batch.op.get(index + REUSE_PREFETCH_DISTANCE) {
            let index = index + REUSE_PREFETCH_DISTANCE;
            let touched = self.page_size.touched(batch.offset_bytes[index], batch.length_bytes[index]);
            self.footprint.prefetch_reuse(self.batch_volumes[index], touched);
        }
    }

    #[inline]
    fn add_time(&mut self, time_ns: u64) {
        self.first_ns.get_or_insert(time_ns);
        self.latest_ns = self.latest_ns.max(time_ns);
        self.earliest_ns = self.earliest_ns.min(time_ns);
        self.out_of_order += u64::from(time_ns < self.previous_ns);
        self.previous_ns = time_ns;
    }

    #[inline]
    fn add_request(&mut self, batch: &RequestBatch, index: usize) {
        let request = batch.get(index);
        let kind = request.op as usize;
        let volume_index = self.batch_volumes[index];
        let volume = &mut self.volumes[volume_index];
        let mut counts = OpCounts { requests: 1, bytes: request.length_bytes, pages: 0, sequential: 0 };
        if request.op != Op::Flush {
            let end = request.offset_bytes.saturating_add(request.length_bytes);
            let previous_end = volume.previous_end[kind].replace(end);
            counts.sequential = u64::from(previous_end == Some(request.offset_bytes));
            volume.end_bytes = volume.end_bytes.max(end);
            let touched = self.page_size.touched(request.offset_bytes, request.length_bytes);
            counts.pages = touched.end - touched.start;
            self.footprint.add(volume_index, &request, touched);
        }
        if request.op == Op::Write && !batch.digests.is_empty() {
            self.footprint.add_content(batch.digests_of(index), batch.digest_bytes);
        }
        if let Some(sizes) = self.sizes.get_mut(kind) {
            sizes.add(request.length_bytes);
        }
        self.ops[kind].add(&counts);
        volume.ops[kind].add(&counts);
    }

    /// Returns the description of all requests added.
    pub fn finish(self) -> TraceDescription {
        let rate = self.rate;
        let report =
            |(index, volume): (usize, &VolumeCounts)| volume.report(self.footprint.counts(index), rate);
        let mut volumes: Vec<_> = self.volumes.iter().enumerate().map(report).collect();
        volumes.sort_unstable_by_key(|volume| volume.volume);
        let counts = (0..volumes.len()).map(|volume| self.footprint.counts(volume));
        let counts = counts.fold(PageCounts::default(), PageCounts::plus);
        let [reads, writes, trims, flushes] = &self.ops;
        let pages = counts.extrapolated(rate, reads.pages, writes.pages);
        let duration_ns = self.first_ns.map(|_| self.latest_ns - self.earliest_ns);
        let written_bytes = writes.pages as f64 * self.page_size.bytes as f64;
        let days = duration_ns.filter(|&ns| ns > 0).map(|ns| ns as f64 / 86_400e9);
        let (reuse, bounds) = self.footprint.reuse();
        TraceDescription {
            requests: self.ops.iter().map(|op| op.requests).sum(),
            skipped: 0,
            page_bytes: self.page_size.bytes,
            write_ratio: ratio(writes.requests, reads.requests + writes.requests),
            distinct_pages_touched: pages.touched,
            distinct_pages_read: pages.read,
            distinct_pages_written: pages.written,
            overwrite_ratio: ratio(writes.pages, pages.written),
            first_time_ns: self.first_ns,
            duration_ns,
            write_bytes_per_day: days.map(|days| written_bytes / days),
            out_of_order: self.out_of_order,
            read_sizes: self.sizes[0].report(),
            write_sizes: self.sizes[1].report(),
            reads: reads.report(),
            writes: writes.report(),
            trims: trims.report(),
            flushes: flushes.requests,
            reuse,
            discards: self.footprint.discards(),
            duplication: self.footprint.duplication(),
            volumes,
            sample: self.footprint.sample(counts, bounds),
        }
    }
}

impl OpCounts {
    fn add(&mut self, other: &OpCounts) {
        self.requests += other.requests;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.pages = self.pages.saturating_add(other.pages);
        self.sequential += other.sequential;
    }

    fn report(&self) -> OpDescription {
        OpDescription {
            requests: self.requests,
            bytes: self.bytes,
            pages: self.pages,
            sequential_ratio: ratio(self.sequential, self.requests),
        }
    }
}

impl VolumeCounts {
    fn report(&self, sampled: PageCounts, rate: Option<SampleRate>) -> VolumeDescription {
        let [reads, writes, trims, _] = &self.ops;
        let pages = sampled.extrapolated(rate, reads.pages, writes.pages);
        VolumeDescription {
            volume: self.number,
            name: None,
            requests: self.ops.iter().map(|op| op.requests).sum(),
            end_bytes: self.end_bytes,
            distinct_pages_touched: pages.touched,
            distinct_pages_read: pages.read,
            distinct_pages_written: pages.written,
            overwrite_ratio: ratio(writes.pages, pages.written),
            reads: reads.report(),
            writes: writes.report(),
            trims: trims.report(),
        }
    }
}

/// Returns `part / whole`, or `None` if `whole` is 0.
fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests;
