//! Tests on a drive with round numbers, whose figures can be computed by hand.

use super::*;
use serde_json::{Value, json};
use wearwell_stack::ByteSize;

/// Returns a drive with 1 TB capacity on 1.25 TB of flash with a thousand cycles: a fifth is spare, and the flash
/// endures 1,250 TB.
fn sheet() -> DataSheet {
    DataSheet {
        capacity: Some(ByteSize(1_000_000_000_000)),
        raw_capacity: Some(ByteSize(1_250_000_000_000)),
        endurance_cycles: Some(1000),
        tbw: Some(500.0),
        warranty_years: Some(5.0),
        pages_per_block: Some(16),
        ..DataSheet::default()
    }
}

/// Returns a report of `units` thousand data units of 0.512 GB each, bytes of flash, per cent used and hours.
fn report(file: &str, units: u64, media_bytes: Option<u64>, used: u32, hours: u64) -> SmartReport {
    let mut text =
        json!({ "data_units_written": units * 1000, "percent_used": used, "power_on_hours": hours })
            .to_string();
    if let Some(bytes) = media_bytes {
        text += &json!({ "Physical media units written": { "hi": 0, "lo": bytes } }).to_string();
    }
    SmartReport::read(file, &text).unwrap()
}

fn assert_near(value: f64, expected: f64) {
    assert!((value / expected - 1.0).abs() < 1e-6, "{value} is not {expected}");
}

/// The host wrote 100,000 thousand units, 51.2 TB; flash programs are five times that: 256 TB of 1,250.
#[test]
fn single_report_gives_averages_since_new() {
    let report = report("a.json", 100_000, Some(256_000_000_000_000), 20, 24_000);
    let found = evaluate_reports(&sheet(), None, &report, None).unwrap();
    let period = &found.since_new;
    assert_near(period.host_bytes.value, 51.2e12);
    assert_near(period.write_amplification.unwrap().value, 5.0);
    assert_near(period.media_bytes.unwrap().value, 256e12);
    assert_near(period.days.unwrap().value, 1000.0);
    assert_near(period.gb_per_day.unwrap().value, 51.2);
    assert_near(period.dwpd.unwrap().value, 0.0512);
    assert_eq!((period.evidence.as_ref().unwrap().kind, found.between.as_ref()), ("media_counter", None));
    let [percentage, tbw, cycles] = &found.life[..] else { panic!("{:?}", found.life) };
    // Of the drive's life 80 per cent remain, at 2.56 TB per cent; the percentage may be off by one.
    assert_near(percentage.host_bytes.value, 204.8e12);
    assert_near(percentage.host_bytes.low, 51.2e12 * 79.0 / 21.0);
    assert_near(percentage.host_bytes.high, 51.2e12 * 81.0 / 19.0);
    assert_near(percentage.years.unwrap().value, 4000.0 / 365.25);
    assert_near(tbw.host_bytes.value, 448.8e12);
    // The flash endures 994 TB more, a fifth of it for the host.
    assert_near(cycles.host_bytes.value, 198.8e12);
    assert_eq!([percentage.method, tbw.method, cycles.method], ["percentage_used", "tbw", "cycles"]);
    // Random cleaning is 1 / S_f: a fifth, which is the drive's spare factor.
    let random = found.effective.last().unwrap();
    assert_near(random.spare_factor.unwrap().value, 0.2);
    assert_near(random.reserve_bytes.unwrap().value, 250e9);
    assert_near(random.nominal_write_amplification, 5.0);
    assert!(random.spare_factor.unwrap().contains(0.2) && random.unused_share.unwrap().contains(0.0));
}

