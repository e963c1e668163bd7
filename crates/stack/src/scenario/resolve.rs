//! Resolves a scenario: every default filled in and checked, ready to be built.

use super::power::PowerConfig;
use super::timing::{ArrivalTimes, RequestSources, TimingConfig};
use super::tree::{Tree, User};
use super::types::Scenario;
use super::{run_phases, writers};
use crate::device::{self, FlashTimes, ResolvedDevice};
use crate::layers::{
    Drive, Feature, FtlModel, Kinds, LayerContext, LayerPlan, LowerLayer, PowerPlan, ResolvedFtl,
    ResolvedLayer, conflict_reason, features_of,
};
use wearwell_base::config::ConfigError;
use wearwell_base::seed::Seed;
use wearwell_base::temperature::Temperature;
use wearwell_engine::nand::Preset;
use wearwell_engine::timing::{FlashTiming, HostTiming};
use wearwell_workload::WorkloadConfig;

/// Parts supplied by the calling program, as far as they affect what can be built.
#[derive(Clone, Copy, Debug, Default)]
pub struct CallerFeatures {
    /// True if pages hold data.
    pub holds_data: bool,
    /// True if the caller supplies a victim policy for the FTL.
    pub has_custom_victim: bool,
    /// Number of streams of the placement that the caller supplies for the FTL, if any.
    pub custom_streams: Option<u8>,
    /// True if the caller obeys the write rules of a zoned drive.
    pub knows_zones: bool,
}

/// A scenario with every default filled in.
#[derive(Clone, Debug)]
pub struct ResolvedScenario {
    /// The scenario with every default filled in, as results contain it.
    pub scenario: Scenario,
    /// The drive.
    pub device: ResolvedDevice,
    /// Tree of layers and tenants.
    pub tree: Tree,
    /// The FTL.
    pub(crate) ftl: LayerPlan<ResolvedFtl>,
    /// The layers above the FTL, in the order of the scenario.
    pub(crate) layers: Vec<LayerPlan<ResolvedLayer>>,
    /// Times of all operations, in timed mode.
    pub(crate) timing: Option<ResolvedTiming>,
    /// Plan of the drive's power cuts.
    pub(crate) power: PowerPlan,
    /// Times of flash operations in recoveries, if the scenario has power cuts.
    pub(crate) times: Option<FlashTimes>,
}

/// A layer whose policies need to know the future writes of its only user.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Foreknowledge {
    /// Number of future host writes that the policies need.
    pub horizon: u64,
    /// Pages of the layer.
    pub pages: u32,
    /// Number of the tenant that writes to the layer.
    pub tenant: usize,
}

/// Times of all operations in timed mode.
#[derive(Clone, Debug)]
pub(crate) struct ResolvedTiming {
    pub flash: FlashTiming,
    pub host: HostTiming,
    /// Source of arrival times; `None` if the run does not need any.
    pub arrivals: Option<ArrivalTimes>,
}

/// Fills in every default of `scenario` and computes everything that follows from it.
///
/// # Errors
/// Returns an error for a setting that is not possible, or that conflicts with another setting.
pub fn resolve(mut scenario: Scenario, caller: CallerFeatures) -> Result<ResolvedScenario, ConfigError> {
    run_phases::check(&scenario.measure, &scenario.precondition, scenario.device.wears_out)?;
    let zone_blocks = scenario.ftl.kind.zone_blocks();
    let device = device::resolve(&mut scenario.device, zone_blocks, scenario.measure.warranty_years)?;
    run_phases::check_pages(&scenario.measure, &scenario.precondition, device.logical_pages)?;
    let mut tree = Tree::of(&mut scenario)?;
    let mut ftl = resolve_ftl(&mut scenario, &tree, caller, &device).map_err(|error| error.within("ftl"))?;
    tree.set_size(&scenario, tree.ftl(), &ftl)?;
    let power = match &scenario.power {
        Some(power) => power.plan(Seed(scenario.seed))?,
        None => PowerPlan::None,
    };
    let layers = resolve_layers(&mut scenario, &mut tree, &ftl, &device)?;
    check_open_zones(&tree, &ftl, &layers)?;
    let receives_reports: Vec<bool> =
        (0..tree.layers.len()).map(|at| receives_cleaning_reports(&tree, &layers, at)).collect();
    add_features(&scenario, &tree, caller, &mut ftl);
    ftl.features.extend([(!receives_reports[tree.ftl()], Feature::Unheard, "on")]);
    ftl.features.check("ftl")?;
    check_contents(&scenario)?;
    let layers = layers.into_iter().enumerate().map(|(at, mut plan)| {
        add_features_above(&scenario, &tree, caller, at, ftl.max_open_blocks.is_some(), &mut plan);
        plan.features.extend([(!receives_reports[at], Feature::Unheard, "on")]);
        plan.features.check(&tree.layers[at].key)?;
        Ok(plan)
    });
    let layers: Vec<_> = layers.collect::<Result<_, ConfigError>>()?;
    let timing = resolve_timing(&mut scenario, &device)?;
    let times = resolve_times(&mut scenario)?;
    Ok(ResolvedScenario { scenario, device, tree, ftl, layers, timing, power, times })
}

