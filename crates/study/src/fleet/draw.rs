//! Random draw of a fleet: age, load and endurance of every drive, and the time when it wears out.

use super::plan::{Plan, Variant};
use super::smart_table::Record;
use super::surface::{Scratch, Surface};
use rand::RngCore;
use wearwell_base::seed::{Random, Seed, random_below};
use wearwell_stack::Lifetime;

/// Drive of a random draw.
#[derive(Clone, Debug)]
pub struct DrawnDrive {
    /// Index of the drive's group.
    pub group: usize,
    /// Index of the drive's tenant.
    pub tenant: usize,
    /// Drive writes per day.
    pub drive_writes_per_day: f64,
    /// Endurance of the flash, as a multiple of the rated endurance.
    pub endurance: f64,
    /// Drawn parameters of the drive's workload.
    pub point: Vec<f64>,
    /// Past use of the drive.
    age: Age,
}

/// Past use of a drive.
#[derive(Clone, Copy, Debug)]
enum Age {
    Years(f64),
    DriveWrites(f64),
    /// Use according to the drive's counters.
    Counters(UsageCounters),
}

/// Counters of a record that indicate wear.
#[derive(Clone, Copy, Debug)]
struct UsageCounters {
    host_bytes: f64,
    used: Option<f64>,
    media_bytes: Option<f64>,
}

