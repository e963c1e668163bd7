//! Live block devices backed by simulated stacks.
//!
//! A [`Device`] is the engine of the simulations plus real bytes for its pages. Clients reach it by the transports in
//! [`TRANSPORTS`]: [`nbd`] (Network Block Device protocol), [`fuse`] (a file) and [`vhost_user`] (a device of a
//! virtual machine). A device exists as long as the process, or is kept: as the bytes of its [`flash`] in files, or
//! as an [`image`] with a journal.

mod contents;
pub mod device;
mod error;
pub mod flash;
pub mod fuse;
pub mod image;
pub mod nbd;
mod pacing;
mod polling;
pub mod power;
pub mod power_switch;
mod recording;
mod requests;
mod shared;
pub mod sockets;
mod status;
mod table;
pub mod transport;
mod transports;
pub mod vhost_user;

pub use contents::checksum;
pub use device::{Device, Zones};
pub use error::{DeviceError, ImageError, OpenError};
pub use pacing::Speed;
pub use requests::{Operation, RequestStats, Requests};
pub use shared::SharedDevice;
pub use status::{FORMAT_VERSION, LatencyPercentile, Reading, RequestReading, Status};
pub use transports::TRANSPORTS;
