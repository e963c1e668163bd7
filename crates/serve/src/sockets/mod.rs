//! Doors that are sockets: where they listen, and who is connected.

mod address;
mod server;
mod stream;

pub use address::{Address, AddressError};
pub use server::{Limits, Server, Service};
pub use stream::{Hurried, Listener, Stream};
