//! Use of a drive in the field according to its counters, and models that explain it.

use super::DriveError;
use super::calibrate::{EffectiveSpace, calibrate, envelope};
use super::interval::Interval;
use super::remaining_life::{RemainingLife, remaining_lives};
use super::sheet::{DataSheet, ResolvedSheet};
use super::smart::{ReportError, SmartReport};
use super::usage::{UsagePeriod, add_notes, usage_period};
use serde::Serialize;
use wearwell_base::units::SpareSpace;
use wearwell_stack::{ByteSize, Rating};

/// Relative difference between the given and the reported capacity above which a note is added.
const CAPACITY_TOLERANCE: f64 = 0.01;

/// Evaluation of one report, or of two reports of the same drive.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FieldEvaluation {
    /// Model name of the drive.
    pub model: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// Logical capacity in bytes, if known.
    pub capacity_bytes: Option<u64>,
    /// Raw flash capacity in bytes, if known.
    pub raw_bytes: Option<u64>,
    /// True if the flash was assumed to be the next power of two.
    pub raw_assumed: bool,
    /// Spare space.
    pub spare_space: Option<SpareSpace>,
    /// Program/erase cycles of a block.
    pub endurance_cycles: Option<u32>,
    /// Rated endurance.
    pub rating: Option<Rating>,
    /// Bytes in use, as counted by the drive.
    pub utilised_bytes: Option<u64>,
    /// Remaining spare blocks, per cent.
    pub available_spare: Option<f64>,
    /// Number of bad blocks.
    pub bad_blocks: Option<f64>,
    /// Counters since the drive was new.
    pub since_new: UsagePeriod,
    /// Counters between the two reports.
    pub between: Option<UsagePeriod>,
    /// Estimated remaining life at the latest rate.
    pub life: Vec<RemainingLife>,
    /// Spare factor that explains the latest write amplification, over all models with a known pattern of writes.
    pub effective_spare_factor: Option<Interval>,
    /// Reserve flash with that spare factor, bytes.
    pub effective_reserve_bytes: Option<Interval>,
    /// Result of each model.
    pub effective: Vec<EffectiveSpace>,
    /// Missing information and assumptions.
    pub notes: Vec<String>,
}

impl FieldEvaluation {
    /// Returns the most recent period with counters.
    pub fn latest_period(&self) -> &UsagePeriod {
        self.between.as_ref().unwrap_or(&self.since_new)
    }
}

/// Evaluates `later` and, if given, the changes since `earlier`. `sheet` supplies other facts about the drive; `days`
/// overrides the length of the period in the reports.
///
/// # Errors
/// Returns an error for reports of different drives or in the wrong order, for an invalid data sheet, and if the theory
/// has no solution.
pub fn evaluate_reports(
    sheet: &DataSheet,
    earlier: Option<&SmartReport>,
    later: &SmartReport,
    days: Option<f64>,
) -> Result<FieldEvaluation, DriveError> {
    let mut notes: Vec<String> = later.notes.clone();
    let resolved = resolve(sheet, later, &mut notes)?;
    let since_new = since_new(resolved.as_ref(), later, days.filter(|_| earlier.is_none()));
    let between = match earlier {
        Some(earlier) => Some(between(resolved.as_ref(), earlier, later, days)?),
        None => None,
    };
    let last = between.as_ref().unwrap_or(&since_new);
    let rating = resolved.as_ref().and_then(|sheet| sheet.rating);
    let life = remaining_lives(resolved.as_ref(), later, &since_new, last);
    // Spare space cannot explain a write amplification of 1 or less.
    let measured = last.write_amplification.filter(|ratio| ratio.value > 1.0);
    if let (Some(evidence), Some(found)) = (&last.evidence, &last.write_amplification) {
        add_notes(evidence, found, &mut notes);
    } else {
        notes.push(
            "the write amplification cannot be told: no counter of what the flash took (`nvme ocp smart-add-log`, \
             `nvme endurance-log`, NAND writes), no erase counts, and no percentage used with the flash and its cycles \
             to go with it"
                .into(),
        );
    }
    let effective = match &resolved {
        Some(sheet) => calibrate(sheet, measured.as_ref())?,
        None => Vec::new(),
    };
    Ok(FieldEvaluation {
        model: later.model.clone(),
        serial: later.serial.clone(),
        capacity_bytes: resolved.as_ref().map(|sheet| sheet.capacity_bytes),
        raw_bytes: resolved.as_ref().map(|sheet| sheet.raw_bytes),
        raw_assumed: resolved.as_ref().is_some_and(|sheet| sheet.is_raw_assumed),
        spare_space: resolved.as_ref().map(ResolvedSheet::spare_space),
        endurance_cycles: resolved.as_ref().and_then(|sheet| sheet.endurance_cycles),
        rating,
        utilised_bytes: later.utilised_bytes,
        available_spare: later.available_spare,
        bad_blocks: later.bad_blocks,
        since_new,
        between,
        life,
        effective_spare_factor: envelope(&effective, |one| one.spare_factor),
        effective_reserve_bytes: envelope(&effective, |one| one.reserve_bytes),
        effective,
        notes,
    })
}

