//! Totals of one draw of a fleet, under every setting.

use super::draw::{DrawnDrive, drives, worn_out};
use super::plan::Plan;
use super::surface::{Scratch, Surface};

/// Reported quantiles of lifetimes.
pub const QUANTILES: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.95];

/// Totals of one draw.
#[derive(Clone, Debug)]
pub struct Tally {
    /// Totals by setting, the present setting first.
    pub settings: Vec<SettingTally>,
    /// Number of drives by group and tenant.
    pub drives: Parts,
    /// Host bytes per day by group and tenant.
    pub host_bytes: Parts,
    /// Flash bytes per day by group and tenant, under the present setting.
    pub media_bytes: Parts,
    /// Lifetimes of all drives, then of each group and each tenant, under the present setting.
    pub lives: Vec<LifeQuantiles>,
}

/// Totals of one draw under one setting.
#[derive(Clone, Debug)]
pub struct SettingTally {
    /// Drives that wear out in each year.
    pub worn_out: Vec<f64>,
    /// Cost of their replacements.
    pub paid: Vec<f64>,
    /// Wear per year in whole drive lives, by group and tenant.
    pub wear: Parts,
    /// Cost of that wear.
    pub money: Parts,
    /// Drives that wear out in all years, by group and tenant.
    pub replaced: Parts,
    /// Number of drives in service.
    pub drives: f64,
    /// Cost of additional drives; negative for fewer drives.
    pub once: f64,
}

/// Figure by group and tenant.
#[derive(Clone, Debug)]
pub struct Parts {
    tenants: usize,
    values: Vec<f64>,
}

impl Parts {
    fn new(plan: &Plan) -> Self {
        let tenants = plan.fleet.tenant.len();
        Parts { tenants, values: vec![0.0; tenants * plan.fleet.group.len()] }
    }

    fn add(&mut self, drive: &DrawnDrive, value: f64) {
        self.values[drive.group * self.tenants + drive.tenant] += value;
    }

    /// Returns the total.
    pub fn sum(&self) -> f64 {
        self.values.iter().sum()
    }

    /// Returns the total of a group.
    pub fn group(&self, group: usize) -> f64 {
        self.values[group * self.tenants..(group + 1) * self.tenants].iter().sum()
    }

    /// Returns the total of a tenant.
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
    pub left: [f64; QUANTILES.len()],
    /// Years from new to worn out.
    pub whole: [f64; QUANTILES.len()],
}

impl SettingTally {
    fn new(plan: &Plan) -> Self {
        let years = vec![0.0; plan.fleet.years as usize];
        let parts = Parts::new(plan);
        SettingTally {
            worn_out: years.clone(),
            paid: years,
            wear: parts.clone(),
            money: parts.clone(),
            replaced: parts,
            drives: 0.0,
            once: 0.0,
        }
    }
}

/// Evaluates draw `number` of the fleet, with a surface for each of its templates.
pub fn tally(plan: &Plan, surfaces: &[Surface], number: u32) -> Tally {
    let drawn = drives(plan, number);
    let mut tally = Tally {
        settings: plan.variants.iter().map(|_| SettingTally::new(plan)).collect(),
        drives: Parts::new(plan),
        host_bytes: Parts::new(plan),
        media_bytes: Parts::new(plan),
        lives: Vec::new(),
    };
    let mut scratch = Scratch::default();
    // Years left and total years of each drive.
    let mut lives = Vec::with_capacity(drawn.len());
    for drive in &drawn {
        lives.push(tally.take(plan, surfaces, drive, &mut scratch));
    }
    let of = |is_in: &dyn Fn(&DrawnDrive) -> bool| {
        let chosen = drawn.iter().zip(&lives).filter(|(drive, _)| is_in(drive)).map(|(_, lives)| *lives);
        quantiles(chosen.collect())
    };
    tally.lives.push(of(&|_| true));
    tally.lives.extend((0..plan.fleet.group.len()).map(|group| of(&|drive| drive.group == group)));
    tally.lives.extend((0..plan.fleet.tenant.len()).map(|tenant| of(&|drive| drive.tenant == tenant)));
    tally
}

impl Tally {
    /// Adds a drive under every setting; returns its years left and its whole life under the present setting.
    fn take(
        &mut self,
        plan: &Plan,
        surfaces: &[Surface],
        drive: &DrawnDrive,
        scratch: &mut Scratch,
    ) -> (f64, f64) {
        let (group, tenant) = (drive.group, drive.tenant);
        let base = &plan.variants[0][group];
        let surface_of = |setting: usize| &surfaces[plan.cells[setting][group][tenant]];
        let now = drive.life(base, surface_of(0), scratch);
        let left_share = 1.0 - drive.used(base, &now);
        // An infinite life is never used up.
        let left = |years: f64| if years.is_finite() { left_share * years } else { f64::INFINITY };
        let host_bytes = drive.drive_writes_per_day * base.capacity_bytes;
        self.drives.add(drive, 1.0);
        self.host_bytes.add(drive, host_bytes);
        self.media_bytes.add(drive, host_bytes * now.write_amplification);
        for (setting, tally) in self.settings.iter_mut().enumerate() {
            let variant = &plan.variants[setting][group];
            let life = if setting == 0 { now } else { drive.life(variant, surface_of(setting), scratch) };
            let wear = variant.drives / life.years;
            tally.drives += variant.drives;
            tally.once += (variant.drives - 1.0) * variant.price;
            tally.wear.add(drive, wear);
            tally.money.add(drive, wear * variant.price);
            let mut replaced = 0.0;
            worn_out(left(life.years), life.years, plan.fleet.years, |year, drives| {
                tally.worn_out[year] += drives * variant.drives;
                tally.paid[year] += drives * variant.drives * variant.price;
                replaced += drives * variant.drives;
            });
            tally.replaced.add(drive, replaced);
        }
        (left(now.years), now.years)
    }
}

/// Returns the quantiles of remaining and whole lives; NaN without drives.
fn quantiles(lives: Vec<(f64, f64)>) -> LifeQuantiles {
    let (mut left, mut whole): (Vec<f64>, Vec<f64>) = lives.into_iter().unzip();
    let at = |values: &mut Vec<f64>| {
        values.sort_unstable_by(f64::total_cmp);
        QUANTILES.map(|share| quantile(values, share))
    };
    LifeQuantiles { left: at(&mut left), whole: at(&mut whole) }
}

/// Returns the quantile of sorted values, interpolated linearly between neighbours.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = share * last as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    if below == above { below } else { below + (above - below) * place.fract() }
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
