//! Configuration of a run as the user writes it, and resolved with every default filled in.

pub(crate) mod course;
pub mod draft;
mod host_store;
pub mod key;
pub mod power;
pub mod resolve;
mod short_forms;
pub(crate) mod sources;
#[cfg(test)]
mod tests;
pub mod timing;
mod toml_value;
pub mod tree;
mod types;
pub(crate) mod writers;

pub use course::{Fill, Measure, Precondition};
pub use host_store::HostStore;
pub use short_forms::{schema, short_form};
pub use sources::{AddressRule, Backwards, MissingDigests, TenantConfig, TraceConfig, VolumeRule};
pub use types::Scenario;
