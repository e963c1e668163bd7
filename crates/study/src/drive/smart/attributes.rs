//! Vendor attributes of ATA drives. smartctl's database of drives gives attributes names that state the counted
//! quantity and its unit: `Host_Writes_32MiB`, `NAND_Writes_1GiB`, `Total_LBAs_Written`.

use super::SmartReport;
use super::counter::{Counter, EraseCounts, MediaWrites};
use super::document::{Document, ReportError};
use crate::drive::interval::Interval;

const SECTORS_WRITTEN: &[&str] = &["Total_LBAs_Written", "Total_Host_Sector_Write"];
const HOST_WRITES: &[&str] = &["Host_Writes_", "Lifetime_Writes_", "Total_Writes_"];
const MEDIA_WRITES: &[&str] = &["NAND_Writes_", "Flash_Writes_"];
const UNITS: &[(&str, f64)] =
    &[("32MiB", 33_554_432.0), ("1GiB", 1_073_741_824.0), ("GiB", 1_073_741_824.0), ("MiB", 1_048_576.0)];

/// Pages programmed for the host, on Crucial and Micron drives.
const HOST_PAGES: &str = "Host_Program_Page_Count";
/// Pages programmed by the drive itself, on Crucial and Micron drives.
const BACKGROUND_PAGES: &[&str] = &["FTL_Program_Page_Count", "Bckgnd_Program_Page_Cnt"];

/// Mean erase count of a block.
const MEAN_ERASES: &[&str] = &["Ave_Block-Erase_Count", "Average_Erase_Count"];
/// Mean erase count on Samsung drives; other vendors count something else by this name.
const SAMSUNG_MEAN_ERASES: &str = "Wear_Leveling_Count";

/// Attributes whose normalised value falls from 100 to 0 or 1 over the drive's life.
const REMAINING_LIFE: &[&str] = &[
    "Percent_Lifetime_Remain",
    "Percent_Lifetime_Used",
    "Percent_Life_Remaining",
    "SSD_Life_Left",
    "Media_Wearout_Indicator",
    "Remaining_Lifetime_Perc",
];

/// Returns the bytes per count of an attribute with one of these prefixes, from the rest of its name.
fn unit(name: &str, prefixes: &[&str]) -> Option<f64> {
    let rest = prefixes.iter().find_map(|prefix| name.strip_prefix(prefix))?;
    UNITS.iter().find(|(unit, _)| *unit == rest).map(|(_, bytes)| *bytes)
}

/// Takes from the attributes the values that no better source supplied.
pub fn take(report: &mut SmartReport, document: &Document<'_>, sector_bytes: f64) -> Result<(), ReportError> {
    let Some(table) = document.object("ata_smart_attributes")? else { return Ok(()) };
    let is_samsung =
        report.model.as_ref().is_some_and(|model| model.to_ascii_lowercase().starts_with("samsung"));
    let (mut host_pages, mut background_pages) = (None, None);
    let (host_before, mut used) = (report.host.is_some(), None);
    for entry in table.list("table")? {
        let Some(name) = entry.text("name") else { continue };
        let key = || match entry.value(&["id"]) {
            Ok(Some(id)) => format!("{id} {name}"),
            _ => name.clone(),
        };
        let raw = || match entry.object("raw")? {
            Some(raw) => raw.value(&["value"]),
            None => Ok(None),
        };
        let counter = |unit: f64| Ok::<_, ReportError>(raw()?.map(|count| Counter::new(key(), count, unit)));
        let is = |names: &[&str]| names.contains(&name.as_str());
        let samsung_erases = is_samsung && name == SAMSUNG_MEAN_ERASES;
        if is(SECTORS_WRITTEN) {
            report.host = report.host.take().or(counter(sector_bytes)?);
        } else if let Some(bytes) = unit(&name, HOST_WRITES) {
            report.host = report.host.take().or(counter(bytes)?);
        } else if let Some(bytes) = unit(&name, MEDIA_WRITES) {
            report.media = report.media.take().or(counter(bytes)?.map(MediaWrites::Bytes));
        } else if name == HOST_PAGES {
            host_pages = counter(1.0)?;
        } else if is(BACKGROUND_PAGES) {
            background_pages = counter(1.0)?;
        } else if is(MEAN_ERASES) || samsung_erases {
            report.erases = raw()?.map(|mean| EraseCounts {
                key: key(),
                mean: Interval::counted(mean, 1.0),
                is_mean: true,
            });
        }
        if is(REMAINING_LIFE) || samsung_erases {
            let remaining = entry.value(&["value"])?.filter(|percent| *percent <= 100.0);
            used = used.or(remaining.map(|remaining| Counter::new(key(), 100.0 - remaining, 1.0)));
        }
    }
    report.percentage_used = report.percentage_used.take().or(used);
    if let (None, Some(host), Some(background)) = (&report.media, host_pages, background_pages) {
        report.media = Some(MediaWrites::HostAndBackground { host, background });
    }
    if document.is_false("in_smartctl_database") && !host_before && report.host.is_some() {
        let note =
            "smartctl's database does not know this drive, so that the units of its attributes are a guess";
        report.notes.push(note.into());
    }
    Ok(())
}
