//! Tests of FTLs by name, and of `wearwell power`.

use crate::common::{outcome, small};
use serde_json::Value;

const SPARE: [&str; 4] = ["--set", "device.load=0.65", "--set", "device.pages_per_block=16"];

fn json(arguments: &[&str]) -> Value {
    let (out, _) = outcome(arguments, 0);
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}\n{out}"))
}

#[test]
fn table_shows_ram_reads_and_recovery() {
    let (_directory, scenario) = small();
    let arguments = ["run", &scenario, "--set", "ftl=gecko", "--set", "power.at_end=true"];
    let (out, _) = outcome(&[&arguments[..], &SPARE].concat(), 0);
    for part in [
        "gecko: write amplification with internal reads",
        "mapping cache",
        "spare reads",
        "translation",
        "validity",
        "recovery",
        "model: block scan",
    ] {
        assert!(out.contains(part), "no `{part}` in\n{out}");
    }
}

#[test]
fn sweep_compares_ftls() {
    let (_directory, scenario) = small();
    let arguments = ["sweep", &scenario, "--vary", "ftl.structure=dftl,gecko,bast", "--format", "csv"];
    let (out, _) = outcome(&[&arguments[..], &SPARE].concat(), 0);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 4, "{out}");
    assert!(lines[0].contains("ftl_write_amplification_with_reads"), "{out}");
    for (line, name) in lines[1..].iter().zip(["dftl", "gecko", "bast"]) {
        assert!(line.contains(name), "{out}");
    }
}

#[test]
fn power_is_cut_at_requested_operations() {
    let (_directory, scenario) = small();
    let power = |more: &[&str]| {
        let arguments = ["power", &scenario, "--set", "ftl=gecko", "--format", "json"];
        json(&[&arguments[..], &SPARE, more].concat())
    };
    assert!(power(&["--every", "300"])["power"]["cuts"].as_u64() > Some(3));
    let one = power(&["--at", "900t"]);
    assert_eq!((&one["power"]["cuts"], &one["power"]["torn_cuts"]), (&1.into(), &1.into()));
    assert!(power(&[])["layers"][0]["ftl"]["recovery"]["seconds"].as_f64() > Some(0.0));
    let (out, _) = outcome(&["power", "scenarios/power.toml"], 0);
    assert!(out.contains("none lost") && out.contains("all steps"), "{out}");
    let (_, err) = outcome(&["power", &scenario, "--at", "soon"], 2);
    assert!(err.contains("power.at_operation"), "{err}");
}

#[test]
fn small_drive_is_cut_at_every_operation() {
    let (_directory, scenario) = small();
    let settings = [
        "ftl=fast",
        "device.blocks_per_plane=24",
        "device.pages_per_block=4",
        "device.load=0.5",
        "measure.warm_up=0.2",
        "measure.drive_writes=0.5",
    ];
    let set = settings.iter().flat_map(|setting| ["--set", setting]);
    let arguments = ["power", &scenario, "--exhaustive", "--format", "json"];
    let sum = json(&arguments.into_iter().chain(set).collect::<Vec<_>>());
    let (cuts, torn) = (sum["cuts"].as_u64().unwrap(), sum["torn_cuts"].as_u64().unwrap());
    assert!(cuts > 100 && 2 * torn == cuts, "{sum}");
}
