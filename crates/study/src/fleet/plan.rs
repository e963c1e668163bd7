//! Resolved fleets: all drives under each setting, and their possible tenants.

use super::FleetError;
use super::config::{Fleet, Tenant};
use super::distribution::Distribution;
use super::smart_table::{self, Record};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::path::Path;
use wearwell_base::config::ConfigError;
use wearwell_base::seed::Seed;
use wearwell_stack::{Draft, ResolvedScenario, Scenario};

/// Validated fleet.
#[derive(Debug)]
pub struct Plan {
    /// Fleet as written.
    pub fleet: Fleet,
    /// Records of drives in service, for groups with a table.
    pub(super) records: Vec<Option<Vec<Record>>>,
    /// Drives of every group by setting; the present setting first, then each what-if.
    pub(super) variants: Vec<Vec<Variant>>,
    /// Index into `templates` for each setting, group and tenant.
    pub(super) template_indices: Vec<Vec<Vec<usize>>>,
    /// Distinct scenarios whose write amplification is needed.
    pub(super) templates: Vec<Template>,
}

/// Drive of a group under a setting.
#[derive(Clone, Debug)]
pub(super) struct Variant {
    device_and_ftl: Map<String, Value>,
    /// Logical capacity in bytes.
    pub capacity_bytes: f64,
    /// Physical capacity in bytes.
    pub flash_bytes: f64,
    /// Program/erase cycles that the flash of the drive endures.
    pub cycles: f64,
    /// Number of drives that replace one present drive, for the same data.
    pub drives: f64,
    /// Price of a drive.
    pub price: f64,
}

impl Variant {
    /// Returns the drive writes that the drive endures at a write amplification of 1.
    pub fn drive_writes(&self) -> f64 {
        self.cycles * self.flash_bytes / self.capacity_bytes
    }
}

/// Scenario in which some numbers of the workload are drawn at random.
#[derive(Clone, Debug)]
pub struct Template {
    /// Scenario with placeholders for the drawn numbers.
    scenario: Value,
    /// Drawn numbers: JSON pointers and distributions.
    pub(super) axes: Vec<(String, Distribution)>,
    /// First group and tenant that use the template.
    pub(super) first_user: String,
}

impl Template {
    /// Returns the scenario at a point.
    ///
    /// # Errors
    /// Returns an error for a value that the workload does not accept.
    pub fn at(&self, point: &[f64]) -> Result<Scenario, ConfigError> {
        let mut scenario = self.scenario.clone();
        for ((pointer, _), &value) in self.axes.iter().zip(point) {
            *scenario.pointer_mut(pointer).expect("it was found there") = number(value);
        }
        Scenario::read(&scenario)
    }
}

/// Writes integral values as integers, as some keys require.
fn number(value: f64) -> Value {
    let is_whole = value.fract() == 0.0 && value.abs() < 9e15;
    if is_whole { json!(value as i64) } else { json!(value) }
}

/// Collects the distributions in `value` with their JSON pointers.
fn collect_distributions(
    value: &Value,
    pointer: &str,
    found: &mut Vec<(String, Distribution)>,
) -> Result<(), ConfigError> {
    let key = || pointer.trim_start_matches('/').replace('/', ".");
    match value {
        Value::Object(table) if table.contains_key("law") => {
            let distribution: Distribution = serde_json::from_value(value.clone())
                .map_err(|error| ConfigError::new(key(), error.to_string()))?;
            if let Some(problem) = distribution.problem() {
                return Err(ConfigError::new(key(), problem));
            }
            let (low, high) = distribution.support();
            if !(low.is_finite() && high.is_finite()) {
                let problem =
                    format!("may come out between {low} and {high}; give it bounds with `low` and `high`");
                return Err(ConfigError::new(key(), problem));
            }
            found.push((pointer.to_owned(), distribution));
            Ok(())
        }
        Value::Object(table) => table
            .iter()
            .try_for_each(|(name, value)| collect_distributions(value, &format!("{pointer}/{name}"), found)),
        Value::Array(list) => list
            .iter()
            .enumerate()
            .try_for_each(|(at, value)| collect_distributions(value, &format!("{pointer}/{at}"), found)),
        _ => Ok(()),
    }
}

