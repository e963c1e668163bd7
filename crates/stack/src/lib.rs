//! From a scenario to a stack, a run and its result.

mod build;
mod conserve;
mod course_config;
pub mod device;
mod draft;
mod driver;
mod ftl_result;
pub mod key;
mod log_layouts;
mod metadata_config;
mod pace;
mod parts;
mod payload;
mod power;
mod precondition;
mod report;
mod result;
mod run;
pub mod scenario;
mod size;
mod source;
pub mod steady;
mod store;
mod structure;
mod tenant_report;
pub mod tenants;
mod timing_config;
mod toml_value;
pub mod tree;
pub mod trim_config;

pub use build::{Entrance, Stack, build};
pub use device::ResolvedDevice;
pub use draft::{Draft, DraftError, parse_value};
pub use ftl_result::{FtlResult, RamResult, RecoveryResult, RecoveryStepResult};
pub use log_layouts::{LOG_LAYOUTS, LogLayout};
pub use metadata_config::MetadataConfig;
pub use parts::{MakeWorkload, Parts};
pub use power::{PowerConfig, PowerResult, StepSeconds};
pub use result::{
    ArrivalsResult, Course, DeviceResult, LayerResult, Lifetime, LsmLevelResult, LsmResult, MetadataResult,
    NandResult, PartitionResult, Performance, Phase, RunResult, StepResult, TenantResult, TrimResult,
    WearResult, Window, WornOut,
};
pub use run::{Observer, Progress, RunError, resolve, run, run_with};
pub use scenario::Scenario;
pub use size::ByteSize;
pub use source::SourceError;
pub use structure::{STRUCTURE_ALIASES, STRUCTURES, StructureConfig, ftl_entries};
pub use timing_config::TimingConfig;
