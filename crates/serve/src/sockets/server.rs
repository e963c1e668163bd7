//! Who is connected.

use super::address::Address;
use super::stream::{Listener, Stream};
use std::io;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// What a client may ask of the server before anything is agreed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at a time; more are closed at once.
    pub connections: usize,
    /// How long a client has to say what it wants.
    pub handshake: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { connections: 64, handshake: Duration::from_secs(10) }
    }
}

/// What is done for those who connect.
pub trait Service: Send + Sync + 'static {
    /// Serves one of them, until it leaves; [`Stream::end`] sends it away.
    ///
    /// # Errors
    /// A client that breaks off, or speaks nonsense, which is nobody else's concern.
    fn serve(&self, stream: &mut Stream, limits: Limits) -> io::Result<()>;
}

/// A server with a thread for each connection, and one that waits for them.
pub struct Server {
    address: Address,
    shared: Arc<Shared>,
    listening: Option<JoinHandle<()>>,
}

/// What the threads share.
struct Shared {
    service: Box<dyn Service>,
    name: &'static str,
    limits: Limits,
    ended: AtomicBool,
    /// Those who are connected, and perhaps some who were.
    connected: Mutex<Vec<(Stream, JoinHandle<()>)>>,
}

impl Server {
    /// Serves those who connect to `address`; threads are called `name`.
    ///
    /// # Errors
    /// A place that is taken, or that the user may not use.
    pub fn start(
        name: &'static str,
        service: impl Service,
        address: &Address,
        limits: Limits,
    ) -> io::Result<Self> {
        let (listener, address) = Listener::bind(address)?;
        let service = Box::new(service);
        let (ended, connected) = (AtomicBool::new(false), Mutex::default());
        let shared = Arc::new(Shared { service, name, limits, ended, connected });
        let listening = {
            let shared = shared.clone();
            std::thread::Builder::new().name(name.into()).spawn(move || shared.listen(&listener))?
        };
        Ok(Server { address, shared, listening: Some(listening) })
    }

    /// Where it listens.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Whether nobody can connect any more.
    pub fn is_ended(&self) -> bool {
        self.listening.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Ends all connections and waits until each request in hand is done.
    pub fn end(&mut self) {
        let Some(listening) = self.listening.take() else { return };
        self.shared.ended.store(true, Ordering::SeqCst);
        // Whoever waits for a connection gets one, and looks whether it is the end.
        let woken = match &self.address {
            Address::Unix(path) => UnixStream::connect(path).is_ok(),
            Address::Tcp(address) => TcpStream::connect(address).is_ok(),
        };
        if let Address::Unix(path) = &self.address {
            // Somebody may have taken it away already.
            let _ = std::fs::remove_file(path);
        }
        if woken {
            // As below.
            let _ = listening.join();
        }
        let connected = std::mem::take(&mut *self.shared.connected());
        connected.iter().for_each(|(stream, _)| stream.end());
        connected.into_iter().for_each(|(_, thread)| {
            // What it panicked of was told.
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
        while !self.ended.load(Ordering::SeqCst) {
            match listener.accept() {
                Ok(stream) => self.admit(stream),
                // Too many open files, say: those who are there may leave meanwhile.
                Err(_) => std::thread::sleep(Duration::from_millis(10)),
            }
        }
    }

    /// Serves one more client, if there is room, by a thread of its own.
    fn admit(self: &Arc<Self>, mut stream: Stream) {
        let mut connected = self.connected();
        connected.retain(|(_, thread)| !thread.is_finished());
        if connected.len() >= self.limits.connections || self.ended.load(Ordering::SeqCst) {
            return;
        }
        let Ok(kept) = stream.try_clone() else { return };
        let shared = self.clone();
        let thread = std::thread::Builder::new().name(format!("{} client", self.name)).spawn(move || {
            // A client that breaks off, or speaks nonsense, is nobody else's concern.
            let _ = shared.service.serve(&mut stream, shared.limits);
            // Others hold the connection too.
            stream.end();
        });
        if let Ok(thread) = thread {
            connected.push((kept, thread));
        }
    }
}
