//! Errors of a trace that drives a stack.

use wearwell_trace::{DIGEST_FORMATS, TraceError};

/// Reason why a trace or another source cannot drive a stack.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The source of operations has failed.
    #[error("{0}")]
    Failed(String),
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A request ends past the end of the drive.
    #[error(
        "{path}: request {request} ends at byte {end}, the drive has {capacity}; take a drive that fits (`device.fit` = true), \
         enlarge `device.capacity`, or choose `trace.address`: wrap, scale or compact"
    )]
    PastEnd {
        /// Path of the trace.
        path: String,
        /// Number of the request, from 1.
        request: u64,
        /// One past the last byte of the request.
        end: u64,
        /// Bytes of the drive.
        capacity: u64,
    },
    /// The trace touches more distinct pages than the drive has.
    #[error(
        "{path}: request {request}: the trace touches more than the drive's {pages} pages; take a drive that fits \
         (`device.fit` = true), or enlarge `device.capacity`"
    )]
    TooManyPages {
        /// Path of the trace.
        path: String,
        /// Number of the request, from 1.
        request: u64,
        /// Pages of the drive.
        pages: u32,
    },
    /// The trace has a second volume where only one is allowed.
    #[error(
        "{path}: request {request} is for volume {volume}, earlier ones for volume {first}; name one in \
         `trace.volumes`, or choose `trace.volume_rule`: side_by_side or overlay"
    )]
    SecondVolume {
        /// Path of the trace.
        path: String,
        /// Number of the request, from 1.
        request: u64,
        /// Volume of the request.
        volume: u32,
        /// Volume of the requests before.
        first: u32,
    },
    /// A request is for a volume that the trace did not have when the extents of its volumes were read.
    #[error(
        "{path}: request {request} is for volume {volume}, which the trace did not have when it was read before; the file was changed \
         meanwhile, so run it again"
    )]
    NewVolume {
        /// Path of the trace.
        path: String,
        /// Number of the request, from 1.
        request: u64,
        /// Volume of the request.
        volume: u32,
    },
    /// A written request has unknown content, in a run that needs contents.
    #[error(
        "{path}: request {request} {problem}, and a layer needs the content of each written page; choose \
         `trace.missing_digests` = \"unique\", so that such pages are like no other, or generate contents with `content`"
    )]
    MissingDigests {
        /// Path of the trace.
        path: String,
        /// Number of the request, from 1.
        request: u64,
        /// Description of what is missing.
        problem: String,
    },
    /// The trace has no digests, in a run that needs contents.
    #[error(
        "{path}: the format {format} carries no digests here, and a layer needs the content of each written page; formats \
         that carry them: {}; generate contents with `content`, or choose `trace.missing_digests` = \"unique\"",
        DIGEST_FORMATS.join(", ")
    )]
    NoDigests {
        /// Path of the trace.
        path: String,
        /// Format of the trace.
        format: &'static str,
    },
    /// The times of the trace decrease, in a run that needs times.
    #[error(
        "{path}: request {request} arrives at {time_ns} ns, before the one in front of it at {before_ns} ns; choose \
         `trace.decreasing_times`: {choices}"
    )]
    DecreasingTime {
        /// Path of the trace.
        path: String,
        /// Number of the request, from 1.
        request: u64,
        /// Time of the request, ns.
        time_ns: u64,
        /// Time of the request before it, ns.
        before_ns: u64,
        /// Allowed values of `trace.decreasing_times`.
        choices: &'static str,
    },
    /// The trace touches more distinct pages than a drive can have.
    #[error(
        "{path}: the trace touches more pages than any drive has here; use a larger `device.mapping_unit`"
    )]
    TooLargeToFit {
        /// Path of the trace.
        path: String,
    },
    /// The trace has no requests other than flushes.
    #[error("{path}: no request writes, reads or trims anything, so there is nothing to simulate")]
    NoPages {
        /// Path of the trace.
        path: String,
    },
}
