//! The device and its doors.

mod agreement;
mod client;
mod clients;
mod common;
mod device;
#[cfg(all(feature = "fuse", target_os = "linux"))]
mod fuse;
mod hostile;
mod images;
