//! Server that runs a thread for each connection.

use super::address::Address;
use super::stream::{Listener, Stream};
use std::io;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Limits for clients before the handshake is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of simultaneous connections; a further connection is closed immediately.
    pub connections: usize,
    /// Time limit for the handshake.
    pub handshake: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { connections: 64, handshake: Duration::from_secs(10) }
    }
}

/// Handler of connections.
pub trait Service: Send + Sync + 'static {
    /// Serves one client until it disconnects, or until [`Stream::end`] disconnects it.
    ///
    /// # Errors
    /// Fails if the client disconnects unexpectedly or violates the protocol. Other clients are not affected.
    fn serve(&self, stream: &mut Stream, limits: Limits) -> io::Result<()>;
}

/// Server with a listening thread and one thread for each connection.
pub struct Server {
    address: Address,
    shared: Arc<Shared>,
    listening: Option<JoinHandle<()>>,
}

/// State shared by the threads.
struct Shared {
    service: Box<dyn Service>,
    name: &'static str,
    limits: Limits,
    is_stopping: AtomicBool,
    /// Connected clients, and possibly some that have already disconnected.
    connected: Mutex<Vec<(Stream, JoinHandle<()>)>>,
}

impl Server {
    /// Serves clients at `address`, on threads with the name `name`.
    ///
    /// # Errors
    /// Fails if the address is in use or the user may not use it.
    pub fn start(
        name: &'static str,
        service: impl Service,
        address: &Address,
        limits: Limits,
    ) -> io::Result<Self> {
        let (listener, address) = Listener::bind(address)?;
        let service = Box::new(service);
        let (is_stopping, connected) = (AtomicBool::new(false), Mutex::default());
        let shared = Arc::new(Shared { service, name, limits, is_stopping, connected });
        let listening = {
            let shared = shared.clone();
            std::thread::Builder::new().name(name.into()).spawn(move || shared.listen(&listener))?
        };
        Ok(Server { address, shared, listening: Some(listening) })
    }

    /// Returns the address of the listening socket.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// True if no further client can connect.
    pub fn has_ended(&self) -> bool {
        self.listening.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Closes all connections and waits until the current requests are complete.
    pub fn end(&mut self) {
        let Some(listening) = self.listening.take() else { return };
        self.shared.is_stopping.store(true, Ordering::SeqCst);
        // A connection wakes the listening thread, which then checks `is_stopping`.
        let woken = match &self.address {
            Address::Unix(path) => UnixStream::connect(path).is_ok(),
            Address::Tcp(address) => TcpStream::connect(address).is_ok(),
        };
        if let Address::Unix(path) = &self.address {
            // The socket may have been removed already.
            let _ = std::fs::remove_file(path);
        }
        if woken {
            // A panic of the thread was already reported.
            let _ = listening.join();
        }
        let connected = std::mem::take(&mut *self.shared.connected());
        connected.iter().for_each(|(stream, _)| stream.end());
        connected.into_iter().for_each(|(_, thread)| {
            // A panic of the thread was already reported.
            let _ = thread.join();
        });
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    fn connected(&self) -> MutexGuard<'_, Vec<(Stream, JoinHandle<()>)>> {
        self.connected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listen(self: &Arc<Self>, listener: &Listener) {
        while !self.is_stopping.load(Ordering::SeqCst) {
            match listener.accept() {
                Ok(stream) => self.admit(stream),
                // There may be too many open files, for example; clients may disconnect during the pause.
                Err(_) => std::thread::sleep(Duration::from_millis(10)),
            }
        }
    }

    /// Serves a new client on a separate thread, if the limits allow.
    fn admit(self: &Arc<Self>, mut stream: Stream) {
        let mut connected = self.connected();
        connected.retain(|(_, thread)| !thread.is_finished());
        if connected.len() >= self.limits.connections || self.is_stopping.load(Ordering::SeqCst) {
            return;
        }
        let Ok(kept) = stream.try_clone() else { return };
        let shared = self.clone();
        let thread = std::thread::Builder::new().name(format!("{} client", self.name)).spawn(move || {
            // An error of one client does not affect the other clients.
            let _ = shared.service.serve(&mut stream, shared.limits);
            // Clones of the connection still exist, so dropping it would not close it.
            stream.end();
        });
        if let Ok(thread) = thread {
            connected.push((kept, thread));
        }
    }
}
