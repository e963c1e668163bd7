//! Export of the device over NBD, the Network Block Device protocol.
//!
//! The server supports fixed newstyle negotiation, structured replies, block status, FUA, trim, write zeroes and
//! multiple connections, in plain text or by TLS.

mod client;
mod handshake;
pub mod protocol;
mod server;
mod transmission;

use crate::transport::TransportKind;

pub use crate::sockets::{Address, CertificateError, Certificates, Limits};
pub use client::Client;
pub use handshake::{ClientFlags, Export, NegotiationResult, OptionsOutcome, TlsMode, greet, negotiate};
pub use server::{Server, ServerOptions};
pub use transmission::Transmission;

/// Entry in the table of transports.
pub const TRANSPORT: TransportKind = TransportKind {
    name: "nbd",
    value: "ADDRESS",
    help: "Over NBD: unix:PATH, a socket that only you may connect to, or tcp:ADDRESS:PORT; with ,tls=DIR by TLS alone, with the \
           certificates in DIR; with ,poll at the end the next request is looked for before the server sleeps",
    parse: server::parse,
};

/// Maximum length of a read or write in bytes, as the protocol recommends.
pub const MAX_REQUEST_BYTES: u32 = 32 << 20;