/// Maximum number of distributions in a workload; each multiplies the number of points to solve.
const MAX_DISTRIBUTIONS: usize = 3;

/// Returns the drawn numbers of a tenant's workload.
fn axes(tenant: &Tenant, at: usize) -> Result<Vec<(String, Distribution)>, ConfigError> {
    let mut found = Vec::new();
    let workload = Value::Object(tenant.workload.clone());
    collect_distributions(&workload, "/workload", &mut found)
        .map_err(|error| error.within(&format!("tenant[{at}]")))?;
    if found.len() > MAX_DISTRIBUTIONS {
        let problem = format!("draws {} numbers; at most {MAX_DISTRIBUTIONS} are", found.len());
        return Err(ConfigError::new(format!("tenant[{at}].workload"), problem));
    }
    Ok(found)
}

/// Measures of spare space; a what-if that sets one of these keeps the flash.
const SPARE_KEYS: [&str; 4] =
    ["device.spare_factor", "device.over_provisioning", "device.alpha", "device.load"];

/// Keys that determine the size of the flash; a what-if that sets one of these changes the flash.
const FLASH_SIZE_KEYS: [&str; 5] = [
    "device.capacity",
    "device.raw_capacity",
    "device.blocks_per_plane",
    "device.preset",
    "device.pages_per_block",
];

impl Plan {
    /// Resolves a fleet and reads its tables, whose paths are relative to `folder`.
    ///
    /// # Errors
    /// Returns an error that names the key for invalid input.
    pub fn new(fleet: Fleet, folder: &Path) -> Result<Plan, FleetError> {
        let names: Vec<&str> = fleet.tenant.iter().map(|tenant| &*tenant.name).collect();
        let records = fleet.group.iter().enumerate().map(|(at, group)| {
            let records = group.smart.as_ref().map(|path| smart_table::read(&folder.join(path), &names));
            let key = format!("group[{at}].smart");
            records.transpose().map_err(|error| ConfigError { key, ..error })
        });
        let records = records.collect::<Result<Vec<_>, _>>()?;
        let axes: Vec<_> =
            fleet.tenant.iter().enumerate().map(|(at, tenant)| axes(tenant, at)).collect::<Result<_, _>>()?;
        let mut plan = Plan {
            fleet,
            records,
            variants: Vec::new(),
            template_indices: Vec::new(),
            templates: Vec::new(),
        };
        plan.check_tenants()?;
        let base = (0..plan.fleet.group.len()).map(|at| plan.base(at)).collect::<Result<Vec<_>, _>>()?;
        plan.variants.push(base);
        for at in 0..plan.fleet.what_if.len() {
            let changed = (0..plan.fleet.group.len()).map(|group| plan.what_if_variant(at, group));
            let changed = changed.collect::<Result<Vec<_>, _>>()?;
            plan.variants.push(changed);
        }
        plan.make_templates(&axes)?;
        Ok(plan)
    }

    /// Returns the number of drives of a group.
    pub fn drives(&self, group: usize) -> usize {
        let stated = || self.fleet.group[group].drives.unwrap_or(0) as usize;
        self.records[group].as_ref().map_or_else(stated, Vec::len)
    }

    /// Returns the number of all drives.
    pub fn all_drives(&self) -> usize {
        (0..self.fleet.group.len()).map(|group| self.drives(group)).sum()
    }

    /// Returns the names of the settings, the present setting first.
    pub fn settings(&self) -> Vec<&str> {
        let what_ifs = self.fleet.what_if.iter().map(|one| &*one.name);
        ["as it is"].into_iter().chain(what_ifs).collect()
    }

    /// Returns the number of drives that no table assigns to a tenant.
    pub(super) fn unassigned_drives(&self) -> usize {
        let assigned =
            |records: &Vec<Record>| records.iter().filter(|record| record.tenant.is_some()).count();
        self.all_drives() - self.records.iter().flatten().map(assigned).sum::<usize>()
    }

