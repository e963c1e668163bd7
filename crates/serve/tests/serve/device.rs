//! Tests that compare the device with a reference disk.

use crate::common::{PAGE, ReferenceDisk, SMALL, Step, device, page_steps, run_step, scenario};
use proptest::prelude::*;
use wearwell_serve::{Device, DeviceError};

/// Generates arbitrary requests, including partial pages.
fn steps(bytes: u64) -> impl Strategy<Value = Vec<Step>> {
    let range =
        (0..bytes, 0..4 * PAGE).prop_map(move |(offset, length)| (offset, length.min(bytes - offset)));
    let step = (range, 0..10, any::<u8>()).prop_map(|((offset, length), kind, fill)| match kind {
        0..5 => Step::Write(offset, (0..length).map(|at| fill.wrapping_add((at / 100) as u8)).collect()),
        5 | 6 => Step::Read(offset, length as usize),
        7 => Step::Trim(offset, length),
        8 => Step::Zero(offset, length, fill % 2 == 0),
        _ => Step::Flush,
    });
    proptest::collection::vec(step, 1..150)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn arbitrary_requests_read_as_on_reference_disk(steps in steps(100 * PAGE), kind in 0..3usize) {
        let ftl = ["", "[ftl]\nstructure = \"dftl\"\n", "[ftl]\ndedup = \"cagc\"\n"][kind];
        let mut device = device(&format!("{SMALL}{ftl}"));
        let mut naive = ReferenceDisk(vec![0; (100 * PAGE) as usize]);
        for step in &steps {
            prop_assert_eq!(run_step(&mut device, step).unwrap(), naive.apply(step), "{:?}", step);
        }
        let mut all = vec![0; naive.0.len()];
        device.read(0, &mut all).unwrap();
        prop_assert!(all == naive.0);
        device.check().unwrap();
    }
}

#[test]
fn content_survives_cleaning_on_every_stack() {
    for ftl in [
        "",
        "structure = \"gecko\"\n",
        "structure = \"fast\"\n",
        "dedup = \"cagc\"\n",
        "dedup = \"inline\"\n",
    ] {
        let mut device = device(&format!("{SMALL}[ftl]\n{ftl}"));
        let mut naive = ReferenceDisk(vec![0; device.bytes() as usize]);
        for step in page_steps(device.bytes(), 6000, 9) {
            assert_eq!(run_step(&mut device, &step).unwrap(), naive.apply(&step), "{ftl}");
        }
        let mut all = vec![0; naive.0.len()];
        device.read(0, &mut all).unwrap();
        assert!(all == naive.0, "{ftl}");
        let erases = device.status().snapshot.reports().nand.clone().unwrap().erases;
        // A drive that deduplicates equal pages needs no cleaning.
        assert!(erases > 100 || ftl.contains("inline"), "{ftl}: {erases}");
    }
}

#[test]
fn write_of_partial_page_reads_the_page_first() {
    let mut device = device(SMALL);
    device.write(0, &[1; 3 * 4096]).unwrap();
    // The write covers two pages partly and one page completely: the two pages are read, and three pages are written.
    device.write(100, &[2; 8192]).unwrap();
    let status = device.status();
    let counters = &status.snapshot.reports().layers[0].counters;
    use wearwell_engine::counters::Operation;
    assert_eq!((counters.incoming(Operation::Read), counters.incoming(Operation::Write)), (2, 6));
    // This write is within one page.
    device.write(5000, &[3; 10]).unwrap();
    let mut out = [0; 4096];
    device.read(4990, &mut out).unwrap();
    assert_eq!((&out[..10], &out[10..20], out[20]), (&[2; 10][..], &[3; 10][..], 2));
}

#[test]
fn extents_distinguish_holes_from_data() {
    let mut device = device(SMALL);
    let bytes = device.bytes();
    device.write(PAGE, &[1; 2 * 4096]).unwrap();
    let whole = |device: &Device| device.extents(0, bytes, 9).unwrap();
    assert_eq!(whole(&device), [(PAGE, false), (3 * PAGE, true), (bytes, false)]);
    assert_eq!(device.extents(0, bytes, 2).unwrap(), [(PAGE, false), (3 * PAGE, true)]);
    assert_eq!(device.extents(PAGE + 7, 10, 9).unwrap(), [(PAGE + 17, true)]);
    device.write_zeroes(PAGE, PAGE, true).unwrap();
    assert_eq!(whole(&device).len(), 3);
    device.write_zeroes(PAGE, 2 * PAGE, false).unwrap();
    assert_eq!(whole(&device), [(bytes, false)]);
    assert_eq!(device.status().content_bytes, 0);
}

