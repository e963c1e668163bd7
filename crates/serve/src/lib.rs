//! A simulated stack as a live block device.
//!
//! A [`Device`] is the engine of simulations, with real bytes for what its pages hold. It is reached by [`nbd`], the protocol of
//! network block devices. It lives as long as the process, or as an [`image`].

mod contents;
pub mod device;
mod error;
pub mod image;
pub mod nbd;
mod table;

pub use contents::checksum;
pub use device::Device;
pub use error::{DeviceError, OpenError};
