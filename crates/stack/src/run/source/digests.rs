//! Contents of pages from the digests of a trace's requests.

use crate::scenario::MissingDigests;
use wearwell_engine::layer::ContentId;
use wearwell_trace::{Digest, page_digest};

/// Multiplier of digests and numbers; odd, so that the multiplication is reversible.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// Assigns names to the contents of pages.
pub struct DigestContents {
    page_bytes: u64,
    missing: MissingDigests,
    /// True if each pass through the trace writes the same contents.
    repeats: bool,
    pass: u64,
    /// Number of pages so far with unique contents.
    unique_pages: u64,
}

/// Reason why the content of a request is unknown.
#[derive(Debug, PartialEq, Eq)]
pub enum UnknownContent {
    /// The request has no digest.
    None,
    /// The number of digests does not match the length of the request.
    Count { found: usize, expected: u64 },
    /// The page size is not a multiple of the digests' block size.
    Size { digest_bytes: u32 },
}

/// A request with its digests.
pub struct RequestDigests<'a> {
    /// First byte on the device.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
    pub digests: &'a [Digest],
    /// Bytes covered by each digest.
    pub digest_bytes: u32,
}

impl DigestContents {
    pub fn new(page_bytes: u64, missing: MissingDigests, repeats: bool) -> Self {
        DigestContents { page_bytes, missing, repeats, pass: 0, unique_pages: 0 }
    }

    /// Begins another pass through the trace.
    pub fn begin_pass(&mut self) {
        self.pass += 1;
    }

    /// Refuses a written request whose digests do not determine its contents, unless such pages count as unique.
    pub fn check(&self, request: &RequestDigests<'_>) -> Result<(), UnknownContent> {
        if self.missing == MissingDigests::Unique {
            return Ok(());
        }
        self.check_digests(request)
    }

    fn check_digests(&self, request: &RequestDigests<'_>) -> Result<(), UnknownContent> {
        let digest_bytes = u64::from(request.digest_bytes);
        if request.digests.is_empty() || digest_bytes == 0 {
            return Err(UnknownContent::None);
        }
        let (found, expected) = (request.digests.len(), (request.end - request.start).div_ceil(digest_bytes));
        if found as u64 != expected {
            return Err(UnknownContent::Count { found, expected });
        }
        if !self.page_bytes.is_multiple_of(digest_bytes) {
            return Err(UnknownContent::Size { digest_bytes: request.digest_bytes });
        }
        Ok(())
    }

    /// Returns the content of page `page` of the trace after the request: the digest if the digests cover the page
    /// exactly, otherwise a unique content.
    pub fn content(&mut self, request: &RequestDigests<'_>, page: u64) -> ContentId {
        let known = self.check_digests(request).is_ok().then(|| self.digest(request, page)).flatten();
        let (number, salt) = match known {
            Some(digest) => {
                let digest = u128::from_be_bytes(digest);
                // The plain sum would be equal for all digests with equal halves.
                let high = ((digest >> 64) as u64).wrapping_mul(MULTIPLIER).rotate_left(32);
                (high ^ digest as u64, if self.repeats { 0 } else { self.pass })
            }
            None => {
                self.unique_pages += 1;
                // Unique contents are numbered from the largest number down, and the numbers are scrambled: a collision
                // is as unlikely as one between digests.
                let number = (!self.unique_pages).wrapping_mul(MULTIPLIER);
                (number ^ (number >> 29), 0)
            }
        };
        let id = number ^ salt.wrapping_mul(MULTIPLIER);
        // The number 0 is reserved for unknown content.
        ContentId(if id == ContentId::UNKNOWN.0 { 1 } else { id })
    }

    /// Returns the digest of a page, if the request covers the whole page and a digest begins at the start of the page.
    fn digest(&self, request: &RequestDigests<'_>, page: u64) -> Option<Digest> {
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
