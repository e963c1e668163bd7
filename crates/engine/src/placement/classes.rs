//! Streams for temperature classes, shared by several placements.

use crate::config::ConfigError;
use crate::counters::Cause;
use crate::units::StreamId;

/// One stream per class; with separate cleaning, another stream per class for cleaned pages.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClassStreams {
    classes: u8,
    separate_cleaning: bool,
}

impl ClassStreams {
    /// Creates streams for `classes` classes, as configured by the setting `key`; they must fit into the 255 streams of
    /// [`StreamId`].
    pub(super) fn new(classes: usize, separate_cleaning: bool, key: &str) -> Result<Self, ConfigError> {
        let streams = if separate_cleaning { 2 * classes } else { classes };
        if classes == 0 || streams > usize::from(u8::MAX) {
            let problem = format!("makes {classes} classes and {streams} streams; 1 to 255 are allowed");
            return Err(ConfigError::new(key, problem));
        }
        Ok(ClassStreams { classes: classes as u8, separate_cleaning })
    }

    pub(super) fn streams(self) -> u8 {
        if self.separate_cleaning { 2 * self.classes } else { self.classes }
    }

    /// Returns the stream of a page of `class`, or of the coldest class if `class` is too large.
    #[inline]
    pub(super) fn stream(self, class: u8, cause: Cause) -> StreamId {
        let is_separate = self.separate_cleaning && cause != Cause::Host;
        StreamId(class.min(self.classes - 1) + if is_separate { self.classes } else { 0 })
    }
}

/// Returns the stream of all cleaned pages, after those of `classes` classes of host writes, as configured by the
/// setting `key`.
pub(super) fn separate_cleaning_stream(classes: u8, key: &str) -> Result<StreamId, ConfigError> {
    if (1..u8::MAX).contains(&classes) {
        return Ok(StreamId(classes));
    }
    Err(ConfigError::new(key, format!("is {classes}; 1 to {} are allowed", u8::MAX - 1)))
}

/// Rejects a setting that is 0.
pub(super) fn require_nonzero(value: u64, key: &str) -> Result<(), ConfigError> {
    if value > 0 {
        return Ok(());
    }
    Err(ConfigError::new(key, "is 0; it must be 1 or more"))
}
