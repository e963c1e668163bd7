//! What a drive's counters say of its use, and what explains it.

use super::DriveError;
use super::calibrate::{Effective, calibrate, envelope};
use super::interval::Interval;
use super::life::{Life, lives};
use super::seen::{Seen, remark, seen};
use super::sheet::{DataSheet, Sheet};
use super::smart::{ReportError, SmartReport};
use serde::Serialize;
use wearwell_base::units::OverProvisioning;
use wearwell_stack::{ByteSize, Rating};

/// By how much a capacity that was given may differ from the one reported before it is worth a word.
const CAPACITY_TOLERANCE: f64 = 0.01;

/// What one report says, or two of the same drive.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Field {
    /// What the drive is called.
    pub model: Option<String>,
    /// Its serial number.
    pub serial: Option<String>,
    /// Bytes that it shows, if that is known.
    pub capacity_bytes: Option<u64>,
    /// Bytes of flash, likewise.
    pub raw_bytes: Option<u64>,
    /// Whether the flash was taken to be the next power of two.
    pub raw_assumed: bool,
    /// Its spare space.
    pub spare_space: Option<OverProvisioning>,
    /// Cycles that a block endures.
    pub endurance_cycles: Option<u32>,
    /// What the host may write.
    pub rating: Option<Rating>,
    /// Bytes that hold something, as the drive counts them.
    pub utilised_bytes: Option<u64>,
    /// Spare blocks left, per cent.
    pub available_spare: Option<f64>,
    /// Blocks that went bad.
    pub bad_blocks: Option<f64>,
    /// Since the drive was new.
    pub since_new: Seen,
    /// Between the two reports.
    pub between: Option<Seen>,
    /// How long it will last at the rate seen last.
    pub life: Vec<Life>,
    /// The spare factor that explains the write amplification seen last, by all models that know how pages are written.
    pub effective_spare_factor: Option<Interval>,
    /// The same as a reserve, bytes.
    pub effective_reserve_bytes: Option<Interval>,
    /// What each model says of it.
    pub effective: Vec<Effective>,
    /// What cannot be told, and what was taken for granted.
    pub notes: Vec<String>,
}

impl Field {
    /// The last stretch of which there are counters.
    pub fn last(&self) -> &Seen {
        self.between.as_ref().unwrap_or(&self.since_new)
    }
}

/// What `later` says, and what happened since `earlier`; `sheet` is what else is known of the drive, and `days` how long the stretch
/// lasted, if that is known better than the reports know it.
///
/// # Errors
/// Reports of different drives or in the wrong order; a data sheet that cannot be; a theory without an answer.
pub fn field(
    sheet: &DataSheet,
    earlier: Option<&SmartReport>,
    later: &SmartReport,
    days: Option<f64>,
) -> Result<Field, DriveError> {
    let mut notes: Vec<String> = later.notes.clone();
    let resolved = resolve(sheet, later, &mut notes)?;
    let since_new = since_new(resolved.as_ref(), later, days.filter(|_| earlier.is_none()));
    let between = match earlier {
        Some(earlier) => Some(between(resolved.as_ref(), earlier, later, days)?),
        None => None,
    };
    let last = between.as_ref().unwrap_or(&since_new);
    let rating = resolved.as_ref().and_then(|sheet| sheet.rating);
    let life = lives(resolved.as_ref(), later, &since_new, last);
    // Less than is written cannot be explained by spare space.
    let seen = last.write_amplification.filter(|seen| seen.value > 1.0);
    if let (Some(evidence), Some(found)) = (&last.evidence, &last.write_amplification) {
        remark(evidence, found, &mut notes);
    } else {
        notes.push(
            "the write amplification cannot be told: no counter of what the flash took (`nvme ocp smart-add-log`, \
             `nvme endurance-log`, NAND writes), no erase counts, and no percentage used with the flash and its cycles \
             to go with it"
                .into(),
        );
    }
    let effective = match &resolved {
        Some(sheet) => calibrate(sheet, seen.as_ref())?,
        None => Vec::new(),
    };
    Ok(Field {
        model: later.model.clone(),
        serial: later.serial.clone(),
        capacity_bytes: resolved.as_ref().map(|sheet| sheet.capacity_bytes),
        raw_bytes: resolved.as_ref().map(|sheet| sheet.raw_bytes),
        raw_assumed: resolved.as_ref().is_some_and(|sheet| sheet.is_raw_assumed),
        spare_space: resolved.as_ref().map(Sheet::spare_space),
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

/// The data sheet with the capacity that the report knows; `None` if nobody does.
fn resolve(
    sheet: &DataSheet,
    report: &SmartReport,
    notes: &mut Vec<String>,
) -> Result<Option<Sheet>, DriveError> {
    let mut sheet = sheet.clone();
    match (sheet.capacity, report.capacity_bytes) {
        (None, None) => {
            notes.push("the capacity is not known, and so nothing of spare space; give it".into());
            return match (sheet.tbw, sheet.dwpd) {
                (None, None) => Ok(None),
                // TBW alone has a use, and the check of its numbers.
                _ => Err(wearwell_base::config::ConfigError::new(
                    "capacity",
                    "is missing: the report does not have it, and TBW or DWPD is held against it",
                )
                .into()),
            };
        }
        (None, Some(bytes)) => sheet.capacity = Some(ByteSize(bytes)),
        (Some(given), Some(bytes)) => {
            if (given.0 as f64 / bytes as f64 - 1.0).abs() > CAPACITY_TOLERANCE {
                notes.push(format!(
                    "the drive says that it shows {bytes} bytes, and {} were given, which are taken",
                    given.0
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

fn since_new(sheet: Option<&Sheet>, report: &SmartReport, days: Option<f64>) -> Seen {
    let host = report.host.as_ref().expect("a report has it").amount();
    let counted = report.media.as_ref().map(|media| (media.amplification(host), media.key()));
    let used = report.percentage_used.as_ref().map(|used| used.amount());
    let erases = report.erases.as_ref().map(|erases| (erases.mean, erases.key.clone()));
    let hours =
        report.power_on_hours.as_ref().map(|hours| (hours.amount().times(1.0 / 24.0), "power_on_hours"));
    let days = days.map(|days| (Interval::exact(days), "as given")).or(hours);
    seen(sheet, host, days, counted, erases, used)
}

fn between(
    sheet: Option<&Sheet>,
    earlier: &SmartReport,
    later: &SmartReport,
    days: Option<f64>,
) -> Result<Seen, ReportError> {
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
    Ok(seen(sheet, host, days, counted, erases, used))
}

/// Days between two reports, and by what; the two times, if they are in the wrong order.
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
    Ok(hours.map(|hours| (hours.times(1.0 / 24.0), "power_on_hours")))
}
