//! From a scenario to a stack, a run and its result.

mod build;
mod device;
mod report;
mod result;
mod run;
pub mod scenario;
mod size;
mod source;
pub mod steady;

pub use build::{Stack, build};
pub use device::ResolvedDevice;
pub use result::{
    Course, DeviceResult, LayerResult, Lifetime, NandResult, Performance, Phase, RunResult, WearResult,
    Window, WornOut,
};
pub use run::{Observer, Progress, RunError, resolve, run};
pub use scenario::Scenario;
pub use size::ByteSize;
pub use source::SourceError;
