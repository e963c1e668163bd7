//! NBD server.

use super::MOST_REQUEST_BYTES;
use super::handshake::{Ended, Export, Negotiated, TlsMode, greet, negotiate};
use super::transmission::Transmission;
use crate::shared::SharedDevice;
use crate::sockets::{
    Address, AddressError, Certificates, Connection, Limits, POLL, Service, Stream, TLS, WithDeadline,
};
use crate::transport::{Endpoint, Transport};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Server of a device over NBD.
pub struct Server {
    server: crate::sockets::Server,
    is_encrypted: bool,
}

/// Options of the server.
#[derive(Clone, Default)]
pub struct ServerOptions {
    /// Certificates for TLS. If set, clients must use TLS.
    pub certificates: Option<Certificates>,
    /// True if threads poll for the next request before they sleep.
    pub polls: bool,
}

/// Parses an address with its options.
pub fn parse(text: &str) -> Result<Arc<dyn Endpoint>, String> {
    let without = |text| str::strip_suffix(text, POLL).map_or((text, false), |text| (text, true));
    let (text, polls_at_end) = without(text);
    let (address, folder) =
        text.split_once(TLS).map_or((text, None), |(address, folder)| (address, Some(folder)));
    let (address, polls) = without(address);
    let polls = polls || polls_at_end;
    let address: Address = address.parse().map_err(|error: AddressError| error.to_string())?;
    let certificates = folder.map(|folder| Certificates::read(Path::new(folder))).transpose();
    let certificates = certificates.map_err(|error| error.to_string())?;
    Ok(Arc::new(ListenAddress { address, options: ServerOptions { certificates, polls } }))
}

/// Address to listen at, and the server's options.
struct ListenAddress {
    address: Address,
    options: ServerOptions,
}

impl Server {
    /// Serves `device` at `address` in plain text.
    ///
    /// # Errors
    /// Fails if the address is in use or the user may not use it.
    pub fn start(device: SharedDevice, address: &Address, limits: Limits) -> io::Result<Self> {
        Server::start_with(ServerOptions::default(), device, address, limits)
    }

    /// Serves `device` at `address` with the options `options`.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub fn start_with(
        options: ServerOptions,
        device: SharedDevice,
        address: &Address,
        limits: Limits,
    ) -> io::Result<Self> {
        let is_encrypted = options.certificates.is_some();
        let exported = Exported::of(device, options)?;
        let server = crate::sockets::Server::start("nbd", exported, address, limits)?;
        Ok(Server { server, is_encrypted })
    }

    /// Returns the URI for clients.
    pub fn uri(&self) -> String {
        let scheme = if self.is_encrypted { "nbds" } else { "nbd" };
        match self.server.address() {
            Address::Unix(path) => format!("{scheme}+unix:///?socket={}", path.display()),
            Address::Tcp(address) => format!("{scheme}://{address}"),
        }
    }

    /// Closes all connections and waits until each current request is done.
    pub fn stop(mut self) {
        self.server.end();
    }
}

/// Device with its exports.
struct Exported {
    /// Handle of the device for each export, in the order of `exports`.
    devices: Vec<SharedDevice>,
    exports: Vec<Export>,
    options: ServerOptions,
}

impl Exported {
    /// Creates the default export, and one export for each placement handle of the device.
    fn of(device: SharedDevice, options: ServerOptions) -> io::Result<Self> {
        device.check_has_no_zones()?;
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
        Ok(Exported { devices, exports, options })
    }

    /// Negotiates with a client within the time limit. Returns the result and the connection to use, or `None` if the client
    /// left.
    fn negotiate(&self, stream: &Stream, limits: Limits) -> io::Result<Option<(Negotiated, Connection)>> {
        let until = Instant::now() + limits.handshake;
        let mut connection = Connection::Clear(stream.try_clone()?);
        let mut tls = if self.options.certificates.is_some() { TlsMode::Required } else { TlsMode::Off };
        let flags = greet(&mut WithDeadline { connection: &mut connection, until })?;
        loop {
            let ended = negotiate(
                &mut WithDeadline { connection: &mut connection, until },
                &self.exports,
                flags,
                tls,
            )?;
            match (ended, &self.options.certificates) {
                (Ended::Negotiated(negotiated), _) => {
                    connection.set_timeout(None)?;
                    return Ok(Some((negotiated, connection)));
                }
                (Ended::Encrypted, Some(certificates)) => {
                    (connection, tls) = (Connection::encrypted(stream, certificates)?, TlsMode::Encrypted);
                }
                (Ended::Encrypted | Ended::Left, _) => {
                    connection.end();
                    return Ok(None);
                }
            }
        }
    }
}

impl Service for Exported {
    fn serve(&self, stream: &mut Stream, limits: Limits) -> io::Result<()> {
        let Some((negotiated, mut connection)) = self.negotiate(stream, limits)? else { return Ok(()) };
        if self.options.polls {
            connection.poll();
        }
        let out = connection.try_clone()?;
        let (device, export) = (&self.devices[negotiated.export], &self.exports[negotiated.export]);
        let served = Transmission::new(&mut connection, out, device, export, negotiated).serve();
        connection.end();
        served
    }
}

impl Endpoint for ListenAddress {
    fn is_guarded(&self) -> bool {
        self.address.is_local() || self.options.certificates.as_ref().is_some_and(Certificates::asks_clients)
    }

    fn open(&self, device: &SharedDevice) -> io::Result<Box<dyn Transport>> {
        let (options, limits) = (self.options.clone(), Limits::default());
        Ok(Box::new(Server::start_with(options, device.clone(), &self.address, limits)?))
    }
}

impl Transport for Server {
    fn address(&self) -> String {
        self.uri()
    }

    fn is_closed(&self) -> bool {
        self.server.is_ended()
    }

    fn close(mut self: Box<Self>) -> Result<(), String> {
        self.server.end();
        Ok(())
    }
}
