//! From a resolved scenario to a stack of layers.

use super::device::{self, ResolvedDevice};
use super::metadata_config;
use super::scenario::{DirectoryKind, LogConfig, ReclaimKind, Scenario};
use super::size::ByteSize;
use super::trim_config::TrimConfig;
use crate::config::{ConfigError, StoreSize};
use crate::layer::{Medium, Payload};
use crate::log::{
    BlockTable, BoxedLayer, Directory, LogStore, Observed, PageTable, Reclaim, Segments, StoreConfig,
};
use crate::nand::Nand;
use crate::placement::{Placement, PlacementContext};
use crate::seed::Seed;
use crate::units::{OverProvisioning, StreamId};
use crate::victim::{VictimPolicy, VictimVisitor};

/// A stack ready to be written to.
pub struct Stack<P> {
    /// The topmost layer; it owns those below.
    pub top: BoxedLayer<P>,
    /// Names of the log layers, from the top.
    pub names: Vec<String>,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// The drive.
    pub device: ResolvedDevice,
}

/// Fills in every default of `scenario` and builds its stack.
pub fn build<P: Payload>(scenario: &mut Scenario) -> Result<Stack<P>, ConfigError> {
    build_with(scenario, None)
}

/// The same with a victim policy of the caller's for the FTL, instead of the one that the scenario names.
pub(super) fn build_with<P: Payload>(
    scenario: &mut Scenario,
    victim: Option<Box<dyn VictimPolicy>>,
) -> Result<Stack<P>, ConfigError> {
    let device = device::resolve(&mut scenario.device)?;
    let seed = Seed(scenario.seed);
    let page_bytes = device.geometry.page_bytes;
    let logs = scenario.log.len();
    let mut sizes = vec![device.logical_pages];
    for (at, log) in scenario.log.iter_mut().enumerate().rev() {
        let key = format!("log[{at}]");
        log.name.get_or_insert_with(|| format!("log{at}"));
        let below = *sizes.last().expect("the drive");
        sizes.push(resolve_segments(log, below, page_bytes).map_err(|error| error.within(&key))?);
    }
    refuse_segments(&scenario.ftl)?;
    let wears_out = device.wear.endurance_cycles.is_some();
    let whole_blocks = match scenario.ftl.placement.frontiers() {
        Some(frontiers) => block_directory(&scenario.ftl, &frontiers, wears_out, size_of::<P>() > 0)
            .map_err(|error| error.within("ftl"))?,
        None => false,
    };
    refuse_too_large(&device, &sizes, whole_blocks)?;
    scenario.ftl.name.get_or_insert_with(|| "ftl".into());

    // The oracle knows the workload as it enters the stack; on a lower layer it would know nothing.
    let top_pages = *sizes.last().expect("the drive");
    let temperature = |is_top: bool| match &scenario.workload {
        Some(workload) if is_top => {
            workload.temperature(top_pages, seed.of("workload")).map_err(|error| error.within("workload"))
        }
        _ => Ok(None),
    };
    let nand = Nand::<P>::new(device.geometry, device.wear, seed);
    let spec = Spec {
        seed: seed.of("ftl"),
        victim,
        temperature: temperature(logs == 0)?,
        wears_out: device.wear.endurance_cycles.is_some(),
        has_log_above: logs > 0,
    };
    let mut top = spec.store(&mut scenario.ftl, sizes[0], nand).map_err(|error| error.within("ftl"))?;
    for (at, (log, &logical_pages)) in scenario.log.iter_mut().rev().zip(&sizes[1..]).enumerate() {
        let name = log.name.clone().expect("named above");
        let segment_pages = log.segment_size.expect("resolved above").0 / u64::from(page_bytes);
        let key = format!("log[{}]", logs - 1 - at);
        let trim = log.trim.expect("resolved above").rule(page_bytes).map_err(|error| error.within(&key))?;
        let plan = metadata_config::plan(log, segment_pages as u32, sizes[at], page_bytes);
        let below = Box::new(Observed::new(top));
        let segments = match plan.map_err(|error| error.within(&key))? {
            Some(plan) => Segments::with_metadata(below, plan, logical_pages, trim),
            None => Segments::new(below, segment_pages as u32, trim),
        };
        let spec = Spec {
            seed: seed.of(&format!("log {name}")),
            victim: None,
            temperature: temperature(at + 1 == logs)?,
            wears_out: false,
            has_log_above: at + 1 < logs,
        };
        top = spec.store(log, logical_pages, segments).map_err(|error| error.within(&key))?;
    }
    let names = scenario
        .log
        .iter()
        .chain([&scenario.ftl])
        .map(|log| log.name.clone().expect("named above"))
        .collect();
    Ok(Stack { top, names, page_bytes, device })
}

