//! Replies to the kernel, and those parts of a request that must be copied to outlive the call.

use super::convert::{self, RequestResult};
use super::trees::FileInfo;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, SystemTime};
use wearwell_fuse::fuser::{Generation, ReplyAttr, ReplyEmpty, ReplyEntry, Request};
use wearwell_nvmfs::api::Caller;

/// Replies with a file that was found or created.
pub fn reply_entry(reply: ReplyEntry, cache_time: Duration, info: &FileInfo) {
    reply.entry(&cache_time, &info.attributes, Generation(info.generation.into()));
}

/// Replies with the attributes of a file.
pub fn reply_attr(reply: ReplyAttr, cache_time: Duration, answer: RequestResult<FileInfo>) {
    match answer {
        Ok(of) => reply.attr(&cache_time, &of.attributes),
        Err(error) => reply.error(error),
    }
}

/// Replies that a request is complete, or with its error.
pub fn reply_empty(reply: ReplyEmpty, answer: RequestResult<()>) {
    match answer {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(error),
    }
}

/// Copies a name, so that the request can outlive the call.
pub fn owned_name(name: &OsStr) -> Vec<u8> {
    name.as_bytes().to_vec()
}

/// Returns the caller of a request, with the current time.
pub fn caller(request: &Request) -> Caller {
    Caller { uid: request.uid(), gid: request.gid(), now_ns: convert::ns(SystemTime::now()) }
}