/// Returns a random number strictly between 0 and 1.
fn open_unit(random: &mut Random) -> f64 {
    ((random.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}

/// Draws the drives of draw `number`; equal numbers draw equal drives.
pub fn draw_drives(plan: &Plan, number: u32) -> Vec<DrawnDrive> {
    let seed = Seed(plan.fleet.seed).derive("fleet").derive(&format!("draw {number}"));
    let mut tenants = assign_tenants(plan, seed).into_iter();
    let mut drawn = Vec::with_capacity(plan.all_drives());
    for (at, group) in plan.fleet.group.iter().enumerate() {
        // Each group has its own seed, so its drives do not depend on other groups, except for their tenants.
        let mut random = seed.derive(&group.name).random();
        for drive in 0..plan.drives(at) {
            let record = plan.records[at].as_ref().map(|records| &records[drive]);
            let recorded = record.and_then(|record| record.tenant);
            let tenant = recorded.unwrap_or_else(|| tenants.next().expect("an owner for each drive without"));
            drawn.push(draw_drive(plan, at, tenant, record, &mut random));
        }
    }
    drawn
}

/// Returns the tenants of drives that no table assigns: exact numbers, in random order.
fn assign_tenants(plan: &Plan, seed: Seed) -> Vec<usize> {
    let unassigned = plan.unassigned_drives();
    let tenants = &plan.fleet.tenant;
    let counted: usize =
        tenants.iter().filter_map(|tenant| tenant.drives).map(|drives| drives as usize).sum();
    let shares: f64 = tenants.iter().filter_map(|tenant| tenant.share).sum();
    let mut assigned = Vec::with_capacity(unassigned);
    let mut share = 0.0;
    for (at, tenant) in tenants.iter().enumerate() {
        let drives = match (tenant.drives, tenant.share) {
            (Some(drives), _) => drives as usize,
            (None, part) => {
                // Rounds the start and the end of each share, so that the numbers sum to the total.
                let until = |share: f64| ((unassigned - counted) as f64 * share / shares).round() as usize;
                let begin = until(share);
                share += part.unwrap_or(0.0);
                until(share) - begin
            }
        };
        assigned.extend(std::iter::repeat_n(at, drives));
    }
    // Rounding may leave the sum of the shares below or above the total.
    let last = tenants.iter().rposition(|tenant| tenant.share.is_some()).unwrap_or(0);
    assigned.resize(unassigned, last);
    let mut random = seed.derive("tenants").random();
    for at in (1..assigned.len()).rev() {
        assigned.swap(at, random_below(&mut random, at as u64 + 1) as usize);
    }
    assigned
}

/// Draws a drive. Always uses the same number of random values, so that a change of one tenant leaves the drives of
/// other tenants unchanged.
fn draw_drive(
    plan: &Plan,
    group: usize,
    tenant: usize,
    record: Option<&Record>,
    random: &mut Random,
) -> DrawnDrive {
    let (of_group, of_tenant) = (&plan.fleet.group[group], &plan.fleet.tenant[tenant]);
    let [rate, age, endurance] = [open_unit(random), open_unit(random), open_unit(random)];
    let workload_draws = [open_unit(random), open_unit(random), open_unit(random)];
    let template = &plan.templates[plan.template_indices[0][group][tenant]];
    let point = template
        .axes
        .iter()
        .zip(workload_draws)
        .map(|((_, distribution), u)| distribution.quantile(u))
        .collect();
    let drawn_rate = of_tenant.drive_writes_per_day.quantile(rate);
    let capacity = plan.variants[0][group].capacity_bytes;
    let recorded_use = record.and_then(|record| Some((record, record.days.filter(|days| *days > 0.0)?)));
    let age = match (record, &of_group.age_years, &of_group.age_drive_writes) {
        (Some(&Record { host_bytes, used, media_bytes, .. }), ..) => {
            Age::Counters(UsageCounters { host_bytes, used, media_bytes })
        }
        (None, Some(years), _) => Age::Years(years.quantile(age)),
        (None, None, Some(writes)) => Age::DriveWrites(writes.quantile(age)),
        (None, None, None) => Age::Years(0.0),
    };
    DrawnDrive {
        group,
        tenant,
        drive_writes_per_day: recorded_use
            .map_or(drawn_rate, |(record, days)| record.host_bytes / capacity / days),
        endurance: of_group.endurance_factor.quantile(endurance),
        point,
        age,
    }
}

/// Predicted life of a drive under a setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PredictedLife {
    /// Write amplification.
    pub write_amplification: f64,
    /// Years from new to worn out; infinite if nothing is written.
    pub years: f64,
}

impl DrawnDrive {
    /// Predicts the life under `variant`, with the write amplification of its workload from `surface`.
    pub fn predicted_life(
        &self,
        variant: &Variant,
        surface: &Surface,
        scratch: &mut Scratch,
    ) -> PredictedLife {
        let write_amplification = surface.at(&self.point, scratch);
        let host_writes = variant.drive_writes() * self.endurance / write_amplification;
        let years = match self.drive_writes_per_day > 0.0 {
            true => Lifetime::years(host_writes, self.drive_writes_per_day),
            false => f64::INFINITY,
        };
        PredictedLife { write_amplification, years }
    }

    /// Returns the fraction of the drive's life that is used, under the present setting.
    pub fn used_fraction(&self, variant: &Variant, life: &PredictedLife) -> f64 {
        let host_writes = || variant.drive_writes() * self.endurance / life.write_amplification;
        // Drives that wore out since were replaced.
        let since_replacement = |lives: f64| if lives.is_finite() { lives.fract() } else { 0.0 };
        match self.age {
            Age::Years(years) if life.years > 0.0 => since_replacement(years / life.years),
            Age::DriveWrites(writes) if host_writes() > 0.0 => since_replacement(writes / host_writes()),
            Age::Years(_) | Age::DriveWrites(_) => 0.0,
            Age::Counters(UsageCounters { host_bytes, used, media_bytes }) => {
                let by_media = || {
                    media_bytes.map(|bytes| bytes / (variant.flash_bytes * variant.cycles * self.endurance))
                };
                let by_host = || host_bytes / variant.capacity_bytes / host_writes();
                let used = used.or_else(by_media).unwrap_or_else(by_host);
                if used.is_nan() { 0.0 } else { used.min(1.0) }
            }
        }
    }
}

/// Counts drives that wear out in each of `years`, for a drive with `remaining` years left whose replacements last
/// `life` years each.
pub fn count_worn_out(remaining: f64, life: f64, years: u32, mut count: impl FnMut(usize, f64)) {
    // Number of drives that wear out before time `t`: at `remaining`, `remaining + life`, `remaining + 2 life` and so
    // on.
    let before = |t: f64| if t <= remaining { 0.0 } else { ((t - remaining) / life).ceil().max(1.0) };
    if remaining >= f64::from(years) {
        return;
    }
    let mut done = 0.0;
    for year in remaining.floor() as u32..years {
        let now = before(f64::from(year) + 1.0);
        count(year as usize, now - done);
        done = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn years(remaining: f64, life: f64) -> Vec<f64> {
        let mut found = vec![0.0; 6];
        count_worn_out(remaining, life, 6, |year, drives| found[year] += drives);
        found
    }

    #[test]
    fn worn_out_drives_are_replaced_and_wear_out_again() {
        assert_eq!(years(1.5, 2.0), [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]);
        assert_eq!(years(0.25, 0.5), [2.0, 2.0, 2.0, 2.0, 2.0, 2.0]);
        assert_eq!(years(0.0, 3.0), [1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
        assert_eq!(years(7.0, 1.0), [0.0; 6]);
        assert_eq!(years(f64::INFINITY, f64::INFINITY), [0.0; 6]);
        assert_eq!(years(5.9, f64::INFINITY), [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    }
}
