//! The device as a virtio block device of a virtual machine: QEMU and User-mode Linux hand it to their guests by vhost-user.
//!
//! The guest's requests lie in its memory, which is shared with this process, and need no copy through a socket. Virtual I/O Device
//! (VIRTIO) Version 1.2, 5.2; QEMU's "Vhost-user Protocol".

#[cfg(all(feature = "vhost_user", target_os = "linux"))]
mod drive;
#[cfg(all(feature = "vhost_user", target_os = "linux"))]
mod front;
#[cfg(all(feature = "vhost_user", target_os = "linux"))]
mod relay;
#[cfg(all(feature = "vhost_user", target_os = "linux"))]
mod requests;

use crate::door::Kind;

/// Its line of the table.
pub const DOOR: Kind = Kind {
    name: "vhost-user",
    value: "ADDRESS",
    help: "As a virtio block device of QEMU or User-mode Linux: unix:PATH, a socket that only you may connect to",
    #[cfg(all(feature = "vhost_user", target_os = "linux"))]
    place: front::place,
    #[cfg(not(all(feature = "vhost_user", target_os = "linux")))]
    place: |_| {
        Err("this program was built without vhost-user, which Linux alone has, and the feature `nvmfs`"
            .into())
    },
};
