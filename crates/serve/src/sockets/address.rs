//! Addresses of listening sockets.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

/// Separator between an address and a folder of certificates, for transports that allow one. It must not occur in
/// paths.
pub const TLS: &str = ",tls=";

/// Suffix of an address that enables polling: the server polls for the next request before it blocks.
pub const POLL: &str = ",poll";

/// Address to listen at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// Unix-domain socket, to which only the user can connect.
    Unix(PathBuf),
    /// TCP address and port.
    Tcp(SocketAddr),
}

/// Error in the text of an address.
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

/// True if the text contains an option, which a path must not.
fn has_options(path: &str) -> bool {
    path.contains(TLS) || path.ends_with(POLL)
}

impl Address {
    /// True if only this machine can connect.
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
    fn addresses_survive_display_and_parse() {
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
