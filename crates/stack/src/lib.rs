//! Turns a scenario into a stack, runs it and returns the result.
//!
//! Five modules, each of which uses only those before it: [`layers`], the kinds of layers; `scenario`, the
//! configuration as written, and with every default filled in; `build`, the stack; `run`, its execution; `report`, the
//! result.

mod build;
pub mod device;
pub mod layers;
mod live_stack;
mod observed;
mod report;
mod run;
pub mod scenario;
mod simulation;
mod size;
mod stored_flash;

pub use build::{Stack, Target, build};
pub use device::{Fit, Rating, ResolvedDevice, TraceExtent, WARRANTY_DAYS_A_YEAR};
pub use layers::{
    CustomPlacement, FTLS, LAYERS, LOG_LAYOUTS, LogLayout, MetadataConfig, PlacementFactory, structures,
};
pub use live_stack::LiveStack;
pub use observed::run_observed;
pub use report::{
    ArrivalsResult, ChainStepResult, DeviceResult, EraseHistogram, FtlResult, IntermediateResult,
    LayerResult, Lifetime, LowerBoundResult, LsmLevelResult, LsmResult, MeasuredLife, MetadataResult,
    NandResult, OfflineResult, PartitionResult, Performance, PowerResult, RamResult, RatingResult,
    RecoveryResult, RecoveryStepResult, RunPhases, RunResult, StackSnapshot, StepSeconds, TenantResult,
    TheoryResult, TrimResult, WearMap, WearResult,
};
pub use run::steady;
pub use run::{
    CauseSeries, CustomParts, EraseHeatMap, HostOp, ObservedOutcome, Observer, PageObserver, Phase, Progress,
    RunError, SourceError, Window, WorkloadFactory, host_operations,
};
pub use scenario::draft::{Draft, DraftError, parse_value};
pub use scenario::power::PowerConfig;
pub use scenario::resolve::{CallerFeatures, ResolvedScenario};
pub use scenario::timing::TimingConfig;
pub use scenario::{HostStore, Scenario, key, renamed_keys, short_form, tree};
pub use simulation::{resolve, run, run_with, with_fitted_drive};
pub use size::ByteSize;
pub use stored_flash::StoredFlashPlan;