    fn check_tenants(&self) -> Result<(), ConfigError> {
        let open = self.unassigned_drives();
        let tenants = self.fleet.tenant.iter().enumerate();
        let counted: u64 = tenants.clone().filter_map(|(_, tenant)| tenant.drives).map(u64::from).sum();
        let key = |has: fn(&Tenant) -> bool| {
            tenants
                .clone()
                .find(|(_, tenant)| has(tenant))
                .map_or("tenant".into(), |(at, _)| format!("tenant[{at}]"))
        };
        if counted > open as u64 {
            let problem = format!("the tenants' drives are {counted}, and {open} are to be had");
            return Err(ConfigError::new(key(|tenant| tenant.drives.is_some()) + ".drives", problem));
        }
        let all_count = self.fleet.tenant.iter().all(|tenant| tenant.drives.is_some());
        if all_count && counted < open as u64 {
            let problem = format!(
                "the tenants' drives are {counted} of {open}; who has the others? Give one a `share`"
            );
            return Err(ConfigError::new("tenant[0].drives", problem));
        }
        Ok(())
    }

    /// Returns a draft with the drive and FTL of a group.
    fn draft(&self, group: usize) -> Draft {
        let group = &self.fleet.group[group];
        Draft::from_value(json!({ "device": group.device, "ftl": group.ftl }))
    }

    fn base(&self, group: usize) -> Result<Variant, ConfigError> {
        let within =
            |error: ConfigError| match error.key.split_once('.').map_or(&*error.key, |(table, _)| table) {
                "device" | "ftl" => error.within(&format!("group[{group}]")),
                _ => error,
            };
        let price = self.fleet.group[group].price;
        self.variant(self.draft(group).value(), price).map_err(within)
    }

    /// Resolves the drive of `value`'s `device` and `ftl`. The workload is arbitrary, because sizes do not depend on
    /// the workload.
    fn variant(&self, value: &Value, price: f64) -> Result<Variant, ConfigError> {
        let mut sized = value.clone();
        sized["workload"] = json!({ "kind": "uniform" });
        let resolved = ResolvedScenario::of(Scenario::read(&sized)?)?;
        let device = &resolved.device;
        let cycles = device.endurance_cycles.filter(|cycles| *cycles > 0).ok_or_else(|| {
            ConfigError::new(
                "device.endurance_cycles",
                "is missing, and no preset has it: the drive would last for ever",
            )
        })?;
        let page = f64::from(device.geometry.page_bytes);
        Ok(Variant {
            device_and_ftl: value.as_object().cloned().unwrap_or_default(),
            capacity_bytes: f64::from(device.logical_pages) * page,
            flash_bytes: device.geometry.pages() as f64 * page,
            cycles: f64::from(cycles),
            drives: 1.0,
            price,
        })
    }

    /// Returns the drive of a group under a what-if.
    fn what_if_variant(&self, what_if: usize, group: usize) -> Result<Variant, ConfigError> {
        let (change, base) = (&self.fleet.what_if[what_if], &self.variants[0][group]);
        let name = &self.fleet.group[group].name;
        if change.groups.as_ref().is_some_and(|groups| !groups.contains(name)) {
            return Ok(base.clone());
        }
        let key = format!("what_if[{what_if}].set");
        let failed =
            |problem: String| ConfigError::new(key.clone(), format!("in group \"{name}\": {problem}"));
        let mut draft = self.draft(group);
        let sets = |keys: &[&str]| change.set.keys().any(|key| keys.contains(&&**key));
        if sets(&SPARE_KEYS) && !sets(&FLASH_SIZE_KEYS) {
            self.keep_flash(&mut draft, group).map_err(|error| failed(error.to_string()))?;
        }
        for (key, value) in &change.set {
            draft.set(key, value.clone()).map_err(|error| failed(error.to_string()))?;
        }
        let price = change.price.unwrap_or(base.price);
        let mut changed = self.variant(draft.value(), price).map_err(|error| failed(error.to_string()))?;
        changed.drives = base.capacity_bytes / changed.capacity_bytes;
        Ok(changed)
    }

