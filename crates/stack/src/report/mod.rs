//! Results of a run, and their computation from the reports of the layers.

mod description;
mod equal_policies;
mod ftl;
mod intermediate;
mod lifetime;
mod power;
mod rating;
mod result;
mod run;
mod tenants;
mod wait_warning;
mod wear;

pub(crate) use description::StackDescription;
pub use ftl::{FtlResult, RamResult, RecoveryResult, RecoveryStepResult};
pub use intermediate::{IntermediateResult, StackSnapshot};
pub use lifetime::{Lifetime, MeasuredLife};
pub use power::{PowerResult, StepSeconds};
pub use rating::RatingResult;
pub use result::{
    ArrivalsResult, ChainStepResult, DeviceResult, LayerResult, LowerBoundResult, LsmLevelResult, LsmResult,
    MetadataResult, NandResult, OfflineResult, PartitionResult, Performance, RunPhases, RunResult,
    TenantResult, TheoryResult, TrimResult,
};
pub(crate) use run::result;
pub use wear::{EraseHistogram, WearMap, WearResult};
