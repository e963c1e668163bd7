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
        crate::sockets::Server::start("nbd", Exported::of(device)?, address, limits).map(Server)
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
    /// The device as the export of the same place has it.
    devices: Vec<SharedDevice>,
    exports: Vec<Export>,
}

impl Exported {
    /// The device without a name, and once for each placement handle, by which what is written to it goes.
    fn of(device: SharedDevice) -> io::Result<Self> {
        let known =
            device.with(|device| Ok((device.bytes(), device.page_bytes(), device.placement_handles())));
        let (bytes, page_bytes, handles) = known.map_err(io::Error::other)?;
        let export = Export {
            name: String::new(),
            bytes,
            page_bytes: page_bytes.clamp(512, MOST_REQUEST_BYTES),
            most_bytes: MOST_REQUEST_BYTES,
            description: "a drive simulated by Wearwell".into(),
        };
        let by_handle = |handle: u16| Export {
            name: format!("placement/{handle}"),
            description: format!(
                "{}; what is written here goes by placement handle {handle}",
                export.description
            ),
            ..export.clone()
        };
        let others = (0..handles).map(|handle| (device.with_hint(handle), by_handle(handle)));
        let (devices, exports) = std::iter::once((device.clone(), export.clone())).chain(others).unzip();
        Ok(Exported { devices, exports })
    }
}

impl Service for Exported {
    fn serve(&self, stream: &mut Stream, limits: Limits) -> io::Result<()> {
        let until = Instant::now() + limits.handshake;
        let agreed = shake_hands(&mut Hurried { stream, until }, &self.exports)?;
        let Some(agreed) = agreed else { return Ok(()) };
        stream.set_timeout(None)?;
        let out = stream.try_clone()?;
        let (device, export) = (&self.devices[agreed.export], &self.exports[agreed.export]);
        Transmission::new(stream, out, device, export, agreed).serve()
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
