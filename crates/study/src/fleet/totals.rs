//! Totals of one draw of a fleet, under every setting.

use super::draw::{DrawnDrive, count_worn_out, draw_drives};
use super::plan::Plan;
use super::surface::{Scratch, Surface};

/// Reported quantiles of lifetimes.
pub const QUANTILES: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.95];

/// Totals of one draw.
#[derive(Clone, Debug)]
pub struct DrawTotals {
    /// Totals by setting, the present setting first.
    pub settings: Vec<SettingTotals>,
    /// Number of drives by group and tenant.
    pub drives: GroupTenantFigures,
    /// Host bytes per day by group and tenant.
    pub host_bytes: GroupTenantFigures,
    /// Flash bytes per day by group and tenant, under the present setting.
    pub media_bytes: GroupTenantFigures,
    /// Lifetimes of all drives, then of each group and each tenant, under the present setting.
    pub lives: Vec<LifeQuantiles>,
}

/// Totals of one draw under one setting.
#[derive(Clone, Debug)]
pub struct SettingTotals {
    /// Drives that wear out in each year.
    pub worn_out: Vec<f64>,
    /// Cost of replacing the drives that wear out in each year.
    pub replacement_cost: Vec<f64>,
    /// Wear per year in whole drive lives, by group and tenant.
    pub wear: GroupTenantFigures,
    /// Cost per year of this wear.
    pub money: GroupTenantFigures,
    /// Drives that wear out over all years together, by group and tenant.
    pub replaced: GroupTenantFigures,
    /// Number of drives in service.
    pub drives: f64,
    /// Cost of additional drives; negative for fewer drives.
    pub one_time_cost: f64,
}

/// Figure by group and tenant.
#[derive(Clone, Debug)]
pub struct GroupTenantFigures {
    tenants: usize,
    values: Vec<f64>,
}

impl GroupTenantFigures {
    fn new(plan: &Plan) -> Self {
        let tenants = plan.fleet.tenant.len();
        GroupTenantFigures { tenants, values: vec![0.0; tenants * plan.fleet.group.len()] }
    }

    fn add(&mut self, drive: &DrawnDrive, value: f64) {
        self.values[drive.group * self.tenants + drive.tenant] += value;
    }

    /// Returns the sum over all groups and tenants.
    pub fn sum(&self) -> f64 {
        self.values.iter().sum()
    }

    /// Returns the sum over the tenants of a group.
    pub fn group(&self, group: usize) -> f64 {
        self.values[group * self.tenants..(group + 1) * self.tenants].iter().sum()
    }

    /// Returns the sum over the groups of a tenant.
    pub fn tenant(&self, tenant: usize) -> f64 {
        self.values.iter().skip(tenant).step_by(self.tenants).sum()
    }

    /// Returns the value of a tenant's drives in a group.
    pub fn cell(&self, group: usize, tenant: usize) -> f64 {
        self.values[group * self.tenants + tenant]
    }
}

/// Lifetimes at [`QUANTILES`].
#[derive(Clone, Copy, Debug, Default)]
pub struct LifeQuantiles {
    /// Years left.
    pub remaining: [f64; QUANTILES.len()],
    /// Years from new to worn out.
    pub total: [f64; QUANTILES.len()],
}

impl SettingTotals {
    fn new(plan: &Plan) -> Self {
        let years = vec![0.0; plan.fleet.years as usize];
        let parts = GroupTenantFigures::new(plan);
        SettingTotals {
            worn_out: years.clone(),
            replacement_cost: years,
            wear: parts.clone(),
            money: parts.clone(),
            replaced: parts,
            drives: 0.0,
            one_time_cost: 0.0,
        }
    }
}

