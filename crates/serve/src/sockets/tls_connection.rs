//! TLS connections.

use super::stream::Stream;
use rustls::{ServerConfig, ServerConnection};
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Number of bytes read from the connection at a time: two TLS records of maximum size.
const READ_BYTES: usize = 32 << 10;

/// TLS connection. Two threads use the connection and its clone: one thread reads and the other one writes.
pub struct TlsConnection {
    stream: Stream,
    /// Received bytes. Those from `processed` on are not processed yet.
    received: Vec<u8>,
    processed: usize,
    /// Deadline for reads and writes, if there is one.
    deadline: Option<Instant>,
    shared: Arc<Shared>,
}

/// State shared by the two threads.
struct Shared {
    tls: Mutex<ServerConnection>,
    /// Output stream, which keeps records in the order of encryption. Lock order: `out` before `tls`. Thus a writer
    /// that waits for a slow client does not block the reader.
    out: Mutex<Stream>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Runs `action` and sends the TLS output that it causes.
    fn send<T>(
        &self,
        out: &mut Stream,
        action: impl FnOnce(&mut ServerConnection) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut bytes = Vec::new();
        let result = {
            let mut tls = lock(&self.tls);
            let result = action(&mut tls);
            while tls.wants_write() {
                tls.write_tls(&mut bytes)?;
            }
            result
        };
        out.write_all(&bytes)?;
        result
    }
}

impl TlsConnection {
    /// Creates the server side of a connection whose TLS handshake follows.
    ///
    /// # Errors
    /// Fails if too many files are open.
    pub(super) fn new(stream: Stream, config: Arc<ServerConfig>) -> io::Result<Self> {
        let tls = ServerConnection::new(config).map_err(io::Error::other)?;
        let shared = Shared { tls: Mutex::new(tls), out: Mutex::new(stream.try_clone()?) };
        Ok(TlsConnection {
            stream,
            received: Vec::new(),
            processed: 0,
            deadline: None,
            shared: Arc::new(shared),
        })
    }

    /// Clones the connection. Only one of the clones may be used for reading.
    ///
    /// # Errors
    /// Fails if too many files are open.
    pub fn try_clone(&self) -> io::Result<Self> {
        let (stream, shared) = (self.stream.try_clone()?, self.shared.clone());
        Ok(TlsConnection { stream, received: Vec::new(), processed: 0, deadline: self.deadline, shared })
    }

    /// Sets the time limit for reads and for writes, counted from now and independent of the number of records.
    ///
    /// # Errors
    /// Fails if the time is zero.
    pub fn set_timeout(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        self.deadline = timeout.map(|timeout| Instant::now() + timeout);
        self.stream.set_timeout(timeout)
    }

    /// Enables polling in reads; see [`Stream::poll`].
    pub fn poll(&mut self) {
        self.stream.poll();
    }

    /// Closes the connection. Sends a TLS close notification unless another thread is writing.
    pub fn end(&self) {
        if let Ok(mut out) = self.shared.out.try_lock() {
            // The client may have disconnected already.
            let _ = self.shared.send(&mut out, |tls| {
                tls.send_close_notify();
                Ok(())
            });
        }
        self.stream.end();
    }

    /// Processes the next received bytes.
    fn process(&mut self) -> io::Result<()> {
        let (result, has_answer) = {
            let mut tls = lock(&self.shared.tls);
            self.processed += tls.read_tls(&mut &self.received[self.processed..])?;
            (tls.process_new_packets(), tls.wants_write())
        };
        if has_answer {
            let sent = self.shared.send(&mut lock(&self.shared.out), |_| Ok(()));
            // If both failed, the error of the client is more informative.
            result.as_ref().map_or(Ok(()), |_| sent)?;
        }
        result.map(drop).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    /// Waits for more bytes.
    fn wait(&mut self) -> io::Result<()> {
        if let Some(until) = self.deadline {
            let remaining = until.saturating_duration_since(Instant::now());
            if remaining.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.stream.set_timeout(Some(remaining))?;
        }
        self.processed = 0;
        self.received.resize(READ_BYTES, 0);
        let read = self.stream.read(&mut self.received);
        self.received.truncate(*read.as_ref().unwrap_or(&0));
        // A client that disconnects properly sends a close notification before.
        if read? == 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }
}

impl Read for TlsConnection {
    /// Reads all bytes that have arrived; waits until there is at least one.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        loop {
            let read = lock(&self.shared.tls).reader().read(&mut buffer[filled..]);
            match read {
                Ok(0) => return Ok(filled),
                Ok(bytes) => filled += bytes,
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                Err(_) if self.processed < self.received.len() => self.process()?,
                Err(_) if filled > 0 => return Ok(filled),
                Err(_) => self.wait()?,
            }
        }
    }
}

impl Write for TlsConnection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.shared.send(&mut lock(&self.shared.out), |tls| tls.writer().write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        // Writes are not buffered here.
        Ok(())
    }
}
