//! Predictions from a data sheet alone.

use super::DriveError;
use super::calibrate::{EffectiveSpace, calibrate};
use super::interval::Interval;
use super::models::DRIVE_MODELS;
use super::sheet::ResolvedSheet;
use serde::Serialize;
use wearwell_base::units::SpareSpace;
use wearwell_stack::{Lifetime, Rating};

/// Bytes per random write in data sheets.
const RANDOM_WRITE_BYTES: f64 = 4096.0;

/// Data sheet with derived figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DriveSummary {
    /// Logical capacity in bytes.
    pub capacity_bytes: u64,
    /// Raw flash capacity in bytes.
    pub raw_bytes: u64,
    /// True if the flash was not given and assumed to be the next power of two.
    pub raw_assumed: bool,
    /// Bytes of flash beyond the logical capacity.
    pub reserve_bytes: u64,
    /// Spare space in the four common measures.
    pub spare_space: SpareSpace,
    /// Cell type.
    pub cells: Option<String>,
    /// Program/erase cycles of a block.
    pub endurance_cycles: Option<u32>,
    /// Rated endurance.
    pub rating: Option<Rating>,
    /// Data that the flash endures, in units of 10^12 bytes.
    pub media_tb: Option<f64>,
    /// Highest write amplification at which the flash endures TBW.
    pub write_amplification_limit: Option<f64>,
    /// Stated host writes.
    pub usage: Option<Usage>,
    /// Pages per block of the models.
    pub pages_per_block: u32,
    /// Predictions of theory, lowest write amplification first.
    pub predictions: Vec<Prediction>,
    /// Conclusions from the drive's data rates.
    pub interface_rates: Option<InterfaceRates>,
}

/// Host writes per day.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Usage {
    /// Host writes in units of 10^9 bytes per day.
    pub gb_per_day: f64,
    /// Host writes in drive writes per day.
    pub dwpd: f64,
    /// Years until TBW is written.
    pub rated_years: Option<f64>,
}

/// Prediction for one pattern of writing and cleaning.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// Name of the model, or `sequential`, which moves no pages.
    pub model: &'static str,
    /// Description of the writes.
    pub writes: String,
    /// Victim policy in words.
    pub cleaning: &'static str,
    /// Write amplification.
    pub write_amplification: f64,
    /// Data that the host can write, in units of 10^12 bytes.
    pub tbw: Option<f64>,
    /// Data that the host can write, in drive writes per day over the warranty.
    pub dwpd: Option<f64>,
    /// Years until the flash is worn out at the stated host writes.
    pub years: Option<f64>,
    /// Program/erase cycles that the data sheet's TBW requires.
    pub rated_cycles: Option<f64>,
}

/// Conclusions from the data rates of a drive.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InterfaceRates {
    /// Rate of sequential writes, in units of 10^6 bytes per second.
    pub sequential_mb_per_s: f64,
    /// Days until TBW is written at that rate.
    pub rated_days: Option<f64>,
    /// Rate of random writes, in units of 10^6 bytes per second.
    pub random_mb_per_s: Option<f64>,
    /// Ratio of the two rates: the write amplification if flash limits both; `None` if random writes are as fast.
    pub write_amplification: Option<f64>,
    /// Spare space that explains this write amplification.
    pub effective: Vec<EffectiveSpace>,
}

/// Computes the predictions for `sheet`.
///
/// # Errors
/// Returns an error if the theory has no solution.
pub fn summarize(sheet: &ResolvedSheet) -> Result<DriveSummary, DriveError> {
    let media_tb = sheet.media_bytes().map(|bytes| bytes / 1e12);
    let limit = media_tb.zip(sheet.rating).map(|(media_tb, rating)| media_tb / rating.tbw);
    Ok(DriveSummary {
        capacity_bytes: sheet.capacity_bytes,
        raw_bytes: sheet.raw_bytes,
        raw_assumed: sheet.is_raw_assumed,
        reserve_bytes: sheet.raw_bytes - sheet.capacity_bytes,
        spare_space: sheet.spare_space(),
        cells: sheet.stated.preset()?.map(|preset| preset.entry.name.to_owned()),
        endurance_cycles: sheet.endurance_cycles,
        rating: sheet.rating,
        media_tb,
        write_amplification_limit: limit,
        usage: usage(sheet),
        pages_per_block: sheet.models.pages_per_block(),
        predictions: predictions(sheet)?,
        interface_rates: interface_rates(sheet)?,
    })
}

fn usage(sheet: &ResolvedSheet) -> Option<Usage> {
    let gb_per_day = sheet.stated.gb_per_day?;
    let rated_years = sheet.rating.map(|rating| Lifetime::years(rating.tbw * 1e12, gb_per_day * 1e9));
    Some(Usage { gb_per_day, dwpd: gb_per_day * 1e9 / sheet.capacity_bytes as f64, rated_years })
}

fn predictions(sheet: &ResolvedSheet) -> Result<Vec<Prediction>, DriveError> {
    let spare_factor = sheet.spare_space().spare_factor;
    let mut predictions = vec![prediction(sheet, "sequential", "in order".into(), "nothing to clean", 1.0)];
    for model in DRIVE_MODELS {
        let amplification = sheet.models.write_amplification(model, spare_factor)?;
        let writes = sheet.models.writes(model);
        predictions.push(prediction(sheet, model.name(), writes, model.cleaning(), amplification));
    }
    predictions.sort_by(|one, other| one.write_amplification.total_cmp(&other.write_amplification));
    Ok(predictions)
}

