//! Summary over all draws of a fleet.

use super::amplification::{Basis, TemplateModel};
use super::check::TheoryCheck;
use super::config::Fleet;
use super::estimate::Estimate;
use super::plan::Plan;
use super::totals::{DrawTotals, GroupTenantFigures, LifeQuantiles, QUANTILES, SettingTotals};
use serde::Serialize;

/// Result of a fleet evaluation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FleetResult {
    /// Version of Wearwell.
    pub version: &'static str,
    /// `fleet`.
    pub mode: &'static str,
    /// Fleet as written, with all defaults.
    pub fleet: Fleet,
    /// Number of drives.
    pub drives: usize,
    /// Fraction of the present drives whose write amplification comes from theory; for the other drives it is
    /// simulated.
    pub share_by_theory: f64,
    /// Rows for each predicted year.
    pub years: Vec<YearRow>,
    /// Rows about the life of drives.
    pub life: Vec<LifeRow>,
    /// Rows for each group of drives.
    pub groups: Vec<PartRow>,
    /// Rows for each tenant.
    pub tenants: Vec<PartRow>,
    /// Row for the whole fleet under the present setting.
    pub all: PartRow,
    /// Rows for each what-if.
    pub what_if: Vec<WhatIfRow>,
    /// Basis of the figures.
    pub basis: Vec<Basis>,
    /// Comparison of theory with simulation.
    pub check: Option<TheoryCheck>,
}

/// Predicted year.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct YearRow {
    /// Year number; 1 is the next year.
    pub year: usize,
    /// Drives that wear out in this year.
    pub worn_out: Estimate,
    /// Cost of replacing these drives.
    pub money: Estimate,
}

/// Quantile of the life of drives.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LifeRow {
    /// Kind of row: `all`, `group` or `tenant`.
    pub kind: &'static str,
    /// Name of the group or tenant.
    pub name: String,
    /// Quantile as a fraction: this fraction of drives lasts less.
    pub quantile: f64,
    /// Years left; infinite if nothing is written.
    pub years_left: Estimate,
    /// Years from new to worn out.
    pub years: Estimate,
}

/// Part of the fleet under the present setting.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PartRow {
    /// Name of the part.
    pub name: String,
    /// Number of drives.
    pub drives: Estimate,
    /// Host writes, in units of 10^12 bytes per day.
    pub host_tb_per_day: Estimate,
    /// Flash writes over host writes.
    pub write_amplification: Estimate,
    /// Wear per year in whole drive lives, counted continuously instead of at replacement.
    pub wear_drives_per_year: Estimate,
    /// Fraction of the fleet's wear.
    pub wear_share: Estimate,
    /// Cost per year of this wear.
    pub money_per_year: Estimate,
    /// Drives that wear out per year, averaged over the predicted years.
    pub worn_out_per_year: Estimate,
}

/// Result of a what-if; differences are the what-if minus the present setting, paired by draw.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WhatIfRow {
    /// Name of the what-if.
    pub name: String,
    /// Number of drives that hold the same data.
    pub drives: Estimate,
    /// One-time cost of additional drives; negative for fewer drives.
    pub money_once: Estimate,
    /// Wear per year in whole drive lives.
    pub wear_drives_per_year: Estimate,
    /// Difference in wear from the present setting.
    pub wear_difference: Estimate,
    /// Cost per year of the wear.
    pub money_per_year: Estimate,
    /// Difference in this cost from the present setting.
    pub money_difference: Estimate,
    /// Drives that wear out per year, averaged over the predicted years.
    pub worn_out_per_year: Estimate,
    /// Difference in drives that wear out per year from the present setting.
    pub worn_out_difference: Estimate,
}

/// Summarises all draws.
pub fn summary(
    plan: &Plan,
    models: &[TemplateModel],
    draws: &[DrawTotals],
    check: Option<TheoryCheck>,
) -> FleetResult {
    let over = |figure: &dyn Fn(&DrawTotals) -> f64| -> Vec<f64> { draws.iter().map(figure).collect() };
    let years = (0..plan.fleet.years as usize).map(|year| YearRow {
        year: year + 1,
        worn_out: Estimate::non_negative(&over(&|tally| tally.settings[0].worn_out[year])),
        money: Estimate::non_negative(&over(&|tally| tally.settings[0].replacement_cost[year])),
    });
    let part = |name: &str, of: &dyn Fn(&GroupTenantFigures) -> f64| part(plan, draws, name, of);
    let groups = plan.fleet.group.iter().enumerate();
    let tenants = plan.fleet.tenant.iter().enumerate();
    let what_ifs = plan.fleet.what_if.iter().enumerate();
    FleetResult {
        version: env!("CARGO_PKG_VERSION"),
        mode: "fleet",
        fleet: plan.fleet.clone(),
        drives: plan.all_drives(),
        share_by_theory: share_by_theory(plan, models, &draws[0]),
        years: years.collect(),
        life: lives(plan, draws),
        groups: groups.map(|(at, group)| part(&group.name, &|parts| parts.group(at))).collect(),
        tenants: tenants.map(|(at, tenant)| part(&tenant.name, &|parts| parts.tenant(at))).collect(),
        all: part("all", &GroupTenantFigures::sum),
        what_if: what_ifs.map(|(at, one)| what_if(plan, draws, &one.name, at + 1)).collect(),
        basis: bases(plan, models, &draws[0]),
        check,
    }
}

