//! From a resolved scenario to a stack of layers.

use super::device::{self, ResolvedDevice};
use super::metadata_config;
use super::payload::{Chips, Outage, StackPayload};
use super::scenario::{LogConfig, Scenario};
use super::size::ByteSize;
use super::store::{Obstacles, Spec, block_directory};
use super::structure::{self, Ground};
use super::tenants;
use super::tree::{self, Node, Tree, User};
use wearwell_base::config::ConfigError;
use wearwell_base::seed::Seed;
use wearwell_base::temperature::Temperature;
use wearwell_base::units::OverProvisioning;
use wearwell_engine::ftl::{CutSettings, PowerCycle};
use wearwell_engine::layer::{Payload, Reports};
use wearwell_engine::log::{BoxedLayer, Observed, Segments, Shared};
use wearwell_engine::placement::PlacementConfig;
use wearwell_engine::timing::Journal;
use wearwell_engine::victim::VictimPolicy;

/// A stack ready to be written to.
pub struct Stack<P> {
    /// Where each tenant writes; a single one where the scenario has no tenants.
    pub entrances: Vec<Entrance<P>>,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// The drive.
    pub device: ResolvedDevice,
    /// Layers that several stand on.
    shared: Vec<Shared<P>>,
    /// What cuts the drive's power, where the scenario has `power`.
    pub(super) power: Option<Box<dyn PowerCycle>>,
    pub(super) tree: Tree,
}

/// Where a tenant writes.
pub struct Entrance<P> {
    /// The layer, or the tenant's partition of it; it owns those below that nobody else stands on.
    pub layer: BoxedLayer<P>,
    /// Number of the layer in the reports.
    pub on: usize,
    /// Number of the partition of that layer, if it is divided.
    pub partition: Option<usize>,
}

impl<P: Payload> Stack<P> {
    /// Names of the log layers in the order of the scenario, the FTL last.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tree.layers.iter().map(|layer| layer.name.as_str())
    }

    /// Pages of all tenants together.
    pub fn logical_pages(&self) -> u64 {
        self.entrances.iter().map(|entrance| u64::from(entrance.layer.logical_pages())).sum()
    }

    /// The reports of all layers, in the order of their names, and of the flash.
    pub fn describe(&self) -> Reports {
        let mut reports = Reports::default();
        self.entrances.iter().for_each(|entrance| entrance.layer.describe(&mut reports));
        self.shared.iter().for_each(|shared| shared.describe(&mut reports));
        // They came from each entrance and each shared layer down to the next shared one.
        let whole = self.entrances.iter().filter(|entrance| entrance.partition.is_none());
        let divided = self.tree.upwards().into_iter().filter(|&at| self.tree.layers[at].sizes.is_some());
        let tops = whole.map(|entrance| entrance.on).chain(divided);
        let order = tops.flat_map(|top| self.tree.alone_from(top));
        let mut layers: Vec<_> = order.zip(std::mem::take(&mut reports.layers)).collect();
        layers.sort_by_key(|(at, _)| *at);
        reports.layers = layers.into_iter().map(|(_, report)| report).collect();
        reports
    }

    /// A number drawn from the generators of all layers that are asked; ends their use.
    pub(super) fn final_draw(&mut self) -> u64 {
        let entrances = self.entrances.iter_mut().map(|entrance| entrance.layer.final_draw());
        let shared = self.shared.iter_mut().map(Shared::final_draw);
        entrances.chain(shared).reduce(|draw, next| draw.rotate_left(7) ^ next).expect("an entrance")
    }

    /// Recounts everything that is counted, in all layers; an error is a defect.
    pub fn check(&self) -> Result<(), String> {
        self.entrances.iter().try_for_each(|entrance| entrance.layer.check())?;
        self.shared.iter().try_for_each(Shared::check)
    }
}

/// Fills in every default of `scenario` and builds its stack.
pub fn build<P: StackPayload>(scenario: &mut Scenario) -> Result<Stack<P>, ConfigError> {
    build_with(scenario, None, None)
}