impl ResolvedScenario {
    /// Resolves `scenario` as a run without parts of the caller would.
    ///
    /// # Errors
    /// Fails as [`resolve`] does, and for a scenario without a writer, or with two writers instead of one.
    pub fn of(scenario: Scenario) -> Result<Self, ConfigError> {
        writers::check(&scenario)?;
        let caller = CallerFeatures { holds_data: scenario.holds_content(), ..CallerFeatures::default() };
        resolve(scenario, caller)
    }

    /// Returns the layer that needs foreknowledge, if any.
    pub(crate) fn foreknowledge(&self) -> Option<Foreknowledge> {
        let plans = self.layers.iter().map(|plan| (plan.horizon, plan.logical_pages));
        let all = plans.chain([(self.ftl.horizon, self.ftl.logical_pages)]);
        all.zip(&self.tree.layers).find_map(|((horizon, pages), layer)| match layer.users[..] {
            [User::Tenant(tenant)] => Some(Foreknowledge { horizon: horizon?, pages, tenant }),
            // Other users are refused, or the layer needs no foreknowledge.
            _ => None,
        })
    }

    /// Returns the theoretical model of the FTL, if it has one.
    pub(crate) fn model(&self) -> Option<&FtlModel> {
        self.ftl.model.as_ref()
    }

    /// Returns the seed of layer `at`.
    pub(crate) fn seed_of(&self, at: usize) -> Seed {
        seed_of(&self.scenario, &self.tree, at)
    }

    /// Returns the temperatures of the pages of layer `at`, if its only user is a tenant that knows them.
    pub(crate) fn temperature_of(&self, at: usize) -> Result<Option<Box<dyn Temperature>>, ConfigError> {
        let pages = self.tree.layers[at].logical_pages;
        TemperatureSource::of(&self.scenario, &self.tree, at).temperature(pages)
    }

    /// Checks every workload without running it.
    pub(crate) fn check_workloads(&self) -> Result<(), ConfigError> {
        for (at, attachment) in self.tree.tenants.iter().enumerate() {
            let (key, seed, workload) = writers::workload_of(&self.scenario, at);
            if let Some(workload) = workload {
                workload.build(attachment.pages, seed).map_err(|error| error.within(&key))?;
            }
            let (key, content) = writers::content_of(&self.scenario, at);
            if let Some(content) = content {
                content.check().map_err(|error| error.within(&key))?;
            }
        }
        Ok(())
    }
}

fn seed_of(scenario: &Scenario, tree: &Tree, at: usize) -> Seed {
    let name = if at == tree.ftl() { "ftl".into() } else { format!("log {}", tree.layers[at].name) };
    Seed(scenario.seed).derive(&name)
}

/// Source of the temperatures of a layer's pages.
///
/// The workload of the layer's only tenant knows them as its pages enter the stack. On lower or shared layers the
/// temperatures are unknown.
struct TemperatureSource {
    /// The workload, with its key and its seed.
    workload: Option<(String, Seed, WorkloadConfig)>,
    /// True if a single tenant has the whole layer.
    has_one_user: bool,
}

impl TemperatureSource {
    fn of(scenario: &Scenario, tree: &Tree, at: usize) -> Self {
        let [User::Tenant(tenant)] = tree.layers[at].users[..] else {
            return TemperatureSource { workload: None, has_one_user: false };
        };
        let share = scenario.tenant.get(tenant).and_then(|tenant| tenant.share);
        let (key, seed, workload) = writers::workload_of(scenario, tenant);
        let has_whole_layer = share.is_none_or(|share| share == 1.0);
        let workload = workload.filter(|_| has_whole_layer).map(|workload| (key, seed, workload.clone()));
        TemperatureSource { workload, has_one_user: has_whole_layer }
    }

    fn temperature(&self, pages: u32) -> Result<Option<Box<dyn Temperature>>, ConfigError> {
        if !self.has_one_user {
            return Err(ConfigError::new("placement", conflict_reason(Feature::Oracle, Feature::UnderLayer)));
        }
        let Some((key, seed, workload)) = &self.workload else { return Ok(None) };
        workload.temperature(pages, *seed).map_err(|error| {
            let problem = format!("cannot ask the workload how hot its pages are: {}", error.within(key));
            ConfigError::new("placement.kind", problem)
        })
    }
}

