//! Conversion of a finished run to its result.

mod about;
mod ftl;
mod look;
mod power;
mod rating;
mod result;
mod run;
mod tenants;
mod waits;
mod wear;

pub(crate) use about::About;
pub use ftl::{FtlResult, RamResult, RecoveryResult, RecoveryStepResult};
pub use look::{Look, SoFar};
pub use power::{PowerResult, StepSeconds};
pub use rating::RatingResult;
pub use result::{
    ArrivalsResult, Course, DeviceResult, ForeseeingResult, LayerResult, Lifetime, LimitResult,
    LsmLevelResult, LsmResult, MetadataResult, NandResult, PartitionResult, Performance, RunResult,
    StepResult, TenantResult, TheoryResult, TrimResult, WornOut,
};
pub(crate) use run::result;
pub use wear::{EraseHistogram, WearMap, WearResult};
