//! Interface that every transport (a way to reach a device) implements.

use crate::shared::SharedDevice;
use std::io;
use std::sync::Arc;

/// A kind of transport; [`TRANSPORTS`](crate::TRANSPORTS) lists all kinds.
pub struct TransportKind {
    /// Name of the transport, and of its command-line option (after `--`).
    pub name: &'static str,
    /// Placeholder for the value of the option, one word.
    pub value: &'static str,
    /// Help text of the option, one sentence.
    pub help: &'static str,
    /// Parses the address of a transport. An error describes the problem with the text.
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

/// An open transport, which is closed when it is dropped.
pub trait Transport: Send {
    /// Returns the address for clients, which is a URI or a path.
    fn address(&self) -> String;

    /// True if the transport was closed by the kernel or a client, and accepts no further clients.
    fn is_closed(&self) -> bool;

    /// Closes the transport. A client is disconnected after its current request.
    ///
    /// # Errors
    /// A message that names things that could not be cleaned up, for example a mount. The transport is closed in any
    /// case.
    fn close(self: Box<Self>) -> Result<(), String>;
}
