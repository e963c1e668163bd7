//! Export of the device as a file by FUSE, for loop devices, mkfs, virtual machines, and any other program that uses
//! files.

#[cfg(all(feature = "fuse", target_os = "linux"))]
mod disk;
#[cfg(all(feature = "fuse", target_os = "linux"))]
mod mount;
#[cfg(all(feature = "fuse", target_os = "linux"))]
mod replies;
#[cfg(all(feature = "fuse", target_os = "linux"))]
mod zones;

use crate::transport::TransportKind;

/// Entry in the table of transports.
pub const TRANSPORT: TransportKind = TransportKind {
    name: "fuse",
    value: "DIR",
    help: "As a file, DIR/disk, by FUSE, or a zoned drive as a file of each zone in DIR/seq; DIR is an empty directory",
    #[cfg(all(feature = "fuse", target_os = "linux"))]
    parse: mount::parse,
    #[cfg(not(all(feature = "fuse", target_os = "linux")))]
    parse: |_| {
        Err("this program was built without FUSE, which Linux alone has, and the feature `nvmfs`".into())
    },
};
