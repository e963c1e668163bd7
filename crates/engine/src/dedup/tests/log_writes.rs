//! The log of the map on a small drive: its pages are written in time, and no flushed change is lost.

use super::super::*;
use super::drive::{Drive, DriveConfig, roomy};
use crate::counters::Operation;
use crate::layer::Layer;
use crate::seed::{Seed, random_below};
use serde_json::json;

fn logged(kind: &str, records: u32) -> DriveConfig {
    roomy(json!({"kind": kind, "map_log": true, "map_log_page_records": records}), 8)
}

/// Returns the number of log and checkpoint pages written.
fn log_pages_written(drive: &Drive) -> (u64, u64) {
    let report = drive.dedup();
    (report.map_log_pages, report.map_checkpoint_pages)
}

/// Two records per page of the log, 6 slots per page of the checkpoint: the checkpoint and half the ring have two
/// pages each.
#[test]
fn log_page_is_written_when_full() {
    let mut drive = logged("inline", 2).build();
    drive.write(&[0, 1, 2], &[5, 6, 7]);
    drive.write(&[3], &[5]);
    assert_eq!((log_pages_written(&drive), drive.dedup().map_log_records), ((0, 0), 1));
    drive.trim(&[4]);
    assert_eq!(drive.dedup().map_log_records, 1, "it held nothing");
    drive.trim(&[1]);
    assert_eq!(
        (log_pages_written(&drive), drive.dedup().map_log_records),
        ((1, 1), 2),
        "and one of the checkpoint with it"
    );
    drive.check();
    // A page is written as soon as it is full, even during a call.
    drive.trim(&[0, 2, 3]);
    assert_eq!((log_pages_written(&drive), drive.dedup().map_log_records), ((2, 2), 5));
    let (layer_report, nand) = drive.reports();
    assert_eq!(layer_report.counters.outgoing(Cause::Dedup, Operation::Write), 4);
    assert_eq!((layer_report.counters.outgoing(Cause::Host, Operation::Write), nand.programs), (3, 7));
    // A flush writes all records, even if they do not fill a page. Without records, a flush writes no page.
    drive.layer.flush().unwrap();
    assert_eq!(log_pages_written(&drive), (3, 3));
    drive.layer.flush().unwrap();
    assert_eq!(log_pages_written(&drive), (3, 3));
    drive.check();
}

#[test]
fn retained_slots_are_released_when_their_record_is_written() {
    let mut drive = logged("inline", 2).build();
    let stored = |drive: &Drive| {
        let mut reports = crate::layer::Reports::default();
        drive.layer.lower.describe(&mut reports);
        reports.layers[0].mapped_pages
    };
    drive.write(&[0, 1], &[5, 6]);
    drive.trim(&[0]);
    assert_eq!((stored(&drive), drive.reports().0.mapped_pages), (2, 1), "its content may be needed again");
    drive.check();
    drive.layer.flush().unwrap();
    // The data page of page 1, one page of the log and one page of the checkpoint are written.
    assert_eq!(stored(&drive), 3);
    drive.check();
}

#[test]
fn spare_area_names_the_page_and_the_change_number() {
    let drive = &mut logged("inline", 2).build();
    let note = |drive: &Drive, slot: u32| drive.layer.sharing().note(Lpn(slot), Cause::Host).unwrap();
    drive.write(&[3], &[5]);
    assert_eq!(note(drive, 0), Note { page: Lpn(3), number: 1 });
    drive.write(&[4], &[5]);
    drive.write(&[5], &[6]);
    assert_eq!(note(drive, 1), Note { page: Lpn(5), number: 3 }, "the hit was the second change");
    let slots = drive.layer.sharing().lock().slots();
    assert_eq!(drive.layer.sharing().note(Lpn(slots), Cause::Dedup), None, "a page of the log is no slot's");
    assert_eq!(roomy(json!("inline"), 8).build().layer.sharing().note(Lpn(0), Cause::Host), None);
    assert_eq!(roomy(json!("inline"), 8).build().layer.sharing().map_image(), MapImage::default());
}

/// Rebuilds the map from the spare areas of the newest copies.
fn rebuilt(shape: &DriveConfig, drive: &Drive) -> RecoveredMap {
    let sharing = drive.layer.sharing();
    let mut contents: Vec<Option<ContentId>> = vec![None; sharing.lock().slots() as usize];
    for (page, &content) in (0..).zip(&drive.shadow) {
        if let Some((slot, ..)) = sharing.slot_of(Lpn(page)) {
            contents[slot as usize] = Some(content);
        }
    }
    let found = (0..).zip(contents).filter_map(|(slot, content)| {
        let note = sharing.note(Lpn(slot), Cause::Cleaning).unwrap();
        Some(SlotPage { slot, sequence: 1, note, content: content? })
    });
    recover(&shape.config(), shape.logical_pages, found, &sharing.map_image()).unwrap()
}

#[test]
fn flushed_data_are_rebuilt() {
    for (kind, records, spare_blocks) in
        [("inline", 1, 2), ("inline", 7, 2), ("cagc", 3, 1), ("cagc", 5, 0), ("sampled", 2, 1)]
    {
        let shape =
            DriveConfig { placement: "references", logical_pages: 40, spare_blocks, ..logged(kind, records) };
        let mut drive = shape.build();
        let mut random = Seed(4).random();
        for _ in 0..60 {
            for _ in 0..20 {
                let page = random_below(&mut random, 40) as u32;
                match random_below(&mut random, 8) {
                    0 => drive.trim(&[page]),
                    _ => drive.write(&[page], &[1 + random_below(&mut random, 20)]),
                }
            }
            drive.layer.flush().unwrap();
            drive.check();
            let RecoveredMap { sharing, lost_pages, .. } = rebuilt(&shape, &drive);
            assert_eq!(lost_pages, 0);
            sharing.check().unwrap();
            for page in (0..40).map(Lpn) {
                let slot_and_references = |sharing: &SharedTables| {
                    sharing.slot_of(page).map(|(slot, references, _)| (slot, references))
                };
                assert_eq!(
                    slot_and_references(&sharing),
                    slot_and_references(drive.layer.sharing()),
                    "{kind}, {records} records: {page:?}"
                );
            }
        }
        let report = drive.dedup();
        assert!(report.map_log_pages > 40 && report.map_log_records > 60, "{report:?}");
        assert_eq!(report.merged_pages > 0, kind == "cagc", "{report:?}");
        let (layer_report, nand) = drive.reports();
        assert_eq!(layer_report.counters.outgoing_total(Operation::Write), nand.programs);
    }
}
