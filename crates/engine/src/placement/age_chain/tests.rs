use super::super::tests::{cleaned, host, try_build};
use super::*;
use crate::config::StoreSize;
use crate::seed::{Seed, random_below};
use serde_json::json;

/// Builds a drive of 200 blocks of 32 pages.
fn chain(config: &Config, logical_pages: u32) -> AgeChain {
    let size = StoreSize { blocks: 200, pages_per_block: 32, logical_pages, seed: Seed(1) };
    config.build(PlacementContext { size: &size, temperature: None, foresight: None }).unwrap()
}

#[test]
fn cleaning_moves_a_page_one_group_further() {
    let mut placement = try_build(json!({"kind": "midas", "groups": 4}), 100).unwrap();
    assert_eq!(placement.place(&host(1, 0)), StreamId(1));
    let groups: Vec<u8> = (0..4).map(|_| placement.place(&cleaned(1, 0, 0)).0).collect();
    assert_eq!(groups, [2, 3, 3, 3]);
    assert_eq!(placement.place(&host(1, 1)), StreamId(1), "written anew it begins anew");
    assert_eq!(
        placement.place(&cleaned(2, 1, 1)),
        StreamId(3),
        "of an unknown page nothing young is believed"
    );
    assert!(placement.target_blocks().is_empty(), "no epoch is over");
    // 4 + 1 bytes per page; an epoch of 400 pages has 13 entries of one block (32 pages).
    assert_eq!((placement.streams(), placement.memory_bytes()), (4, 500 + 4 * 13));
}

#[test]
fn pages_rewritten_young_become_hot() {
    let mut placement = chain(&Config::default(), 10);
    (0..10).for_each(|page| assert_eq!(placement.place(&host(page, u64::from(page))), StreamId(1)));
    let groups: Vec<u8> = (10..16).map(|now| placement.place(&host(3, now)).0).collect();
    assert_eq!(groups, [1, 1, 1, 0, 0, 0], "three early rewrites fill the counter");
    assert_eq!(
        placement.place(&cleaned(3, 16, 0)),
        StreamId(1),
        "a hot page that is cleaned joins the chain"
    );
    assert_eq!(placement.pages[3].counter(), 1, "and loses two");
    // Hot blocks reach an age of ten pages here. This rewrite is later, so the counter falls by one.
    placement.place(&host(3, 40));
    assert_eq!(placement.pages[3].counter(), 0);
    placement.trimmed(Lpn(3));
    assert_eq!((placement.pages[3], placement.mapped_pages), (PageState(0), 9));
}

/// Half of the writes cycle through 100 pages, the other half to random pages.
fn write_mixture(placement: &mut AgeChain, from: u64, to: u64) {
    let mut random = Seed(from).random();
    for now in from..to {
        let page = if now % 2 == 0 { now / 2 % 100 } else { 100 + random_below(&mut random, 4900) };
        placement.place(&host(page as u32, now));
    }
}

#[test]
fn groups_are_sized_after_an_epoch_and_released_if_the_model_was_wrong() {
    let mut placement = chain(&Config::default(), 5000);
    for page in 0..5000 {
        assert_eq!(placement.place(&host(page, u64::from(page))), StreamId(1));
    }
    write_mixture(&mut placement, 5000, 19_999);
    assert!(placement.target_blocks().is_empty());
    write_mixture(&mut placement, 19_999, 20_000);
    let targets = placement.target_blocks().to_vec();
    assert!((2..8).contains(&targets.len()), "{targets:?}");
    assert!(targets.iter().sum::<u32>() < 200, "{targets:?}");
    assert_eq!(usize::from(placement.last_group), targets.len(), "the last group has the rest");
    // Blocks reclaimed in the first drive write after resizing do not count.
    placement.reclaimed(StreamId(1), 20_000, 20_100, 32);
    write_mixture(&mut placement, 20_000, 25_000);
    assert_eq!(placement.check.observed[1], (0, 0.0));
    // Then group 1 turns out to be full of valid pages, contrary to the model.
    assert!(placement.expected[1] < 0.9, "{:?}", placement.expected);
    placement.reclaimed(StreamId(1), 20_000, 25_000, 32);
    write_mixture(&mut placement, 25_000, 30_000);
    assert_eq!(placement.target_blocks(), &targets[..1], "the hot group alone keeps its size");
    assert_eq!(placement.last_group, 7);
}

#[test]
fn settings_out_of_range_are_refused() {
    for (key, value) in [("groups", json!(2)), ("groups", json!(31)), ("epoch_drive_writes", json!(-1.0))] {
        let mut table = json!({"kind": "age_chain"});
        table[key] = value;
        assert_eq!(try_build(table, 10).err().unwrap().key, key);
    }
}