fn prediction(
    sheet: &ResolvedSheet,
    model: &'static str,
    writes: String,
    cleaning: &'static str,
    write_amplification: f64,
) -> Prediction {
    let tbw = sheet.media_bytes().map(|bytes| bytes / write_amplification / 1e12);
    let years_of_warranty =
        sheet.stated.warranty_years.or(sheet.rating.and_then(|rating| rating.warranty_years));
    let a_day =
        |years: f64| years * wearwell_stack::WARRANTY_DAYS_A_YEAR * sheet.capacity_bytes as f64 / 1e12;
    Prediction {
        model,
        writes,
        cleaning,
        write_amplification,
        tbw,
        dwpd: tbw.zip(years_of_warranty).map(|(tbw, years)| tbw / a_day(years)),
        years: tbw.zip(sheet.stated.gb_per_day).map(|(tbw, gb)| Lifetime::years(tbw * 1e12, gb * 1e9)),
        rated_cycles: sheet
            .rating
            .map(|rating| rating.tbw * 1e12 * write_amplification / sheet.raw_bytes as f64),
    }
}

fn interface_rates(sheet: &ResolvedSheet) -> Result<Option<InterfaceRates>, DriveError> {
    let Some(sequential) = sheet.stated.sequential_write.map(|rate| rate.0 as f64) else {
        return Ok(None);
    };
    let random = sheet.stated.random_write_iops.map(|iops| iops * RANDOM_WRITE_BYTES);
    let write_amplification = random.map(|random| sequential / random).filter(|ratio| *ratio > 1.0);
    let effective = match write_amplification.map(Interval::exact) {
        Some(ratio) => calibrate(sheet, Some(&ratio))?,
        None => Vec::new(),
    };
    Ok(Some(InterfaceRates {
        sequential_mb_per_s: sequential / 1e6,
        rated_days: sheet.rating.map(|rating| rating.tbw * 1e12 / sequential / 86_400.0),
        random_mb_per_s: random.map(|random| random / 1e6),
        write_amplification,
        effective,
    }))
}

#[cfg(test)]
mod tests {
    use super::super::sheet::DataSheet;
    use super::*;
    use wearwell_stack::ByteSize;

    /// The drive has a capacity of 1.92 TB on 2.4 TB of flash: a fifth is spare, and with random cleaning every page is
    /// written five times.
    #[test]
    fn figures_match_hand_computed_values() {
        let sheet = DataSheet {
            capacity: Some(ByteSize(1_920_000_000_000)),
            raw_capacity: Some(ByteSize(2_400_000_000_000)),
            dwpd: Some(1.0),
            warranty_years: Some(5.0),
            endurance_cycles: Some(3000),
            gb_per_day: Some(960.0),
            sequential_write: Some(ByteSize(2_048_000_000)),
            random_write_iops: Some(100_000.0),
            pages_per_block: Some(16),
            ..DataSheet::default()
        };
        let found = summarize(&sheet.resolve().unwrap()).unwrap();
        let is_near = |value: Option<f64>, expected: f64| {
            let value = value.unwrap();
            assert!((value / expected - 1.0).abs() < 1e-9, "{value} is not {expected}");
        };
        assert_eq!(found.reserve_bytes, 480_000_000_000);
        is_near(Some(found.spare_space.over_provisioning), 0.25);
        is_near(found.rating.map(|rating| rating.tbw), 3504.0);
        is_near(found.media_tb, 7200.0);
        is_near(found.write_amplification_limit, 7200.0 / 3504.0);
        let usage = found.usage.unwrap();
        is_near(Some(usage.dwpd), 0.5);
        is_near(usage.rated_years, 10.0 * 365.0 / 365.25);
        let [first, .., last] = &found.predictions[..] else { panic!("{found:?}") };
        assert_eq!((first.model, first.write_amplification), ("sequential", 1.0));
        is_near(first.rated_cycles, 1460.0);
        assert_eq!(last.model, "random");
        is_near(last.tbw, 1440.0);
        is_near(last.dwpd, 1440.0 / 3504.0);
        is_near(last.years, 1500.0 / 365.25);
        let rates = found.interface_rates.unwrap();
        // The rates are 2,048 MB and 409.6 MB per second.
        is_near(rates.write_amplification, 5.0);
        is_near(rates.rated_days, 3504e12 / 2048e6 / 86_400.0);
        is_near(rates.effective.last().unwrap().spare_factor.map(|spare| spare.value), 0.2);
    }

    #[test]
    fn unknown_figures_are_omitted() {
        let sheet = DataSheet { capacity: Some(ByteSize(1 << 30)), ..DataSheet::default() };
        let found = summarize(&sheet.resolve().unwrap()).unwrap();
        assert_eq!((found.rating, found.media_tb, found.usage), (None, None, None));
        assert!(found.raw_assumed && found.interface_rates.is_none());
        assert!(found.predictions.iter().all(|prediction| prediction.tbw.is_none()));
    }
}
