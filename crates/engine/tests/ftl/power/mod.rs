//! FTLs that lose their power at every moment, beside a list of what was acknowledged.

mod chips;
mod forgetful;
mod harness;
mod hybrid;
mod page;
mod paged;
