//! FUSE sessions, for all crates that mount something.
//!
//! [`Session`] mounts a file system, answers requests in threads, and unmounts. [`Folder`] is a file system of a few
//! files; [`SingleFile`] is a disk that appears as one file.

#![cfg(target_os = "linux")]

mod folder;
mod owner;
mod session;
mod single_file;

pub use folder::{Files, Folder, MAX_WRITE_BYTES};
pub use fuser;
pub use owner::Owner;
pub use session::{Options, Session, default_threads, unmount};
pub use single_file::{FILE_NAME, SingleFile, SingleFileFolder};
