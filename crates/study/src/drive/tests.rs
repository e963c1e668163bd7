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

fn near(value: f64, expected: f64) {
    assert!((value / expected - 1.0).abs() < 1e-6, "{value} is not {expected}");
}

/// 100,000 thousand units are 51.2 TB; flash programs are five times that: 256 TB of 1,250.
#[test]
fn single_report_gives_averages_since_new() {
    let report = report("a.json", 100_000, Some(256_000_000_000_000), 20, 24_000);
    let found = field(&sheet(), None, &report, None).unwrap();
    let seen = &found.since_new;
    near(seen.host_bytes.value, 51.2e12);
    near(seen.write_amplification.unwrap().value, 5.0);
    near(seen.media_bytes.unwrap().value, 256e12);
    near(seen.days.unwrap().value, 1000.0);
    near(seen.gb_per_day.unwrap().value, 51.2);
    near(seen.dwpd.unwrap().value, 0.0512);
    assert_eq!((seen.evidence.as_ref().unwrap().kind, found.between.as_ref()), ("media_counter", None));
    let [percentage, tbw, cycles] = &found.life[..] else { panic!("{:?}", found.life) };
    // 80 per cent remain at 2.56 TB each; the percentage may be off by one.
    near(percentage.host_bytes.value, 204.8e12);
    near(percentage.host_bytes.low, 51.2e12 * 79.0 / 21.0);
    near(percentage.host_bytes.high, 51.2e12 * 81.0 / 19.0);
    near(percentage.years.unwrap().value, 4000.0 / 365.25);
    near(tbw.host_bytes.value, 448.8e12);
    // 994 TB of flash remain, a fifth of it for the host.
    near(cycles.host_bytes.value, 198.8e12);
    assert_eq!([percentage.by, tbw.by, cycles.by], ["percentage_used", "tbw", "cycles"]);
    // Random cleaning is 1 / S_f: a fifth, which is the drive's spare factor.
    let random = found.effective.last().unwrap();
    near(random.spare_factor.unwrap().value, 0.2);
    near(random.reserve_bytes.unwrap().value, 250e9);
    near(random.nominal_write_amplification, 5.0);
    assert!(random.spare_factor.unwrap().holds(0.2) && random.unused_share.unwrap().holds(0.0));
}

/// In 50 days the host wrote 10.24 TB and flash programs were 20.48 TB; earlier averages do not matter.
#[test]
fn two_reports_give_the_current_rate() {
    let first = report("a.json", 100_000, Some(256_000_000_000_000), 20, 24_000);
    let second = report("b.json", 120_000, Some(276_480_000_000_000), 22, 25_200);
    let found = field(&sheet(), Some(&first), &second, None).unwrap();
    let between = found.between.as_ref().unwrap();
    near(between.days.unwrap().value, 50.0);
    assert_eq!(between.days_from, "power_on_hours");
    near(between.write_amplification.unwrap().value, 2.0);
    near(between.gb_per_day.unwrap().value, 204.8);
    assert_eq!(between.percentage_used, Some(Interval { value: 2.0, low: 1.0, high: 3.0 }));
    near(found.effective.last().unwrap().spare_factor.unwrap().value, 0.5);
    // With half of the flash spare, 625 GB of 1,000 are in use, so three eighths are unused.
    near(found.effective.last().unwrap().unused_share.unwrap().value, 0.375);
    let cycles = found.life.last().unwrap();
    near(cycles.host_bytes.value, (1250e12 - 276.48e12) / 2.0);
    near(cycles.years.unwrap().value, 486.76e12 / 204.8e9 / 365.25);
    let shorter = field(&sheet(), Some(&first), &second, Some(10.0)).unwrap().between.unwrap();
    near(shorter.gb_per_day.unwrap().value, 1024.0);
}

/// Clocks take precedence over hours of operation, which show 12 hours in these two days.
#[test]
fn times_of_the_reports_determine_the_period() {
    let at = |file, units, hours, seconds| SmartReport {
        taken_at: Some(seconds),
        ..report(file, units, None, 0, hours)
    };
    let (first, second) = (at("a.json", 1000, 100, 1.7e9), at("b.json", 2000, 112, 1.7e9 + 172_800.0));
    let between = field(&sheet(), Some(&first), &second, None).unwrap().between.unwrap();
    near(between.days.unwrap().value, 2.0);
    assert_eq!(between.days_from, "the reports' times");
    near(between.gb_per_day.unwrap().value, 256.0);
}

