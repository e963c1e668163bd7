//! FTLs on tiny drives: every merge and synchronisation worked out by hand, and power cuts at every operation.

mod bast;
mod cuts;
mod cycles;
pub mod drives;
mod fast;
mod free;
pub mod kept;
mod often;
mod paged;
mod results;
mod told;
