//! Description of a trace in numbers.

use serde::Serialize;

/// Description of a trace. Ratios are `None` if the denominator is 0.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TraceDescription {
    /// Requests of all kinds.
    pub requests: u64,
    /// Bad lines or records that were skipped.
    pub skipped: u64,
    /// Page size of all page counts, bytes.
    pub page_bytes: u64,
    /// Fraction of writes among reads and writes.
    pub write_ratio: Option<f64>,
    /// Distinct pages (by volume and address) that reads or writes touched.
    pub distinct_pages_touched: u64,
    /// Distinct pages that reads touched.
    pub distinct_pages_read: u64,
    /// Distinct pages that writes touched: the write footprint.
    pub distinct_pages_written: u64,
    /// Page writes over distinct pages written; 1 if no page is overwritten.
    pub overwrite_ratio: Option<f64>,
    /// Time of the first request in the file, ns.
    pub first_time_ns: Option<u64>,
    /// Latest time minus earliest time, ns.
    pub duration_ns: Option<u64>,
    /// Bytes of the pages written, with each request rounded to whole pages, per day of the trace's own time.
    pub write_bytes_per_day: Option<f64>,
    /// Requests with an earlier time than the request before them.
    pub out_of_order: u64,
    /// Statistics of reads.
    pub reads: OpDescription,
    /// Statistics of writes.
    pub writes: OpDescription,
    /// Statistics of discards.
    pub trims: OpDescription,
    /// Number of flushes.
    pub flushes: u64,
    /// Sizes of reads.
    pub read_sizes: SizeDescription,
    /// Sizes of writes.
    pub write_sizes: SizeDescription,
    /// Time between writes of a page.
    pub reuse: ReuseDescription,
    /// Statistics of discarded pages.
    pub discards: DiscardDescription,
    /// Duplication of content; `None` without digests of written content.
    pub duplication: Option<DuplicationDescription>,
    /// Descriptions of the volumes, in the order of their numbers.
    pub volumes: Vec<VolumeDescription>,
    /// Sample from which all statistics of distinct pages are estimated; `None` if all pages were counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<SampleDescription>,
}

/// A sample of pages, and the expected errors of estimates from it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SampleDescription {
    /// Fraction of all pages that were sampled.
    pub rate: f64,
    /// Sampled pages that reads or writes touched.
    pub sampled_pages: u64,
    /// Expected errors of the estimates.
    pub expected_error: SampleErrors,
}

/// Expected errors of estimates with a confidence of 95 %: relative to the estimate, or bounds of the true value.
/// `None` if the sample has no data for an error.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SampleErrors {
    /// Relative error of the distinct pages touched.
    pub distinct_pages_touched: Option<f64>,
    /// Relative error of the distinct pages read.
    pub distinct_pages_read: Option<f64>,
    /// Relative error of the distinct pages written.
    pub distinct_pages_written: Option<f64>,
    /// Relative error of the overwrite ratio; equals that of the distinct pages written, because writes are counted
    /// exactly.
    pub overwrite_ratio: Option<f64>,
    /// Relative error of the discarded live pages.
    pub live_pages: Option<f64>,
    /// Relative error of the distinct contents.
    pub unique: Option<f64>,
    /// Bounds of the percentiles of the interval between two writes of a page.
    pub interval_pages: Option<Vec<PercentileBounds>>,
    /// Bounds of the percentiles of the stack distance.
    pub stack_distance_pages: Option<Vec<PercentileBounds>>,
}

/// Bounds of the true value of a percentile.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PercentileBounds {
    /// Percentage of values that do not exceed the percentile.
    pub percent: f64,
    /// Lower bound of the percentile.
    pub low: u64,
    /// Upper bound of the percentile.
    pub high: u64,
}

/// Statistics of the requests of one operation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OpDescription {
    /// Number of requests.
    pub requests: u64,
    /// Bytes requested, not rounded.
    pub bytes: u64,
    /// Pages touched, summed over requests.
    pub pages: u64,
    /// Fraction of requests that begin where the volume's previous request of the same operation ended.
    pub sequential_ratio: Option<f64>,
}

/// Sizes of requests, bytes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SizeDescription {
    /// Arithmetic mean.
    pub mean_bytes: Option<f64>,
    /// Median; for an even number of requests the lower of the middle two.
    pub median_bytes: Option<u64>,
    /// Non-empty buckets, by size.
    pub histogram: Vec<SizeBucket>,
}

/// Requests with sizes above half of `up_to_bytes` and at most `up_to_bytes`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SizeBucket {
    /// Upper end of the bucket, a power of two, bytes.
    pub up_to_bytes: u64,
    /// Number of requests in the bucket.
    pub requests: u64,
}

/// Time between writes of a page.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReuseDescription {
    /// Page writes to pages that were written before.
    pub rewrites: u64,
    /// Page writes after one write of a page, up to and including the next write of that page: 1 if the next write
    /// follows at once.
    pub interval_pages: Option<Distribution>,
    /// Distinct other pages written between two writes of a page (the LRU stack distance of writes): 0 if the second
    /// write follows at once.
    pub stack_distance_pages: Option<Distribution>,
}

/// A distribution. Percentiles have three significant digits; minimum, maximum and mean are exact.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Distribution {
    /// Number of values.
    pub count: u64,
    /// Least value.
    pub min: u64,
    /// Greatest value.
    pub max: u64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Percentiles as (percent, value): that percentage of all values is at most the value.
    pub percentiles: Vec<(f64, u64)>,
}

/// Statistics of discarded pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DiscardDescription {
    /// Pages that discards cover completely, summed over requests.
    pub pages: u64,
    /// Discarded pages that the trace had written and not discarded since.
    pub live_pages: u64,
}

/// Duplication of written content, page by page.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DuplicationDescription {
    /// Written pages whose content is known.
    pub pages: u64,
    /// Distinct contents of these pages.
    pub unique: u64,
    /// Distinct contents over pages, `unique / pages`.
    pub unique_ratio: f64,
    /// Fraction of these pages that are full of zeros, `zero / pages`.
    pub zero_ratio: f64,
    /// Unit in which content was compared, bytes: the page size, or the digests' granularity if that is coarser.
    pub granularity_bytes: u64,
}

/// Description of one volume; fields as in [`TraceDescription`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VolumeDescription {
    /// Number of the volume.
    pub volume: u32,
    /// Name of the volume in the trace.
    pub name: Option<String>,
    /// Requests of all kinds.
    pub requests: u64,
    /// One past the last byte that any request touched: the smallest capacity that holds the trace.
    pub end_bytes: u64,
    /// Distinct pages that reads or writes touched.
    pub distinct_pages_touched: u64,
    /// Distinct pages that reads touched.
    pub distinct_pages_read: u64,
    /// Distinct pages that writes touched.
    pub distinct_pages_written: u64,
    /// Page writes over distinct pages written.
    pub overwrite_ratio: Option<f64>,
    /// Statistics of reads.
    pub reads: OpDescription,
    /// Statistics of writes.
    pub writes: OpDescription,
    /// Statistics of discards.
    pub trims: OpDescription,
}
