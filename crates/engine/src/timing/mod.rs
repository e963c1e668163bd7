//! Simulated time of a stack's operations.

mod backlog;
mod busy;
mod channel;
mod clock;
mod controller;
mod die;
mod ends;
mod erased;
mod events;
mod firsts;
pub mod flash;
mod given;
mod host;
mod journal;
mod layout;
mod node;
mod parameters;
mod parts;
mod placer;
mod plan;
mod programs;
mod singles;
mod statistics;
#[cfg(test)]
mod tests;
mod timed;
mod timeline;
mod writes;

pub use busy::BusyTime;
pub use clock::Clock;
pub use flash::{Finished, Flash};
pub use host::{Arrivals, Cleaning, HostTiming};
pub use journal::{Event, Journal, Step};
pub use layout::{Layout, Place, Striping};
pub use parameters::{Contention, FlashTiming, HashEngine, Priority, SPARES_PER_PAGE, Suspend};
pub use parts::{PARTS, Parts};
pub use statistics::{OutageTimes, Percentile, RequestTimes, Statistics, TimingReport};
pub use timed::Timed;
pub use timeline::{Bin, Timeline};