    /// Replaces the drive's capacity by the number of its blocks.
    fn keep_flash(&self, draft: &mut Draft, group: usize) -> Result<(), ConfigError> {
        let mut sized = draft.value().clone();
        sized["workload"] = json!({ "kind": "uniform" });
        let geometry = ResolvedScenario::of(Scenario::read(&sized)?)?.device.geometry;
        let invalid_flash = |error: wearwell_stack::DraftError| {
            ConfigError::new(format!("group[{group}].device"), error.to_string())
        };
        for key in ["device.capacity", "device.raw_capacity"] {
            if draft.get(key).is_some() {
                draft.unset(key).map_err(invalid_flash)?;
            }
        }
        draft.set("device.blocks_per_plane", json!(geometry.blocks_per_plane)).map_err(invalid_flash)?;
        if geometry.unused_blocks > 0 {
            draft.set("device.unused_blocks", json!(geometry.unused_blocks)).map_err(invalid_flash)?;
        }
        Ok(())
    }

    fn make_templates(&mut self, axes: &[Vec<(String, Distribution)>]) -> Result<(), ConfigError> {
        let mut index_by_scenario: HashMap<String, usize> = HashMap::new();
        for (setting, variants) in self.variants.iter().enumerate() {
            let mut groups = Vec::new();
            for (group, variant) in variants.iter().enumerate() {
                let mut tenants = Vec::new();
                for (at, tenant) in self.fleet.tenant.iter().enumerate() {
                    let mut scenario = variant.device_and_ftl.clone();
                    scenario.insert("workload".into(), Value::Object(tenant.workload.clone()));
                    let scenario = Value::Object(scenario);
                    let text = scenario.to_string();
                    let template = match index_by_scenario.get(&text) {
                        Some(&template) => template,
                        None => {
                            let group_name = &self.fleet.group[group].name;
                            let user = format!("group \"{group_name}\", tenant \"{}\"", tenant.name);
                            let user = match setting.checked_sub(1).map(|at| &self.fleet.what_if[at].name) {
                                Some(name) => format!("what_if \"{name}\", {user}"),
                                None => user,
                            };
                            let template = Template { scenario, axes: axes[at].clone(), first_user: user };
                            check_extremes(&template, setting, group, at)?;
                            index_by_scenario.insert(text, self.templates.len());
                            self.templates.push(template);
                            self.templates.len() - 1
                        }
                    };
                    tenants.push(template);
                }
                groups.push(tenants);
            }
            self.template_indices.push(groups);
        }
        Ok(())
    }
}

/// Refuses a template that cannot be built at the median or at the limits of the drawn numbers.
fn check_extremes(
    template: &Template,
    setting: usize,
    group: usize,
    tenant: usize,
) -> Result<(), ConfigError> {
    let point = |value: fn(&Distribution) -> f64| {
        template.axes.iter().map(|(_, distribution)| value(distribution)).collect::<Vec<_>>()
    };
    let points = [
        point(|distribution| distribution.quantile(0.5)),
        point(|distribution| distribution.support().0),
        point(|distribution| distribution.support().1),
    ];
    for point in points {
        let resolved = template.at(&point).and_then(ResolvedScenario::of);
        resolved.and_then(|resolved| check_workload(&resolved)).map_err(|error| {
            let table = error.key.split_once('.').map_or(&*error.key, |(table, _)| table);
            match (table, setting) {
                ("workload", _) => error.within(&format!("tenant[{tenant}]")),
                (_, 0) => error.within(&format!("group[{group}]")),
                _ => {
                    let problem = format!("for {}: {error}", template.first_user);
                    ConfigError::new(format!("what_if[{}].set", setting - 1), problem)
                }
            }
        })?;
    }
    Ok(())
}

/// Pages of the address space on which workloads are tested; some workloads take long on a whole drive.
const TESTED_PAGES: u32 = 1 << 16;

/// Refuses a workload that cannot be built.
fn check_workload(resolved: &ResolvedScenario) -> Result<(), ConfigError> {
    let pages = resolved.device.logical_pages.min(TESTED_PAGES);
    let built = resolved.scenario.workload.as_ref().map(|workload| workload.build(pages, Seed(1)));
    built.transpose().map(|_| ()).map_err(|error| error.within("workload"))
}
