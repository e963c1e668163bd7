//! Description of the drive of a result.

use super::count;
use wearwell_engine::nand::Preset;
use wearwell_stack::device::Device;
use wearwell_stack::scenario::AddressRule;
use wearwell_stack::{ByteSize, Fit, RunResult, TraceExtent};

/// Returns the drive's sizes, and their origin.
pub fn description(result: &RunResult) -> String {
    let device = &result.device;
    let page = u64::from(device.page_bytes);
    let logical = ByteSize(u64::from(device.logical_pages) * page);
    let physical = ByteSize(device.physical_pages * page);
    let name =
        result.scenario.device.preset.as_ref().map_or_else(String::new, |preset| format!("{preset}: "));
    let differences = differences(&result.scenario.device);
    let suffix = differences.map_or_else(String::new, |text| format!("\n{text}"));
    let block = ByteSize(u64::from(device.pages_per_block) * page);
    let fitted = match result.scenario.device.fit {
        Fit::Measured(extent) => format!("\n{}", fitted(&extent, result)),
        Fit::Requested(_) => String::new(),
    };
    format!(
        "{name}{logical} logical on {physical} of flash; {} blocks of {block} ({} pages of {}){suffix}{fitted}",
        count(device.blocks.into()),
        device.pages_per_block,
        ByteSize(page)
    )
}

/// Describes how the size of a drive was fitted to a trace.
fn fitted(extent: &TraceExtent, result: &RunResult) -> String {
    let page = u64::from(result.device.page_bytes);
    let touched = ByteSize(extent.touched_pages.saturating_mul(page));
    if !result.scenario.tenant.is_empty() {
        let pages = count(extent.touched_pages);
        return format!("made to fit the traces of its tenants: {pages} pages ({touched}) touched");
    }
    let rule = result.scenario.trace.as_ref().map_or(AddressRule::Direct, |trace| trace.address);
    let addresses = match rule {
        AddressRule::Direct => "addresses as they are",
        AddressRule::Wrap => "addresses wrapped",
        AddressRule::Scale => "addresses scaled",
        AddressRule::Compact => "addresses compacted",
    };
    format!(
        "made to fit the trace: {} pages ({touched}) touched of the first {}; {addresses}",
        count(extent.touched_pages),
        ByteSize(extent.end_page.saturating_mul(page))
    )
}

/// Lists the differences of the scenario from its preset. These settings may have been made before the preset was
/// chosen.
fn differences(device: &Device) -> Option<String> {
    let preset = Preset::find(device.preset.as_ref()?)?;
    let counts = [
        ("channels", device.channels, preset.channels),
        ("ways", device.ways, preset.ways),
        ("dies", device.dies, preset.dies),
        ("planes", device.planes, preset.planes),
        ("pages_per_block", device.pages_per_block, preset.pages_per_block),
        ("endurance_cycles", device.endurance_cycles, preset.endurance_cycles),
    ];
    let counts = counts.into_iter().filter_map(|(key, value, of_preset)| {
        let value = value.filter(|value| *value != of_preset)?;
        Some(format!("{key} {value} ({of_preset})"))
    });
    let page = ByteSize(preset.page_bytes.into());
    let page_size = device.page_size.filter(|size| *size != page);
    let all: Vec<_> = counts.chain(page_size.map(|size| format!("page_size {size} ({page})"))).collect();
    (!all.is_empty()).then(|| format!("set otherwise than the preset has it: {}", all.join(", ")))
}