/// The same with a victim policy of the caller's for the FTL, instead of the one that the scenario names, and a journal
/// into which the flash writes what it does.
pub(super) fn build_with<P: StackPayload>(
    scenario: &mut Scenario,
    mut victim: Option<Box<dyn VictimPolicy>>,
    journal: Option<Journal>,
) -> Result<Stack<P>, ConfigError> {
    let device = device::of(scenario)?;
    let page_bytes = device.geometry.page_bytes;
    refuse_segments(&scenario.ftl)?;
    refuse_dedup(scenario)?;
    refuse_power(scenario, victim.is_some())?;
    let tree = tree::resolve(scenario, &device)?;
    check_zones(scenario, &tree, page_bytes)?;
    let ftl = tree.ftl();
    let wears_out = device.wear.endurance_cycles.is_some();
    let whole_blocks = match scenario.ftl.placement.frontiers() {
        Some(frontiers) if scenario.ftl.own_flash().is_none() => {
            let obstacles = Obstacles { wears_out, shared: tree.layers[ftl].sizes.is_some() };
            block_directory(&scenario.ftl, &frontiers, obstacles, size_of::<P>() > 0)
                .map_err(|error| error.within("ftl"))?
        }
        _ => false,
    };
    refuse_too_large(&device, &tree, whole_blocks, scenario)?;
    let mut building = Building {
        chips: Some(Chips {
            device: device.clone(),
            seed: Seed(scenario.seed),
            journal,
            outage: outage(scenario)?,
        }),
        power: None,
        logs: scenario.log.iter().map(|_| None).collect(),
        entrances: tree.tenants.iter().map(|_| None).collect(),
        shared: Vec::new(),
        streams_on_ftl: 0,
    };
    for at in tree.upwards() {
        let node = &tree.layers[at];
        let spec = Spec {
            seed: Seed(scenario.seed).of(&if at == ftl {
                "ftl".into()
            } else {
                format!("log {}", node.name)
            }),
            victim: if at == ftl { victim.take() } else { None },
            temperature: temperature(scenario, node)?,
            obstacles: Obstacles { wears_out: wears_out && at == ftl, shared: node.sizes.is_some() },
            ground: if at == ftl {
                Ground { pages: 0, block: 0, page_bytes }
            } else {
                tree.ground(at, page_bytes)
            },
            lower: scenario.log.get(at).and_then(|log| tree.lower(at, log)),
            has_log_above: node.has_log_above(),
        };
        let layer = building.layer(spec, scenario, node, at).map_err(|error| error.within(&node.key))?;
        building.hand_over(layer, node);
    }
    let Building { entrances, shared, streams_on_ftl, power, .. } = building;
    if let Some(zones) = scenario.ftl.zones() {
        zones.check_open(streams_on_ftl).map_err(|error| error.within("ftl"))?;
    }
    let entrances = entrances.into_iter().zip(&tree.tenants).map(|(layer, seat)| Entrance {
        layer: layer.expect("every tenant stands on a layer"),
        on: seat.on,
        partition: seat.partition,
    });
    Ok(Stack { entrances: entrances.collect(), shared, power, page_bytes, device, tree })
}

/// The oracle of the only tenant of a layer.
///
/// It knows the workload as it enters the stack; on a lower or a shared layer it would know nothing.
fn temperature(scenario: &Scenario, node: &Node) -> Result<Option<Box<dyn Temperature>>, ConfigError> {
    let (None, [User::Tenant(at)]) = (&node.sizes, &node.users[..]) else { return Ok(None) };
    let (key, seed, workload) = tenants::workload_of(scenario, *at);
    match workload {
        Some(workload) => workload.temperature(node.logical_pages, seed).map_err(|error| error.within(&key)),
        None => Ok(None),
    }
}

/// A stack on its way up.
struct Building<P> {
    chips: Option<Chips>,
    /// What each log will stand on.
    logs: Vec<Option<BoxedLayer<P>>>,
    entrances: Vec<Option<BoxedLayer<P>>>,
    shared: Vec<Shared<P>>,
    /// Streams of all logs that stand on the FTL: each may hold a segment open.
    streams_on_ftl: u32,
    power: Option<Box<dyn PowerCycle>>,
}