/// In 50 days the host wrote 10.24 TB and flash programs were 20.48 TB; earlier averages do not matter.
#[test]
fn two_reports_give_the_current_rate() {
    let first = report("a.json", 100_000, Some(256_000_000_000_000), 20, 24_000);
    let second = report("b.json", 120_000, Some(276_480_000_000_000), 22, 25_200);
    let found = evaluate_reports(&sheet(), Some(&first), &second, None).unwrap();
    let current = found.between.as_ref().unwrap();
    assert_near(current.days.unwrap().value, 50.0);
    assert_eq!(current.days_from, "power_on_hours");
    assert_near(current.write_amplification.unwrap().value, 2.0);
    assert_near(current.gb_per_day.unwrap().value, 204.8);
    assert_eq!(current.percentage_used, Some(Interval { value: 2.0, low: 1.0, high: 3.0 }));
    assert_near(found.effective.last().unwrap().spare_factor.unwrap().value, 0.5);
    // With half of the flash spare, 625 GB of 1,000 are in use, so three eighths are unused.
    assert_near(found.effective.last().unwrap().unused_share.unwrap().value, 0.375);
    let cycles = found.life.last().unwrap();
    assert_near(cycles.host_bytes.value, (1250e12 - 276.48e12) / 2.0);
    assert_near(cycles.years.unwrap().value, 486.76e12 / 204.8e9 / 365.25);
    let shorter = evaluate_reports(&sheet(), Some(&first), &second, Some(10.0)).unwrap().between.unwrap();
    assert_near(shorter.gb_per_day.unwrap().value, 1024.0);
}

/// Clocks take precedence over hours of operation, which show 12 hours in these two days.
#[test]
fn times_of_the_reports_determine_the_period() {
    let at = |file, units, hours, seconds| SmartReport {
        taken_at: Some(seconds),
        ..report(file, units, None, 0, hours)
    };
    let (first, second) = (at("a.json", 1000, 100, 1.7e9), at("b.json", 2000, 112, 1.7e9 + 172_800.0));
    let period = evaluate_reports(&sheet(), Some(&first), &second, None).unwrap().between.unwrap();
    assert_near(period.days.unwrap().value, 2.0);
    assert_eq!(period.days_from, "the reports' times");
    assert_near(period.gb_per_day.unwrap().value, 256.0);
}

/// Without a counter of flash programs, flash writes are 20 per cent of 1,250 TB: 250 TB, plus or minus 12.5, for 51.2
/// TB from the host.
#[test]
fn percentage_used_and_cycles_bound_the_amplification() {
    let report = report("a.json", 100_000, None, 20, 24_000);
    let found = evaluate_reports(&sheet(), None, &report, None).unwrap();
    let ratio = found.since_new.write_amplification.unwrap();
    assert_near(ratio.value, 250.0 / 51.2);
    assert_near(ratio.low, 237.5 / 51.2);
    assert_near(ratio.high, 262.5 / 51.2);
    assert_eq!(found.since_new.evidence.as_ref().unwrap().kind, "percentage_used");
    assert!(
        found.notes.iter().any(|note| note.contains("a bracket and no measurement")),
        "{:?}",
        found.notes
    );
    // The estimate by cycles would equal that by percentage.
    assert_eq!(found.life.iter().map(|life| life.method).collect::<Vec<_>>(), ["percentage_used", "tbw"]);
    let random = found.effective.last().unwrap().spare_factor.unwrap();
    assert_near(random.low, 51.2 / 262.5);
    assert_near(random.high, 51.2 / 237.5);
}

