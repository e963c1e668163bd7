//! Output of `nvme-cli` with `-o json`: each command prints a document without a name, recognised by its keys.

use super::SmartReport;
use super::counter::{Counter, EraseCounts, MediaWrites};
use super::document::{Document, ReportError};
use crate::drive::interval::Interval;

/// Bytes of a data unit of the SMART log: a thousand sectors of 512, rounded up (NVM Express, SMART / Health
/// Information).
pub const DATA_UNIT_BYTES: f64 = 512_000.0;

/// Bytes per unit of the endurance group's log: billions, rounded up (NVM Express, Endurance Group Information).
const ENDURANCE_UNIT_BYTES: f64 = 1e9;

/// Names of the programmed bytes in the OCP extended SMART log, which counts bytes (Datacenter NVMe SSD Specification,
/// SMART-1). nvme-cli has two sets of names for the values of this log.
const OCP_WRITTEN: [&str; 2] = ["Physical media units written", "physical_media_units_written"];
/// Names of the largest erase count in the OCP extended SMART log.
const OCP_MOST_ERASED: [&str; 2] = ["Max User data erase counts", "max_user_data_erase_count"];
/// Names of the smallest erase count in the OCP extended SMART log.
const OCP_LEAST_ERASED: [&str; 2] = ["Min User data erase counts", "min_user_data_erase_count"];
/// Names of the mean erase count in the OCP extended SMART log.
const OCP_MEAN_ERASED: [&str; 2] = ["Nand avg erase count", "nand_avg_erase_count"];
/// Names of the number of bad blocks in the OCP extended SMART log.
const OCP_BAD_BLOCKS: [&str; 2] = ["Bad user nand blocks - Raw", "bad_user_nand_blocks_raw"];

/// Takes the values of a document that nvme-cli printed; returns false for any other document.
pub fn take(report: &mut SmartReport, document: &Document<'_>) -> Result<bool, ReportError> {
    if document.has_any(&OCP_WRITTEN) {
        take_ocp(report, document)?;
    } else if document.has_any(&["media_units_written"]) {
        take_endurance_group(report, document)?;
    } else if document.has_any(&["data_units_written"]) {
        take_health(report, document)?;
    } else if let Some(statistics) = document.object("Device stats")? {
        take_statistics(report, &statistics)?;
    } else if document.has_any(&["sn"]) && document.has_any(&["mn"]) {
        report.serial = document.text("sn");
        report.model = document.text("mn");
        let capacity = document.value(&["tnvmcap"])?.filter(|bytes| *bytes > 0.0);
        report.capacity_bytes = capacity.map(|bytes| bytes as u64).or(report.capacity_bytes);
    } else if document.has_any(&["nsze"]) && document.has_any(&["nuse"]) {
        take_namespace(report, document)?;
    } else {
        return Ok(false);
    }
    Ok(true)
}

/// Takes the SMART log of NVM Express, with the names of nvme-cli or smartctl.
pub fn take_health(report: &mut SmartReport, document: &Document<'_>) -> Result<(), ReportError> {
    if report.host.is_some() {
        return Err(
            document.error("data_units_written", "is there twice: give each report a file of its own")
        );
    }
    let counter = |keys: &[&'static str], unit: f64| {
        Ok::<_, ReportError>(document.number(keys)?.map(|(key, count)| Counter::new(key, count, unit)))
    };
    report.host = counter(&["data_units_written"], DATA_UNIT_BYTES)?;
    report.power_on_hours = counter(&["power_on_hours"], 1.0)?.or(report.power_on_hours.take());
    let used = document.value(&["percentage_used", "percent_used"])?;
    report.percentage_used = used.map(|percent| Counter::new("percentage_used", percent, 1.0));
    report.available_spare = document.value(&["available_spare", "avail_spare"])?;
    if report.percentage_used.as_ref().is_some_and(|used| used.count >= 255.0) {
        report.notes.push("percentage_used stands at 255, where it ends; more cannot be told".into());
    }
    Ok(())
}

fn take_ocp(report: &mut SmartReport, document: &Document<'_>) -> Result<(), ReportError> {
    if report.media.is_some() {
        return Err(document.error(OCP_WRITTEN[0], "is there twice: give each report a file of its own"));
    }
    let written = document.number(&OCP_WRITTEN)?;
    // Both sets of names have the same meaning.
    report.media = written
        .filter(|(_, bytes)| *bytes > 0.0)
        .map(|(_, bytes)| MediaWrites::Bytes(Counter::new("physical media units written", bytes, 1.0)));
    let (min, max) = (document.value(&OCP_LEAST_ERASED)?, document.value(&OCP_MOST_ERASED)?);
    let mean = document.value(&OCP_MEAN_ERASED)?.filter(|mean| *mean > 0.0);
    report.erases = match (mean, min.zip(max).filter(|(min, max)| min <= max && *max > 0.0)) {
        (Some(mean), _) => Some(EraseCounts {
            key: "nand avg erase count".into(),
            mean: Interval::counted(mean, 1.0),
            is_mean: true,
        }),
        (None, Some((least, most))) => Some(EraseCounts {
            key: "min and max user data erase counts".into(),
            mean: Interval { value: 0.5 * (least + most), low: least, high: most },
            is_mean: false,
        }),
        _ => None,
    };
    report.bad_blocks = document.value(&OCP_BAD_BLOCKS)?;
    Ok(())
}

fn take_endurance_group(report: &mut SmartReport, document: &Document<'_>) -> Result<(), ReportError> {
    let written = document.value(&["media_units_written"])?.filter(|units| *units > 0.0);
    // Drives without the counter show 0; the OCP log has a finer unit.
    if let (Some(units), None) = (written, &report.media) {
        let counter = Counter::new("endurance group's media_units_written", units, ENDURANCE_UNIT_BYTES);
        report.media = Some(MediaWrites::Bytes(counter));
    }
    Ok(())
}

/// Takes the additional SMART log of Intel and Solidigm, which other vendors also use. Both counts have one unit (32
/// MiB by Intel's documents), so their ratio does not depend on it.
fn take_statistics(report: &mut SmartReport, statistics: &Document<'_>) -> Result<(), ReportError> {
    let counter = |key: &'static str| match statistics.object(key)? {
        Some(entry) => {
            Ok::<_, ReportError>(entry.value(&["raw"])?.map(|count| Counter::new(key, count, 1.0)))
        }
        None => Ok(None),
    };
    let (host, all) = (counter("host_bytes_written")?, counter("nand_bytes_written")?);
    if let (Some(host), Some(all), None) = (host, all, &report.media) {
        report.media = Some(MediaWrites::HostAndTotal { host, total: all });
    }
    Ok(())
}

fn take_namespace(report: &mut SmartReport, document: &Document<'_>) -> Result<(), ReportError> {
    let format = document.value(&["flbas"])?.unwrap_or(0.0) as u64 & 0xF;
    let formats = document.list("lbafs")?;
    let shift = match formats.get(format as usize) {
        Some(format) => format.value(&["ds"])?,
        None => None,
    };
    let Some(block_bytes) = shift.filter(|shift| (9.0..=32.0).contains(shift)).map(f64::exp2) else {
        return Ok(());
    };
    let bytes =
        |blocks: Option<f64>| blocks.map(|blocks| (blocks * block_bytes) as u64).filter(|bytes| *bytes > 0);
    report.capacity_bytes = report.capacity_bytes.or(bytes(document.value(&["nsze"])?));
    report.utilised_bytes = bytes(document.value(&["nuse"])?);
    Ok(())
}
