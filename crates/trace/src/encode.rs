//! Interface of a format's writer: encoding requests as bytes, and common refusals.

use std::borrow::Cow;

use super::request::{Digest, Op, Request};

/// Reason why a format cannot hold a request.
pub type Reason = Cow<'static, str>;

/// Turns requests into the bytes of a format.
pub trait Encoder: Send {
    /// Appends the beginning of the file, before the first request.
    fn begin(&mut self, _out: &mut Vec<u8>) {}

    /// Appends one request. After an error the appended bytes are removed.
    fn encode(
        &mut self,
        request: &Request,
        content: RequestContent<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Reason>;

    /// Appends the end of the file, after the last request.
    fn end(&mut self, _out: &mut Vec<u8>) {}
}

/// Known content of a request.
#[derive(Clone, Copy, Debug)]
pub struct RequestContent<'a> {
    /// Digests of the content, in order.
    pub digests: &'a [Digest],
    /// Content covered by each digest, bytes; 0 without digests.
    pub digest_bytes: u32,
}

/// Returns first sector and number of sectors of 512 B, for formats that count in sectors.
pub fn in_sectors(request: &Request) -> Result<(u64, u64), Reason> {
    let Request { offset_bytes, length_bytes, .. } = *request;
    if offset_bytes % 512 != 0 || length_bytes % 512 != 0 {
        return Err(
            format!("{length_bytes} bytes at {offset_bytes} are no whole sectors of 512 bytes").into()
        );
    }
    Ok((offset_bytes / 512, length_bytes / 512))
}

/// Returns one of two codes, for formats that only have reads and writes.
pub fn read_or_write<T>(op: Op, read: T, write: T) -> Result<T, Reason> {
    match op {
        Op::Read => Ok(read),
        Op::Write => Ok(write),
        Op::Trim => Err("the format has no discard".into()),
        Op::Flush => Err("the format has no flush".into()),
    }
}

/// Refuses volumes in formats that have none: after merging, their addresses would collide.
pub fn require_no_volume(request: &Request) -> Result<(), Reason> {
    match request.volume {
        0 => Ok(()),
        volume => Err(format!("the format has no volumes, and this is volume {volume}").into()),
    }
}

/// Appends formatted text to a byte buffer.
macro_rules! put {
    ($out:expr, $($text:tt)*) => {
        std::io::Write::write_fmt($out, format_args!($($text)*)).expect("memory takes all that is written")
    };
}
pub(crate) use put;
