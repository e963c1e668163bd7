//! What a format's writer is: requests made into bytes, and what many formats refuse.

use std::borrow::Cow;

use super::request::{Digest, Op, Request};

/// Why a format cannot hold a request.
pub type Reason = Cow<'static, str>;

/// Turns requests into the bytes of a format.
pub trait Encode: Send {
    /// Appends what stands before the first request.
    fn begin(&mut self, _out: &mut Vec<u8>) {}

    /// Appends one request. What was appended before an error is taken back.
    fn request(&mut self, request: &Request, content: Content<'_>, out: &mut Vec<u8>) -> Result<(), Reason>;

    /// Appends what stands after the last request.
    fn end(&mut self, _out: &mut Vec<u8>) {}
}

/// What is known of a request's content.
#[derive(Clone, Copy, Debug)]
pub struct Content<'a> {
    /// Digests of the content, in order.
    pub digests: &'a [Digest],
    /// Content under each digest, bytes; 0 without digests.
    pub digest_bytes: u32,
}

/// First sector and number of sectors of 512 B, for formats that count in them.
pub fn in_sectors(request: &Request) -> Result<(u64, u64), Reason> {
    let Request { offset_bytes, length_bytes, .. } = *request;
    if offset_bytes % 512 != 0 || length_bytes % 512 != 0 {
        return Err(
            format!("{length_bytes} bytes at {offset_bytes} are no whole sectors of 512 bytes").into()
        );
    }
    Ok((offset_bytes / 512, length_bytes / 512))
}

/// One of two codes, for formats that know reads and writes only.
pub fn read_or_write<T>(op: Op, read: T, write: T) -> Result<T, Reason> {
    match op {
        Op::Read => Ok(read),
        Op::Write => Ok(write),
        Op::Trim => Err("the format has no discard".into()),
        Op::Flush => Err("the format has no flush".into()),
    }
}

/// Refuses volumes in formats that have none: merging them would make their addresses collide.
pub fn without_volume(request: &Request) -> Result<(), Reason> {
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