#[test]
fn missing_information_is_noted() {
    let unknown = DataSheet::default();
    let found = evaluate_reports(&unknown, None, &report("a.json", 1000, None, 0, 0), None).unwrap();
    let period = &found.since_new;
    assert_eq!((period.write_amplification, period.evidence.as_ref(), period.gb_per_day), (None, None, None));
    assert!(found.effective.is_empty() && found.capacity_bytes.is_none());
    for expected in ["the capacity is not known", "the write amplification cannot be told"] {
        assert!(found.notes.iter().any(|note| note.contains(expected)), "{:?}", found.notes);
    }
    // No per cent used yet: at least 99 per cent remain, for up to one per cent used, with no upper bound.
    let life = &found.life[0];
    assert_near(life.host_bytes.low, 0.512e12 * 99.0);
    assert!(life.host_bytes.value.is_infinite() && life.years.is_none());
    let compressing = report("a.json", 100_000, Some(25_600_000_000_000), 1, 24);
    let found = evaluate_reports(&sheet(), None, &compressing, None).unwrap();
    assert!(found.notes.iter().any(|note| note.contains("no spare space explains it")), "{:?}", found.notes);
    assert!(found.effective.iter().all(|effective| effective.spare_factor.is_none()));
    // A drive past its rated life has 0 left, not less.
    let passed = report("a.json", 2_000_000, Some(2_000_000_000_000_000), 130, 24_000);
    let found = evaluate_reports(&sheet(), None, &passed, None).unwrap();
    assert!(found.life.iter().all(|life| life.host_bytes.value == 0.0), "{:?}", found.life);
}

#[test]
fn unrelated_reports_are_refused() {
    let (first, second) = (report("a.json", 10, Some(9), 1, 5), report("b.json", 20, Some(10), 1, 6));
    let refuse = |earlier: &SmartReport, later: &SmartReport| {
        evaluate_reports(&sheet(), Some(earlier), later, None).unwrap_err().to_string()
    };
    let error = refuse(&second, &first);
    assert!(
        error.starts_with("a.json: data_units_written: is 10000, less than the 20000 in b.json"),
        "{error}"
    );
    let other = SmartReport { serial: Some("B".into()), ..second.clone() };
    let error = refuse(&SmartReport { serial: Some("A".into()), ..first.clone() }, &other);
    assert_eq!(error, "b.json: serial number: is \"B\", and in a.json it is \"A\": two drives");
    let fallen = SmartReport { media: report("c.json", 1, Some(1), 0, 0).media, ..second.clone() };
    assert!(refuse(&first, &fallen).contains("is less than in a.json"));
    let (newer, older) =
        (SmartReport { taken_at: Some(9e9), ..first }, SmartReport { taken_at: Some(1e9), ..second });
    assert!(refuse(&newer, &older).contains("local_time: is 1000000000, less than"));
}

/// A drive with counters according to theory is calibrated to its nominal spare space.
#[test]
fn theoretical_drive_is_calibrated_to_its_spare_space() {
    let resolved = sheet().resolve().unwrap();
    for (at, model) in DRIVE_MODELS.into_iter().enumerate() {
        let amplification = resolved.models.write_amplification(model, 0.2).unwrap();
        let media = (51.2e12 * amplification).round() as u64;
        let found =
            evaluate_reports(&sheet(), None, &report("a.json", 100_000, Some(media), 1, 24_000), None)
                .unwrap();
        let spare = found.effective[at].spare_factor.unwrap();
        assert!(spare.contains(0.2) && spare.high - spare.low < 1e-4, "{model:?}: {spare:?}");
    }
}

#[test]
fn data_sheet_scenario_resolves_to_its_drive() {
    let sheet = DataSheet {
        cells: Some("tlc".into()),
        dwpd: Some(0.3),
        interface: Some(ByteSize(7_000_000_000)),
        ..sheet()
    };
    let resolved = sheet.resolve().unwrap();
    for (shown, tbw) in [(None, 500.0), (Some(ByteSize(16_000_000_000)), 8.0)] {
        let text = scenario(&resolved, shown).unwrap();
        let value: Value = toml::from_str(&text).unwrap();
        let scenario = wearwell_stack::Scenario::read(&value).unwrap();
        let device = wearwell_stack::ResolvedScenario::of(scenario).unwrap().scenario.device;
        assert_near(device.tbw.unwrap(), tbw);
        assert_eq!(device.endurance_cycles, Some(1000));
        assert_eq!(device.capacity, Some(shown.unwrap_or(ByteSize(1_000_000_000_000))));
    }
    let none = scenario(&super::tests::sheet().resolve().unwrap(), None).unwrap_err();
    assert_eq!(none.key, "cells");
}
