//! The log-structured store that the host writes to, with the parameters that a model of its cleaning needs.

use super::resolve::ResolvedScenario;
use super::writers;
use crate::layers::{FEATURES, Feature, Features, FtlKind, Kinds, LayerKind, StoreKeys};
use wearwell_engine::dedup::DedupConfig;
use wearwell_workload::{ContentConfig, WorkloadConfig};

/// A log-structured store that a single workload writes to.
#[derive(Clone, Copy, Debug)]
pub struct HostStore<'a> {
    /// The layer's name in results.
    pub layer: &'a str,
    /// Settings of the store, with every default filled in.
    pub keys: &'a StoreKeys,
    /// Blocks (segments) of the store, without those that are bad from the start.
    pub blocks: u32,
    /// Pages of a block (segment).
    pub pages_per_block: u32,
    /// Pages that the store shows to the workload.
    pub logical_pages: u32,
    /// The workload that writes to the store.
    pub workload: &'a WorkloadConfig,
    /// Deduplication, which only the FTL has.
    pub dedup: Option<&'a DedupConfig>,
    /// Contents of written pages, if the scenario configures them.
    pub content: Option<&'a ContentConfig>,
    features: &'a Features,
}

impl HostStore<'_> {
    /// Returns the first feature of the store that `supported` does not contain, as the scenario would name it.
    pub fn first_unsupported_feature(&self, supported: &[Feature]) -> Option<&'static str> {
        let mut unknown = FEATURES.iter().copied().filter(|feature| !supported.contains(feature));
        unknown.find(|&feature| self.features.has(feature)).map(Feature::help)
    }
}

impl ResolvedScenario {
    /// Returns the store that the workload writes to, on any layers below; otherwise the reason why there is none.
    ///
    /// # Errors
    /// Returns the writer, if it is not a single workload; or the layer, if it is not a log-structured store.
    pub fn host_store(&self) -> Result<HostStore<'_>, String> {
        let [writer] = &self.tree.tenants[..] else {
            return Err(if self.scenario.top.is_some() {
                "a file system at the top does the writing".into()
            } else {
                "several tenants write, each in its own way".into()
            });
        };
        let (_, _, workload) = writers::workload_of(&self.scenario, 0);
        let workload = workload.ok_or("a trace is written, which follows no law")?;
        let (at, layer) = (writer.layer_index, &self.tree.layers[writer.layer_index]);
        let store = |keys, blocks: u64, features| {
            let blocks = u32::try_from(blocks).expect("pages are counted in 32 bits");
            let (pages_per_block, logical_pages) = (layer.block_pages, layer.logical_pages);
            let dedup = Some(&self.scenario.ftl.common.dedup).filter(|_| at == self.tree.ftl());
            let content = self.scenario.content.as_ref();
            let layer = &layer.name;
            HostStore {
                layer,
                keys,
                blocks,
                pages_per_block,
                logical_pages,
                workload,
                dedup,
                content,
                features,
            }
        };
        let no_store = |kind: &str| format!("`{}` is a `{kind}`, and no log-structured store", layer.name);
        if at == self.tree.ftl() {
            let FtlKind::Log(kind) = &self.scenario.ftl.kind else {
                return Err(no_store(self.scenario.ftl.kind.entry().name));
            };
            let bad = u64::from(self.scenario.device.factory_bad_blocks);
            let blocks = self.ftl.physical_pages / u64::from(layer.block_pages) - bad;
            return Ok(store(&kind.keys, blocks, &self.ftl.features));
        }
        let LayerKind::Log(kind) = &self.scenario.log[at].kind else {
            return Err(no_store(self.scenario.log[at].kind.entry().name));
        };
        let plan = &self.layers[at];
        let blocks = plan.physical_pages / u64::from(layer.block_pages);
        Ok(store(&kind.keys.store, blocks, &plan.features))
    }
}
