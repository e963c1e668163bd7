//! Builds a stack of layers from a resolved scenario.

pub(crate) mod memory;
mod stack;

pub use stack::{Stack, Target};

use crate::layers::{BuiltLayer, CustomPolicies, Feature, FlashParts, LayerSpec, StackPayload};
use crate::scenario::Scenario;
use crate::scenario::resolve::{CallerFeatures, ResolvedScenario, resolve};
use crate::scenario::tree::{TreeLayer, User};
use std::sync::Arc;
use wearwell_base::config::ConfigError;
use wearwell_base::foresight::Foresight;
use wearwell_base::seed::Seed;
use wearwell_engine::dedup::DedupConfig;
use wearwell_engine::ftl::PowerCycle;
use wearwell_engine::instances::StoredMedium;
use wearwell_engine::layer::EventLog;
use wearwell_engine::log::{BoxedLayer, SharedLayer};
use wearwell_engine::timing::Journal;

/// Resolves `scenario`, fills in every default and builds its stack.
///
/// # Errors
/// Returns an error for a setting that is not possible, or that conflicts with another setting.
pub fn build<P: StackPayload>(scenario: &mut Scenario) -> Result<Stack<P>, ConfigError> {
    let caller = CallerFeatures { holds_data: size_of::<P>() > 0, ..CallerFeatures::default() };
    let resolved = resolve(scenario.clone(), caller)?;
    let stack = build_resolved(&resolved, CustomPolicies::default(), BuildContext::default())?;
    *scenario = resolved.scenario;
    Ok(stack)
}

/// Recorders and observers of a stack, and knowledge of its future writes.
#[derive(Default)]
pub(crate) struct BuildContext {
    /// Journal into which the flash records its operations.
    pub journal: Option<Journal>,
    /// Observer of all media page by page; each medium is identified by the number of its layer.
    pub watch: Option<EventLog>,
    /// Future writes to the layer whose policies need them, if any.
    pub foresight: Option<Foresight>,
    /// Storage of the flash outside of the simulation.
    pub stored_flash: Option<Arc<dyn StoredMedium>>,
}

/// Builds the stack. Policies in `custom` replace those that the scenario names for the FTL.
pub(crate) fn build_resolved<P: StackPayload>(
    resolved: &ResolvedScenario,
    custom: CustomPolicies,
    context: BuildContext,
) -> Result<Stack<P>, ConfigError> {
    memory::check(resolved)?;
    let tree = &resolved.tree;
    let flash = FlashParts {
        device: resolved.device.clone(),
        seed: Seed(resolved.scenario.seed),
        journal: context.journal.clone(),
        watcher: context.watch.as_ref().map(|watch| watch.recorder(tree.ftl())),
        power: resolved.power.clone(),
        stored_flash: context.stored_flash.clone(),
    };
    let mut builder = StackBuilder {
        layers_below_logs: resolved.layers.iter().map(|_| None).collect(),
        targets: tree.tenants.iter().map(|_| None).collect(),
        shared: Vec::new(),
        power: None,
        // A drive that recovers from its flash holds data that the checking layers have not seen written.
        has_checks: cfg!(debug_assertions)
            && context.stored_flash.as_ref().is_none_or(|medium| medium.is_new()),
    };
    let mut base = Some((flash, custom));
    for at in tree.bottom_up() {
        let layer = &tree.layers[at];
        let built = match base.take() {
            Some((flash, own)) => {
                let spec = LayerSpec { custom: own, ..layer_spec(resolved, at, &context)? };
                resolved.ftl.settings.clone().build(spec, flash)
            }
            None => {
                let below = builder.layers_below_logs[at].take().expect("layers are built upwards");
                let plan = &resolved.layers[at];
                let named = format!("`{}`", tree.layers[tree.attachment(User::Log(at)).layer_index].name);
                let abilities = below.abilities();
                let missing_ability =
                    plan.needs.iter().try_for_each(|&(ability, key)| abilities.require(ability, &named, key));
                missing_ability.map_err(|error| error.within(&layer.key))?;
                let watcher = context.watch.as_ref().map(|watch| watch.recorder(at));
                plan.settings
                    .clone()
                    .build(LayerSpec { watcher, ..layer_spec(resolved, at, &context)? }, below)
            }
        };
        builder.add_layer(built.map_err(|error| within_layer(error, layer))?, layer);
    }
    Ok(builder.finish(resolved))
}

/// Returns the error with the key that the user has to change, because a layer has no setting for its logical size.
fn within_layer(error: ConfigError, layer: &TreeLayer) -> ConfigError {
    match error.key.as_str() {
        "logical_pages" if layer.key == "ftl" => ConfigError { key: "device".into(), ..error },
        "logical_pages" => ConfigError { key: layer.key.clone(), ..error },
        _ => error.within(&layer.key),
    }
}

/// Returns the inputs for building layer `at`, except its settings and the layer below.
fn layer_spec(
    resolved: &ResolvedScenario,
    at: usize,
    context: &BuildContext,
) -> Result<LayerSpec, ConfigError> {
    let layer = &resolved.tree.layers[at];
    let is_ftl = at == resolved.tree.ftl();
    let features = if is_ftl { &resolved.ftl.features } else { &resolved.layers[at].features };
    let temperature = if features.has(Feature::Oracle) { resolved.temperature_of(at)? } else { None };
    Ok(LayerSpec {
        seed: resolved.seed_of(at),
        logical_pages: layer.logical_pages,
        page_bytes: resolved.device.geometry.page_bytes,
        custom: CustomPolicies::default(),
        temperature,
        foresight: context.foresight.clone().filter(|_| features.has(Feature::Foresight)),
        wear: resolved.scenario.ftl.common.wear.clone().filter(|_| is_ftl).unwrap_or_default(),
        dedup: if is_ftl { resolved.scenario.ftl.common.dedup.clone() } else { DedupConfig::default() },
        features: features.clone(),
        watcher: None,
    })
}

/// A partly built stack, from the bottom up.
struct StackBuilder<P> {
    /// The layer below each log.
    layers_below_logs: Vec<Option<BoxedLayer<P>>>,
    targets: Vec<Option<BoxedLayer<P>>>,
    shared: Vec<SharedLayer<P>>,
    power: Option<Box<dyn PowerCycle>>,
    /// True if a checking layer verifies every answer of every layer.
    has_checks: bool,
}

impl<P: StackPayload> StackBuilder<P> {
    /// Gives the layer to its only user, or divides it among its users.
    fn add_layer(&mut self, built: BuiltLayer<P>, node: &TreeLayer) {
        let BuiltLayer { layer, power } = built;
        self.power = self.power.take().or(power);
        let layer = if node.has_log_above() { P::observed(layer) } else { layer };
        let layer = if self.has_checks { P::checked(layer) } else { layer };
        let Some(partitions) = &node.partitions else { return self.connect(node.users[0], layer) };
        let (shared, partitions) = P::partition(layer, partitions);
        self.shared.push(shared);
        for (&user, partition) in node.users.iter().zip(partitions) {
            self.connect(user, partition);
        }
    }

    fn connect(&mut self, user: User, layer: BoxedLayer<P>) {
        match user {
            User::Log(at) => self.layers_below_logs[at] = Some(layer),
            User::Tenant(at) => self.targets[at] = Some(layer),
        }
    }

    fn finish(self, resolved: &ResolvedScenario) -> Stack<P> {
        let tree = resolved.tree.clone();
        let targets = self.targets.into_iter().zip(&tree.tenants).map(|(layer, attachment)| Target {
            layer: layer.expect("every tenant stands on a layer"),
            layer_index: attachment.layer_index,
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
