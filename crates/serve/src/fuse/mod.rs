//! The device as a file, by FUSE: what a loop device, mkfs, a virtual machine or any program that reads and writes files takes.

#[cfg(all(feature = "fuse", target_os = "linux"))]
mod answers;
#[cfg(all(feature = "fuse", target_os = "linux"))]
mod disk;
#[cfg(all(feature = "fuse", target_os = "linux"))]
mod folder;
#[cfg(all(feature = "fuse", target_os = "linux"))]
mod mounted;
#[cfg(all(feature = "fuse", target_os = "linux"))]
mod zones;

use crate::door::Kind;

/// Its line of the table.
pub const DOOR: Kind = Kind {
    name: "fuse",
    value: "DIR",
    help: "As a file, DIR/disk, by FUSE, or a zoned drive as a file of each zone in DIR/seq; DIR is an empty directory",
    #[cfg(all(feature = "fuse", target_os = "linux"))]
    place: mounted::place,
    #[cfg(not(all(feature = "fuse", target_os = "linux")))]
    place: |_| {
        Err("this program was built without FUSE, which Linux alone has, and the feature `nvmfs`".into())
    },
};
