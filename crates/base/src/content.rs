//! The name of what a page holds.

/// What a page holds, by name: two pages with equal names hold the same bytes.
///
/// The name 0 stands for content that is like no other's, as that of pages a log writes for itself.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Content(pub u64);

impl Content {
    /// Content that nothing is known of.
    pub const UNKNOWN: Content = Content(0);
}
