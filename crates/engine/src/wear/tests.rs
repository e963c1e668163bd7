use super::erased_blocks::ErasedBlocks;
use super::*;
use crate::named_config_tests::NamedConfig;
use crate::seed::Seed;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn size(blocks: u32) -> StoreSize {
    StoreSize { blocks, pages_per_block: 8, logical_pages: 5 * blocks, seed: Seed(1) }
}

fn scan_of(blocks: u32, threshold: u32) -> Scan {
    ScanConfig { threshold, ..ScanConfig::default() }.policy(blocks).unwrap()
}

#[test]
fn config_matches_its_table() {
    NamedConfig::<WearConfig> {
        tag: "kind",
        entries: WEAR_LEVELLINGS,
        aliases: WEAR_ALIASES,
        entry_of: WearConfig::entry,
    }
    .check();
    assert_eq!(WearConfig::default().entry().name, "none");
}

#[test]
fn only_none_builds_no_policy_and_invalid_settings_are_refused() {
    for entry in WEAR_LEVELLINGS {
        let config: WearConfig = serde_json::from_value(serde_json::json!(entry.name)).unwrap();
        assert_eq!(config.build(&size(10)).unwrap().is_none(), entry.name == "none");
    }
    let key = |config: WearConfig| config.build(&size(10)).map(|_| ()).unwrap_err().key;
    let scan = ScanConfig { scans_per_write: 0, ..ScanConfig::default() };
    assert_eq!(key(WearConfig::Scan(scan)), "scans_per_write");
    assert_eq!(key(WearConfig::StartGap(StartGapConfig { interval: 1 })), "interval");
}

/// Returns the wear of a block in a device that has performed `erases` erases.
fn wear(erases: u32) -> impl Strategy<Value = BlockWear> {
    (0..40u32, 0..erases).prop_map(|(erases, erased_at)| BlockWear { erases, erased_at })
}

/// Number of erases that the tested devices have performed.
const ERASES: u32 = 500;

/// Creates a scan for a device that has performed [`ERASES`] erases.
fn scan_of_used(blocks: u32, threshold: u32) -> Scan {
    let mut scan = scan_of(blocks, threshold);
    (0..ERASES).for_each(|_| {
        scan.erased(BlockId(0), 1);
    });
    scan
}

fn naive_summary(values: &[u32]) -> Summary {
    let total: u32 = values.iter().sum();
    Summary {
        min: *values.iter().min().unwrap(),
        max: *values.iter().max().unwrap(),
        average: total / values.len() as u32,
    }
}

proptest! {
    /// Appendix D: "B full scans take place during one period" of K B flash writes, regardless of how the writes are
    /// grouped.
    #[test]
    fn period_has_as_many_scans_as_a_block_has_pages(
        (blocks, pages) in (1..40u32, 1..20u32),
        scans_per_write in 1..4u32,
        steps in prop::collection::vec(1..30u64, 1..40),
    ) {
        let config = ScanConfig { scans_per_write, ..ScanConfig::default() };
        let mut scan = config.policy(blocks).unwrap();
        let mut reads = vec![0; blocks as usize];
        let mut left = u64::from(blocks) * u64::from(pages);
        for &step in steps.iter().cycle() {
            let programs = step.min(left);
            let selected = scan.next_move(programs, &mut |block| {
                reads[block.index()] += 1;
                Some(BlockWear::default())
            });
            prop_assert_eq!(selected, None);
            left -= programs;
            if left == 0 {
                break;
            }
        }
        prop_assert_eq!(reads, vec![pages * scans_per_write; blocks as usize]);
        prop_assert_eq!(scan.scans(), u64::from(pages * scans_per_write));
        prop_assert_eq!(scan.counts(), vec![("wear scans", scan.scans())]);
    }

    /// The second scan selects exactly the blocks below the averages that the first scan found.
    #[test]
    fn scan_selects_unworn_blocks_with_old_data(
        wears in prop::collection::vec(prop::option::weighted(0.9, wear(ERASES)), 1..60),
        threshold in 0..12u32,
    ) {
        let mut scan = scan_of_used(wears.len() as u32, threshold);
        let mut read_wear = |block: BlockId| wears[block.index()];
        prop_assert_eq!(scan.next_move(wears.len() as u64, &mut read_wear), None);
        let mut selected = Vec::new();
        selected.extend(scan.next_move(wears.len() as u64, &mut read_wear));
        while let Some(block) = selected.last().and_then(|_| scan.next_move(0, &mut read_wear)) {
            selected.push(block);
        }
        let usable: Vec<BlockWear> = wears.iter().flatten().copied().collect();
        if usable.is_empty() {
            prop_assert_eq!((scan.statistics(), selected), (None, Vec::new()));
            return Ok(());
        }
        let erases: Vec<u32> = usable.iter().map(|wear| wear.erases).collect();
        let ages: Vec<u32> = usable.iter().map(|wear| ERASES - wear.erased_at).collect();
        let (erases, ages) = (naive_summary(&erases), naive_summary(&ages));
        prop_assert_eq!(scan.statistics(), Some(Statistics { erases, ages }));
        let expected = (0..wears.len()).filter(|&at| wears[at].is_some_and(|wear| {
            wear.erases + threshold < erases.average && ERASES - wear.erased_at > ages.average
        }));
        prop_assert_eq!(selected, expected.map(|at| BlockId(at as u32)).collect::<Vec<_>>());
    }

    /// The least and the most worn of the erased blocks are found; among equals, the first.
    #[test]
    fn pool_finds_least_and_most_worn_blocks(steps in prop::collection::vec((0..3u8, 0..5u32), 1..120)) {
        let (mut erased_blocks, mut free, mut worn) = (ErasedBlocks::default(), VecDeque::new(), BTreeMap::new());
        // Two blocks that were never erased are free, too.
        free.extend([BlockId(0), BlockId(1)]);
        let mut largest_len = 0;
        for (at, (step, erases)) in steps.into_iter().enumerate() {
            if step == 0 || free.is_empty() {
                let block = BlockId(at as u32 + 2);
                erased_blocks.add(block, erases);
                free.push_back(block);
                worn.insert(block, erases);
                largest_len = largest_len.max(worn.len());
                continue;
            }
            let wear = |block: &BlockId| worn.get(block).copied().unwrap_or(0);
            let all = free.iter().map(wear);
            let expected = if step == 1 { all.min() } else { all.max() }.unwrap();
            let first = free.iter().position(|block| wear(block) == expected).unwrap();
            prop_assert_eq!(erased_blocks.take(&free, step == 1), first);
            worn.remove(&free.remove(first).unwrap());
        }
        prop_assert_eq!(erased_blocks.ram().bytes, 2 * largest_len as u64);
    }

    /// Block `n` is moved at erase `(n + 1) interval`.
    #[test]
    fn rotation_depends_on_erases_only(
        (blocks, interval) in (1..20u32, 2..12u32),
        steps in prop::collection::vec((0..3u32, 0..50u64), 1..200),
    ) {
        let mut rotation = StartGapConfig { interval }.policy(blocks).unwrap();
        let (mut erases, mut moves) = (0, 0);
        for (erased, programs) in steps {
            erases += erased;
            (0..erased).for_each(|_| assert_eq!(rotation.erased(BlockId(0), 0), 0));
            let selected = rotation.next_move(programs, &mut |_| panic!("it reads nothing"));
            let is_due = erases >= (moves + 1) * interval;
            prop_assert_eq!(selected, is_due.then_some(BlockId(moves % blocks)));
            moves += u32::from(is_due);
        }
    }
}

