use super::*;
use std::collections::BTreeSet;

const DOC: &str = include_str!("../../../../../docs/devices.md");

/// Formats a value as in the document of presets: at most four decimals, no trailing zeros.
fn formatted(figure: f64) -> String {
    let text = format!("{figure:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Returns every field that needs a source, in the document's order.
fn figures(preset: &Preset) -> Vec<(&'static str, String)> {
    let mut figures = flash_figures(preset);
    if let Some(front_end) = preset.front_end() {
        figures.extend([
            ("host_mb_per_s", formatted(front_end.host_mb_per_s)),
            ("controller_read_us", formatted(front_end.controller_read_us)),
            ("controller_write_us", formatted(front_end.controller_write_us)),
        ]);
    }
    figures
}

/// Returns the sources of all fields.
fn notes(preset: &Preset) -> Vec<(&'static str, &'static str)> {
    let front_end = preset.front_end().map_or(&[][..], |front| front.notes);
    preset.notes.iter().chain(front_end).copied().collect()
}

/// Formats the line of a field. A source that begins with its kind, as in `assumed: `, has the kind before the colon.
fn line(field: &str, figure: &str, source: &str) -> String {
    match source.split_once(": ") {
        Some(("none", reason)) => format!("- `{field}` = {figure}: {reason}\n"),
        Some((kind @ ("assumed" | "derived"), reason)) => {
            format!("- `{field}` = {figure} ({kind}): {reason}\n")
        }
        _ => format!("- `{field}` = {figure}: {source}\n"),
    }
}

/// Returns the fields of the flash and its geometry.
fn flash_figures(preset: &Preset) -> Vec<(&'static str, String)> {
    vec![
        ("cell", preset.cell.to_owned()),
        ("channels", preset.channels.to_string()),
        ("ways", preset.ways.to_string()),
        ("dies", preset.dies.to_string()),
        ("planes", preset.planes.to_string()),
        ("pages_per_block", preset.pages_per_block.to_string()),
        ("page_bytes", preset.page_bytes.to_string()),
        ("spare_bytes", preset.spare_bytes.to_string()),
        ("endurance_cycles", preset.endurance_cycles.to_string()),
        ("read_us", formatted(preset.read_us)),
        ("program_us", formatted(preset.program_us)),
        ("erase_us", formatted(preset.erase_us)),
        ("channel_mb_per_s", formatted(preset.channel_mb_per_s)),
        ("over_provisioning", formatted(preset.over_provisioning)),
        ("gc_watermark", preset.gc_watermark.map_or("none".to_owned(), formatted)),
    ]
}

#[test]
fn names_are_unique_and_found() {
    let names: BTreeSet<_> = PRESETS.iter().map(|preset| preset.entry.name).collect();
    assert_eq!(names.len(), PRESETS.len());
    for preset in PRESETS {
        let found = Preset::find(preset.entry.name).expect("a preset is found by its name");
        assert!(std::ptr::eq(found, preset), "{} finds another preset", preset.entry.name);
    }
    assert!(Preset::find("no such device").is_none());
}

#[test]
fn every_figure_has_one_note() {
    for preset in PRESETS {
        let fields: Vec<_> = figures(preset).into_iter().map(|(field, _)| field).collect();
        let notes = notes(preset);
        let noted: Vec<_> = notes.iter().map(|(field, _)| *field).collect();
        assert_eq!(fields, noted, "{}", preset.entry.name);
        assert!(notes.iter().all(|(_, source)| source.len() > 8), "{}", preset.entry.name);
        assert!(notes.iter().all(|(_, source)| !source.contains("  ")), "{}", preset.entry.name);
    }
}

#[test]
fn figures_are_plausible() {
    for preset in PRESETS {
        let name = preset.entry.name;
        assert!(["SLC", "MLC", "TLC", "QLC"].contains(&preset.cell), "{name}");
        assert!(preset.endurance_cycles > 0 && preset.channel_mb_per_s > 0.0, "{name}");
        assert!(0.0 < preset.read_us && preset.read_us < preset.program_us, "{name}");
        assert!(preset.program_us < preset.erase_us, "{name}");
        assert!(preset.over_provisioning > 0.0 && preset.over_provisioning < 1.0, "{name}");
        assert!(preset.gc_watermark.is_none_or(|free| free > 0.0 && free < 1.0), "{name}");
    }
}

#[test]
fn front_ends_have_a_preset_and_positive_rates() {
    let names: BTreeSet<_> = FRONT_ENDS.iter().map(|front| front.preset).collect();
    assert_eq!(names.len(), FRONT_ENDS.len());
    let found = PRESETS.iter().filter_map(Preset::front_end);
    assert_eq!(found.map(|front| front.preset).collect::<BTreeSet<_>>(), names);
    for front_end in FRONT_ENDS {
        assert!(front_end.host_mb_per_s > 0.0 && !front_end.product.is_empty(), "{}", front_end.preset);
        // A write takes at least as long as a read.
        assert!(
            0.0 < front_end.controller_read_us
                && front_end.controller_read_us <= front_end.controller_write_us
        );
    }
}

#[test]
fn geometry_holds_the_capacity_and_is_valid() {
    for preset in PRESETS {
        for bytes in [1, 1 << 30, (64 << 30) + 1, 1 << 40] {
            let geometry = preset.geometry(bytes).expect("a valid geometry");
            assert_eq!(geometry.validate(), Ok(()));
            let row = geometry.bytes() / u64::from(geometry.blocks_per_plane);
            assert!(geometry.bytes() >= bytes && geometry.bytes() - bytes < row, "{}", preset.entry.name);
        }
        let none = GeometryError::Zero { dimension: "blocks_per_plane" };
        assert_eq!(preset.geometry(0), Err(none));
        assert!(matches!(preset.geometry(u64::MAX), Err(GeometryError::TooManyPages { .. })));
    }
}

#[test]
fn devices_of_papers_have_the_published_sizes() {
    let gecko = Preset::find("gecko").unwrap().geometry(2 << 40).unwrap();
    assert_eq!((gecko.blocks(), gecko.pages_per_block, gecko.page_bytes), (1 << 22, 128, 4096));
    let logical = gecko.pages() as f64 / (1.0 + Preset::find("gecko").unwrap().over_provisioning);
    assert!((logical / gecko.pages() as f64 - 0.7).abs() < 1e-12);
    let nvmfs = Preset::find("nvmfs").unwrap().geometry(24 << 30).unwrap();
    assert_eq!(nvmfs.blocks(), 24 << 12);
    let z_nand = Preset::find("z_nand").unwrap();
    assert_eq!(z_nand.pages_per_block * z_nand.page_bytes, 256 << 10);
}

#[test]
fn presets_agree_with_the_document() {
    let mut expected = String::from("| preset |");
    for (field, _) in flash_figures(&PRESETS[0]) {
        expected += &format!(" {field} |");
    }
    expected += &format!("\n|{}\n", "---|".repeat(1 + flash_figures(&PRESETS[0]).len()));
    for preset in PRESETS {
        expected += &format!("| `{}` |", preset.entry.name);
        for (_, figure) in flash_figures(preset) {
            expected += &format!(" {figure} |");
        }
        expected.push('\n');
    }
    for preset in PRESETS {
        let entry = preset.entry;
        expected += &format!("\n### `{}`\n{}. Main source: {}.\n", entry.name, entry.help, entry.source);
        if let Some(front_end) = preset.front_end() {
            expected += &format!("Link and controller: {}.\n", front_end.product);
        }
        expected.push('\n');
        for ((field, figure), (_, source)) in figures(preset).into_iter().zip(notes(preset)) {
            expected += &line(field, &figure, source);
        }
    }
    let (_, table) = DOC.split_once("<!-- presets -->\n").expect("the mark before the table");
    assert!(table == expected, "docs/devices.md: after its mark it should read\n{expected}");
}
