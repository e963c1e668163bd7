//! The description of a trace, as numbers.

use serde::Serialize;

/// What a trace is like. Ratios are `None` where there is nothing to divide by.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TraceDescription {
    /// Requests of all kinds.
    pub requests: u64,
    /// Bad lines or records that were passed over.
    pub skipped: u64,
    /// Page size that everything in pages is counted with, bytes.
    pub page_bytes: u64,
    /// Writes among reads and writes.
    pub write_ratio: Option<f64>,
    /// Distinct pages (by volume and address) that reads or writes touched.
    pub distinct_pages_touched: u64,
    /// Distinct pages that reads touched.
    pub distinct_pages_read: u64,
    /// Distinct pages that writes touched: the write footprint.
    pub distinct_pages_written: u64,
    /// Page writes over distinct pages written; 1 when nothing is ever overwritten.
    pub overwrite_ratio: Option<f64>,
    /// Time of the first request in the file, ns.
    pub first_time_ns: Option<u64>,
    /// Latest less earliest time, ns.
    pub duration_ns: Option<u64>,
    /// Bytes of the pages written, each request's rounded to whole pages, a day of the trace's own time.
    pub write_bytes_per_day: Option<f64>,
    /// Requests with an earlier time than the request before them.
    pub out_of_order: u64,
    /// Reads.
    pub reads: OpDescription,
    /// Writes.
    pub writes: OpDescription,
    /// Discards.
    pub trims: OpDescription,
    /// Flushes.
    pub flushes: u64,
    /// Sizes of reads.
    pub read_sizes: SizeDescription,
    /// Sizes of writes.
    pub write_sizes: SizeDescription,
    /// When pages are written again.
    pub reuse: ReuseDescription,
    /// What discards do.
    pub discards: DiscardDescription,
    /// How much content repeats; `None` without digests of written content.
    pub duplication: Option<DuplicationDescription>,
    /// Each volume, by number.
    pub volumes: Vec<VolumeDescription>,
    /// Sample from which everything about distinct pages is estimated; `None` if all pages were followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<SampleDescription>,
}

/// A sample of pages, and how far estimates from it may be from the truth.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SampleDescription {
    /// Fraction of all pages that were followed.
    pub rate: f64,
    /// Pages that were followed, of those that reads or writes touched.
    pub sampled_pages: u64,
    /// Expected errors.
    pub expected_error: SampleErrors,
}

/// Expected errors of estimates, each for a confidence of 95 %: relative to the estimate, or bounds of the true value. `None` where
/// there is nothing in the sample to judge by.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SampleErrors {
    /// Of the distinct pages touched, relative.
    pub distinct_pages_touched: Option<f64>,
    /// Of the distinct pages read, relative.
    pub distinct_pages_read: Option<f64>,
    /// Of the distinct pages written, relative.
    pub distinct_pages_written: Option<f64>,
    /// Of the writes of each written page, relative: that of the distinct pages written, as writes are counted.
    pub overwrite_ratio: Option<f64>,
    /// Of the live pages that were discarded, relative.
    pub live_pages: Option<f64>,
    /// Of the distinct contents, relative.
    pub unique: Option<f64>,
    /// Bounds of the percentiles of the interval between two writes of a page.
    pub interval_pages: Option<Vec<PercentileBounds>>,
    /// Bounds of the percentiles of the stack distance.
    pub stack_distance_pages: Option<Vec<PercentileBounds>>,
}

/// Bounds of the true value of a percentile.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PercentileBounds {
    /// Percent of all values that do not exceed the percentile.
    pub percent: f64,
    /// Least value that the percentile may have.
    pub low: u64,
    /// Greatest value that the percentile may have.
    pub high: u64,
}

/// Requests of one operation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OpDescription {
    /// Requests.
    pub requests: u64,
    /// Bytes asked for, unrounded.
    pub bytes: u64,
    /// Pages touched, counted for each request.
    pub pages: u64,
    /// Requests that begin where the volume's previous one of the same operation ended, among all of them.
    pub sequential_ratio: Option<f64>,
}

/// Sizes of requests, bytes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SizeDescription {
    /// Arithmetic mean.
    pub mean_bytes: Option<f64>,
    /// Median; of an even number of requests the lower of the middle two.
    pub median_bytes: Option<u64>,
    /// Buckets that are not empty, by size.
    pub histogram: Vec<SizeBucket>,
}

/// Requests whose size is above half of `up_to_bytes` and not above it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SizeBucket {
    /// A power of two, bytes.
    pub up_to_bytes: u64,
    /// Requests.
    pub requests: u64,
}

/// When pages are written again.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReuseDescription {
    /// Page writes to pages that were written before.
    pub rewrites: u64,
    /// Page writes from one write of a page to its next, the latter included: 1 if it follows at once.
    pub interval_pages: Option<Distribution>,
    /// Distinct other pages written between two writes of a page (the LRU stack distance of writes): 0 if it
    /// follows at once.
    pub stack_distance_pages: Option<Distribution>,
}

/// A distribution. Percentiles are right to three digits; minimum, maximum and mean are exact.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Distribution {
    /// Values.
    pub count: u64,
    /// Least value.
    pub min: u64,
    /// Greatest value.
    pub max: u64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Values that so many percent of all do not exceed, as (percent, value).
    pub percentiles: Vec<(f64, u64)>,
}

/// What discards do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DiscardDescription {
    /// Pages that discards cover whole, counted for each request.
    pub pages: u64,
    /// Those of them that the trace had written and not discarded since.
    pub live_pages: u64,
}

/// How much written content repeats, page by page.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DuplicationDescription {
    /// Written pages whose content is known.
    pub pages: u64,
    /// Distinct contents among them.
    pub unique: u64,
    /// `unique / pages`.
    pub unique_ratio: f64,
    /// Pages full of zeros among them, `zero / pages`.
    pub zero_ratio: f64,
    /// Content that was compared, bytes: the page size, or the digests' granularity where that is coarser.
    pub granularity_bytes: u64,
}

/// What one volume is like; fields as in [`TraceDescription`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VolumeDescription {
    /// Its number.
    pub volume: u32,
    /// What the trace calls it.
    pub name: Option<String>,
    /// Requests of all kinds.
    pub requests: u64,
    /// One past the last byte that any request touched: the least capacity that holds the trace.
    pub end_bytes: u64,
    /// Distinct pages that reads or writes touched.
    pub distinct_pages_touched: u64,
    /// Distinct pages that reads touched.
    pub distinct_pages_read: u64,
    /// Distinct pages that writes touched.
    pub distinct_pages_written: u64,
    /// Page writes over distinct pages written.
    pub overwrite_ratio: Option<f64>,
    /// Reads.
    pub reads: OpDescription,
    /// Writes.
    pub writes: OpDescription,
    /// Discards.
    pub trims: OpDescription,
}
