//! Export of the device as a virtio block device by vhost-user, for guests of QEMU and User-mode Linux.
//!
//! The guest's memory is shared with this process, so that requests need no copy through a socket. The sources are
//! the Virtual I/O Device (VIRTIO) Version 1.2, section 5.2, and the "Vhost-user Protocol" of QEMU.

#[cfg(all(feature = "vhost_user", target_os = "linux"))]
mod drive;
#[cfg(all(feature = "vhost_user", target_os = "linux"))]
mod front;
#[cfg(all(feature = "vhost_user", target_os = "linux"))]
mod relay;
#[cfg(all(feature = "vhost_user", target_os = "linux"))]
mod requests;

use crate::transport::TransportKind;

/// Entry in the table of transports.
pub const TRANSPORT: TransportKind = TransportKind {
    name: "vhost-user",
    value: "ADDRESS",
    help: "As a virtio block device of QEMU or User-mode Linux: unix:PATH, a socket that only you may connect to",
    #[cfg(all(feature = "vhost_user", target_os = "linux"))]
    parse: front::parse,
    #[cfg(not(all(feature = "vhost_user", target_os = "linux")))]
    parse: |_| {
        Err("this program was built without vhost-user, which Linux alone has, and the feature `nvmfs`"
            .into())
    },
};
