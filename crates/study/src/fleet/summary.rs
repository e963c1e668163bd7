//! What all draws of a fleet come to.

use super::amplification::{Basis, Known};
use super::check::Check;
use super::config::Fleet;
use super::estimate::Estimate;
use super::plan::Plan;
use super::tally::{LifeQuantiles, Parts, QUANTILES, SettingTally, Tally};
use serde::Serialize;

/// What becomes of a fleet.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FleetResult {
    /// Version of Wearwell.
    pub version: &'static str,
    /// `fleet`.
    pub mode: &'static str,
    /// The fleet as it was written, with every default.
    pub fleet: Fleet,
    /// Drives in all.
    pub drives: usize,
    /// The share of the drives, as they are, whose write amplification is known from theory; that of the others is simulated.
    pub share_by_theory: f64,
    /// Each year ahead.
    pub years: Vec<YearRow>,
    /// How long drives last.
    pub life: Vec<LifeRow>,
    /// Each group of drives.
    pub groups: Vec<PartRow>,
    /// Each tenant.
    pub tenants: Vec<PartRow>,
    /// All together, as it is.
    pub all: PartRow,
    /// What would be otherwise.
    pub what_if: Vec<WhatIfRow>,
    /// What each figure rests on.
    pub basis: Vec<Basis>,
    /// Theory held against simulation.
    pub check: Option<Check>,
}

/// A year ahead.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct YearRow {
    /// 1 is the next.
    pub year: usize,
    /// Drives that wear out in it.
    pub worn_out: Estimate,
    /// What their followers cost.
    pub money: Estimate,
}

/// How long drives last, of which a share `quantile` lasts less.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LifeRow {
    /// `all`, `group` or `tenant`.
    pub of: &'static str,
    /// Its name.
    pub name: String,
    /// The share.
    pub quantile: f64,
    /// Years left; infinite where nothing is written.
    pub years_left: Estimate,
    /// Years from new to worn out.
    pub years: Estimate,
}

/// A part of the fleet, as it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PartRow {
    /// Its name.
    pub name: String,
    /// Its drives.
    pub drives: Estimate,
    /// What hosts write to them, in units of 10^12 bytes a day.
    pub host_tb_per_day: Estimate,
    /// What the flash takes over what hosts write.
    pub write_amplification: Estimate,
    /// Lives used up a year, in drives, at once and not only when a drive is worn out.
    pub wear_drives_per_year: Estimate,
    /// Its share of the fleet's.
    pub wear_share: Estimate,
    /// What that wear costs a year.
    pub money_per_year: Estimate,
    /// Drives that wear out a year, over the years ahead.
    pub worn_out_per_year: Estimate,
}

/// What would be otherwise; differences are what it would be less what it is, drawn in pairs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WhatIfRow {
    /// Its name.
    pub name: String,
    /// Drives that hold the same data.
    pub drives: Estimate,
    /// What those cost that there are more of than now, once; below 0 if fewer.
    pub money_once: Estimate,
    /// Lives used up a year, in drives.
    pub wear_drives_per_year: Estimate,
    /// By how much that would differ.
    pub wear_difference: Estimate,
    /// What that wear costs a year.
    pub money_per_year: Estimate,
    /// By how much that would differ.
    pub money_difference: Estimate,
    /// Drives that wear out a year, over the years ahead.
    pub worn_out_per_year: Estimate,
    /// By how much that would differ.
    pub worn_out_difference: Estimate,
}

/// Gathers what all draws come to.
pub fn summary(plan: &Plan, known: &[Known], tallies: &[Tally], check: Option<Check>) -> FleetResult {
    let over = |figure: &dyn Fn(&Tally) -> f64| -> Vec<f64> { tallies.iter().map(figure).collect() };
    let years = (0..plan.fleet.years as usize).map(|year| YearRow {
        year: year + 1,
        worn_out: Estimate::from_zero(&over(&|tally| tally.settings[0].worn_out[year])),
        money: Estimate::from_zero(&over(&|tally| tally.settings[0].paid[year])),
    });
    let part = |name: &str, of: &dyn Fn(&Parts) -> f64| part(plan, tallies, name, of);
    let groups = plan.fleet.group.iter().enumerate();
    let tenants = plan.fleet.tenant.iter().enumerate();
    let what_ifs = plan.fleet.what_if.iter().enumerate();
    FleetResult {
        version: env!("CARGO_PKG_VERSION"),
        mode: "fleet",
        fleet: plan.fleet.clone(),
        drives: plan.all_drives(),
        share_by_theory: share_by_theory(plan, known, &tallies[0]),
        years: years.collect(),
        life: lives(plan, tallies),
        groups: groups.map(|(at, group)| part(&group.name, &|parts| parts.group(at))).collect(),
        tenants: tenants.map(|(at, tenant)| part(&tenant.name, &|parts| parts.tenant(at))).collect(),
        all: part("all", &Parts::sum),
        what_if: what_ifs.map(|(at, one)| what_if(plan, tallies, &one.name, at + 1)).collect(),
        basis: bases(plan, known, &tallies[0]),
        check,
    }
}