/// Evaluates draw `number` of the fleet, with a surface for each of its templates.
pub fn draw_totals(plan: &Plan, surfaces: &[Surface], number: u32) -> DrawTotals {
    let drawn = draw_drives(plan, number);
    let mut totals = DrawTotals {
        settings: plan.variants.iter().map(|_| SettingTotals::new(plan)).collect(),
        drives: GroupTenantFigures::new(plan),
        host_bytes: GroupTenantFigures::new(plan),
        media_bytes: GroupTenantFigures::new(plan),
        lives: Vec::new(),
    };
    let mut scratch = Scratch::default();
    // Years left and total years of each drive.
    let mut life = Vec::with_capacity(drawn.len());
    for drive in &drawn {
        life.push(totals.add_drive(plan, surfaces, drive, &mut scratch));
    }
    let quantiles_of = |is_in: &dyn Fn(&DrawnDrive) -> bool| {
        let chosen = drawn.iter().zip(&life).filter(|(drive, _)| is_in(drive)).map(|(_, lives)| *lives);
        quantiles(chosen.collect())
    };
    totals.lives.push(quantiles_of(&|_| true));
    totals.lives.extend((0..plan.fleet.group.len()).map(|group| quantiles_of(&|drive| drive.group == group)));
    totals
        .lives
        .extend((0..plan.fleet.tenant.len()).map(|tenant| quantiles_of(&|drive| drive.tenant == tenant)));
    totals
}

impl DrawTotals {
    /// Adds a drive under every setting; returns its years left and its whole life under the present setting.
    fn add_drive(
        &mut self,
        plan: &Plan,
        surfaces: &[Surface],
        drive: &DrawnDrive,
        scratch: &mut Scratch,
    ) -> (f64, f64) {
        let (group, tenant) = (drive.group, drive.tenant);
        let base = &plan.variants[0][group];
        let surface_of = |setting: usize| &surfaces[plan.template_indices[setting][group][tenant]];
        let present = drive.predicted_life(base, surface_of(0), scratch);
        let remaining_share = 1.0 - drive.used_fraction(base, &present);
        // An infinite life is never used up.
        let remaining_years =
            |years: f64| if years.is_finite() { remaining_share * years } else { f64::INFINITY };
        let host_bytes = drive.drive_writes_per_day * base.capacity_bytes;
        self.drives.add(drive, 1.0);
        self.host_bytes.add(drive, host_bytes);
        self.media_bytes.add(drive, host_bytes * present.write_amplification);
        for (setting, totals) in self.settings.iter_mut().enumerate() {
            let variant = &plan.variants[setting][group];
            let life = if setting == 0 {
                present
            } else {
                drive.predicted_life(variant, surface_of(setting), scratch)
            };
            let wear = variant.drives / life.years;
            totals.drives += variant.drives;
            totals.one_time_cost += (variant.drives - 1.0) * variant.price;
            totals.wear.add(drive, wear);
            totals.money.add(drive, wear * variant.price);
            let mut replaced = 0.0;
            count_worn_out(remaining_years(life.years), life.years, plan.fleet.years, |year, drives| {
                totals.worn_out[year] += drives * variant.drives;
                totals.replacement_cost[year] += drives * variant.drives * variant.price;
                replaced += drives * variant.drives;
            });
            totals.replaced.add(drive, replaced);
        }
        (remaining_years(present.years), present.years)
    }
}

/// Returns the quantiles of remaining and whole lives; NaN without drives.
fn quantiles(lives: Vec<(f64, f64)>) -> LifeQuantiles {
    let (mut remaining, mut total): (Vec<f64>, Vec<f64>) = lives.into_iter().unzip();
    let at = |values: &mut Vec<f64>| {
        values.sort_unstable_by(f64::total_cmp);
        QUANTILES.map(|share| quantile(values, share))
    };
    LifeQuantiles { remaining: at(&mut remaining), total: at(&mut total) }
}

/// Returns the quantile of sorted values, interpolated linearly between neighbours.
fn quantile(sorted: &[f64], fraction: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let position = fraction * last as f64;
    let (below, above) = (sorted[position.floor() as usize], sorted[position.ceil() as usize]);
    if below == above { below } else { below + (above - below) * position.fract() }
}

#[cfg(test)]
mod tests {
    use super::quantile;

    #[test]
    fn quantiles_lie_between_neighbours() {
        let sorted = [1.0, 2.0, 4.0, f64::INFINITY];
        assert_eq!(
            (quantile(&sorted, 0.0), quantile(&sorted, 0.5), quantile(&sorted, 1.0)),
            (1.0, 3.0, f64::INFINITY)
        );
        assert!(quantile(&[], 0.5).is_nan());
        assert_eq!(quantile(&[7.0], 0.95), 7.0);
    }
}
