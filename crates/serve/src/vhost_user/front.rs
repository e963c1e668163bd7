//! Fronts, which are virtual machines, as they come.

use super::drive::{Drive, Memory};
use super::relay::pass_on;
use crate::door::{Door, Place};
use crate::shared::SharedDevice;
use crate::sockets::{Address, Limits, Server, Service, Stream};
use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use vhost::vhost_user::Listener;
use vhost_user_backend::VhostUserDaemon;
use vm_memory::GuestMemoryMmap;

/// Fronts at a time, each with threads for its queues.
const MOST_FRONTS: usize = 8;

/// The place that `text` names.
pub fn place(text: &str) -> Result<Arc<dyn Place>, String> {
    match text.parse() {
        Ok(address @ Address::Unix(_)) => Ok(Arc::new(Listening(address))),
        _ => Err("no place to listen at; use unix:PATH, as the guest's memory comes over the socket".into()),
    }
}

/// Where to listen.
struct Listening(Address);

impl Place for Listening {
    fn is_guarded(&self) -> bool {
        true
    }

    fn open(&self, device: &SharedDevice) -> io::Result<Box<dyn Door>> {
        device.check_has_no_zones()?;
        let limits = Limits { connections: MOST_FRONTS, ..Limits::default() };
        let server = Server::start("vhost-user", Fronts(device.clone()), &self.0, limits)?;
        Ok(Box::new(Open(server)))
    }
}

/// A socket that fronts connect to.
struct Open(Server);

impl Door for Open {
    fn address(&self) -> String {
        self.0.address().to_string().replacen("unix:", "vhost-user ", 1)
    }

    fn is_closed(&self) -> bool {
        self.0.is_ended()
    }

    fn close(mut self: Box<Self>) -> Result<(), String> {
        self.0.end();
        Ok(())
    }
}

/// The device for all of them.
struct Fronts(SharedDevice);

impl Service for Fronts {
    /// By the `vhost-user-backend` crate, with [`pass_on`] between it and the front.
    fn serve(&self, stream: &mut Stream, _: Limits) -> io::Result<()> {
        let Some(front) = stream.unix() else { return Err(io::ErrorKind::Unsupported.into()) };
        let memory = Memory::new(GuestMemoryMmap::new());
        let drive = Drive::of(self.0.clone(), memory.clone()).map_err(io::Error::other)?;
        let drive = Arc::new(drive);
        let mut daemon = VhostUserDaemon::new("vhost-user".into(), drive.clone(), memory).map_err(failed)?;
        let back = connect(&mut daemon)?;
        let (mut heard, mut told) = (back.try_clone()?, front.try_clone()?);
        let answers = std::thread::Builder::new().name("vhost-user answers".into()).spawn(move || {
            io::copy(&mut heard, &mut told).map(|_| told.shutdown(std::net::Shutdown::Both))
        })?;
        let passed = pass_on(front, &back);
        drive.end();
        // The protocol's thread hears of the end, and so does the one above.
        daemon.request_shutdown();
        // A front that speaks nonsense has ended it already.
        let _ = daemon.wait();
        let _ = answers.join();
        passed
    }
}

/// Starts the protocol's implementation, which has to be connected to by name; the end of that connection.
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
