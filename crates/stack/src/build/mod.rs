//! From a resolved scenario to a stack of layers.

pub(crate) mod memory;
mod stack;

pub use stack::{Stack, Target};

use crate::layers::{BuiltLayer, FlashParts, LayerSpec, OwnPolicies, StackPayload};
use crate::scenario::Scenario;
use crate::scenario::resolve::{Caller, ResolvedScenario, resolve};
use crate::scenario::tree::{TreeLayer, User};
use std::sync::Arc;
use wearwell_base::config::ConfigError;
use wearwell_base::foresight::Foresight;
use wearwell_base::seed::Seed;
use wearwell_engine::dedup::DedupConfig;
use wearwell_engine::forms::KeptMedium;
use wearwell_engine::ftl::PowerCycle;
use wearwell_engine::layer::Watch;
use wearwell_engine::log::{BoxedLayer, Shared};
use wearwell_engine::timing::Journal;

/// Resolves `scenario` and builds its stack; its every default is filled in.
///
/// # Errors
/// A setting that cannot be, or that does not go with another.
pub fn build<P: StackPayload>(scenario: &mut Scenario) -> Result<Stack<P>, ConfigError> {
    let caller = Caller { holds_data: size_of::<P>() > 0, ..Caller::default() };
    let resolved = resolve(scenario.clone(), caller)?;
    let stack = build_resolved(&resolved, OwnPolicies::default(), Noted::default())?;
    *scenario = resolved.scenario;
    Ok(stack)
}

/// What is written down while a stack works, and what is known of it beforehand.
#[derive(Default)]
pub(crate) struct Noted {
    /// Into which the flash writes what it does.
    pub journal: Option<Journal>,
    /// What looks at all media page by page, each under the number of its layer.
    pub watch: Option<Watch>,
    /// What will be written to the layer that has to know, if any.
    pub foresight: Option<Foresight>,
    /// Where the flash is kept outside of the simulation.
    pub kept: Option<Arc<dyn KeptMedium>>,
}

/// Builds the stack, with policies of the caller's for the FTL, instead of those that the scenario names.
pub(crate) fn build_resolved<P: StackPayload>(
    resolved: &ResolvedScenario,
    own: OwnPolicies,
    noted: Noted,
) -> Result<Stack<P>, ConfigError> {
    memory::check(resolved)?;
    let tree = &resolved.tree;
    let flash = FlashParts {
        device: resolved.device.clone(),
        seed: Seed(resolved.scenario.seed),
        journal: noted.journal.clone(),
        watcher: noted.watch.as_ref().map(|watch| watch.medium(tree.ftl())),
        power: resolved.power.clone(),
        kept: noted.kept.clone(),
    };
    let mut builder = StackBuilder {
        logs: resolved.layers.iter().map(|_| None).collect(),
        targets: tree.tenants.iter().map(|_| None).collect(),
        shared: Vec::new(),
        power: None,
        // What comes back from its flash holds what nobody saw it written.
        checks: cfg!(debug_assertions) && noted.kept.as_ref().is_none_or(|medium| medium.is_new()),
    };
    let mut base = Some((flash, own));
    for at in tree.upwards() {
        let layer = &tree.layers[at];
        let built = match base.take() {
            Some((flash, own)) => {
                let spec = LayerSpec { own, ..spec(resolved, at, &noted)? };
                resolved.ftl.settings.clone().build(spec, flash)
            }
            None => {
                let below = builder.logs[at].take().expect("layers are built upwards");
                let plan = &resolved.layers[at];
                let named = format!("`{}`", tree.layers[tree.attachment(User::Log(at)).on].name);
                let can = below.abilities();
                let lacks =
                    plan.needs.iter().try_for_each(|&(ability, key)| can.require(ability, &named, key));
                lacks.map_err(|error| error.within(&layer.key))?;
                let watcher = noted.watch.as_ref().map(|watch| watch.medium(at));
                plan.settings.clone().build(LayerSpec { watcher, ..spec(resolved, at, &noted)? }, below)
            }
        };
        builder.take(built.map_err(|error| within_layer(error, layer))?, layer);
    }
    Ok(builder.finish(resolved))
}

/// The error with the key that a person would change: a layer's logical size is none of its own settings.
fn within_layer(error: ConfigError, layer: &TreeLayer) -> ConfigError {
    match error.key.as_str() {
        "logical_pages" if layer.key == "ftl" => ConfigError { key: "device".into(), ..error },
        "logical_pages" => ConfigError { key: layer.key.clone(), ..error },
        _ => error.within(&layer.key),
    }
}

/// What layer `at` is built from besides its settings and what it stands on.
fn spec(resolved: &ResolvedScenario, at: usize, noted: &Noted) -> Result<LayerSpec, ConfigError> {
    let layer = &resolved.tree.layers[at];
    let is_ftl = at == resolved.tree.ftl();
    let features = if is_ftl { &resolved.ftl.features } else { &resolved.layers[at].features };
    let temperature = if features.has("oracle") { resolved.temperature_of(at)? } else { None };
    Ok(LayerSpec {
        seed: resolved.seed_of(at),
        logical_pages: layer.logical_pages,
        page_bytes: resolved.device.geometry.page_bytes,
        own: OwnPolicies::default(),
        temperature,
        foresight: noted.foresight.clone().filter(|_| features.has("foresight")),
        wear: resolved.scenario.ftl.common.wear.clone().filter(|_| is_ftl).unwrap_or_default(),
        dedup: if is_ftl { resolved.scenario.ftl.common.dedup.clone() } else { DedupConfig::default() },
        features: features.clone(),
        watcher: None,
    })
}

/// A stack on its way up.
struct StackBuilder<P> {
    /// What each layer will stand on.
    logs: Vec<Option<BoxedLayer<P>>>,
    targets: Vec<Option<BoxedLayer<P>>>,
    shared: Vec<Shared<P>>,
    power: Option<Box<dyn PowerCycle>>,
    /// Whether every answer of every layer is looked at.
    checks: bool,
}

impl<P: StackPayload> StackBuilder<P> {
    /// Hands the layer to its user, or cuts it up for its users.
    fn take(&mut self, built: BuiltLayer<P>, node: &TreeLayer) {
        let BuiltLayer { layer, power } = built;
        self.power = self.power.take().or(power);
        let layer = if node.has_log_above() { P::observed(layer) } else { layer };
        let layer = if self.checks { P::checked(layer) } else { layer };
        let Some(partitions) = &node.partitions else { return self.give(node.users[0], layer) };
        let (shared, partitions) = P::shared(layer, partitions);
        self.shared.push(shared);
        for (&user, partition) in node.users.iter().zip(partitions) {
            self.give(user, partition);
        }
    }

    fn give(&mut self, user: User, layer: BoxedLayer<P>) {
        match user {
            User::Log(at) => self.logs[at] = Some(layer),
            User::Tenant(at) => self.targets[at] = Some(layer),
        }
    }

    fn finish(self, resolved: &ResolvedScenario) -> Stack<P> {
        let tree = resolved.tree.clone();
        let targets = self.targets.into_iter().zip(&tree.tenants).map(|(layer, attachment)| Target {
            layer: layer.expect("every tenant stands on a layer"),
            on: attachment.on,
            partition: attachment.partition,
        });
        Stack {
            targets: targets.collect(),
            page_bytes: resolved.device.geometry.page_bytes,
            device: resolved.device.clone(),
            shared: self.shared,
            power: self.power,
            tree,
        }
    }
}
