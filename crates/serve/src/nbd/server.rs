//! Clients of NBD, as they come.

use super::MOST_REQUEST_BYTES;
use super::handshake::{Export, shake_hands};
use super::transmission::Transmission;
use crate::door::{Door, Place};
use crate::shared::SharedDevice;
use crate::sockets::{Address, Hurried, Limits, Service, Stream};
use std::io;
use std::sync::Arc;
use std::time::Instant;

/// A device that is served over NBD.
pub struct Server(crate::sockets::Server);

/// The place that `text` names.
pub fn place(text: &str) -> Result<Arc<dyn Place>, String> {
    let address: Address = text.parse().map_err(|error: crate::sockets::AddressError| error.to_string())?;
    Ok(Arc::new(Listening(address)))
}

/// Where to listen.
struct Listening(Address);

impl Server {
    /// Serves `device` at `address`.
    ///
    /// # Errors
    /// A place that is taken, or that the user may not use.
    pub fn start(device: SharedDevice, address: &Address, limits: Limits) -> io::Result<Self> {
        let sizes = device.with(|device| Ok((device.bytes(), device.page_bytes())));
        let (bytes, page_bytes) = sizes.map_err(io::Error::other)?;
        let export = Export {
            bytes,
            page_bytes: page_bytes.clamp(512, MOST_REQUEST_BYTES),
            most_bytes: MOST_REQUEST_BYTES,
            description: "a drive simulated by Wearwell".into(),
        };
        crate::sockets::Server::start("nbd", Exported { device, export }, address, limits).map(Server)
    }

    /// Where it is, as clients want it.
    pub fn uri(&self) -> String {
        match self.0.address() {
            Address::Unix(path) => format!("nbd+unix:///?socket={}", path.display()),
            Address::Tcp(address) => format!("nbd://{address}"),
        }
    }

    /// Ends all connections and waits until each request in hand is done.
    pub fn stop(mut self) {
        self.0.end();
    }
}

/// A device and what clients may know of it.
struct Exported {
    device: SharedDevice,
    export: Export,
}

impl Service for Exported {
    fn serve(&self, stream: &mut Stream, limits: Limits) -> io::Result<()> {
        let until = Instant::now() + limits.handshake;
        let agreed = shake_hands(&mut Hurried { stream, until }, &self.export)?;
        let Some(agreed) = agreed else { return Ok(()) };
        stream.set_timeout(None)?;
        let out = stream.try_clone()?;
        Transmission::new(stream, out, &self.device, &self.export, agreed).serve()
    }
}

impl Place for Listening {
    fn is_local(&self) -> bool {
        self.0.is_local()
    }

    fn open(&self, device: &SharedDevice) -> io::Result<Box<dyn Door>> {
        Ok(Box::new(Server::start(device.clone(), &self.0, Limits::default())?))
    }
}

impl Door for Server {
    fn address(&self) -> String {
        self.uri()
    }

    fn is_closed(&self) -> bool {
        self.0.is_ended()
    }

    fn close(mut self: Box<Self>) -> Result<(), String> {
        self.0.end();
        Ok(())
    }
}
