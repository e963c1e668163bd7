//! Server for front ends (virtual machines).

use super::drive::{Drive, Memory};
use super::relay::relay;
use crate::shared::SharedDevice;
use crate::sockets::{Address, Limits, Server, Service, Stream};
use crate::transport::{Endpoint, Transport};
use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use vhost::vhost_user::Listener;
use vhost_user_backend::VhostUserDaemon;
use vm_memory::GuestMemoryMmap;

/// Maximum number of simultaneous front ends, each of which has threads for its queues.
const MAX_FRONT_ENDS: usize = 8;

/// Parses the address of the socket.
pub fn parse(text: &str) -> Result<Arc<dyn Endpoint>, String> {
    match text.parse() {
        Ok(address @ Address::Unix(_)) => Ok(Arc::new(ListenAddress(address))),
        _ => Err("no place to listen at; use unix:PATH, as the guest's memory comes over the socket".into()),
    }
}

/// Address to listen at.
struct ListenAddress(Address);

impl Endpoint for ListenAddress {
    fn is_guarded(&self) -> bool {
        true
    }

    fn open(&self, device: &SharedDevice) -> io::Result<Box<dyn Transport>> {
        device.check_has_no_zones()?;
        let limits = Limits { connections: MAX_FRONT_ENDS, ..Limits::default() };
        let server = Server::start("vhost-user", FrontEndService(device.clone()), &self.0, limits)?;
        Ok(Box::new(VhostUser(server)))
    }
}

/// Listening socket for front ends.
struct VhostUser(Server);

impl Transport for VhostUser {
    fn address(&self) -> String {
        self.0.address().to_string().replacen("unix:", "vhost-user ", 1)
    }

    fn is_closed(&self) -> bool {
        self.0.has_ended()
    }

    fn close(mut self: Box<Self>) -> Result<(), String> {
        self.0.end();
        Ok(())
    }
}

/// Device that is served to all front ends.
struct FrontEndService(SharedDevice);

impl Service for FrontEndService {
    /// Serves a front end by means of the `vhost-user-backend` crate, with [`relay`] between the two.
    fn serve(&self, stream: &mut Stream, _: Limits) -> io::Result<()> {
        let Some(front) = stream.unix() else { return Err(io::ErrorKind::Unsupported.into()) };
        let memory = Memory::new(GuestMemoryMmap::new());
        let drive = Drive::new(self.0.clone(), memory.clone()).map_err(io::Error::other)?;
        let drive = Arc::new(drive);
        let mut daemon = VhostUserDaemon::new("vhost-user".into(), drive.clone(), memory).map_err(failed)?;
        let back = connect(&mut daemon)?;
        let (mut replies, mut to_front) = (back.try_clone()?, front.try_clone()?);
        let answers = std::thread::Builder::new().name("vhost-user answers".into()).spawn(move || {
            io::copy(&mut replies, &mut to_front).map(|_| to_front.shutdown(std::net::Shutdown::Both))
        })?;
        let relayed = relay(front, &back);
        drive.end();
        // This ends the thread of the protocol implementation, and then the thread that relays its answers.
        daemon.request_shutdown();
        // An invalid message of the front end may already have ended the protocol implementation.
        let _ = daemon.wait();
        let _ = answers.join();
        relayed
    }
}

/// Starts the protocol implementation, which accepts connections only at a path. Returns the other end of the
/// connection.
fn connect(daemon: &mut VhostUserDaemon<Arc<Drive>>) -> io::Result<UnixStream> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("s");
    let listener = UnixListener::bind(&path)?;
    let back = UnixStream::connect(&path)?;
    daemon.start(&mut Listener::from(listener)).map_err(failed)?;
    Ok(back)
}

fn failed(error: vhost_user_backend::Error) -> io::Error {
    io::Error::other(error.to_string())
}
