use super::super::tests::{cleaned, host, try_build};
use super::*;
use crate::config::StoreSize;
use crate::seed::{Seed, random_below};
use serde_json::json;

fn build(config: &Config, logical_pages: u32) -> LearntLifetimes {
    let size = StoreSize { blocks: 100, pages_per_block: 32, logical_pages, seed: Seed(1) };
    config.build(PlacementContext { size: &size, temperature: None, foresight: None }).unwrap()
}

#[test]
fn past_is_two_intervals_or_one_and_the_neighbourhood() {
    // The drive has 4,096 pages, so a unit of age is one page.
    let mut placement = build(&Config::default(), 4096);
    placement.place(&host(7, 0));
    assert_eq!(placement.states[7], 0b1111_0111, "new, and so are its neighbours");
    placement.place(&host(8, 1));
    assert_eq!(placement.states[8], 0b1111_0111, "of the same run");
    // An interval of 5 pages is in octave 3 (4 to 7). The page has no other interval, and its neighbours were last
    // written 5 pages ago, in the second pair of octaves.
    placement.place(&host(7, 5));
    assert_eq!(placement.states[7], 0b0011_0001);
    // An interval of 100 pages is in octave 7 (64 to 127), after an interval in octave 3, which is in the second pair
    // of octaves.
    placement.place(&host(7, 105));
    assert_eq!(placement.states[7], 0b0111_1001);
    // A run that continues into other neighbourhoods keeps the value of its first page: a write 200 pages ago, octave
    // 8.
    placement.place(&host(63, 305));
    placement.place(&host(64, 306));
    assert_eq!([placement.states[63], placement.states[64]], [0b1111_0100; 2]);
    // The run also counts as a write to the next neighbourhood.
    placement.place(&host(70, 307));
    assert_eq!(placement.states[70], 0b1111_0000);
    assert_eq!(placement.octave(0), 0);
    assert_eq!([1, 2, 4095, 4096].map(|age| placement.octave(age)), [1, 2, 12, 13]);
    // 4 + 1 bytes per page, 4 per 64 pages; three tables of 5,120 numbers of 4 bytes, and one table of bytes.
    assert_eq!(placement.memory_bytes(), 5 * 4096 + 4 * 64 + 5120 * 13);
}

#[test]
fn first_epoch_places_pages_by_their_last_interval() {
    let mut placement = build(&Config { classes: 5, ..Config::default() }, 4096);
    assert_eq!(placement.place(&host(1, 0)), StreamId(4), "new");
    assert_eq!(placement.place(&host(1, 2)), StreamId(0), "octave 2 of 15: class 0 of 5");
    assert_eq!(placement.place(&host(1, 1002)), StreamId(3), "octave 10: class 3");
    assert_eq!(placement.place(&cleaned(2, 1003, 0)), StreamId(4), "nothing is known of it");
}

/// Half of the writes cycle through 64 pages, the other half to random pages.
fn write_mixture(placement: &mut LearntLifetimes, from: u64, to: u64) {
    let mut random = Seed(3).random();
    for now in from..to {
        let page = if now % 2 == 0 { now / 2 % 64 } else { 64 + random_below(&mut random, 4000) };
        placement.place(&host(page as u32, now));
    }
}

#[test]
fn short_lived_and_long_lived_pages_get_different_streams() {
    let mut placement = build(&Config { classes: 2, ..Config::default() }, 4096);
    write_mixture(&mut placement, 0, 40_000);
    assert_eq!(placement.place(&host(32, 40_000)), StreamId(0), "its turn, and the next is in 128 writes");
    assert_eq!(placement.place(&cleaned(1, 40_000, 0)), StreamId(0), "the same while it is cleaned");
    assert_eq!(placement.place(&host(4000, 40_001)), StreamId(1), "dies in some 8,000");
    assert_eq!(placement.place(&cleaned(4001, 40_001, 0)), StreamId(1));
    // Page 2 has lived far longer than similar pages did: its remaining life is long.
    assert_eq!(placement.place(&cleaned(2, 60_000, 0)), StreamId(1));
}

#[test]
fn trim_counts_as_invalidation_and_clears_the_past() {
    let mut placement = build(&Config::default(), 4096);
    placement.place(&host(3, 0));
    placement.place(&host(5, 100));
    placement.trimmed(Lpn(3));
    placement.trimmed(Lpn(3));
    assert_eq!(placement.place(&cleaned(3, 101, 0)), StreamId(5), "unknown");
    placement.place(&host(3, 101));
    assert_eq!(placement.states[3] >> 4, FIRST_WRITE);
}

#[test]
fn settings_out_of_range_are_refused() {
    for (key, value) in [
        ("classes", json!(0)),
        ("epoch_drive_writes", json!(0.0)),
        ("memory", json!(1.0)),
        ("memory", json!(-0.1)),
    ] {
        let mut table = json!({"kind": "learnt_lifetimes"});
        table[key] = value;
        assert_eq!(try_build(table, 10).err().unwrap().key, key);
    }
}
