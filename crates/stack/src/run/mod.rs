//! Execution of a run, its writers, and its outcome.

mod apply;
mod causes;
pub(crate) mod conserve;
pub(crate) mod driver;
mod error;
pub(crate) mod finished;
pub(crate) mod fit;
mod heat;
mod host_ops;
pub(crate) mod live_clock;
mod observer;
pub(crate) mod pace;
mod parts;
pub(crate) mod payload;
mod precondition;
mod reckoning;
pub(crate) mod series;
pub(crate) mod snapshot;
pub(crate) mod source;
pub mod steady;
pub(crate) mod tenants;
pub(crate) mod traffic;
pub(crate) mod watched;
mod window;

pub use causes::CauseSeries;
pub use error::RunError;
pub use heat::EraseHeat;
pub(crate) use host_ops::foresight;
pub use host_ops::{HostOp, host_operations};
pub use observer::{Observer, Progress};
pub use parts::{MakeWorkload, Parts};
pub use source::SourceError;
pub use watched::{Looker, Watched};
pub use window::{Phase, Window};
