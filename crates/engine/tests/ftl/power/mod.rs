//! FTLs that lose their power at every moment, beside a list of what was acknowledged.

mod chips;
mod forgetful;
pub mod harness;
mod hybrid;
mod page;
mod paged;
