//! A way to a device, whatever it is like.

use crate::shared::SharedDevice;
use std::io;
use std::sync::Arc;

/// A kind of door, of which [`DOORS`](crate::DOORS) has the table.
pub struct Kind {
    /// What it is called; on the command line after `--`.
    pub name: &'static str,
    /// What has to be said of one, in a word.
    pub value: &'static str,
    /// What it is, in a sentence.
    pub help: &'static str,
    /// The place that a text names. An error says what is wrong with it.
    pub place: fn(&str) -> Result<Arc<dyn Place>, String>,
}

/// Where a door can be opened.
pub trait Place: Send + Sync {
    /// Whether only this machine reaches it, or those alone whom somebody trusts.
    fn is_guarded(&self) -> bool;

    /// Opens the door to `device`.
    ///
    /// # Errors
    /// A place that is taken, or that the user may not use.
    fn open(&self, device: &SharedDevice) -> io::Result<Box<dyn Door>>;
}

/// A door that is open. Dropping it closes it.
pub trait Door: Send {
    /// How it is called by who wants in: a URI, a path.
    fn address(&self) -> String;

    /// Whether it was closed from the other side, so that nobody comes in any more.
    fn is_closed(&self) -> bool;

    /// Closes it: who is inside is sent away, after the request in hand.
    ///
    /// # Errors
    /// What is left behind, for people; the door is closed all the same.
    fn close(self: Box<Self>) -> Result<(), String>;
}
