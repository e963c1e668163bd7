//! The stack to be improved: its layers, sizes and settings.

use serde_json::Value;
use wearwell_stack::layers::{FtlKind, LayerKind, LogKeys, StoreKeys};
use wearwell_stack::tree::{Tree, TreeLayer, User};
use wearwell_stack::{Draft, DraftError, ResolvedDevice, ResolvedScenario, Scenario};

/// Scenario with resolved sizes, without building the stack.
pub(super) struct ResolvedStack<'a> {
    /// Scenario as written.
    pub draft: &'a Draft,
    /// Scenario with sizes, names and positions resolved.
    pub scenario: Scenario,
    pub device: ResolvedDevice,
    pub tree: Tree,
    /// Scenario as JSON values, to look up keys that differ between kinds of layers.
    values: Value,
}

impl<'a> ResolvedStack<'a> {
    /// Resolves `draft`.
    pub fn of(draft: &'a Draft) -> Result<Self, DraftError> {
        let resolved = ResolvedScenario::of(draft.scenario()?).map_err(|error| draft.explain(&error))?;
        let ResolvedScenario { scenario, device, tree, .. } = resolved;
        let values = serde_json::to_value(&scenario).expect("plain data");
        Ok(ResolvedStack { draft, scenario, device, tree, values })
    }

    /// Returns the indices of all log-structured stores: the FTL first, then the logs in the order of the scenario.
    pub fn layers(&self) -> impl Iterator<Item = usize> + '_ {
        let ftl = self.tree.ftl();
        let is_log = |at: &usize| self.store(*at).is_some();
        std::iter::once(ftl).filter(is_log).chain(self.logs())
    }

    /// Returns the indices of the logs; layers of other structures are left out.
    pub fn logs(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.tree.ftl()).filter(|at| self.log(*at).is_some())
    }

    pub fn layer(&self, at: usize) -> &TreeLayer {
        &self.tree.layers[at]
    }

    /// Returns the keys of a log; `None` for layers of other structures and for the FTL.
    pub fn log(&self, at: usize) -> Option<&LogKeys> {
        match &self.scenario.log.get(at)?.kind {
            LayerKind::Log(log) => Some(&log.keys),
            _ => None,
        }
    }

    /// Returns the keys of a log-structured store, FTL or log; `None` for layers of other structures.
    pub fn store(&self, at: usize) -> Option<&StoreKeys> {
        match &self.scenario.ftl.kind {
            FtlKind::Log(ftl) if at == self.tree.ftl() => Some(&ftl.keys),
            _ => self.log(at).map(|log| &log.store),
        }
    }

    /// Returns the settings of a layer with all defaults resolved.
    pub fn values(&self, at: usize) -> &Value {
        match at == self.tree.ftl() {
            true => &self.values["ftl"],
            false => &self.values["log"][at],
        }
    }

    /// Returns the indices of the merge trees.
    pub fn trees(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.tree.ftl()).filter(|&at| is_tree(self.values(at)))
    }

    /// Returns the index of the layer below a log.
    pub fn below(&self, log: usize) -> usize {
        self.layer(log).below.as_ref().expect("a log stands on a layer").layer_index
    }

    /// Returns the logs on top of a layer.
    pub fn logs_on(&self, at: usize) -> Vec<usize> {
        let log = |user: &User| match user {
            User::Log(at) => Some(*at),
            User::Tenant(_) => None,
        };
        self.layer(at).users.iter().filter_map(log).collect()
    }

    /// Returns the name of a layer for use in a sentence.
    pub fn display_name(&self, at: usize) -> String {
        let name = &self.layer(at).name;
        match (at == self.tree.ftl(), name.as_str()) {
            (true, "ftl") => "the FTL".into(),
            (true, _) => format!("FTL `{name}`"),
            _ => format!("log `{name}`"),
        }
    }

    /// Returns the page size in bytes.
    pub fn page_bytes(&self) -> u64 {
        u64::from(self.device.geometry.page_bytes)
    }

    /// Returns the pages visible to each tenant; with a single source of writes, the pages of the stack.
    pub fn host_pages(&self) -> Vec<u32> {
        self.tree.tenants.iter().map(|attachment| attachment.pages).collect()
    }
}

/// True if a layer is a merge tree, which reserves space for its merges.
pub(super) fn is_tree(values: &Value) -> bool {
    matches!(values["structure"]["kind"].as_str(), Some("lsm" | "silt"))
}

/// Returns `value` with the fewest digits that `fits` accepts, or unchanged if none does.
pub(super) fn fewest_digits(value: f64, fits: impl Fn(f64) -> bool) -> f64 {
    let rounded = |digits: usize| format!("{value:.digits$}").parse().unwrap_or(value);
    (2..=16).map(rounded).find(|&value| fits(value)).unwrap_or(value)
}

/// Formats a size in the largest unit without a fraction.
pub(super) fn size_text(bytes: u64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let largest_unit = units.iter().find(|(_, bits)| bytes != 0 && bytes.is_multiple_of(1 << bits));
    largest_unit.map_or_else(|| format!("{bytes} bytes"), |(unit, bits)| format!("{} {unit}", bytes >> bits))
}

/// Returns a size as the value of a key.
pub(super) fn size_value(bytes: u64) -> Value {
    if bytes.is_multiple_of(1024) { Value::String(size_text(bytes)) } else { Value::from(bytes) }
}