impl<P: StackPayload> Building<P> {
    /// The layer `at` on what was built for it.
    fn layer(
        &mut self,
        spec: Spec,
        scenario: &mut Scenario,
        node: &Node,
        at: usize,
    ) -> Result<BoxedLayer<P>, ConfigError> {
        let Some(log) = scenario.log.get_mut(at) else {
            let chips = self.chips.take().expect("there is one FTL");
            let founded = P::on_flash(spec, &mut scenario.ftl, node.logical_pages, chips)?;
            self.power = founded.power;
            return Ok(founded.layer);
        };
        let lower = self.logs[at].take().expect("layers are built upwards");
        if log.other_structure().is_some() {
            return structure::build(log, lower, node.logical_pages, &spec.ground);
        }
        let segment_bytes = log.segment_size.expect("resolved with the tree").0;
        let page_bytes = scenario.device.mapping_unit.expect("resolved with the device").0;
        let trim = log.trim.expect("resolved with the tree").rule(page_bytes as u32)?;
        let segment_pages = (segment_bytes / page_bytes) as u32;
        let plan = metadata_config::plan(log, segment_pages, lower.logical_pages(), page_bytes as u32)?;
        let segments = match plan {
            Some(plan) => Segments::with_metadata(lower, plan, node.logical_pages, trim),
            None => Segments::new(lower, segment_pages, trim),
        };
        let segments = segments.with_first_hint(log.first_hint.unwrap_or(0));
        let (layer, streams) = P::on_segments(spec, log, node.logical_pages, segments)?;
        if node.seat.as_ref().is_some_and(|seat| seat.on == scenario.log.len()) {
            self.streams_on_ftl += u32::from(streams);
        }
        Ok(layer)
    }

    /// Hands the layer to its user, or cuts it up for its users.
    fn hand_over(&mut self, layer: BoxedLayer<P>, node: &Node) {
        let layer: BoxedLayer<P> = if node.has_log_above() { Box::new(Observed::new(layer)) } else { layer };
        let Some(sizes) = &node.sizes else { return self.give(node.users[0], layer) };
        let (shared, partitions) = Shared::new(layer, sizes);
        self.shared.push(shared);
        for (&user, partition) in node.users.iter().zip(partitions) {
            self.give(user, Box::new(partition));
        }
    }

    fn give(&mut self, user: User, layer: BoxedLayer<P>) {
        match user {
            User::Log(at) => self.logs[at] = Some(layer),
            User::Tenant(at) => self.entrances[at] = Some(layer),
        }
    }
}

/// Refuses a stack whose tables could not be held, before the attempt ends the program.
fn refuse_too_large(
    device: &ResolvedDevice,
    tree: &Tree,
    whole_blocks: bool,
    scenario: &Scenario,
) -> Result<(), ConfigError> {
    // Places of logical pages, then owners and validity bits of physical ones where the directory keeps them.
    let places: u64 = tree.layers.iter().map(|layer| 4 * u64::from(layer.logical_pages)).sum();
    let kept = tree.layers.iter().enumerate().filter(|(at, _)| !(whole_blocks && *at == tree.ftl()));
    let owners: u64 = kept.map(|(_, layer)| 4 * layer.physical_pages + layer.physical_pages / 8).sum();
    let blocks = u64::from(device.geometry.blocks());
    let (logical, pages) = (device.logical_pages, device.geometry.pages());
    let own = scenario.ftl.own_flash().map_or(0, |structure| structure.memory_bytes(logical, pages, blocks));
    // Notes in spare areas, and, where power is cut in the middle of the work, stamps and what is known of each page.
    let cut = scenario.power.as_ref().map_or(0, |_| 17 * pages + 48 * u64::from(logical));
    let needed = places + owners + 12 * blocks + own + cut;
    match physical_memory() {
        Some(there) if needed > there => Err(ConfigError::new(
            "device",
            format!(
                "simulating {} logical pages takes {} of memory, the machine has {}; use a smaller drive or a \
                 larger `mapping_unit`",
                device.logical_pages,
                ByteSize(needed),
                ByteSize(there)
            ),
        )),
        _ => Ok(()),
    }
}

/// Bytes of memory in the machine, where that can be found out.
#[cfg(target_os = "linux")]
fn physical_memory() -> Option<u64> {
    let info = rustix::system::sysinfo();
    Some(info.totalram as u64 * u64::from(info.mem_unit))
}

#[cfg(not(target_os = "linux"))]
fn physical_memory() -> Option<u64> {
    None
}

/// Refuses what cannot stand on a zoned drive, and an FTL that is a structure of a log.
fn check_zones(scenario: &Scenario, tree: &Tree, page_bytes: u32) -> Result<(), ConfigError> {
    let ftl = tree.ftl();
    if scenario.ftl.zones().is_none() {
        return match scenario.ftl.other_structure() {
            Some(other) if !other.has_own_flash() => {
                let can_be: Vec<_> = structure::ftl_entries().map(|entry| entry.name).collect();
                let problem = format!("is \"{}\"; an FTL can be {}", other.entry().name, can_be.join(", "));
                Err(ConfigError::new("ftl.structure", problem))
            }
            _ => Ok(()),
        };
    }
    for &user in &tree.layers[ftl].users {
        match user {
            User::Tenant(_) => {
                let problem = "is \"zones\", which a workload cannot write to as it likes; put a log on it";
                return Err(ConfigError::new("ftl.structure", problem));
            }
            User::Log(at) => structure::refuse_user(&scenario.log[at], tree.layers[ftl].block, page_bytes)
                .map_err(|error| error.within(&tree.layers[at].key))?,
        }
    }
    Ok(())
}

