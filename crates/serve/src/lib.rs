//! A simulated stack as a live block device.
//!
//! A [`Device`] is the engine of simulations, with real bytes for what its pages hold. It is reached by [`DOORS`]: [`nbd`], the
//! protocol of network block devices, [`fuse`], as a file, and [`vhost_user`], as the device of a virtual machine. It lives as long as the process, or as its [`flash`] in
//! files, or as an [`image`], a journal.

mod contents;
pub mod device;
pub mod door;
mod doors;
mod error;
pub mod flash;
pub mod fuse;
pub mod image;
pub mod nbd;
mod pacing;
pub mod plug;
mod polling;
pub mod power;
mod recording;
mod requests;
mod shared;
pub mod sockets;
mod status;
mod table;
pub mod vhost_user;

pub use contents::checksum;
pub use device::{Device, Zones};
pub use doors::DOORS;
pub use error::{DeviceError, ImageError, OpenError};
pub use pacing::Speed;
pub use requests::{Operation, Requests, Served};
pub use shared::SharedDevice;
pub use status::{FORM, LatencyPercentile, Reading, RequestReading, Status};
