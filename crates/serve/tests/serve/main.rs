//! Tests of the device and its transports.

mod agreement;
mod client;
mod clients;
mod common;
mod conversation;
mod device;
mod flash;
#[cfg(all(feature = "fuse", target_os = "linux"))]
mod fuse;
#[cfg(all(feature = "vhost_user", target_os = "linux"))]
mod guest;
mod hostile;
mod images;
mod paced;
mod recordings;
mod tls;
#[cfg(all(feature = "vhost_user", target_os = "linux"))]
mod uml;
#[cfg(all(feature = "vhost_user", target_os = "linux"))]
mod vhost;
#[cfg(all(feature = "fuse", target_os = "linux"))]
mod zones;