#[test]
fn hot_pages_get_the_least_worn_block_and_moved_ones_the_most_worn() {
    let free: VecDeque<BlockId> = [3, 1, 2].map(BlockId).into();
    let erases = [(3, 20), (1, 30), (2, 10)];
    for (dynamic, hot, at) in [(true, true, 2), (true, false, 1), (false, true, 0), (false, false, 0)] {
        let mut scan = ScanConfig { dynamic, ..ScanConfig::default() }.policy(4).unwrap();
        erases.iter().for_each(|&(block, erases)| {
            scan.erased(BlockId(block), erases);
        });
        assert_eq!(scan.choose(&free, hot), at, "{dynamic} {hot}");
        assert_eq!(scan.uses_erase_counts(), dynamic);
    }
}

#[test]
fn recovery_restores_counter_statistics_and_pool() {
    let mut before = scan_of(4, 2);
    let mut wears = [BlockWear::default(); 4];
    for block in [1, 1, 1, 2, 1, 1, 2, 1, 1, 1, 1, 3] {
        let erases = wears[block].erases + 1;
        wears[block] = BlockWear { erases, erased_at: before.erased(BlockId(block as u32), erases) };
    }
    let found = |at: usize| RecoveredBlock { block: BlockId(at as u32), wear: wears[at], is_erased: at >= 2 };
    let found: Vec<RecoveredBlock> = (0..4).map(found).collect();
    let mut after = scan_of(4, 2);
    after.recover(&found);
    let statistics = after.statistics().unwrap();
    assert_eq!(statistics.erases, Summary { min: 0, max: 9, average: 3 });
    assert_eq!(statistics.ages, Summary { min: 1, max: 12, average: (12 + 2 + 6 + 1) / 4 });
    assert_eq!(after.choose(&[2, 3].map(BlockId).into(), false), 0);
    // The block that was never erased is moved without a scan, and the counter continues.
    assert_eq!(after.next_move(1, &mut |block| Some(wears[block.index()])), Some(BlockId(0)));
    assert_eq!(after.erased(BlockId(0), 1), before.erased(BlockId(0), 1));
    // Flash that was never erased is new, and has no counts.
    let mut new_flash = scan_of(4, 2);
    new_flash.recover(&[RecoveredBlock { is_erased: true, ..found[0] }]);
    assert_eq!((new_flash.ram()[3].bytes, new_flash.erased(BlockId(0), 1)), (0, 0));
}

/// A policy that ignores wear opens blocks in the order in which they were erased.
#[test]
fn rotation_opens_blocks_in_order_and_counts_nothing() {
    let mut rotation = StartGapConfig::default().policy(4).unwrap();
    let free: VecDeque<BlockId> = [3, 1].map(BlockId).into();
    assert_eq!([true, false].map(|hot| rotation.choose(&free, hot)), [0, 0]);
    assert!(!rotation.uses_erase_counts());
    assert_eq!(rotation.counts(), []);
}

/// Appendix D: 24 bytes of statistics and 4 of the counter, plus the position of the scan and its partial statistics.
#[test]
fn ram_matches_the_paper_plus_the_scan_state() {
    let bytes: Vec<u64> = scan_of(1 << 20, 8).ram().iter().map(|part| part.bytes).collect();
    assert_eq!(bytes, [24, 4, 40, 0]);
    let rotation = StartGapConfig::default().policy(1 << 20).unwrap();
    assert_eq!(rotation.ram().iter().map(|part| part.bytes).sum::<u64>(), 8);
}