#[test]
fn ranges_beyond_the_end_are_refused() {
    let mut device = device(SMALL);
    let bytes = device.bytes();
    let refused = |done: Result<(), DeviceError>| matches!(done, Err(DeviceError::OutOfRange { .. }));
    assert!(refused(device.write(bytes - 1, &[0; 2])) && refused(device.read(u64::MAX, &mut [0])));
    assert!(refused(device.trim(bytes, 1)) && refused(device.write_zeroes(1, u64::MAX, false)));
    assert!(device.extents(bytes, 1, 1).is_err());
    device.read(bytes, &mut []).unwrap();
}

/// A drive of 256 GiB takes memory only for its tables and for written data.
#[test]
fn memory_of_large_drive_grows_with_written_data() {
    let mut device = device("[device]\ncapacity = \"256 GiB\"\npages_per_block = 256\nspare_factor = 0.07\n");
    assert!(device.bytes() > 230 << 30);
    let last = device.bytes() - PAGE;
    for at in 0..1000 {
        device.write(at * (last / PAGE / 1000) * PAGE, &[at as u8; 4096]).unwrap();
    }
    let status = device.status();
    assert_eq!(status.content_bytes, 1000 * PAGE);
    let memory: u64 = status.snapshot.reports().layers.iter().map(|layer| layer.memory_bytes).sum();
    assert!(memory < 2 << 30, "{memory}");
}

#[test]
fn failed_drive_reports_reason_and_stays_readable() {
    let text = format!("{SMALL}wears_out = true\nendurance_cycles = 3\n");
    let mut device = device(&text);
    let mut naive = ReferenceDisk(vec![0; device.bytes() as usize]);
    let mut died = None;
    for step in page_steps(device.bytes(), 20_000, 5) {
        match run_step(&mut device, &step) {
            Ok(found) => assert_eq!(found, naive.apply(&step)),
            Err(error) => {
                died = Some((step, error));
                break;
            }
        }
    }
    let (step, error) = died.expect("so few cycles are soon over");
    assert!(matches!(error, DeviceError::Layer(error) if error.is_end_of_life()));
    // Pages outside of the last write are unchanged; pages of the last write have either their old or their new
    // content.
    let before = naive.0.clone();
    naive.apply(&step);
    let mut all = vec![0; before.len()];
    device.read(0, &mut all).unwrap();
    assert!(all.iter().zip(before.iter().zip(&naive.0)).all(|(now, (old, new))| now == old || now == new));
    assert!(device.write(0, &[1; 4096]).is_err());
    assert!(device.status().failure.is_some());
    let warnings = device.result().unwrap().warnings;
    assert!(warnings.iter().any(|warning| warning.contains("died")), "{warnings:?}");
}

#[test]
fn unsupported_scenario_is_rejected_naming_setting() {
    let refused = |text: &str| Device::in_memory(&scenario(text)).map(|_| ()).unwrap_err().to_string();
    let tenant = "[[tenant]]\nshare = 0.5\nworkload = { kind = \"uniform\" }\n";
    assert!(
        refused(&format!("{SMALL}{}", tenant.repeat(2))).starts_with("tenant: a live drive has one user")
    );
    assert!(refused(&format!("{SMALL}[power]\nat_end = true\n")).starts_with("power: cuts"));
    assert!(refused(&format!("{SMALL}[ftl]\nevict = true\n")).contains("evict: drops"));
    let few = "[ftl]\ndedup = { kind = \"inline\", index = { fingerprint_bits = 16 } }\n";
    assert!(
        refused(&format!("{SMALL}{few}")).contains("fingerprint"),
        "{}",
        refused(&format!("{SMALL}{few}"))
    );
    assert!(refused(&format!("{SMALL}[ftl]\nstructure = \"zones\"\n")).contains("zones"));
}
