//! Streams for classes of temperature, as several placements share them.

use crate::config::ConfigError;
use crate::counters::Cause;
use crate::units::StreamId;

/// One stream a class; where cleaning is kept apart, another one a class for cleaned pages.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClassStreams {
    classes: u8,
    separate_cleaning: bool,
}

impl ClassStreams {
    /// Streams for `classes` classes, which the setting `key` asks for; they must fit the 255 of [`StreamId`].
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

    /// The stream of a page of `class`, or of the coldest class if there is no such one.
    #[inline]
    pub(super) fn stream(self, class: u8, cause: Cause) -> StreamId {
        let apart = self.separate_cleaning && cause != Cause::Host;
        StreamId(class.min(self.classes - 1) + if apart { self.classes } else { 0 })
    }
}