/// Refuses a stack whose tables could not be held, before the attempt ends the program.
fn refuse_too_large(
    device: &ResolvedDevice,
    logical_pages: &[u32],
    whole_blocks: bool,
) -> Result<(), ConfigError> {
    // Places of logical pages, then owners and validity bits of physical ones where the directory keeps them.
    let places: u64 = logical_pages.iter().map(|&pages| 4 * u64::from(pages)).sum();
    let below =
        [device.geometry.pages()].into_iter().chain(logical_pages.iter().map(|&pages| u64::from(pages)));
    let owners: u64 = below
        .take(logical_pages.len())
        .skip(usize::from(whole_blocks))
        .map(|pages| 4 * pages + pages / 8)
        .sum();
    let needed = places + owners + 12 * u64::from(device.geometry.blocks());
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

fn resolve_segments(log: &mut LogConfig, pages_below: u32, page_bytes: u32) -> Result<u32, ConfigError> {
    let segment = log.segment_size.ok_or_else(|| {
        ConfigError::new("segment_size", "is missing; a stacked log needs it, for example \"2 MiB\"")
    })?;
    let page_bytes = u64::from(page_bytes);
    let segment_pages = segment.0 / page_bytes;
    if segment_pages == 0 || segment.0 % page_bytes != 0 || segment_pages > u64::from(pages_below) {
        let below = ByteSize(u64::from(pages_below) * page_bytes);
        let problem = format!(
            "is {segment}; it must be a multiple of the page of {page_bytes} bytes and fit into the {below} below"
        );
        return Err(ConfigError::new("segment_size", problem));
    }
    let spare = *log.spare_factor.get_or_insert(0.1);
    if !(spare > 0.0 && spare < 1.0) {
        return Err(ConfigError::new("spare_factor", format!("is {spare}; it must be above 0 and below 1")));
    }
    log.trim.get_or_insert(TrimConfig::Plain(true));
    if let Some(plan) = metadata_config::plan(log, segment_pages as u32, pages_below, page_bytes as u32)? {
        return Ok(metadata_config::logical_pages(&plan, spare));
    }
    let pages = u64::from(pages_below) / segment_pages * segment_pages;
    Ok((pages as f64 * (1.0 - spare)).round() as u32)
}

fn refuse_segments(ftl: &LogConfig) -> Result<(), ConfigError> {
    let given = [
        ("segment_size", ftl.segment_size.is_some()),
        ("spare_factor", ftl.spare_factor.is_some()),
        ("trim", ftl.trim.is_some()),
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

/// What a store is built from besides its configuration and its medium.
struct Spec {
    seed: Seed,
    /// Stands in for the policy that the configuration names.
    victim: Option<Box<dyn VictimPolicy>>,
    temperature: Option<Box<dyn crate::temperature::Temperature>>,
    wears_out: bool,
    /// Whether another log stands on this one and may move its pages, too.
    has_log_above: bool,
}

impl Spec {
    fn store<P: Payload, M: Medium<Payload = P> + 'static>(
        self,
        log: &mut LogConfig,
        logical_pages: u32,
        medium: M,
    ) -> Result<BoxedLayer<P>, ConfigError> {
        let size = StoreSize {
            blocks: medium.blocks(),
            pages_per_block: medium.pages_per_block(),
            logical_pages,
            seed: self.seed,
        };
        let context = PlacementContext { size: &size, temperature: self.temperature };
        let directory = log.directory;
        match log.placement.frontiers() {
            Some(frontiers) => {
                let config =
                    StoreConfig { count_moves: self.has_log_above, ..store_config(log, &frontiers, &size)? };
                let whole_blocks = block_directory(log, &frontiers, self.wears_out, size_of::<P>() > 0)?;
                let builder = Builder { config, medium, placement: frontiers, size, whole_blocks };
                builder.with_victim(self.victim, log)
            }
            None => {
                let placement =
                    log.placement.build_boxed(context).map_err(|error| error.within("placement"))?;
                if directory == DirectoryKind::Block {
                    return Err(only_page("placement"));
                }
                let config =
                    StoreConfig { count_moves: self.has_log_above, ..store_config(log, &placement, &size)? };
                let builder = Builder { config, medium, placement, size, whole_blocks: false };
                builder.with_victim(self.victim, log)
            }
        }
        .map_err(|error| error.within("victim"))?
    }
}

fn only_page(reason: &str) -> ConfigError {
    ConfigError::new(
        "directory",
        format!(
            "block is exact only for placement = \"single\", reclaim = \"in_place\" on flash that does not wear out \
                 and holds no data; the {reason} needs page"
        ),
    )
}

/// Whether to keep only blocks: where the scenario says so, or, left to us, wherever it is exact.
fn block_directory(
    log: &LogConfig,
    placement: &impl Placement,
    wears_out: bool,
    holds_data: bool,
) -> Result<bool, ConfigError> {
    let single = placement.cleaning_stream() == Some(StreamId(0));
    let obstacle = [
        (!single, "placement"),
        (log.reclaim != ReclaimKind::InPlace, "reclaim"),
        (wears_out, "wear"),
        (holds_data, "content"),
        (log.metadata.is_some(), "metadata"),
    ]
    .into_iter()
    .find(|(obstacle, _)| *obstacle);
    match (log.directory, obstacle) {
        (DirectoryKind::Block, Some((_, reason))) => Err(only_page(reason)),
        (DirectoryKind::Page, _) | (_, Some(_)) => Ok(false),
        _ => Ok(true),
    }
}

fn store_config(
    log: &mut LogConfig,
    placement: &impl Placement,
    size: &StoreSize,
) -> Result<StoreConfig, ConfigError> {
    let reclaim = match log.reclaim {
        ReclaimKind::InPlace => {
            if log.free_blocks_low.or(log.free_blocks_high).is_some() {
                return Err(ConfigError::new(
                    "free_blocks_low",
                    "means nothing with reclaim = \"in_place\", which keeps no erased blocks",
                ));
            }
            Reclaim::InPlace
        }
        ReclaimKind::FreePool => {
            let low = *log.free_blocks_low.get_or_insert(u32::from(placement.streams()) + 1);
            let high = *log.free_blocks_high.get_or_insert(low);
            Reclaim::FreePool { low, high }
        }
    };
    Ok(StoreConfig {
        logical_pages: size.logical_pages,
        reclaim,
        copy_order: log.copy_order,
        prefetch: None,
        count_moves: false,
        seed: size.seed,
    })
}

/// Builds a store around a policy of whatever type the table of policies hands over.
struct Builder<M, P> {
    config: StoreConfig,
    medium: M,
    placement: P,
    size: StoreSize,
    whole_blocks: bool,
}

impl<M: Medium + 'static, P: Placement + 'static> Builder<M, P> {
    /// The store with the policy given, or else with the one that `log` names.
    fn with_victim(
        self,
        given: Option<Box<dyn VictimPolicy>>,
        log: &LogConfig,
    ) -> Result<Result<BoxedLayer<M::Payload>, ConfigError>, ConfigError> {
        let size = self.size;
        match given {
            Some(policy) => Ok(self.visit(policy)),
            None => log.victim.visit(&size, self),
        }
    }

    fn store<D: Directory + 'static, V: VictimPolicy + 'static>(
        self,
        directory: D,
        victim: V,
    ) -> Result<BoxedLayer<M::Payload>, ConfigError> {
        Ok(Box::new(LogStore::new(self.config, self.medium, directory, victim, self.placement)?))
    }
}

impl<M: Medium + 'static, P: Placement + 'static> VictimVisitor for Builder<M, P> {
    type Output = Result<BoxedLayer<M::Payload>, ConfigError>;

    fn visit<V: VictimPolicy + 'static>(self, victim: V) -> Self::Output {
        let StoreSize { blocks, pages_per_block, logical_pages, .. } = self.size;
        if self.whole_blocks {
            self.store(BlockTable::new(logical_pages), victim)
        } else {
            let all_pages = logical_pages + self.medium.metadata_pages();
            self.store(PageTable::new(all_pages, blocks, pages_per_block), victim)
        }
    }
}

/// The four measures of a layer's spare space.
pub(super) fn over_provisioning(physical_pages: u64, logical_pages: u32) -> OverProvisioning {
    OverProvisioning::from_pages(physical_pages, u64::from(logical_pages))
}
