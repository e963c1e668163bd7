//! NBD server.

use super::MAX_REQUEST_BYTES;
use super::handshake::{Export, NegotiationResult, OptionsOutcome, TlsMode, greet, negotiate};
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
    /// Certificates for TLS. If they are set, clients must use TLS.
    pub certificates: Option<Certificates>,
    /// True if threads poll for the next request before they block.
    pub is_polling: bool,
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
    Ok(Arc::new(ListenAddress { address, options: ServerOptions { certificates, is_polling: polls } }))
}

/// Address to listen at, with the options of the server.
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
    /// The errors of [`Server::start`].
    pub fn start_with(
        options: ServerOptions,
        device: SharedDevice,
        address: &Address,
        limits: Limits,
    ) -> io::Result<Self> {
        let is_encrypted = options.certificates.is_some();
        let exported = ExportedDevice::new(device, options)?;
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

    /// Closes all connections and waits until the current requests are complete.
    pub fn stop(mut self) {
        self.server.end();
    }
}

/// Device together with its exports.
struct ExportedDevice {
    /// For each export, a handle of the device, in the order of `exports`.
    devices: Vec<SharedDevice>,
    exports: Vec<Export>,
    options: ServerOptions,
}

impl ExportedDevice {
    /// Creates the default export, and one export for each placement handle of the device.
    fn new(device: SharedDevice, options: ServerOptions) -> io::Result<Self> {
        device.check_has_no_zones()?;
        let properties =
            device.with(|device| Ok((device.bytes(), device.page_bytes(), device.placement_handles())));
        let (bytes, page_bytes, handles) = properties.map_err(io::Error::other)?;
        let export = Export {
            name: String::new(),
            bytes,
            page_bytes: page_bytes.clamp(512, MAX_REQUEST_BYTES),
            max_bytes: MAX_REQUEST_BYTES,
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
        let placement_exports = (0..handles).map(|handle| (device.with_hint(handle), by_handle(handle)));
        let (devices, exports) =
            std::iter::once((device.clone(), export.clone())).chain(placement_exports).unzip();
        Ok(ExportedDevice { devices, exports, options })
    }

    /// Negotiates with a client within the time limit. Returns the result and the connection to use; `None` if the
    /// client disconnected.
    fn negotiate(
        &self,
        stream: &Stream,
        limits: Limits,
    ) -> io::Result<Option<(NegotiationResult, Connection)>> {
        let until = Instant::now() + limits.handshake;
        let mut connection = Connection::PlainText(stream.try_clone()?);
        let mut tls = if self.options.certificates.is_some() { TlsMode::Required } else { TlsMode::Off };
        let flags = greet(&mut WithDeadline { connection: &mut connection, deadline: until })?;
        loop {
            let outcome = negotiate(
                &mut WithDeadline { connection: &mut connection, deadline: until },
                &self.exports,
                flags,
                tls,
            )?;
            match (outcome, &self.options.certificates) {
                (OptionsOutcome::Complete(negotiated), _) => {
                    connection.set_timeout(None)?;
                    return Ok(Some((negotiated, connection)));
                }
                (OptionsOutcome::Encrypted, Some(certificates)) => {
                    (connection, tls) = (Connection::encrypted(stream, certificates)?, TlsMode::Encrypted);
                }
                (OptionsOutcome::Encrypted | OptionsOutcome::Disconnected, _) => {
                    connection.end();
                    return Ok(None);
                }
            }
        }
    }
}

impl Service for ExportedDevice {
    fn serve(&self, stream: &mut Stream, limits: Limits) -> io::Result<()> {
        let Some((negotiated, mut connection)) = self.negotiate(stream, limits)? else { return Ok(()) };
        if self.options.is_polling {
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
        self.address.is_local()
            || self.options.certificates.as_ref().is_some_and(Certificates::requires_client_certificates)
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
        self.server.has_ended()
    }

    fn close(mut self: Box<Self>) -> Result<(), String> {
        self.server.end();
        Ok(())
    }
}
