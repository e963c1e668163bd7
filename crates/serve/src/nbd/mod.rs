//! The device over NBD, the protocol of network block devices.
//!
//! Fixed newstyle, with structured replies, block status, FUA, trims, zeroes and many connections; without TLS.

mod address;
mod handshake;
pub mod protocol;
mod server;
mod stream;
mod transmission;

pub use address::{Address, AddressError};
pub use handshake::{Agreed, Export, shake_hands};
pub use server::{Limits, Server};
pub use transmission::Transmission;

/// Longest read or write, bytes, as the protocol suggests.
pub const MOST_REQUEST_BYTES: u32 = 32 << 20;