fn part(plan: &Plan, tallies: &[Tally], name: &str, of: &dyn Fn(&Parts) -> f64) -> PartRow {
    let over = |figure: &dyn Fn(&Tally) -> f64| -> Vec<f64> { tallies.iter().map(figure).collect() };
    let years = f64::from(plan.fleet.years);
    // Nothing over nothing is nothing.
    let over_all = |part: f64, all: f64| if all > 0.0 { part / all } else { 0.0 };
    let base = |tally: &Tally, parts: fn(&SettingTally) -> &Parts| of(parts(&tally.settings[0]));
    PartRow {
        name: name.to_owned(),
        drives: Estimate::from_zero(&over(&|tally| of(&tally.drives))),
        host_tb_per_day: Estimate::from_zero(&over(&|tally| of(&tally.host_bytes) / 1e12)),
        write_amplification: Estimate::from_zero(&over(&|tally| {
            over_all(of(&tally.media_bytes), of(&tally.host_bytes))
        })),
        wear_drives_per_year: Estimate::from_zero(&over(&|tally| base(tally, |of| &of.wear))),
        wear_share: Estimate::from_zero(&over(&|tally| {
            over_all(base(tally, |of| &of.wear), tally.settings[0].wear.sum())
        })),
        money_per_year: Estimate::from_zero(&over(&|tally| base(tally, |of| &of.money))),
        worn_out_per_year: Estimate::from_zero(&over(&|tally| base(tally, |of| &of.replaced) / years)),
    }
}

fn what_if(plan: &Plan, tallies: &[Tally], name: &str, setting: usize) -> WhatIfRow {
    let years = f64::from(plan.fleet.years);
    let would = |figure: &dyn Fn(&SettingTally) -> f64| {
        let values: Vec<f64> = tallies.iter().map(|tally| figure(&tally.settings[setting])).collect();
        Estimate::of(&values)
    };
    let differs = |figure: &dyn Fn(&SettingTally) -> f64| {
        let difference = |tally: &Tally| figure(&tally.settings[setting]) - figure(&tally.settings[0]);
        Estimate::of(&tallies.iter().map(difference).collect::<Vec<_>>())
    };
    let wear = |tally: &SettingTally| tally.wear.sum();
    let money = |tally: &SettingTally| tally.money.sum();
    let worn_out = |tally: &SettingTally| tally.replaced.sum() / years;
    WhatIfRow {
        name: name.to_owned(),
        drives: would(&|tally| tally.drives),
        money_once: would(&|tally| tally.once),
        wear_drives_per_year: would(&wear),
        wear_difference: differs(&wear),
        money_per_year: would(&money),
        money_difference: differs(&money),
        worn_out_per_year: would(&worn_out),
        worn_out_difference: differs(&worn_out),
    }
}

fn lives(plan: &Plan, tallies: &[Tally]) -> Vec<LifeRow> {
    let all = [("all", "all")].into_iter();
    let groups = plan.fleet.group.iter().map(|group| ("group", &*group.name));
    let tenants = plan.fleet.tenant.iter().map(|tenant| ("tenant", &*tenant.name));
    let mut rows = Vec::new();
    for (at, (of, name)) in all.chain(groups).chain(tenants).enumerate() {
        for (rank, &quantile) in QUANTILES.iter().enumerate() {
            let over = |lives: fn(&LifeQuantiles) -> &[f64; QUANTILES.len()]| {
                // A tenant may have no drive in a draw.
                let values = tallies.iter().map(|tally| lives(&tally.lives[at])[rank]);
                values.filter(|years| !years.is_nan()).collect::<Vec<_>>()
            };
            let (left, whole) = (over(|lives| &lives.left), over(|lives| &lives.whole));
            if left.is_empty() {
                continue;
            }
            let (years_left, years) = (Estimate::from_zero(&left), Estimate::from_zero(&whole));
            rows.push(LifeRow { of, name: name.to_owned(), quantile, years_left, years });
        }
    }
    rows
}

fn share_by_theory(plan: &Plan, known: &[Known], tally: &Tally) -> f64 {
    let mut by_theory = 0.0;
    for group in 0..plan.fleet.group.len() {
        for tenant in 0..plan.fleet.tenant.len() {
            if known[plan.cells[0][group][tenant]].is_theory() {
                by_theory += tally.drives.cell(group, tenant);
            }
        }
    }
    by_theory / tally.drives.sum()
}

/// What every kind of drive rests on that there is, under each setting that changes it.
fn bases(plan: &Plan, known: &[Known], tally: &Tally) -> Vec<Basis> {
    let mut found = Vec::new();
    for (setting, groups) in plan.cells.iter().enumerate() {
        for (group, tenants) in groups.iter().enumerate() {
            for (tenant, &template) in tenants.iter().enumerate() {
                let is_there = tally.drives.cell(group, tenant) > 0.0;
                let is_as_it_is = setting > 0 && plan.cells[0][group][tenant] == template;
                if is_there && !is_as_it_is {
                    found.push(known[template].basis(plan, setting, group, tenant));
                }
            }
        }
    }
    found
}
