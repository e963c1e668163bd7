//! Interface that all transports (ways to reach a device) implement.

use crate::shared::SharedDevice;
use std::io;
use std::sync::Arc;

/// A kind of transport; [`TRANSPORTS`](crate::TRANSPORTS) lists all kinds.
pub struct TransportKind {
    /// Name, also of the command-line option (after `--`).
    pub name: &'static str,
    /// Placeholder of the option's value, one word.
    pub value: &'static str,
    /// Help text, one sentence.
    pub help: &'static str,
    /// Parses the address of a transport. An error says what is wrong with the text.
    pub parse: fn(&str) -> Result<Arc<dyn Endpoint>, String>,
}

/// Address at which a transport can be opened.
pub trait Endpoint: Send + Sync {
    /// True if the transport is reachable only from this machine, or only for authenticated clients.
    fn is_guarded(&self) -> bool;

    /// Serves `device` at this address.
    ///
    /// # Errors
    /// Fails if the address is in use or the user may not use it.
    fn open(&self, device: &SharedDevice) -> io::Result<Box<dyn Transport>>;
}

/// An open transport. Dropping it closes it.
pub trait Transport: Send {
    /// Returns the address for clients: a URI or a path.
    fn address(&self) -> String;

    /// True if the transport was closed from the other side and accepts no more clients.
    fn is_closed(&self) -> bool;

    /// Closes the transport. Clients are disconnected after their current request.
    ///
    /// # Errors
    /// Returns a message about what could not be cleaned up, for example a mount. The transport is closed nonetheless.
    fn close(self: Box<Self>) -> Result<(), String>;
}
