//! Execution of a run, its writers, and its outcome.

mod apply;
mod causes;
pub(crate) mod conservation;
mod custom_parts;
pub(crate) mod dispatcher;
pub(crate) mod driver;
mod error;
pub(crate) mod finished;
pub(crate) mod fit;
mod heat_map;
mod host_ops;
pub(crate) mod live_clock;
pub(crate) mod observed_run;
mod observer;
pub(crate) mod payload;
mod precondition;
mod run_length;
pub(crate) mod series;
pub(crate) mod snapshot;
pub(crate) mod source;
pub mod steady;
pub(crate) mod tenants;
pub(crate) mod traffic;
mod window;

pub use causes::CauseSeries;
pub use custom_parts::{CustomParts, WorkloadFactory};
pub use error::RunError;
pub use heat_map::EraseHeatMap;
pub(crate) use host_ops::foresight;
pub use host_ops::{HostOp, host_operations};
pub use observed_run::{ObservedOutcome, PageObserver};
pub use observer::{Observer, Progress};
pub use source::SourceError;
pub use window::{Phase, Window};
