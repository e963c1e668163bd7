//! Sockets of the transports: addresses, connections and encryption.

mod address;
mod certificates;
mod connection;
mod server;
mod stream;
mod tls_connection;

pub use address::{Address, AddressError, POLL, TLS};
pub use certificates::{CertificateError, Certificates};
pub use connection::{Connection, WithDeadline};
pub use server::{Limits, Server, Service};
pub use stream::{Listener, Stream};