fn resolve_ftl(
    scenario: &mut Scenario,
    tree: &Tree,
    caller: CallerFeatures,
    device: &ResolvedDevice,
) -> Result<LayerPlan<ResolvedFtl>, ConfigError> {
    let (at, source) = (tree.ftl(), TemperatureSource::of(scenario, tree, tree.ftl()));
    let context = LayerContext {
        seed: seed_of(scenario, tree, at),
        temperature: &|pages| source.temperature(pages),
        custom_streams: caller.custom_streams,
    };
    let drive = Drive { device, dedup: &scenario.ftl.common.dedup, wear: scenario.ftl.common.wear.as_ref() };
    let plan = scenario.ftl.kind.resolve(&drive, &context)?;
    let dedup = &mut scenario.ftl.common.dedup;
    if !dedup.is_none() && !plan.features.has(Feature::References) {
        // There is no cold region to promote pages to.
        dedup.promote_when_moved();
    }
    Ok(plan)
}

/// Resolves the layers above the FTL, each after the layer that it is on, and their sizes.
fn resolve_layers(
    scenario: &mut Scenario,
    tree: &mut Tree,
    ftl: &LayerPlan<ResolvedFtl>,
    device: &ResolvedDevice,
) -> Result<Vec<LayerPlan<ResolvedLayer>>, ConfigError> {
    let mut plans: Vec<Option<LayerPlan<ResolvedLayer>>> = scenario.log.iter().map(|_| None).collect();
    for at in tree.bottom_up().into_iter().filter(|&at| at != tree.ftl()).collect::<Vec<_>>() {
        let align = scenario.log[at].common.align;
        let is_on_ftl = tree.attachment(User::Log(at)).layer_index == tree.ftl();
        let below = LowerLayer {
            is_zoned: is_on_ftl && ftl.max_open_blocks.is_some(),
            ..tree.lower_layer(at, align, device.geometry.page_bytes)
        };
        let source = TemperatureSource::of(scenario, tree, at);
        let context = LayerContext {
            seed: seed_of(scenario, tree, at),
            temperature: &|pages| source.temperature(pages),
            custom_streams: None,
        };
        let plan = scenario.log[at].kind.resolve(&below, &context);
        let plan = plan.map_err(|error| error.within(&tree.layers[at].key))?;
        tree.set_size(scenario, at, &plan)?;
        plans[at] = Some(plan);
    }
    Ok(plans.into_iter().map(|plan| plan.expect("every layer stands on the FTL in the end")).collect())
}

/// Refuses logs that together write to more zones at a time than may be open.
fn check_open_zones(
    tree: &Tree,
    ftl: &LayerPlan<ResolvedFtl>,
    layers: &[LayerPlan<ResolvedLayer>],
) -> Result<(), ConfigError> {
    let Some(max_open) = ftl.max_open_blocks else { return Ok(()) };
    let on_ftl =
        layers.iter().enumerate().filter(|(at, _)| tree.attachment(User::Log(*at)).layer_index == tree.ftl());
    let streams: u32 = on_ftl.map(|(_, plan)| u32::from(plan.streams)).sum();
    if streams <= max_open {
        return Ok(());
    }
    let problem = format!(
        "is {max_open}; the logs above hold {streams} segments open, one a stream, and need at least that many"
    );
    Err(ConfigError::new("ftl.structure.max_open_zones", problem))
}

/// True if any layer above reports its cleaning to layer `at`. Layers that do not clean forward these reports.
fn receives_cleaning_reports(tree: &Tree, layers: &[LayerPlan<ResolvedLayer>], at: usize) -> bool {
    tree.layers[at].users.iter().any(|user| match *user {
        User::Tenant(_) => false,
        User::Log(log) => layers[log].reports_cleaning || receives_cleaning_reports(tree, layers, log),
    })
}

