//! References, marks and their counts.

use super::*;

#[test]
fn slot_takes_16_bytes() {
    assert_eq!(Slots::new(10).memory_bytes(), 160);
    assert_eq!(Slots::new(10).len(), 10);
}

#[test]
fn slots_are_counted_by_their_references() {
    let mut slots = Slots::new(7);
    assert_eq!(slots.live_by_references(), [0, 0, 0, 0]);
    // 0, 1, 2, 3, 4, 5 and 1000 references: three slots have more than 3.
    for (slot, references) in (0..).zip([0, 1, 2, 3, 4, 5, 1000]) {
        slots.set_references(slot, references);
        assert_eq!(slots.references(slot), references);
        slots.check().unwrap();
    }
    assert_eq!(slots.live_by_references(), [1, 1, 1, 3]);
    slots.set_references(6, 4);
    slots.set_references(5, 3);
    slots.set_references(1, 0);
    assert_eq!(slots.live_by_references(), [0, 1, 2, 2]);
    slots.check().unwrap();
}

#[test]
fn marks_are_independent_of_each_other_and_of_other_slots() {
    let mut slots = Slots::new(3);
    let read = |slots: &Slots| {
        [0, 1, 2].map(|slot| (slots.is_cold(slot), slots.is_retained(slot), slots.peak(slot)))
    };
    let fresh = (false, false, 1);
    assert_eq!(read(&slots), [fresh; 3]);
    slots.set_references(1, 3);
    slots.update_peak(1);
    slots.set_cold(1, true);
    assert_eq!(read(&slots), [fresh, (true, false, 3), fresh]);
    slots.set_retained(1, true);
    assert_eq!(read(&slots), [fresh, (true, true, 3), fresh]);
    slots.set_cold(1, false);
    assert_eq!(read(&slots), [fresh, (false, true, 3), fresh]);
    slots.set_cold(1, true);
    slots.set_retained(1, false);
    slots.update_peak(1);
    assert_eq!(read(&slots), [fresh, (true, false, 3), fresh]);
    slots.set_retained(1, true);
    slots.clear_marks(1);
    assert_eq!(read(&slots), [fresh; 3]);
    assert_eq!(slots.references(1), 3, "references are no mark");
}

#[test]
fn peak_is_highest_reference_count_up_to_four() {
    let mut slots = Slots::new(1);
    let mut peak_of = |references: u32| {
        slots.set_references(0, references);
        slots.update_peak(0);
        slots.peak(0)
    };
    assert_eq!([1, 2, 1, 3, 0, 9, 4, 2].map(&mut peak_of), [1, 2, 2, 3, 3, 4, 4, 4]);
    slots.clear_marks(0);
    assert_eq!(slots.peak(0), 1, "what was stored once had one reference");
}

#[test]
fn content_of_one_slot_leaves_others_unchanged() {
    let mut slots = Slots::new(2);
    assert_eq!(slots.content(1), ContentId::UNKNOWN);
    slots.set_content(1, ContentId(5));
    assert_eq!([slots.content(0), slots.content(1)], [ContentId::UNKNOWN, ContentId(5)]);
}

#[test]
fn wrong_counts_are_detected() {
    let mut slots = Slots::new(3);
    slots.set_references(2, 2);
    slots.check().unwrap();
    slots.slots[2].references = 1;
    assert!(slots.check().unwrap_err().contains("by references"));
}
