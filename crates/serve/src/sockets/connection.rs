//! Connections, in plain text or by TLS.

use super::certificates::Certificates;
use super::stream::Stream;
use super::tls_connection::TlsConnection;
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

/// Connection to a client.
pub enum Connection {
    /// Plain text.
    PlainText(Stream),
    /// Encrypted by TLS.
    Encrypted(Box<TlsConnection>),
}

/// Makes the given call on either kind of connection.
macro_rules! either {
    ($connection:expr, $name:ident => $call:expr) => {
        match $connection {
            Connection::PlainText($name) => $call,
            Connection::Encrypted($name) => $call,
        }
    };
}

impl Connection {
    /// Begins TLS on a connection.
    ///
    /// # Errors
    /// Fails if too many files are open.
    pub fn encrypted(stream: &Stream, certificates: &Certificates) -> io::Result<Self> {
        Ok(Connection::Encrypted(Box::new(certificates.encrypt(stream)?)))
    }

    /// Clones the connection. Only one of the clones may be used for reading.
    ///
    /// # Errors
    /// Fails if too many files are open.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(match self {
            Connection::PlainText(stream) => Connection::PlainText(stream.try_clone()?),
            Connection::Encrypted(stream) => Connection::Encrypted(Box::new(stream.try_clone()?)),
        })
    }

    /// Sets the time limit for reads and for writes.
    ///
    /// # Errors
    /// Fails if the time is zero.
    pub fn set_timeout(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        either!(self, stream => stream.set_timeout(timeout))
    }

    /// Enables polling in reads; see [`Stream::poll`].
    pub fn poll(&mut self) {
        either!(self, stream => stream.poll());
    }

    /// Closes the connection, even while threads read or write.
    pub fn end(&self) {
        either!(self, stream => stream.end())
    }
}

impl Read for Connection {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        either!(self, stream => stream.read(buffer))
    }
}

impl Write for Connection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        either!(self, stream => stream.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        either!(self, stream => stream.flush())
    }
}

/// Connection with a deadline for its reads and writes.
pub struct WithDeadline<'a> {
    /// The connection.
    pub connection: &'a mut Connection,
    /// Deadline for all reads and writes together.
    pub deadline: Instant,
}

impl WithDeadline<'_> {
    fn set_remaining_time(&mut self) -> io::Result<()> {
        let remaining = self.deadline.saturating_duration_since(Instant::now());
        if remaining.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.connection.set_timeout(Some(remaining))
    }
}

impl Read for WithDeadline<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.set_remaining_time()?;
        self.connection.read(buffer)
    }
}

impl Write for WithDeadline<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.set_remaining_time()?;
        self.connection.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.connection.flush()
    }
}