/// Adds the features that the rest of the scenario requires of the FTL.
fn add_features(scenario: &Scenario, tree: &Tree, caller: CallerFeatures, plan: &mut LayerPlan<ResolvedFtl>) {
    let (device, power) = (&scenario.device, &scenario.power);
    let cuts_during_work =
        |power: &PowerConfig| power.every.is_some() || power.random.is_some() || power.at_operation.is_some();
    let users = &tree.layers[tree.ftl()].users;
    features_of(&scenario.ftl.common.dedup).into_iter().for_each(|used| plan.features.add(used));
    plan.features.extend([
        (scenario.ftl.common.levels_wear(), Feature::WearLevelling, "wear"),
        (caller.holds_data, Feature::Content, "/content"),
        (caller.holds_data && !scenario.holds_content(), Feature::HeldData, "/content"),
        (caller.has_custom_victim, Feature::OwnVictim, "victim"),
        (caller.custom_streams.is_some(), Feature::OwnPlacement, "placement"),
        (scenario.timing.is_some(), Feature::Timing, "/timing"),
        (power.is_some(), Feature::Power, "/power"),
        (power.as_ref().is_some_and(|power| power.at_end), Feature::PowerAtEnd, "/power.at_end"),
        (power.as_ref().is_some_and(cuts_during_work), Feature::PowerCuts, "/power"),
        (device.wears_out, Feature::WearsOut, "/device.wears_out"),
        (device.program_failure_rate > 0.0, Feature::ProgramFailures, "/device.program_failure_rate"),
        (device.read_disturb_limit.is_some(), Feature::ReadDisturb, "/device.read_disturb_limit"),
        (
            device.superblock_blocks.is_some_and(|blocks| blocks > 1),
            Feature::Superblocks,
            "/device.superblock_blocks",
        ),
        (tree.layers[tree.ftl()].partitions.is_some(), Feature::Sharing, "share"),
        (
            users.iter().any(|user| matches!(user, User::Tenant(_))) && !caller.knows_zones,
            Feature::Tenant,
            "/tenant",
        ),
        (tree.layers[tree.ftl()].has_log_above(), Feature::UnderLayer, "on"),
    ]);
}

/// Adds the features that the rest of the scenario requires of another layer.
fn add_features_above(
    scenario: &Scenario,
    tree: &Tree,
    caller: CallerFeatures,
    at: usize,
    has_zones: bool,
    plan: &mut LayerPlan<ResolvedLayer>,
) {
    let on_zones = has_zones && tree.attachment(User::Log(at)).layer_index == tree.ftl();
    let common = &scenario.log[at].common;
    plan.features.extend([
        (on_zones, Feature::OnZones, "on"),
        (common.align == Some(false), Feature::Unaligned, "align"),
        (caller.holds_data, Feature::Content, "/content"),
        (caller.holds_data && !scenario.holds_content(), Feature::HeldData, "/content"),
        (tree.layers[at].partitions.is_some(), Feature::Sharing, "share"),
        (tree.layers[at].has_log_above(), Feature::UnderLayer, "on"),
    ]);
}

/// Refuses deduplication if the scenario does not configure the contents of pages.
fn check_contents(scenario: &Scenario) -> Result<(), ConfigError> {
    if !scenario.holds_content() {
        return Ok(());
    }
    let lacks_content = |workload: bool, content: bool| workload && !content;
    let key = match &scenario.tenant[..] {
        [] => lacks_content(scenario.workload.is_some(), scenario.content.is_some())
            .then(|| "content".to_owned()),
        tenants => tenants
            .iter()
            .position(|tenant| lacks_content(tenant.workload.is_some(), tenant.content.is_some()))
            .map(|at| format!("tenant[{at}].content")),
    };
    match key {
        Some(key) => {
            let problem = "is missing; `ftl.dedup` has to know what the workload's pages hold: a preset's name, or a table";
            Err(ConfigError::new(key, problem))
        }
        None => Ok(()),
    }
}

fn resolve_timing(
    scenario: &mut Scenario,
    device: &ResolvedDevice,
) -> Result<Option<ResolvedTiming>, ConfigError> {
    let trace = writers::any_trace(scenario);
    // A workload supplied by the program is not in the scenario: without a trace, there is a workload.
    let sources = RequestSources { trace, workload: writers::any_workload(scenario) || !trace };
    let hash_ns = scenario.hash_ns();
    let timed = scenario.timing.is_some();
    let power_off_ns = scenario.power.as_mut().map_or(Ok(0), |power| power.off_ns(timed))?;
    let Some(timing) = &mut scenario.timing else { return Ok(None) };
    let within = |error: ConfigError| error.within("timing");
    let flash = timing.flash(&scenario.device, device, hash_ns).map_err(within)?;
    let host = timing.host(&scenario.device, &device.geometry, sources).map_err(within)?;
    let host = HostTiming { power_off_ns, ..host };
    Ok(Some(ResolvedTiming { flash, host, arrivals: TimingConfig::arrival_times(timing) }))
}

fn resolve_times(scenario: &mut Scenario) -> Result<Option<FlashTimes>, ConfigError> {
    let preset = scenario.device.preset.as_deref().and_then(Preset::find);
    let Some(power) = &mut scenario.power else { return Ok(None) };
    power.times(preset, scenario.timing.as_ref()).map(Some)
}
