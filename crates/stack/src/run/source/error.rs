//! What can be wrong with a trace that drives a stack.

use wearwell_trace::{DIGEST_FORMATS, TraceError};

/// A trace that does not fit the drive.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// What makes the operations has failed.
    #[error("{0}")]
    Stopped(String),
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A request past the drive's end.
    #[error(
        "{path}: request {request} ends at byte {end}, the drive has {capacity}; take a drive that fits (`device.fit` = true), \
         enlarge `device.capacity`, or choose `trace.address`: wrap, scale or compact"
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
        "{path}: request {request}: the trace touches more than the drive's {pages} pages; take a drive that fits \
         (`device.fit` = true), or enlarge `device.capacity`"
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
    /// A written request whose content is not known, in a run that needs it.
    #[error(
        "{path}: request {request} {problem}, and a layer needs the content of each written page; choose \
         `trace.missing_digests` = \"unique\", so that such pages are like no other, or generate contents with `content`"
    )]
    MissingDigests {
        /// The trace.
        path: String,
        /// Number of the request, from 1.
        request: u64,
        /// What it lacks.
        problem: String,
    },
    /// A trace without digests, in a run that needs contents.
    #[error(
        "{path}: the format {format} carries no digests here, and a layer needs the content of each written page; formats \
         that carry them: {}; generate contents with `content`, or choose `trace.missing_digests` = \"unique\"",
        DIGEST_FORMATS.join(", ")
    )]
    NoDigests {
        /// The trace.
        path: String,
        /// Its format.
        format: &'static str,
    },
    /// Times that fall, in a run that needs them.
    #[error(
        "{path}: request {request} arrives at {time_ns} ns, before the one in front of it at {before_ns} ns; choose \
         `trace.backwards`: {choices}"
    )]
    Backwards {
        /// The trace.
        path: String,
        /// Number of the request, from 1.
        request: u64,
        /// Its time, ns.
        time_ns: u64,
        /// The time of the request in front of it, ns.
        before_ns: u64,
        /// What `trace.backwards` may be instead.
        choices: &'static str,
    },
    /// More distinct pages than a drive can have.
    #[error(
        "{path}: the trace touches more pages than any drive has here; use a larger `device.mapping_unit`"
    )]
    TooLargeToFit {
        /// The trace.
        path: String,
    },
    /// Nothing but flushes, if anything.
    #[error("{path}: no request writes, reads or trims anything, so there is nothing to simulate")]
    NoPages {
        /// The trace.
        path: String,
    },
}
