//! The device over NBD, the protocol of network block devices.
//!
//! Fixed newstyle, with structured replies, block status, FUA, trims, zeroes and many connections; in the clear, or by TLS alone.

mod client;
mod handshake;
pub mod protocol;
mod server;
mod transmission;

use crate::door::Kind;

pub use crate::sockets::{Address, CertificateError, Certificates, Limits};
pub use client::Client;
pub use handshake::{Agreed, Ended, Export, Greeted, Secrecy, agree, greet};
pub use server::{Manners, Server};
pub use transmission::Transmission;

/// Its line of the table.
pub const DOOR: Kind = Kind {
    name: "nbd",
    value: "ADDRESS",
    help: "Over NBD: unix:PATH, a socket that only you may connect to, or tcp:ADDRESS:PORT; with ,tls=DIR by TLS alone, with the \
           certificates in DIR; with ,poll at the end the next request is looked for before the server sleeps",
    place: server::place,
};

/// Longest read or write, bytes, as the protocol suggests.
pub const MOST_REQUEST_BYTES: u32 = 32 << 20;
