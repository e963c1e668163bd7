//! FTLs on tiny drives: every merge and synchronisation by hand, and power lost at every moment.

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