fn part(
    plan: &Plan,
    draws: &[DrawTotals],
    name: &str,
    figures: &dyn Fn(&GroupTenantFigures) -> f64,
) -> PartRow {
    let over = |figure: &dyn Fn(&DrawTotals) -> f64| -> Vec<f64> { draws.iter().map(figure).collect() };
    let years = f64::from(plan.fleet.years);
    // Defines 0 / 0 as 0.
    let over_all = |part: f64, all: f64| if all > 0.0 { part / all } else { 0.0 };
    let base = |tally: &DrawTotals, parts: fn(&SettingTotals) -> &GroupTenantFigures| {
        figures(parts(&tally.settings[0]))
    };
    PartRow {
        name: name.to_owned(),
        drives: Estimate::non_negative(&over(&|tally| figures(&tally.drives))),
        host_tb_per_day: Estimate::non_negative(&over(&|tally| figures(&tally.host_bytes) / 1e12)),
        write_amplification: Estimate::non_negative(&over(&|tally| {
            over_all(figures(&tally.media_bytes), figures(&tally.host_bytes))
        })),
        wear_drives_per_year: Estimate::non_negative(&over(&|tally| base(tally, |of| &of.wear))),
        wear_share: Estimate::non_negative(&over(&|tally| {
            over_all(base(tally, |of| &of.wear), tally.settings[0].wear.sum())
        })),
        money_per_year: Estimate::non_negative(&over(&|tally| base(tally, |of| &of.money))),
        worn_out_per_year: Estimate::non_negative(&over(&|tally| base(tally, |of| &of.replaced) / years)),
    }
}

fn what_if(plan: &Plan, draws: &[DrawTotals], name: &str, setting: usize) -> WhatIfRow {
    let years = f64::from(plan.fleet.years);
    let would = |figure: &dyn Fn(&SettingTotals) -> f64| {
        let values: Vec<f64> = draws.iter().map(|tally| figure(&tally.settings[setting])).collect();
        Estimate::of(&values)
    };
    let differs = |figure: &dyn Fn(&SettingTotals) -> f64| {
        let difference = |tally: &DrawTotals| figure(&tally.settings[setting]) - figure(&tally.settings[0]);
        Estimate::of(&draws.iter().map(difference).collect::<Vec<_>>())
    };
    let wear = |tally: &SettingTotals| tally.wear.sum();
    let money = |tally: &SettingTotals| tally.money.sum();
    let worn_out = |tally: &SettingTotals| tally.replaced.sum() / years;
    WhatIfRow {
        name: name.to_owned(),
        drives: would(&|tally| tally.drives),
        money_once: would(&|tally| tally.one_time_cost),
        wear_drives_per_year: would(&wear),
        wear_difference: differs(&wear),
        money_per_year: would(&money),
        money_difference: differs(&money),
        worn_out_per_year: would(&worn_out),
        worn_out_difference: differs(&worn_out),
    }
}

fn lives(plan: &Plan, draws: &[DrawTotals]) -> Vec<LifeRow> {
    let all = [("all", "all")].into_iter();
    let groups = plan.fleet.group.iter().map(|group| ("group", &*group.name));
    let tenants = plan.fleet.tenant.iter().map(|tenant| ("tenant", &*tenant.name));
    let mut rows = Vec::new();
    for (at, (of, name)) in all.chain(groups).chain(tenants).enumerate() {
        for (rank, &quantile) in QUANTILES.iter().enumerate() {
            let over = |lives: fn(&LifeQuantiles) -> &[f64; QUANTILES.len()]| {
                // A tenant may have no drives in a draw.
                let values = draws.iter().map(|tally| lives(&tally.lives[at])[rank]);
                values.filter(|years| !years.is_nan()).collect::<Vec<_>>()
            };
            let (remaining, total) = (over(|lives| &lives.remaining), over(|lives| &lives.total));
            if remaining.is_empty() {
                continue;
            }
            let (years_left, years) = (Estimate::non_negative(&remaining), Estimate::non_negative(&total));
            rows.push(LifeRow { kind: of, name: name.to_owned(), quantile, years_left, years });
        }
    }
    rows
}

fn share_by_theory(plan: &Plan, models: &[TemplateModel], totals: &DrawTotals) -> f64 {
    let mut by_theory = 0.0;
    for group in 0..plan.fleet.group.len() {
        for tenant in 0..plan.fleet.tenant.len() {
            if models[plan.template_indices[0][group][tenant]].is_theory() {
                by_theory += totals.drives.cell(group, tenant);
            }
        }
    }
    by_theory / totals.drives.sum()
}

/// Returns the basis of every existing kind of drive, under each setting that changes it.
fn bases(plan: &Plan, models: &[TemplateModel], totals: &DrawTotals) -> Vec<Basis> {
    let mut found = Vec::new();
    for (setting, groups) in plan.template_indices.iter().enumerate() {
        for (group, tenants) in groups.iter().enumerate() {
            for (tenant, &template) in tenants.iter().enumerate() {
                let is_there = totals.drives.cell(group, tenant) > 0.0;
                let is_as_it_is = setting > 0 && plan.template_indices[0][group][tenant] == template;
                if is_there && !is_as_it_is {
                    found.push(models[template].basis(plan, setting, group, tenant));
                }
            }
        }
    }
    found
}