/// Without a counter of flash programs, 20 per cent of 1,250 TB are 250 TB, plus or minus 12.5; over 51.2 TB.
#[test]
fn percentage_used_and_cycles_give_a_bracket() {
    let report = report("a.json", 100_000, None, 20, 24_000);
    let found = field(&sheet(), None, &report, None).unwrap();
    let ratio = found.since_new.write_amplification.unwrap();
    near(ratio.value, 250.0 / 51.2);
    near(ratio.low, 237.5 / 51.2);
    near(ratio.high, 262.5 / 51.2);
    assert_eq!(found.since_new.evidence.as_ref().unwrap().kind, "percentage_used");
    assert!(
        found.notes.iter().any(|note| note.contains("a bracket and no measurement")),
        "{:?}",
        found.notes
    );
    // The estimate by cycles would equal that by percentage.
    assert_eq!(found.life.iter().map(|life| life.by).collect::<Vec<_>>(), ["percentage_used", "tbw"]);
    let random = found.effective.last().unwrap().spare_factor.unwrap();
    near(random.low, 51.2 / 262.5);
    near(random.high, 51.2 / 237.5);
}

#[test]
fn missing_information_is_noted() {
    let unknown = DataSheet::default();
    let found = field(&unknown, None, &report("a.json", 1000, None, 0, 0), None).unwrap();
    let seen = &found.since_new;
    assert_eq!((seen.write_amplification, seen.evidence.as_ref(), seen.gb_per_day), (None, None, None));
    assert!(found.effective.is_empty() && found.capacity_bytes.is_none());
    for expected in ["the capacity is not known", "the write amplification cannot be told"] {
        assert!(found.notes.iter().any(|note| note.contains(expected)), "{:?}", found.notes);
    }
    // No per cent used yet: at least 99 per cent remain, for up to one per cent used, with no upper bound.
    let life = &found.life[0];
    near(life.host_bytes.low, 0.512e12 * 99.0);
    assert!(life.host_bytes.value.is_infinite() && life.years.is_none());
    let compressing = report("a.json", 100_000, Some(25_600_000_000_000), 1, 24);
    let found = field(&sheet(), None, &compressing, None).unwrap();
    assert!(found.notes.iter().any(|note| note.contains("no spare space explains it")), "{:?}", found.notes);
    assert!(found.effective.iter().all(|effective| effective.spare_factor.is_none()));
    // A drive past its rated life has 0 left, not less.
    let passed = report("a.json", 2_000_000, Some(2_000_000_000_000_000), 130, 24_000);
    let found = field(&sheet(), None, &passed, None).unwrap();
    assert!(found.life.iter().all(|life| life.host_bytes.value == 0.0), "{:?}", found.life);
}

#[test]
fn reports_that_do_not_belong_together_are_refused() {
    let (first, second) = (report("a.json", 10, Some(9), 1, 5), report("b.json", 20, Some(10), 1, 6));
    let refuse = |earlier: &SmartReport, later: &SmartReport| {
        field(&sheet(), Some(earlier), later, None).unwrap_err().to_string()
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
    let (late, early) =
        (SmartReport { taken_at: Some(9e9), ..first }, SmartReport { taken_at: Some(1e9), ..second });
    assert!(refuse(&late, &early).contains("local_time: is 1000000000, less than"));
}

/// A drive with counters according to theory is calibrated to its nominal spare space.
#[test]
fn drive_following_theory_is_calibrated_to_its_spare_space() {
    let resolved = sheet().resolve().unwrap();
    for (at, law) in LAWS.into_iter().enumerate() {
        let amplification = resolved.laws.write_amplification(law, 0.2).unwrap();
        let media = (51.2e12 * amplification).round() as u64;
        let found = field(&sheet(), None, &report("a.json", 100_000, Some(media), 1, 24_000), None).unwrap();
        let spare = found.effective[at].spare_factor.unwrap();
        assert!(spare.holds(0.2) && spare.high - spare.low < 1e-4, "{law:?}: {spare:?}");
    }
}

#[test]
fn scenario_of_a_data_sheet_resolves_to_its_drive() {
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
        near(device.tbw.unwrap(), tbw);
        assert_eq!(device.endurance_cycles, Some(1000));
        assert_eq!(device.capacity, Some(shown.unwrap_or(ByteSize(1_000_000_000_000))));
    }
    let none = scenario(&super::tests::sheet().resolve().unwrap(), None).unwrap_err();
    assert_eq!(none.key, "cells");
}
