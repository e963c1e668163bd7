//! Invalid stores are rejected with the name of the wrong setting; the smallest valid stores are accepted.

use super::drive::{DOUBLE, SINGLE, StreamByPageNumber, build, config, flash};
use crate::layer::{ContentId, Layer, LayerError};
use crate::log::{BlockTable, LogStore, Reclaim, StoreConfig};
use crate::nand::{Geometry, Nand, Wear};
use crate::placement::Placement;
use crate::seed::Seed;
use crate::units::Lpn;

const POOL: Reclaim = Reclaim::FreePool { low: 1, high: 1 };

fn rejected_key(blocks: u32, config: StoreConfig, placement: impl Placement) -> Option<String> {
    build(config, flash(blocks, Wear::default()), placement).err().map(|error| error.key)
}

#[test]
fn too_few_blocks_are_rejected() {
    // Seven pages need three blocks of 3 pages. In addition, the store needs a block for each stream and the blocks of
    // the pool, at least two.
    for (reclaim, single, double) in [
        (Reclaim::InPlace, 4, 5),
        (POOL, 6, 7),
        (Reclaim::FreePool { low: 1, high: 2 }, 6, 7),
        (Reclaim::FreePool { low: 2, high: 2 }, 7, 8),
        (Reclaim::FreePool { low: 1, high: 5 }, 9, 10),
    ] {
        let too_small = Some("logical_pages".to_owned());
        assert_eq!(rejected_key(single, config(7, reclaim), SINGLE()), None, "{reclaim:?}");
        assert_eq!(rejected_key(single - 1, config(7, reclaim), SINGLE()), too_small, "{reclaim:?}");
        assert_eq!(rejected_key(double, config(7, reclaim), DOUBLE()), None, "{reclaim:?}");
        assert_eq!(rejected_key(double - 1, config(7, reclaim), DOUBLE()), too_small, "{reclaim:?}");
        assert_eq!(rejected_key(100, config(0, reclaim), SINGLE()), too_small);
    }
    let bad = Wear { factory_bad_blocks: 1, ..Wear::default() };
    assert!(build(config(7, POOL), flash(6, bad), SINGLE()).is_err());
    assert!(build(config(7, POOL), flash(7, bad), SINGLE()).is_ok());
}

#[test]
fn invalid_watermarks_are_rejected() {
    let reclaim =
        |low: u32, high: u32| rejected_key(30, config(7, Reclaim::FreePool { low, high }), SINGLE());
    assert_eq!((reclaim(1, 1), reclaim(2, 3)), (None, None));
    assert_eq!(reclaim(0, 3).as_deref(), Some("reclaim"));
    assert_eq!(reclaim(3, 2).as_deref(), Some("reclaim"));
    assert_eq!(
        rejected_key(30, config(7, Reclaim::InPlace), StreamByPageNumber(2)).as_deref(),
        Some("reclaim")
    );
    assert_eq!(rejected_key(30, config(7, POOL), StreamByPageNumber(2)), None);
}

#[test]
fn deferred_watermark_must_be_below_low_watermark() {
    let deferred = |low: u32, deferred: u32| {
        let config = StoreConfig {
            deferred_low: Some(deferred),
            ..config(7, Reclaim::FreePool { low, high: low + 1 })
        };
        rejected_key(30, config, SINGLE())
    };
    assert_eq!((deferred(3, 1), deferred(3, 2)), (None, None));
    assert_eq!(deferred(3, 0).as_deref(), Some("free_blocks_deferred"));
    assert_eq!(deferred(3, 3).as_deref(), Some("free_blocks_deferred"));
    let in_place = StoreConfig { deferred_low: Some(1), ..config(7, Reclaim::InPlace) };
    assert_eq!(rejected_key(30, in_place, SINGLE()).as_deref(), Some("free_blocks_deferred"));
}

#[test]
fn unreachable_idle_watermark_is_rejected() {
    // Of 10 blocks, the store needs 6, two of which are for the pool: the pool can therefore grow to 6 blocks.
    let idle = |reclaim: Reclaim, idle: u32| {
        rejected_key(10, StoreConfig { idle_high: Some(idle), ..config(7, reclaim) }, SINGLE())
    };
    assert_eq!((idle(POOL, 2), idle(POOL, 6)), (None, None));
    assert_eq!(idle(POOL, 1).as_deref(), Some("free_blocks_idle"));
    assert_eq!(idle(POOL, 7).as_deref(), Some("free_blocks_idle"));
    let high = Reclaim::FreePool { low: 1, high: 3 };
    assert_eq!((idle(high, 3), idle(high, 2).as_deref()), (None, Some("free_blocks_idle")));
    assert_eq!(idle(Reclaim::InPlace, 3).as_deref(), Some("free_blocks_idle"));
}

#[test]
fn eviction_requires_page_identities_and_a_pool() {
    let evict =
        |reclaim: Reclaim| rejected_key(30, StoreConfig { evicts: true, ..config(7, reclaim) }, SINGLE());
    assert_eq!((evict(POOL), evict(Reclaim::InPlace).as_deref()), (None, Some("evict")));
}

/// Creates a store with a directory that stores only the block of each page.
fn counting_store(
    reclaim: Reclaim,
    placement: impl Placement,
    evict: bool,
) -> Result<impl Layer<()>, crate::config::ConfigError> {
    let nand = Nand::<()>::new(Geometry::flat(30, 3, 4096), Wear::default(), Seed(1));
    let config = StoreConfig { evicts: evict, ..config(7, reclaim) };
    LogStore::new(config, nand, BlockTable::new(7), super::drive::Fifo::default(), placement)
}

#[test]
fn block_table_requires_single_frontier_reclaimed_in_place() {
    let key = |store: Result<_, crate::config::ConfigError>| store.map(drop).map_err(|error| error.key);
    assert_eq!(key(counting_store(Reclaim::InPlace, SINGLE(), false).map(|_| ())), Ok(()));
    assert_eq!(
        key(counting_store(Reclaim::InPlace, DOUBLE(), false).map(|_| ())),
        Err("directory".to_owned())
    );
    assert_eq!(key(counting_store(POOL, SINGLE(), false).map(|_| ())), Err("directory".to_owned()));
    assert_eq!(key(counting_store(POOL, SINGLE(), true).map(|_| ())), Err("evict".to_owned()));
}

#[test]
fn request_with_page_out_of_range_is_rejected_completely() {
    let mut store = build(config(7, POOL), flash(6, Wear::default()), SINGLE()).unwrap();
    let rejected = LayerError::OutOfRange { page: 7, pages: 7 };
    let (pages, data) = ([Lpn(1), Lpn(7)], [ContentId(1), ContentId(2)]);
    assert_eq!(store.write(&pages, &data, 0), Err(rejected.clone()));
    assert_eq!(store.trim(&pages), Err(rejected.clone()));
    assert_eq!(store.read(&pages, &mut Vec::new()), Err(rejected));
    assert_eq!(super::drive::reports(&store).0.counters, crate::counters::Counters::default());
    assert_eq!(store.logical_pages(), 7);
}
