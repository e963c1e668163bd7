//! A connection, of either kind.

use super::address::Address;
use crate::polling::Polling;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::{Duration, Instant};

/// A connection.
pub struct Stream {
    socket: Socket,
    /// If whoever reads of it looks for a moment before it sleeps.
    polling: Option<Polling>,
}

/// Its kind.
enum Socket {
    /// By a socket in the file system.
    Unix(UnixStream),
    /// By a port.
    Tcp(TcpStream),
}

/// The same call of either kind.
macro_rules! either {
    ($stream:expr, $name:ident => $call:expr) => {
        match &$stream.socket {
            Socket::Unix($name) => $call,
            Socket::Tcp($name) => $call,
        }
    };
}

impl From<UnixStream> for Stream {
    fn from(stream: UnixStream) -> Self {
        Stream { socket: Socket::Unix(stream), polling: None }
    }
}

impl From<TcpStream> for Stream {
    fn from(stream: TcpStream) -> Self {
        Stream { socket: Socket::Tcp(stream), polling: None }
    }
}

impl Stream {
    /// The same connection once more.
    ///
    /// # Errors
    /// Too many open files.
    pub fn try_clone(&self) -> io::Result<Self> {
        either!(self, stream => stream.try_clone().map(Stream::from))
    }

    /// The socket in the file system, if it is by one.
    pub fn unix(&mut self) -> Option<&mut UnixStream> {
        match &mut self.socket {
            Socket::Unix(stream) => Some(stream),
            Socket::Tcp(_) => None,
        }
    }

    /// How long a read or a write may take.
    ///
    /// # Errors
    /// A time of nothing.
    pub fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        either!(self, stream => stream.set_read_timeout(timeout).and_then(|()| stream.set_write_timeout(timeout)))
    }

    /// From now on whoever reads of it looks for a moment before it sleeps, where that pays.
    pub fn poll(&mut self) {
        self.polling = Some(Polling::default());
    }

    /// Ends it, whoever waits for what.
    pub fn end(&self) {
        // It may have ended by itself.
        let _ = either!(self, stream => stream.shutdown(Shutdown::Both));
    }

    /// Reads what is there; nothing if there is nothing yet.
    fn read_at_once(&self, buffer: &mut [u8]) -> Option<io::Result<usize>> {
        match either!(self, stream => recv(stream, buffer, RecvFlags::DONTWAIT)) {
            Ok((read, _)) => Some(Ok(read)),
            Err(Errno::AGAIN) => None,
            Err(error) => Some(Err(error.into())),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(read) =
            self.polling.as_ref().and_then(|polling| polling.look(|| self.read_at_once(buffer)))
        {
            return read;
        }
        self.polling.iter_mut().for_each(|polling| polling.sleeps(Instant::now()));
        let read = either!(self, stream => { stream }.read(buffer));
        self.polling.iter_mut().for_each(|polling| polling.woken(Instant::now()));
        read
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        either!(self, stream => { stream }.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        either!(self, stream => { stream }.flush())
    }
}

/// What listens.
pub enum Listener {
    /// At a socket in the file system.
    Unix(UnixListener),
    /// At a port.
    Tcp(TcpListener),
}

impl Listener {
    /// Listens at `address`, and says where that is: with port 0 any free one.
    ///
    /// # Errors
    /// A place that is taken, or that the user may not use.
    pub fn bind(address: &Address) -> io::Result<(Self, Address)> {
        match address {
            Address::Unix(path) => Ok((Listener::Unix(bind_unix(path)?), address.clone())),
            Address::Tcp(wanted) => {
                let listener = TcpListener::bind(wanted)?;
                let address = Address::Tcp(listener.local_addr()?);
                Ok((Listener::Tcp(listener), address))
            }
        }
    }

    /// Waits for the next connection.
    ///
    /// # Errors
    /// Too many open files, say.
    pub fn accept(&self) -> io::Result<Stream> {
        match self {
            Listener::Unix(listener) => listener.accept().map(|(stream, _)| Stream::from(stream)),
            Listener::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nodelay(true)?;
                Ok(Stream::from(stream))
            }
        }
    }
}

/// A socket that only its user may connect to, from the first moment on: it is made in a folder of the user's own and gets its name
/// when its permissions are set.
fn bind_unix(path: &Path) -> io::Result<UnixListener> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = tempfile::Builder::new().prefix(".door-").rand_bytes(4).tempdir_in(parent)?;
    let hidden = folder.path().join("s");
    let listener = UnixListener::bind(&hidden)?;
    std::fs::set_permissions(&hidden, PermissionsExt::from_mode(0o600))?;
    match std::fs::hard_link(&hidden, path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            // What a process left behind that was killed refuses connections.
            let refused = UnixStream::connect(path).err().map(|error| error.kind());
            if refused != Some(io::ErrorKind::ConnectionRefused) {
                return Err(error);
            }
            std::fs::remove_file(path)?;
            std::fs::hard_link(&hidden, path)?;
        }
        linked => linked?,
    }
    Ok(listener)
}
