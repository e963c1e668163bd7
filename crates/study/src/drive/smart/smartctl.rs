//! Output of `smartctl -a -j`: one document for NVMe, SATA or SAS drives.

use super::counter::Counter;
use super::document::{Document, ReportError};
use super::{SmartReport, attributes, nvme};

/// Default sector size in bytes.
const SECTOR_BYTES: f64 = 512.0;

/// Takes the values of the document.
pub fn take(report: &mut SmartReport, document: &Document<'_>) -> Result<(), ReportError> {
    if report.host.is_some() {
        return Err(document.error("", "has two reports: give each a file of its own"));
    }
    report.model = document.text("model_name").or_else(|| document.text("scsi_model_name"));
    report.serial = document.text("serial_number");
    if let Some(time) = document.object("local_time")? {
        report.taken_at = time.value(&["time_t"])?;
    }
    if let Some(time) = document.object("power_on_time")? {
        report.power_on_hours =
            time.value(&["hours"])?.map(|hours| Counter::new("power_on_time.hours", hours, 1.0));
    }
    take_capacity(report, document)?;
    if let Some(log) = document.object("nvme_smart_health_information_log")? {
        nvme::take_health(report, &log)?;
    }
    let sector_bytes = document.value(&["logical_block_size"])?.filter(|bytes| *bytes >= SECTOR_BYTES);
    let sector_bytes = sector_bytes.unwrap_or(SECTOR_BYTES);
    if let Some(used) = document.object("endurance_used")? {
        let used = used.value(&["current_percent"])?;
        let used = used.map(|percent| Counter::new("endurance_used.current_percent", percent, 1.0));
        report.percentage_used = report.percentage_used.take().or(used);
    }
    if let Some(spare) = document.object("spare_available")? {
        report.available_spare = report.available_spare.or(spare.value(&["current_percent"])?);
    }
    take_statistics(report, document, sector_bytes)?;
    attributes::take(report, document, sector_bytes)?;
    take_scsi(report, document)?;
    if let Some(problem) = message(document)?.filter(|_| report.host.is_none()) {
        return Err(document.error("smartctl.messages", format!("says: {problem}")));
    }
    Ok(())
}

/// Returns the first message of smartctl, if any.
fn message(document: &Document<'_>) -> Result<Option<String>, ReportError> {
    let Some(program) = document.object("smartctl")? else { return Ok(None) };
    Ok(program.list("messages")?.iter().find_map(|message| message.text("string")))
}

fn take_capacity(report: &mut SmartReport, document: &Document<'_>) -> Result<(), ReportError> {
    let mut capacity = document.value(&["nvme_total_capacity"])?.filter(|bytes| *bytes > 0.0);
    if let Some(shown) = document.object("user_capacity")? {
        capacity = capacity.or(shown.value(&["bytes"])?.filter(|bytes| *bytes > 0.0));
    }
    // Several namespaces share the flash, and each reports only its own part.
    if let [namespace] = &document.list("nvme_namespaces")?[..] {
        if let Some(size) = namespace.object("capacity")? {
            capacity = capacity.or(size.value(&["bytes"])?.filter(|bytes| *bytes > 0.0));
        }
        if let Some(used) = namespace.object("utilization")? {
            report.utilised_bytes =
                used.value(&["bytes"])?.filter(|bytes| *bytes > 0.0).map(|bytes| bytes as u64);
        }
    }
    report.capacity_bytes = capacity.map(|bytes| bytes as u64);
    Ok(())
}

/// Takes the device statistics of ATA (ACS-3, log 04h), which have standard units.
fn take_statistics(
    report: &mut SmartReport,
    document: &Document<'_>,
    sector_bytes: f64,
) -> Result<(), ReportError> {
    let Some(statistics) = document.object("ata_device_statistics")? else { return Ok(()) };
    for page in statistics.list("pages")? {
        for entry in page.list("table")? {
            let is_valid = entry.object("flags")?.is_none_or(|flags| !flags.is_false("valid"));
            let Some(name) = entry.text("name").filter(|_| is_valid) else { continue };
            let counter = |unit: f64| {
                Ok::<_, ReportError>(
                    entry.value(&["value"])?.map(|count| Counter::new(name.as_str(), count, unit)),
                )
            };
            match name.as_str() {
                "Logical Sectors Written" => report.host = counter(sector_bytes)?.or(report.host.take()),
                "Percentage Used Endurance Indicator" => {
                    report.percentage_used = report.percentage_used.take().or(counter(1.0)?);
                }
                "Power-on Hours" => {
                    report.power_on_hours = report.power_on_hours.take().or(counter(1.0)?);
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// Takes counters of SAS drives: gigabytes (10^9 bytes) with three decimals.
fn take_scsi(report: &mut SmartReport, document: &Document<'_>) -> Result<(), ReportError> {
    let used = document.value(&["scsi_percentage_used_endurance_indicator"])?;
    let used = used.map(|percent| Counter::new("scsi_percentage_used_endurance_indicator", percent, 1.0));
    report.percentage_used = report.percentage_used.take().or(used);
    let Some(log) = document.object("scsi_error_counter_log")? else { return Ok(()) };
    let Some(writes) = log.object("write")? else { return Ok(()) };
    let written = writes.value(&["gigabytes_processed"])?;
    let key = "scsi_error_counter_log.write.gigabytes_processed";
    let written = written.map(|gigabytes| Counter::new(key, (gigabytes * 1e3).round(), 1e6));
    report.host = report.host.take().or(written);
    Ok(())
}
