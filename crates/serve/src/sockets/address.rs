//! Where to listen.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

/// What stands between an address and a folder of certificates, where there may be one. It is a part of no path.
pub const TLS: &str = ",tls=";

/// What stands at the end of an address where the server looks for the next request for a moment before it sleeps.
pub const POLL: &str = ",poll";

/// Where to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A socket in the file system, of the user's own.
    Unix(PathBuf),
    /// A port.
    Tcp(SocketAddr),
}

/// Why a text is no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no place to listen at; use unix:PATH, or tcp:ADDRESS:PORT such as tcp:127.0.0.1:10809; {TLS}DIR and {POLL} are for NBD alone"
)]
pub struct AddressError;

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        match text.split_once(':') {
            Some(("unix", path)) if !path.is_empty() && !has_options(path) => Ok(Address::Unix(path.into())),
            Some(("tcp", address)) => address.parse().map(Address::Tcp).map_err(|_| AddressError),
            _ => Err(AddressError),
        }
    }
}

/// Whether there is something in it that is a part of no path.
fn has_options(path: &str) -> bool {
    path.contains(TLS) || path.ends_with(POLL)
}

impl Address {
    /// Whether only this machine reaches it.
    pub fn is_local(&self) -> bool {
        match self {
            Address::Unix(_) => true,
            Address::Tcp(address) => address.ip().is_loopback(),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
            Address::Tcp(address) => write!(f, "tcp:{address}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_they_are_shown() {
        for (text, local) in [
            ("unix:/run/x.sock", true),
            ("tcp:127.0.0.1:10809", true),
            ("tcp:[::1]:1", true),
            ("tcp:0.0.0.0:1", false),
        ] {
            let address: Address = text.parse().unwrap();
            assert_eq!((address.to_string().as_str(), address.is_local()), (text, local));
        }
        for text in [
            "",
            "unix:",
            "unix:s,tls=certs",
            "unix:s,poll",
            "tcp:127.0.0.1:1,tls=certs",
            "tcp:localhost",
            "/run/x.sock",
            "udp:127.0.0.1:1",
        ] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }
}
