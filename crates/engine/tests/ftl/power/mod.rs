//! FTLs with power cuts at every moment, compared with the acknowledged writes.

mod chips;
pub mod harness;
mod hybrid;
mod page;
mod paged;
mod volatile_buffer;
