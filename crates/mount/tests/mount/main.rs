//! Tests of a mounted file system by means of programs and the standard library.
//!
//! Every test has its own mount. Where mounting is not possible, the tests print the reason and pass.

mod acls;
mod files;
mod fixture;
mod links;
mod many_files;
mod snapshots;
mod space;
mod survival;
mod tools;
mod users;
mod xattrs;