/// Refuses deduplication where it cannot be, or where nobody says what pages hold.
fn refuse_dedup(scenario: &Scenario) -> Result<(), ConfigError> {
    if let Some(at) = scenario.log.iter().position(|log| !log.dedup.is_none()) {
        let problem = "belongs to the FTL; pages are stored once where they are stored at all";
        return Err(ConfigError::new(format!("log[{at}].dedup"), problem));
    }
    if !scenario.holds_content() {
        return Ok(());
    }
    if scenario.ftl.zones().is_some() {
        return Err(ConfigError::new("ftl.dedup", "means nothing on a zoned drive, which has no map"));
    }
    if let Some(structure) = scenario.ftl.own_flash() {
        let problem = format!("means nothing with structure = \"{}\"; leave it out", structure.entry().name);
        return Err(ConfigError::new("ftl.dedup", problem));
    }
    if let (Some(own), Some(theirs)) =
        (scenario.ftl.dedup.threshold(), scenario.ftl.placement.reference_threshold())
        && own != theirs
    {
        let problem = format!(
            "is {own}, but the {theirs} of the placement says which pages are cold; they must be equal"
        );
        return Err(ConfigError::new("ftl.dedup.threshold", problem));
    }
    let bare = |workload: bool, content: bool| workload && !content;
    let key = match &scenario.tenant[..] {
        [] => bare(scenario.workload.is_some(), scenario.content.is_some()).then(|| "content".to_owned()),
        tenants => tenants
            .iter()
            .position(|tenant| bare(tenant.workload.is_some(), tenant.content.is_some()))
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

/// How the drive's power will be cut.
fn outage(scenario: &Scenario) -> Result<Outage, ConfigError> {
    let Some(power) = &scenario.power else { return Ok(Outage::None) };
    let Some(cuts) = power.cuts()? else { return Ok(Outage::AtEnd) };
    if scenario.timing.is_some() {
        let problem =
            "cuts power in the middle of a run, which only counts; leave out `timing`, or cut `at_end`";
        return Err(ConfigError::new("power", problem));
    }
    Ok(Outage::AtWork(CutSettings {
        cuts,
        recovery_cut_probability: power.recovery_cut_probability,
        seed: Seed(scenario.seed).of("power"),
    }))
}

/// Refuses power cuts of an FTL that cannot come back from its flash, or not with the parts that it has.
fn refuse_power(scenario: &Scenario, own_victim: bool) -> Result<(), ConfigError> {
    if scenario.power.is_none() {
        return Ok(());
    }
    if scenario.ftl.zones().is_some() || !scenario.ftl.dedup.is_none() {
        let problem =
            "needs an FTL that comes back from its flash; a zoned drive or one that deduplicates cannot";
        return Err(ConfigError::new("power", problem));
    }
    if own_victim || matches!(scenario.ftl.placement, PlacementConfig::Oracle(_)) {
        let problem = "needs a victim policy and a placement that can be built anew after a cut; the program's own policy and \
                       the oracle cannot";
        return Err(ConfigError::new("power", problem));
    }
    Ok(())
}

fn refuse_segments(ftl: &LogConfig) -> Result<(), ConfigError> {
    let given = [
        ("segment_size", ftl.segment_size.is_some()),
        ("segment_blocks", ftl.segment_blocks.is_some()),
        ("first_hint", ftl.first_hint.is_some()),
        ("spare_factor", ftl.spare_factor.is_some()),
        ("trim", ftl.trim.is_some()),
        ("on", ftl.on.is_some()),
        ("share", ftl.share.is_some()),
        ("align", ftl.align.is_some()),
        ("metadata", ftl.metadata.is_some()),
    ];
    match given.iter().find(|(_, given)| *given) {
        Some((key, _)) => Err(ConfigError::new(
            format!("ftl.{key}"),
            "belongs to stacked logs; the FTL's blocks and spare space are those of `device`",
        )),
        None => Ok(()),
    }
}

/// The four measures of a layer's spare space.
pub(super) fn over_provisioning(physical_pages: u64, logical_pages: u32) -> OverProvisioning {
    OverProvisioning::from_pages(physical_pages, u64::from(logical_pages))
}
