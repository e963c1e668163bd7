//! Identifiers of page contents.

/// Identifier of the contents of a page: two pages with equal identifiers hold the same bytes.
///
/// Identifier 0 stands for contents that equal no other contents, such as those of a log's metadata pages.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ContentId(pub u64);

impl ContentId {
    /// Contents about which nothing is known.
    pub const UNKNOWN: ContentId = ContentId(0);
}
