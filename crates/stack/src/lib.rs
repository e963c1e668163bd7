//! Turns a scenario into a stack, runs it and returns the result.
//!
//! Five modules, each of which uses only those before it: [`layers`], the kinds of layers; `scenario`, the configuration as
//! written, and with every default filled in; `build`, the stack; `run`, its execution; `report`, the result.

mod build;
pub mod device;
mod kept;
pub mod layers;
mod live;
mod report;
mod run;
pub mod scenario;
mod simulation;
mod size;
mod watching;

pub use build::{Stack, Target, build};
pub use device::{Fit, Rating, ResolvedDevice, TraceExtent, WARRANTY_DAYS_A_YEAR};
pub use kept::KeptPlan;
pub use layers::{
    FTLS, LAYERS, LOG_LAYOUTS, LogLayout, MakePlacement, MetadataConfig, OwnPlacement, structures,
};
pub use live::Live;
pub use report::{
    ArrivalsResult, Course, DeviceResult, EraseHistogram, ForeseeingResult, FtlResult, LayerResult, Lifetime,
    LimitResult, Look, LsmLevelResult, LsmResult, MetadataResult, NandResult, PartitionResult, Performance,
    PowerResult, RamResult, RatingResult, RecoveryResult, RecoveryStepResult, RunResult, SoFar, StepResult,
    StepSeconds, TenantResult, TheoryResult, TrimResult, WearMap, WearResult, WornOut,
};
pub use run::steady;
pub use run::{
    CauseSeries, EraseHeat, HostOp, Looker, MakeWorkload, Observer, Parts, Phase, Progress, RunError,
    SourceError, Watched, Window, host_operations,
};
pub use scenario::draft::{Draft, DraftError, parse_value};
pub use scenario::power::PowerConfig;
pub use scenario::resolve::{Caller, ResolvedScenario};
pub use scenario::timing::TimingConfig;
pub use scenario::{HostStore, Scenario, key, short_form, tree};
pub use simulation::{fitted, resolve, run, run_with};
pub use size::ByteSize;
pub use watching::watched;
