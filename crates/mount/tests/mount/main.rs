//! The file system under a real directory, used by programs and by the standard library.
//!
//! Every test mounts one of its own. Where mounting is not possible, the tests say so and pass.

mod acls;
mod files;
mod links;
mod many;
mod snapshots;
mod space;
mod stand;
mod survival;
mod tools;
mod users;
mod xattrs;