/// Returns the data sheet with the capacity of the report; `None` if neither has a capacity.
fn resolve(
    sheet: &DataSheet,
    report: &SmartReport,
    notes: &mut Vec<String>,
) -> Result<Option<ResolvedSheet>, DriveError> {
    let mut sheet = sheet.clone();
    match (sheet.capacity, report.capacity_bytes) {
        (None, None) => {
            notes.push("the capacity is not known, and so nothing of spare space; give it".into());
            return match (sheet.tbw, sheet.dwpd) {
                (None, None) => Ok(None),
                // The user gave TBW or DWPD for a comparison, which needs the capacity.
                _ => Err(wearwell_base::config::ConfigError::new(
                    "capacity",
                    "is missing: the report does not have it, and TBW or DWPD is held against it",
                )
                .into()),
            };
        }
        (None, Some(bytes)) => sheet.capacity = Some(ByteSize(bytes)),
        (Some(stated), Some(bytes)) => {
            if (stated.0 as f64 / bytes as f64 - 1.0).abs() > CAPACITY_TOLERANCE {
                notes.push(format!(
                    "the drive says that it shows {bytes} bytes, and {} were given, which are taken",
                    stated.0
                ));
            }
        }
        (Some(_), None) => {}
    }
    let resolved = sheet.resolve()?;
    if resolved.is_raw_assumed {
        notes.push(
            "the flash was taken to be the next power of two above the capacity; give it if it is known"
                .into(),
        );
    }
    Ok(Some(resolved))
}

fn since_new(sheet: Option<&ResolvedSheet>, report: &SmartReport, days: Option<f64>) -> UsagePeriod {
    let host = report.host.as_ref().expect("a report has it").amount();
    let counted = report.media.as_ref().map(|media| (media.amplification(host), media.key()));
    let used = report.percentage_used.as_ref().map(|used| used.amount());
    let erases = report.erases.as_ref().map(|erases| (erases.mean, erases.key.clone()));
    let hours =
        report.power_on_hours.as_ref().map(|hours| (hours.amount().scaled(1.0 / 24.0), "power_on_hours"));
    let days = days.map(|days| (Interval::exact(days), "as given")).or(hours);
    usage_period(sheet, host, days, counted, erases, used)
}

fn between(
    sheet: Option<&ResolvedSheet>,
    earlier: &SmartReport,
    later: &SmartReport,
    days: Option<f64>,
) -> Result<UsagePeriod, ReportError> {
    let failed =
        |key: &str, problem: String| ReportError { file: later.file.clone(), key: key.into(), problem };
    for (what, one, other) in
        [("serial number", &earlier.serial, &later.serial), ("model", &earlier.model, &later.model)]
    {
        if let (Some(one), Some(other)) = (one, other)
            && one != other
        {
            let problem = format!("is \"{other}\", and in {} it is \"{one}\": two drives", earlier.file);
            return Err(failed(what, problem));
        }
    }
    let reversed = |key: &str, before: f64, after: f64| {
        let problem = format!(
            "is {after}, less than the {before} in {}: the reports are in the wrong order, or of two drives",
            earlier.file
        );
        failed(key, problem)
    };
    let counters = [
        (&earlier.host, &later.host),
        (&earlier.power_on_hours, &later.power_on_hours),
        (&earlier.percentage_used, &later.percentage_used),
    ];
    for (before, after) in counters {
        if let (Some(before), Some(after)) = (before, after)
            && after.key == before.key
            && after.count < before.count
        {
            return Err(reversed(&after.key, before.count, after.count));
        }
    }
    let (before, after) = (&earlier.host, later.host.as_ref().expect("a report has it"));
    let host = before.as_ref().and_then(|before| after.since(before)).ok_or_else(|| {
        failed(
            &after.key,
            format!("is not what {} counts: make both reports with the same tool", earlier.file),
        )
    })?;
    let counted = match (&earlier.media, &later.media) {
        (Some(before), Some(after)) => Some((
            after.amplification_since(before, host).ok_or_else(|| {
                failed(&after.key(), format!("is less than in {}, or another counter", earlier.file))
            })?,
            after.key(),
        )),
        _ => None,
    };
    let days = match days {
        Some(days) => Some((Interval::exact(days), "as given")),
        None => elapsed(earlier, later).map_err(|(before, after)| reversed("local_time", before, after))?,
    };
    let used = later.percentage_used.as_ref().zip(earlier.percentage_used.as_ref());
    let used = used.and_then(|(after, before)| after.since(before));
    let erases = later.erases.as_ref().zip(earlier.erases.as_ref());
    let erases = erases.filter(|(after, before)| after.is_mean && before.is_mean && after.key == before.key);
    let erases = erases.map(|(after, before)| {
        (Interval::counted((after.mean.value - before.mean.value).max(0.0), 1.0), after.key.clone())
    });
    Ok(usage_period(sheet, host, days, counted, erases, used))
}

/// Returns the days between two reports and their source; returns both times as an error if they are in the wrong
/// order.
fn elapsed(
    earlier: &SmartReport,
    later: &SmartReport,
) -> Result<Option<(Interval, &'static str)>, (f64, f64)> {
    if let (Some(before), Some(after)) = (earlier.taken_at, later.taken_at) {
        if after < before {
            return Err((before, after));
        }
        return Ok(Some((
            Interval::counted((after - before) / 86_400.0, 1.0 / 86_400.0),
            "the reports' times",
        )));
    }
    let hours = later.power_on_hours.as_ref().zip(earlier.power_on_hours.as_ref());
    let hours = hours.and_then(|(after, before)| after.since(before));
    Ok(hours.map(|hours| (hours.scaled(1.0 / 24.0), "power_on_hours")))
}
