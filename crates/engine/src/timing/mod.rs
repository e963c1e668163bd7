//! Simulated time of a stack's operations.

mod backlog;
mod block_erases;
mod busy;
mod channel;
mod clock;
mod controller;
mod die;
mod die_lookup;
mod early_grants;
mod events;
pub mod flash;
mod host;
mod journal;
mod layout;
mod node;
mod parameters;
mod parts;
mod pending_programs;
mod plan;
mod recording;
mod singles;
mod statistics;
#[cfg(test)]
mod tests;
mod time_queue;
mod timeline;
mod tournament;
mod writes;

pub use busy::BusyTime;
pub use clock::Clock;
pub use flash::{Completion, Flash};
pub use host::{Arrivals, Cleaning, HostTiming};
pub use journal::{Event, Journal, Step};
pub use layout::{FlashLocation, Layout, Striping};
pub use parameters::{Contention, FlashTiming, HashEngine, Priority, SPARES_PER_PAGE, Suspend};
pub use parts::{PARTS, Parts};
pub use recording::RecordingNand;
pub use statistics::{OutageTimes, Percentile, RequestTimes, Statistics, TimingReport};
pub use timeline::{Bin, Timeline};
