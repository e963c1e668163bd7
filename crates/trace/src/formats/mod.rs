//! Trace formats, one file each: conversion of a line or record to a request, and back.

pub mod alibaba;
pub mod blkparse;
pub mod blkreplay;
pub mod blktrace;
pub mod cloudphysics;
pub mod disksim;
pub mod fio;
pub mod fiu;
pub mod mqsim;
pub mod msr;
pub mod oracle_general;
pub mod spc;
pub mod ssdsim;
pub mod systor17;
pub mod table;
pub mod tencent;
pub mod wearwell_csv;

/// Common imports of the formats' files.
mod prelude {
    pub(super) use crate::encode::{
        Encoder, Reason, RequestContent, in_sectors, put, read_or_write, require_no_volume,
    };
    pub(super) use crate::error::BadValue;
    pub(super) use crate::fields::{self, Fields};
    pub(super) use crate::format::Format;
    pub(super) use crate::options::{OptionSpec, Settings};
    pub(super) use crate::request::{Digest, Op, Request};
    pub(super) use crate::text::{LineFormat, Lines, first_line};

    /// Size of a sector, the unit of most formats, bytes.
    pub const SECTOR_BYTES: u64 = 512;
}
