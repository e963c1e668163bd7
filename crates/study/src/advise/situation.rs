//! The stack that advice is asked for: what stands where, how large it is and how it is set.

use serde_json::Value;
use wearwell_stack::layers::{FtlKind, LayerKind, LogKeys, StoreKeys};
use wearwell_stack::tree::{Tree, TreeLayer, User};
use wearwell_stack::{Draft, DraftError, ResolvedDevice, ResolvedScenario, Scenario};

/// A scenario with its sizes worked out, but not built.
pub(super) struct Situation<'a> {
    /// As it was written.
    pub draft: &'a Draft,
    /// With sizes, names and places filled in.
    pub scenario: Scenario,
    pub device: ResolvedDevice,
    pub tree: Tree,
    /// The scenario as values, to look up what kinds of layers have under names of their own.
    values: Value,
}

impl<'a> Situation<'a> {
    /// What `draft` describes.
    pub fn of(draft: &'a Draft) -> Result<Self, DraftError> {
        let resolved = ResolvedScenario::of(draft.scenario()?).map_err(|error| draft.explain(&error))?;
        let ResolvedScenario { scenario, device, tree, .. } = resolved;
        let values = serde_json::to_value(&scenario).expect("plain data");
        Ok(Situation { draft, scenario, device, tree, values })
    }

    /// The numbers of all log-structured stores: the FTL first, then the logs in the order of the scenario.
    pub fn layers(&self) -> impl Iterator<Item = usize> + '_ {
        let ftl = self.tree.ftl();
        let is_log = |at: &usize| self.store(*at).is_some();
        std::iter::once(ftl).filter(is_log).chain(self.logs())
    }

    /// The numbers of the logs, without layers of another structure.
    pub fn logs(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.tree.ftl()).filter(|at| self.log(*at).is_some())
    }

    pub fn layer(&self, at: usize) -> &TreeLayer {
        &self.tree.layers[at]
    }

    /// The keys of a log on a layer; `None` for one of another structure, and for the FTL.
    pub fn log(&self, at: usize) -> Option<&LogKeys> {
        match &self.scenario.log.get(at)?.kind {
            LayerKind::Log(log) => Some(&log.keys),
            _ => None,
        }
    }

    /// The keys of a log-structured store, the FTL's or a log's; `None` for a layer of another structure.
    pub fn store(&self, at: usize) -> Option<&StoreKeys> {
        match &self.scenario.ftl.kind {
            FtlKind::Log(ftl) if at == self.tree.ftl() => Some(&ftl.keys),
            _ => self.log(at).map(|log| &log.store),
        }
    }

    /// What the scenario says of a layer, with every default filled in.
    pub fn values(&self, at: usize) -> &Value {
        match at == self.tree.ftl() {
            true => &self.values["ftl"],
            false => &self.values["log"][at],
        }
    }

    /// The numbers of the merge trees.
    pub fn trees(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.tree.ftl()).filter(|&at| is_tree(self.values(at)))
    }

    /// The layer below a log.
    pub fn below(&self, log: usize) -> usize {
        self.layer(log).below.as_ref().expect("a log stands on a layer").on
    }

    /// The logs that stand on a layer.
    pub fn logs_on(&self, at: usize) -> Vec<usize> {
        let log = |user: &User| match user {
            User::Log(at) => Some(*at),
            User::Tenant(_) => None,
        };
        self.layer(at).users.iter().filter_map(log).collect()
    }

    /// What a layer is called in a sentence.
    pub fn called(&self, at: usize) -> String {
        let name = &self.layer(at).name;
        match (at == self.tree.ftl(), name.as_str()) {
            (true, "ftl") => "the FTL".into(),
            (true, _) => format!("FTL `{name}`"),
            _ => format!("log `{name}`"),
        }
    }

    /// Bytes of a page.
    pub fn page_bytes(&self) -> u64 {
        u64::from(self.device.geometry.page_bytes)
    }

    /// Pages that each tenant sees; of one source of writes, those of the stack.
    pub fn host_pages(&self) -> Vec<u32> {
        self.tree.tenants.iter().map(|attachment| attachment.pages).collect()
    }
}

/// Whether a layer is a merge tree, which keeps space for its merges by itself.
pub(super) fn is_tree(values: &Value) -> bool {
    matches!(values["structure"]["kind"].as_str(), Some("lsm" | "silt"))
}

/// `value` in as few digits as `fits` allows, all of them if none will do.
pub(super) fn fewest_digits(value: f64, fits: impl Fn(f64) -> bool) -> f64 {
    let rounded = |digits: usize| format!("{value:.digits$}").parse().unwrap_or(value);
    (2..=16).map(rounded).find(|&value| fits(value)).unwrap_or(value)
}

/// A size as it is written by hand: in the largest unit that leaves no fraction.
pub(super) fn size_text(bytes: u64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let whole = units.iter().find(|(_, bits)| bytes != 0 && bytes.is_multiple_of(1 << bits));
    whole.map_or_else(|| format!("{bytes} bytes"), |(unit, bits)| format!("{} {unit}", bytes >> bits))
}

/// The same as the value of a key.
pub(super) fn size_value(bytes: u64) -> Value {
    if bytes.is_multiple_of(1024) { Value::String(size_text(bytes)) } else { Value::from(bytes) }
}
