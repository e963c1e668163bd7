//! From the digests of a trace's requests to the contents of pages.

use crate::scenario::MissingDigests;
use wearwell_engine::layer::Content;
use wearwell_trace::{Digest, page_digest};

/// Odd, so that multiplication by it loses nothing.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// Names what pages hold.
pub struct Digests {
    page_bytes: u64,
    missing: MissingDigests,
    /// Whether each pass through the trace writes what the one before wrote.
    repeats: bool,
    pass: u64,
    /// Pages so far whose content is like no other's.
    unknown: u64,
}

/// Why a request's content is not known.
#[derive(Debug, PartialEq, Eq)]
pub enum Missing {
    /// It has no digest.
    None,
    /// It has another number of digests than its length asks for.
    Count { found: usize, expected: u64 },
    /// Its digests cover no whole number of times into a page.
    Size { digest_bytes: u32 },
}

/// A request with its digests.
pub struct Digested<'a> {
    /// First byte on the device.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
    pub digests: &'a [Digest],
    /// Bytes under each digest.
    pub digest_bytes: u32,
}

impl Digests {
    pub fn new(page_bytes: u64, missing: MissingDigests, repeats: bool) -> Self {
        Digests { page_bytes, missing, repeats, pass: 0, unknown: 0 }
    }

    /// Another pass through the trace begins.
    pub fn begin_pass(&mut self) {
        self.pass += 1;
    }

    /// Refuses a written request whose digests do not say what it writes, unless such pages count as unique.
    pub fn check(&self, request: &Digested<'_>) -> Result<(), Missing> {
        if self.missing == MissingDigests::Unique {
            return Ok(());
        }
        self.usable(request)
    }

    fn usable(&self, request: &Digested<'_>) -> Result<(), Missing> {
        let digest_bytes = u64::from(request.digest_bytes);
        if request.digests.is_empty() || digest_bytes == 0 {
            return Err(Missing::None);
        }
        let (found, expected) = (request.digests.len(), (request.end - request.start).div_ceil(digest_bytes));
        if found as u64 != expected {
            return Err(Missing::Count { found, expected });
        }
        if !self.page_bytes.is_multiple_of(digest_bytes) {
            return Err(Missing::Size { digest_bytes: request.digest_bytes });
        }
        Ok(())
    }

    /// What page `page` of the trace holds after the request: what the digests say if they cover it exactly, and else
    /// something that no other page holds.
    pub fn content(&mut self, request: &Digested<'_>, page: u64) -> Content {
        let known = self.usable(request).is_ok().then(|| self.digest(request, page)).flatten();
        let (number, salt) = match known {
            Some(digest) => {
                let digest = u128::from_be_bytes(digest);
                // Not their plain sum, which is the same for all digests of equal halves.
                let high = ((digest >> 64) as u64).wrapping_mul(MULTIPLIER).rotate_left(32);
                (high ^ digest as u64, if self.repeats { 0 } else { self.pass })
            }
            None => {
                self.unknown += 1;
                // From the far end, scrambled: as unlikely to be another's name as a digest is.
                let number = (!self.unknown).wrapping_mul(MULTIPLIER);
                (number ^ (number >> 29), 0)
            }
        };
        let name = number ^ salt.wrapping_mul(MULTIPLIER);
        // 0 means unknown.
        Content(if name == Content::UNKNOWN.0 { 1 } else { name })
    }

    /// The digest of a page that the request covers whole, with a digest beginning where the page does.
    fn digest(&self, request: &Digested<'_>, page: u64) -> Option<Digest> {
        let digest_bytes = u64::from(request.digest_bytes);
        let begin = page * self.page_bytes;
        let before = begin.checked_sub(request.start)?;
        if begin + self.page_bytes > request.end || !before.is_multiple_of(digest_bytes) {
            return None;
        }
        let first = (before / digest_bytes) as usize;
        Some(page_digest(&request.digests[first..first + (self.page_bytes / digest_bytes) as usize]))
    }
}
