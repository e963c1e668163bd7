//! `[top]` of a scenario: a file system over the stack.

use super::machine::{Machine, MachineError, MachineSettings};
use super::workload::{TopHandle, TopWorkload};
use crate::options::{Format, Options};
use crate::placement::PlacementKind;
use crate::workload::FileWorkloadConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use wearwell_core::config::ConfigError;
use wearwell_core::seed::Seed;
use wearwell_core::stack::{self, ByteSize, Draft, DraftError, Parts, Scenario};

/// What stands on the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TopKind {
    /// The file system over NVRAM and SSD.
    Nvmfs,
}

/// `[top]`: a file system over the stack, and what is done with its files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TopConfig {
    /// What it is.
    pub kind: TopKind,
    /// Bytes of NVRAM, a multiple of 4 KiB.
    pub nvram: ByteSize,
    /// Where data goes.
    #[serde(default)]
    pub placement: PlacementKind,
    /// Inodes; one in 4 KiB of NVRAM unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inodes: Option<u32>,
    /// Share of the SSD's extents kept free for cleaning.
    #[serde(default = "default_reserve")]
    pub reserve: f64,
    /// How the file system uses its devices.
    #[serde(default)]
    pub options: Options,
    /// What is done with files; it must not end.
    pub workload: FileWorkloadConfig,
}

fn default_reserve() -> f64 {
    Format::default().reserve
}

impl TopConfig {
    /// The machine over an SSD of so many blocks; random numbers come from the scenario's root seed.
    ///
    /// # Errors
    /// Sizes or settings that cannot be.
    pub fn machine(&self, ssd_blocks: u64, root_seed: u64) -> Result<Machine, MachineError> {
        Machine::new(&MachineSettings {
            nvram_bytes: self.nvram.0,
            ssd_blocks,
            format: Format {
                id: u128::from(root_seed),
                inodes: self.inodes,
                reserve: self.reserve,
                placement: self.placement,
            },
            options: self.options.clone(),
            workload: self.workload.clone(),
            seed: Seed(root_seed).of("top"),
        })
    }

    /// Takes `top` out of a scenario that is being written, if it has one. One that says nothing of what was on the drive
    /// before gets an empty drive: the file system trims all of it when it is made.
    ///
    /// # Errors
    /// A key or value that is not allowed.
    pub fn take(draft: &mut Draft) -> Result<Option<TopConfig>, TakeError> {
        let Some(top) = draft.get("top").cloned() else { return Ok(None) };
        draft.unset("top")?;
        if draft.get("precondition").is_none() {
            draft.set("precondition.fill", json!("none"))?;
        }
        let config = serde_path_to_error::deserialize(top).map_err(|error| {
            let inner = error.path().to_string();
            let key = if inner == "." { "top".to_owned() } else { format!("top.{inner}") };
            ConfigError::new(key, error.into_inner().to_string())
        })?;
        Ok(Some(config))
    }

    /// What a run of `scenario` needs to be driven by this file system, and where its figures will be.
    ///
    /// # Errors
    /// Sizes or settings that cannot be, a scenario that has a workload of its own.
    pub fn parts(&self, scenario: &Scenario) -> Result<(Parts, TopHandle), ConfigError> {
        let others = [
            ("workload", scenario.workload.is_some()),
            ("trace", scenario.trace.is_some()),
            ("tenant", !scenario.tenant.is_empty()),
            ("content", scenario.content.is_some()),
        ];
        if let Some((key, _)) = others.into_iter().find(|(_, given)| *given) {
            return Err(ConfigError::new(key, "stands beside `top`, which is what writes to the stack"));
        }
        if !self.nvram.0.is_multiple_of(crate::api::BLOCK_BYTES as u64) {
            return Err(ConfigError::new("top.nvram", "must be a multiple of 4 KiB"));
        }
        let (blocks, pages_per_block) = drive(scenario)?;
        let handle = TopHandle::default();
        let machine = self.machine(blocks, scenario.seed);
        let machine = machine.map_err(|error| ConfigError::new("top", error.to_string()))?;
        let workload = TopWorkload::new(machine, pages_per_block, handle.clone());
        let workload = Box::new(move |_: u32| Box::new(workload) as Box<_>);
        Ok((Parts { workload: Some(workload), described: true, ..Parts::default() }, handle))
    }
}

/// Blocks of the drive that the stack is for a file system, and pages of the stack in each.
fn drive(scenario: &Scenario) -> Result<(u64, u32), ConfigError> {
    let stack = stack::build::<()>(&mut scenario.clone())?;
    let block_bytes = crate::api::BLOCK_BYTES as u32;
    if !block_bytes.is_multiple_of(stack.page_bytes) {
        let problem = format!(
            "is {} bytes; under a file system with blocks of 4 KiB it must divide them",
            stack.page_bytes
        );
        return Err(ConfigError::new("device.mapping_unit", problem));
    }
    let pages_per_block = block_bytes / stack.page_bytes;
    Ok((stack.logical_pages() / u64::from(pages_per_block), pages_per_block))
}

/// Why `top` cannot be taken out of a scenario.
#[derive(Debug, thiserror::Error)]
pub enum TakeError {
    /// The scenario is no table.
    #[error(transparent)]
    Draft(#[from] DraftError),
    /// A key or value that is not allowed.
    #[error(transparent)]
    Config(#[from] ConfigError),
}
