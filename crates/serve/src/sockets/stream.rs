//! Unix-domain and TCP connections.

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

/// Connection through a Unix-domain or TCP socket.
pub struct Stream {
    socket: Socket,
    /// Polling state; `None` if reads block without polling.
    polling: Option<Polling>,
}

/// Kind of the socket.
enum Socket {
    /// Unix-domain socket.
    Unix(UnixStream),
    /// TCP socket.
    Tcp(TcpStream),
}

/// Makes the given call on either kind of socket.
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
    /// Clones the connection.
    ///
    /// # Errors
    /// Fails if too many files are open.
    pub fn try_clone(&self) -> io::Result<Self> {
        either!(self, stream => stream.try_clone().map(Stream::from))
    }

    /// Returns the socket if it is a Unix-domain socket.
    pub fn unix(&mut self) -> Option<&mut UnixStream> {
        match &mut self.socket {
            Socket::Unix(stream) => Some(stream),
            Socket::Tcp(_) => None,
        }
    }

    /// Sets the time limit for reads and for writes.
    ///
    /// # Errors
    /// Fails if the time is zero.
    pub fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        either!(self, stream => stream.set_read_timeout(timeout).and_then(|()| stream.set_write_timeout(timeout)))
    }

    /// Enables polling: reads poll for a short time before they block, if that pays off.
    pub fn poll(&mut self) {
        self.polling = Some(Polling::default());
    }

    /// Closes the connection, even while threads read or write.
    pub fn end(&self) {
        // The connection may have ended already.
        let _ = either!(self, stream => stream.shutdown(Shutdown::Both));
    }

    /// Reads without blocking. Returns `None` if nothing has arrived.
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
            self.polling.as_ref().and_then(|polling| polling.poll(|| self.read_at_once(buffer)))
        {
            return read;
        }
        self.polling.iter_mut().for_each(|polling| polling.before_sleep(Instant::now()));
        let read = either!(self, stream => { stream }.read(buffer));
        self.polling.iter_mut().for_each(|polling| polling.after_sleep(Instant::now()));
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

/// Listening socket.
pub enum Listener {
    /// Unix-domain socket.
    Unix(UnixListener),
    /// TCP socket.
    Tcp(TcpListener),
}

impl Listener {
    /// Listens at `address`. Also returns the actual address: port 0 stands for any free port.
    ///
    /// # Errors
    /// Fails if the address is in use or the user may not use it.
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
    /// Fails if, for example, too many files are open.
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

/// Creates a socket to which only the user may connect, at any time. The socket is created in a private folder, and
/// gets its name after its permissions are set.
fn bind_unix(path: &Path) -> io::Result<UnixListener> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = tempfile::Builder::new().prefix(".door-").rand_bytes(4).tempdir_in(parent)?;
    let hidden = folder.path().join("s");
    let listener = UnixListener::bind(&hidden)?;
    std::fs::set_permissions(&hidden, PermissionsExt::from_mode(0o600))?;
    match std::fs::hard_link(&hidden, path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            // A socket that a killed process left refuses connections.
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
