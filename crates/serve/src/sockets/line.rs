//! What is said on a connection, in the clear or not.

use super::certificates::Certificates;
use super::encrypted::Encrypted;
use super::stream::Stream;
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

/// What is said on a connection.
pub enum Line {
    /// Whoever listens in understands it.
    Clear(Stream),
    /// Nobody else understands it.
    Encrypted(Box<Encrypted>),
}

/// The same call of either kind.
macro_rules! either {
    ($line:expr, $name:ident => $call:expr) => {
        match $line {
            Line::Clear($name) => $call,
            Line::Encrypted($name) => $call,
        }
    };
}

impl Line {
    /// The same, understood by nobody else from now on.
    ///
    /// # Errors
    /// Too many open files.
    pub fn encrypted(stream: &Stream, certificates: &Certificates) -> io::Result<Self> {
        Ok(Line::Encrypted(Box::new(certificates.encrypt(stream)?)))
    }

    /// The same once more; only one of them may be read.
    ///
    /// # Errors
    /// Too many open files.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(match self {
            Line::Clear(stream) => Line::Clear(stream.try_clone()?),
            Line::Encrypted(stream) => Line::Encrypted(Box::new(stream.try_clone()?)),
        })
    }

    /// How long a read or a write may take.
    ///
    /// # Errors
    /// A time of nothing.
    pub fn set_timeout(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        either!(self, stream => stream.set_timeout(timeout))
    }

    /// From now on whoever reads of it looks for a moment before it sleeps, where that pays.
    pub fn poll(&mut self) {
        either!(self, stream => stream.poll());
    }

    /// Ends it, whoever waits for what.
    pub fn end(&self) {
        either!(self, stream => stream.end())
    }
}

impl Read for Line {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        either!(self, stream => stream.read(buffer))
    }
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        either!(self, stream => stream.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        either!(self, stream => stream.flush())
    }
}

/// A connection that has to come to something by a time.
pub struct Hurried<'a> {
    /// The connection.
    pub line: &'a mut Line,
    /// The time.
    pub until: Instant,
}

impl Hurried<'_> {
    fn hurry(&mut self) -> io::Result<()> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.line.set_timeout(Some(left))
    }
}

impl Read for Hurried<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.hurry()?;
        self.line.read(buffer)
    }
}

impl Write for Hurried<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.hurry()?;
        self.line.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.line.flush()
    }
}
