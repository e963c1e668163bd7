//! Scenario of the drive that a data sheet describes.

use super::sheet::ResolvedSheet;
use wearwell_base::config::ConfigError;
use wearwell_stack::ByteSize;

/// Mapping unit of presets, in bytes.
const MAPPING_UNIT: u64 = 4096;

/// Returns a TOML scenario of the drive of `sheet` under uniform writes. If `simulated_capacity` is given, the drive
/// has that capacity instead, with the same fraction of spare space and proportional TBW.
///
/// # Errors
/// Returns an error without a cell type, which gives the geometry, and for a size of less than a page.
pub fn scenario(sheet: &ResolvedSheet, simulated_capacity: Option<ByteSize>) -> Result<String, ConfigError> {
    let Some(preset) = sheet.stated.preset()? else {
        let problem = "is missing: a scenario takes its blocks and pages from the preset that is so called";
        return Err(ConfigError::new("cells", problem));
    };
    let bytes = simulated_capacity.map_or(sheet.capacity_bytes, |size| size.0);
    let capacity = bytes / MAPPING_UNIT * MAPPING_UNIT;
    if capacity == 0 {
        return Err(ConfigError::new(
            "capacity",
            format!("is {bytes} bytes, less than a page of {MAPPING_UNIT}"),
        ));
    }
    let scale = capacity as f64 / sheet.capacity_bytes as f64;
    let name = format!("{} drive of {}", preset.entry.name.to_uppercase(), decimal(sheet.capacity_bytes));
    let scaled =
        simulated_capacity.map_or_else(String::new, |_| format!(", as one of {}", decimal(capacity)));
    let mut text = format!(
        "# What a data sheet says. Run it with `wearwell run`, or replay a trace on it with --trace.\nname = \"{name}{scaled}\"\n\n[device]\n"
    );
    text += &format!("preset = \"{}\"\ncapacity = {capacity}\n", preset.entry.name);
    text += &format!("spare_factor = {}\n", sheet.spare_space().spare_factor);
    if let Some(cycles) = sheet.endurance_cycles {
        text += &format!("endurance_cycles = {cycles}\n");
    }
    if let Some(rating) = sheet.rating {
        text += &format!("tbw = {:?}\n", rating.tbw * scale);
    }
    text += "\n[workload]\nkind = \"uniform\"\n";
    let warranty = sheet.rating.and_then(|rating| rating.warranty_years).or(sheet.stated.warranty_years);
    if let Some(years) = warranty {
        text += &format!("\n[measure]\nwarranty_years = {years:?}\n");
    }
    if let Some(rate) = sheet.stated.interface {
        text += &format!("\n[timing]\nhost_mb_per_s = {:?}\n", rate.0 as f64 / 1e6);
    }
    Ok(text)
}

/// Formats a size in decimal units, as on a label.
fn decimal(bytes: u64) -> String {
    const UNITS: [(&str, f64); 4] = [("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("bytes", 1.0)];
    let size = bytes as f64;
    let (unit, scale) = UNITS.into_iter().find(|(_, scale)| size >= *scale).unwrap_or(("bytes", 1.0));
    format!("{} {unit}", (size / scale * 1000.0).round() / 1000.0)
}
