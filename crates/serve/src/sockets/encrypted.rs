//! A connection that others cannot read.

use super::stream::Stream;
use rustls::{ServerConfig, ServerConnection};
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What is taken from the connection at a time, bytes: two records of the longest kind.
const TAKEN_BYTES: usize = 32 << 10;

/// A connection by TLS. It and its clones are used by two threads, of which one reads and the other writes.
pub struct Encrypted {
    stream: Stream,
    /// What came, of which the part from `looked_at` on is still as it came.
    came: Vec<u8>,
    looked_at: usize,
    /// When a client that has to come to something must have come to it.
    until: Option<Instant>,
    shared: Arc<Shared>,
}

/// What both threads need.
struct Shared {
    tls: Mutex<ServerConnection>,
    /// By which it goes out, in the order in which it was encrypted: whoever holds this may take `tls`, never the other way round. So
    /// nobody who waits for a client to listen keeps the other thread from hearing it.
    out: Mutex<Stream>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Sends what `say` has left to be sent.
    fn send<T>(
        &self,
        out: &mut Stream,
        say: impl FnOnce(&mut ServerConnection) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut bytes = Vec::new();
        let said = {
            let mut tls = lock(&self.tls);
            let said = say(&mut tls);
            while tls.wants_write() {
                tls.write_tls(&mut bytes)?;
            }
            said
        };
        out.write_all(&bytes)?;
        said
    }
}

impl Encrypted {
    /// Of a connection on which the client's first word of TLS comes next.
    ///
    /// # Errors
    /// Too many open files.
    pub(super) fn new(stream: Stream, config: Arc<ServerConfig>) -> io::Result<Self> {
        let tls = ServerConnection::new(config).map_err(io::Error::other)?;
        let shared = Shared { tls: Mutex::new(tls), out: Mutex::new(stream.try_clone()?) };
        Ok(Encrypted { stream, came: Vec::new(), looked_at: 0, until: None, shared: Arc::new(shared) })
    }

    /// The same connection once more; only one of them may be read.
    ///
    /// # Errors
    /// Too many open files.
    pub fn try_clone(&self) -> io::Result<Self> {
        let (stream, shared) = (self.stream.try_clone()?, self.shared.clone());
        Ok(Encrypted { stream, came: Vec::new(), looked_at: 0, until: self.until, shared })
    }

    /// How long a read or a write may take, however many records come or go meanwhile.
    ///
    /// # Errors
    /// A time of nothing.
    pub fn set_timeout(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        self.until = timeout.map(|timeout| Instant::now() + timeout);
        self.stream.set_timeout(timeout)
    }

    /// From now on whoever reads of it looks for a moment before it sleeps, where that pays.
    pub fn poll(&mut self) {
        self.stream.poll();
    }

    /// Ends it, and says so where nobody is in the midst of saying something else.
    pub fn end(&self) {
        if let Ok(mut out) = self.shared.out.try_lock() {
            // Whoever has gone already need not know.
            let _ = self.shared.send(&mut out, |tls| {
                tls.send_close_notify();
                Ok(())
            });
        }
        self.stream.end();
    }

    /// Looks at the next of what came.
    fn look(&mut self) -> io::Result<()> {
        let (looked, has_answer) = {
            let mut tls = lock(&self.shared.tls);
            self.looked_at += tls.read_tls(&mut &self.came[self.looked_at..])?;
            (tls.process_new_packets(), tls.wants_write())
        };
        if has_answer {
            let sent = self.shared.send(&mut lock(&self.shared.out), |_| Ok(()));
            // Of two problems the client's own says more.
            looked.as_ref().map_or(Ok(()), |_| sent)?;
        }
        looked.map(drop).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    /// Waits for what comes next.
    fn wait(&mut self) -> io::Result<()> {
        if let Some(until) = self.until {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.stream.set_timeout(Some(left))?;
        }
        self.looked_at = 0;
        self.came.resize(TAKEN_BYTES, 0);
        let read = self.stream.read(&mut self.came);
        self.came.truncate(*read.as_ref().unwrap_or(&0));
        // A client that leaves says so before.
        if read? == 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }
}

impl Read for Encrypted {
    /// As much as has come, and at least something.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        loop {
            let read = lock(&self.shared.tls).reader().read(&mut buffer[filled..]);
            match read {
                Ok(0) => return Ok(filled),
                Ok(bytes) => filled += bytes,
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                Err(_) if self.looked_at < self.came.len() => self.look()?,
                Err(_) if filled > 0 => return Ok(filled),
                Err(_) => self.wait()?,
            }
        }
    }
}

impl Write for Encrypted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.shared.send(&mut lock(&self.shared.out), |tls| tls.writer().write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        // Nothing is kept back.
        Ok(())
    }
}
