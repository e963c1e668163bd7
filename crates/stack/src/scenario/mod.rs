//! Configuration of a run as the user writes it, and resolved with every default filled in.

pub mod draft;
mod host_store;
pub mod key;
pub mod power;
mod renamed_keys;
pub mod resolve;
pub(crate) mod run_phases;
mod short_forms;
#[cfg(test)]
mod tests;
pub mod timing;
mod toml_value;
pub mod tree;
mod types;
pub(crate) mod writer_configs;
pub(crate) mod writers;

pub use host_store::HostStore;
pub use renamed_keys::renamed_keys;
pub use run_phases::{Fill, Measure, Precondition};
pub use short_forms::{schema, short_form};
pub use types::Scenario;
pub use writer_configs::{AddressRule, Backwards, MissingDigests, TenantConfig, TraceConfig, VolumeRule};
