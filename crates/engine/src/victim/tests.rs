//! Tests of each policy on hand-made block tables, and comparisons of all policies with naive models.

use super::*;
use crate::foresight::{FutureOperations, HostOp};
use crate::named_config_tests::NamedConfig;
use crate::seed::{Random, Seed, random_below};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::cell::Cell;

fn config(value: Value) -> VictimConfig {
    serde_json::from_value(value).unwrap()
}

/// Returns every policy with default settings.
fn configs() -> impl Iterator<Item = VictimConfig> {
    VICTIMS.iter().map(|entry| config(json!(entry.name)))
}

/// Builds the policy, without knowledge of future writes.
fn build(value: Value, size: &StoreSize) -> Result<Box<dyn VictimPolicy>, ConfigError> {
    config(value).build_with_foresight(size, &Foresight::none())
}

fn size(blocks: u32, pages_per_block: u32, logical_pages: u32) -> StoreSize {
    StoreSize { blocks, pages_per_block, logical_pages, seed: Seed(11) }
}

/// Builds the policy and closes the blocks in the order of their numbers.
fn policy_for(value: Value, blocks: &Blocks) -> Box<dyn VictimPolicy> {
    let size = size(blocks.len(), blocks.pages_per_block(), blocks.logical_pages());
    let mut policy = build(value, &size).unwrap();
    for block in (0..blocks.len()).map(BlockId) {
        policy.closed(block, blocks);
    }
    policy
}

/// Returns the victims, in order, of blocks of 10 pages; a row is (valid pages, age, erases).
fn victims(value: Value, rows: &[(u32, u64, u32)]) -> Vec<u32> {
    let mut blocks = Blocks::of_candidates(10, 5 * rows.len() as u32, rows);
    let mut policy = policy_for(value, &blocks);
    let mut victims = Vec::new();
    for _ in rows {
        let victim = policy.select(&blocks);
        assert!(blocks.is_candidate(victim));
        blocks.take(victim);
        victims.push(victim.0);
    }
    victims
}

fn rows_of_valid(valid: &[u32]) -> Vec<(u32, u64, u32)> {
    valid.iter().map(|&valid| (valid, 1, 1)).collect()
}

#[test]
fn greedy_takes_the_fewest_valid_pages() {
    assert_eq!(victims(json!("greedy"), &rows_of_valid(&[7, 3, 10, 0, 5])), [3, 1, 4, 0, 2]);
}

#[test]
fn fifo_takes_blocks_in_closing_order() {
    assert_eq!(victims(json!("fifo"), &rows_of_valid(&[7, 3, 10, 0, 5])), [0, 1, 2, 3, 4]);
}

#[test]
fn many_choices_find_the_fewest_valid_pages() {
    let value = json!({"policy": "d_choices", "choices": 200});
    assert_eq!(victims(value, &rows_of_valid(&[7, 3, 10, 0, 5])), [3, 1, 4, 0, 2]);
}

#[test]
fn windowed_greedy_stays_within_its_window() {
    let rows = rows_of_valid(&[7, 3, 9, 0, 3, 3]);
    let victims = |window: u32| victims(json!({"policy": "windowed_greedy", "window": window}), &rows);
    assert_eq!(victims(1), [0, 1, 2, 3, 4, 5]);
    assert_eq!(victims(2), [1, 0, 3, 4, 5, 2]);
    assert_eq!(victims(3), [1, 3, 4, 5, 0, 2]);
    assert_eq!(victims(100), [3, 1, 4, 5, 0, 2]);
}

#[test]
fn cost_benefit_weighs_age_against_utilisation() {
    // (1 - u) * (age + 1) / (1 + u): 0.9 / 1.1 * 100 = 82, 0.5 / 1.5 * 1000 = 333, 0, 0.2 / 1.8 * 400 = 44, 1.
    let rows = [(1, 99, 0), (5, 999, 0), (10, 5000, 0), (8, 399, 0), (0, 0, 0)];
    assert_eq!(victims(json!("cost_benefit"), &rows), [1, 0, 3, 4, 2]);
    // (1 - u) * (age + 1) / 2u: 450, 500, 0, 50, infinite.
    let moved_pages_only = json!({"policy": "cost_benefit", "read_whole_block": false});
    assert_eq!(victims(moved_pages_only, &rows), [4, 1, 0, 3, 2]);
}

#[test]
fn cost_age_time_also_weighs_wear() {
    // u / (1 - u) * (erases + 1) / (age + 1): 1/100, 9/100, 11/1000, 0, infinite, 1/50.
    // The age of a block closed just now is 1.
    let rows = [(5, 99, 0), (5, 99, 8), (5, 999, 10), (0, 0, 1000), (10, 5000, 0), (5, 99, 1), (5, 0, 0)];
    assert_eq!(victims(json!("cost_age_time"), &rows), [3, 0, 2, 5, 1, 6, 4]);
}

#[test]
fn large_samples_find_the_cheapest() {
    let rows = [(1, 99, 3), (5, 999, 1), (10, 5000, 2), (8, 399, 9), (0, 0, 1)];
    for policy in ["cost_benefit", "cost_age_time"] {
        let sampled = json!({"policy": policy, "sample": 200});
        assert_eq!(victims(sampled, &rows), victims(json!(policy), &rows));
    }
}

/// Returns the fraction of many selections from a constant table in which each block is selected.
fn selection_fractions(value: Value, valid: &[u32]) -> Vec<f64> {
    const DRAWS: u32 = 20_000;
    // Logical pages are half of the physical ones: a mean of 5 valid pages.
    let blocks = Blocks::of_candidates(10, 5 * valid.len() as u32, &rows_of_valid(valid));
    let mut policy = policy_for(value, &blocks);
    let mut taken = vec![0u32; valid.len()];
    (0..DRAWS).for_each(|_| taken[policy.select(&blocks).index()] += 1);
    taken.iter().map(|&taken| f64::from(taken) / f64::from(DRAWS)).collect()
}

fn assert_close(shares: &[f64], expected: &[f64]) {
    let close = shares.iter().zip(expected).all(|(share, expected)| (share - expected).abs() < 0.02);
    assert!(close, "{shares:?}, expected {expected:?}");
}

#[test]
fn random_policies_choose_evenly_among_suitable_blocks() {
    let third = 1.0 / 3.0;
    assert_close(&selection_fractions(json!("random"), &[4, 5, 9, 10]), &[0.25; 4]);
    // A block that has exactly the mean of 5 valid pages is not below the mean.
    assert_close(&selection_fractions(json!("random_plus_plus"), &[4, 5, 0, 10]), &[0.5, 0.0, 0.5, 0.0]);
    assert_close(&selection_fractions(json!("random_not_full"), &[4, 5, 9, 10]), &[third, third, third, 0.0]);
}

#[test]
fn random_policies_take_any_block_if_none_is_suitable() {
    assert_close(&selection_fractions(json!("random_plus_plus"), &[5, 10, 6, 9]), &[0.25; 4]);
    assert_close(&selection_fractions(json!("random_not_full"), &[10, 10, 10, 10]), &[0.25; 4]);
}

#[test]
fn single_suitable_block_among_many_is_found_by_the_scan() {
    let mut valid = vec![10; 5000];
    valid[1234] = 9;
    valid[4321] = 2;
    let blocks = Blocks::of_candidates(10, 25_000, &rows_of_valid(&valid));
    let mut not_full = policy_for(json!("random_not_full"), &blocks);
    let mut below_average = policy_for(json!("random++"), &blocks);
    for _ in 0..50 {
        assert!([1234, 4321].contains(&not_full.select(&blocks).0));
        assert_eq!(below_average.select(&blocks), BlockId(4321));
    }
}

/// One step in the life of a block table; the numbers select a block among the eligible ones.
#[derive(Clone, Debug)]
enum Step {
    Open,
    Close(u16),
    Invalidate(u16),
    Clean,
    /// The engine takes a candidate that no policy selected, and erases it or closes it again.
    Take(u16),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        2 => Just(Step::Open),
        2 => any::<u16>().prop_map(Step::Close),
        12 => any::<u16>().prop_map(Step::Invalidate),
        1 => Just(Step::Clean),
        1 => any::<u16>().prop_map(Step::Take),
    ];
    proptest::collection::vec(step, 0..600)
}

/// A policy and its block table.
struct Table<V> {
    blocks: Blocks,
    policy: V,
    erased: Vec<BlockId>,
    open: Vec<BlockId>,
}

impl<V: VictimPolicy> Table<V> {
    fn new(policy: V, size: &StoreSize) -> Self {
        let blocks = Blocks::new(size.blocks, size.pages_per_block, size.logical_pages, policy.needs());
        Table { blocks, policy, erased: (0..size.blocks).map(BlockId).collect(), open: Vec::new() }
    }

    /// Executes the step, if possible; returns the victim of a cleaning step.
    fn step(&mut self, step: &Step) -> Option<BlockId> {
        self.blocks.advance(1);
        match *step {
            Step::Open => {
                let block = self.erased.pop()?;
                self.blocks.open(block);
                self.open.push(block);
            }
            Step::Close(which) if !self.open.is_empty() => {
                let block = self.open.remove(usize::from(which) % self.open.len());
                self.blocks.close(block);
                self.policy.closed(block, &self.blocks);
            }
            Step::Invalidate(which) => {
                let mut with_valid_pages: Vec<BlockId> = self.blocks.iter_candidates().collect();
                with_valid_pages.extend(&self.open);
                with_valid_pages.retain(|&block| self.blocks.valid_pages(block) > 0);
                let &block = with_valid_pages.get(usize::from(which).checked_rem(with_valid_pages.len())?)?;
                let score = self.blocks.invalidate(block);
                self.policy.invalidated(block, score, &self.blocks);
            }
            Step::Clean if self.blocks.candidates() > 0 => {
                let victim = self.policy.select(&self.blocks);
                assert!(self.blocks.is_candidate(victim), "{victim:?} is no candidate");
                self.blocks.take(victim);
                self.blocks.erased(victim);
                self.erased.push(victim);
                return Some(victim);
            }
            Step::Take(which) if self.blocks.candidates() > 0 => {
                let at = usize::from(which / 2) % self.blocks.candidates() as usize;
                let block = self.blocks.iter_candidates().nth(at).expect("so many candidates");
                self.blocks.take(block);
                self.policy.taken(block);
                if which % 2 == 0 {
                    self.blocks.erased(block);
                    self.erased.push(block);
                } else {
                    self.blocks.close(block);
                    self.policy.closed(block, &self.blocks);
                }
            }
            _ => {}
        }
        None
    }
}

proptest! {
    #[test]
    fn greedy_agrees_with_a_search_of_all_blocks(steps in steps()) {
        let size = size(40, 6, 150);
        let mut table = Table::new(greedy::Config {}.build(&size).unwrap(), &size);
        for step in &steps {
            let scores: Vec<u32> = table.blocks.scores().to_vec();
            if let Some(victim) = table.step(step) {
                prop_assert_eq!(scores[victim.index()], *scores.iter().min().unwrap());
            }
        }
    }

    #[test]
    fn windowed_greedy_with_one_block_is_fifo(steps in steps()) {
        let size = size(40, 6, 150);
        let mut fifo = Table::new(fifo::Config {}.build(&size).unwrap(), &size);
        let mut windowed = Table::new(windowed_greedy::Config { window: 1 }.build(&size).unwrap(), &size);
        for step in &steps {
            prop_assert_eq!(fifo.step(step), windowed.step(step));
        }
    }
}

/// Runs a policy through a long seeded script; returns all its victims and its last draw.
struct SeededRun(StoreSize);

impl VictimVisitor for SeededRun {
    type Output = (Vec<BlockId>, u64);

    fn visit<V: VictimPolicy + 'static>(self, policy: V) -> Self::Output {
        let mut random: Random = Seed(3).random();
        let mut table = Table::new(policy, &self.0);
        let mut victims = Vec::new();
        for _ in 0..20_000 {
            let which = random_below(&mut random, 1 << 16) as u16;
            let step = match random_below(&mut random, 16) {
                0..2 => Step::Open,
                2..4 => Step::Close(which),
                4 => Step::Clean,
                5 => Step::Take(which),
                _ => Step::Invalidate(which),
            };
            victims.extend(table.step(&step));
        }
        (victims, table.policy.final_draw())
    }
}

/// All victims are candidates: [`Table::step`] rejects all other blocks.
#[test]
fn boxed_and_specialised_policies_take_the_same_victims() {
    let size = size(60, 8, 300);
    // No engine is monomorphised for policies that need foresight.
    for config in configs().filter(|config| !config.needs_foresight()) {
        let name = config.entry().name;
        let (victims, draw) = config.visit(&size, SeededRun(size)).unwrap();
        assert!(victims.len() > 500, "{name}: only {} victims", victims.len());
        let boxed = SeededRun(size).visit(config.build_boxed(&size).unwrap());
        assert_eq!((victims, draw), boxed, "{name}");
        assert_eq!(draw > u64::from(u16::MAX), config.properties().draws_random, "{name}: {draw}");
    }
}

#[test]
fn config_matches_its_table() {
    NamedConfig { tag: "policy", entries: VICTIMS, aliases: VICTIM_ALIASES, entry_of: VictimConfig::entry }
        .check();
    assert!(
        [("random++", "random_plus_plus"), ("windowed", "windowed_greedy")]
            .iter()
            .all(|kept| VICTIM_ALIASES.contains(kept))
    );
}

fn parse_error(value: Value) -> String {
    serde_json::from_value::<VictimConfig>(value).unwrap_err().to_string()
}

#[test]
fn unknown_keys_and_other_types_are_refused_with_the_choices() {
    let message = parse_error(json!({"policy": "d_choices", "choises": 3}));
    assert!(message.contains("`choises`") && message.contains("`choices`"), "{message}");
    assert!(parse_error(json!({"policy": "greedy", "choices": 3})).contains("`choices`"));
    let message = parse_error(json!(3));
    assert!(message.contains("the name of a victim policy, or a table"), "{message}");
}

#[test]
fn settings_out_of_range_are_refused_by_key() {
    let cases = [
        (json!({"policy": "d_choices", "choices": 0}), "choices"),
        (json!({"policy": "d_choices", "choices": 65_537}), "choices"),
        (json!({"policy": "completing", "choices": 65_537}), "choices"),
        (json!({"policy": "cost_benefit", "sample": 65_537}), "sample"),
        (json!({"policy": "windowed_greedy", "window": 0}), "window"),
        (json!({"policy": "cost_benefit", "sample": 0}), "sample"),
        (json!({"policy": "cost_age_time", "sample": 0}), "sample"),
        (json!({"policy": "completing", "choices": 0}), "choices"),
        (json!({"policy": "completing", "weight": -0.5}), "weight"),
        (json!({"policy": "foresight", "look_ahead": 0.0}), "look_ahead"),
        (json!({"policy": "foresight", "sample": 0}), "sample"),
    ];
    for (value, key) in cases {
        let error = build(value, &size(8, 4, 16)).err().expect("refused");
        assert_eq!(error.key, key);
    }
}

#[test]
fn draws_are_limited_by_the_number_of_blocks() {
    let is_accepted = |choices: u32, blocks: u32| {
        build(json!({"policy": "d_choices", "choices": choices}), &size(blocks, 4, 2 * blocks)).is_ok()
    };
    assert!(is_accepted(65_536, 8) && !is_accepted(65_537, 8));
    assert!(is_accepted(128_000, 2000) && !is_accepted(128_001, 2000));
}

/// Layer below that counts the queries.
#[derive(Default)]
struct Queried(Cell<u32>);

impl LowerLayerView for Queried {
    fn left_valid(&self, _block: BlockId) -> f64 {
        self.0.set(self.0.get() + 1);
        0.5
    }
}

#[test]
fn only_policies_that_look_below_query_the_layer_below() {
    let blocks = Blocks::of_candidates(10, 50, &rows_of_valid(&[3; 10]));
    for config in configs() {
        let (below, name) = (Queried::default(), config.entry().name);
        policy_for(json!(name), &blocks).select_above(&blocks, &below);
        assert_eq!(below.0.get() > 0, config.looks_below(), "{name}");
        assert_eq!(config.looks_below(), config.properties().looks_below, "{name}");
    }
    let weightless = config(json!({"policy": "completing", "weight": 0.0}));
    assert!(!weightless.looks_below() && weightless.build_boxed(&size(8, 4, 16)).is_ok());
}

/// Data that a policy does not need is not stored, so boxed policies must report their needs, too.
#[test]
fn policies_report_their_needs() {
    for config in configs() {
        let name = config.entry().name;
        let boxed = build(json!(name), &size(8, 4, 16)).unwrap();
        assert_eq!(boxed.needs(), config.properties().needs, "{name}");
    }
}

#[test]
fn policies_with_lists_report_their_memory() {
    let blocks = Blocks::of_candidates(10, 500, &rows_of_valid(&[3; 100]));
    for config in configs() {
        let name = config.entry().name;
        let mut policy = policy_for(json!(name), &blocks);
        assert!(blocks.is_candidate(policy.select(&blocks)));
        let bytes = policy.memory_bytes();
        let allowed = if config.properties().keeps_lists { 4 * 100..=40 * 100 } else { 0..=0 };
        assert!(allowed.contains(&bytes), "{name}: {bytes} for 100 blocks");
    }
}

/// Only watched blocks are taken in this order. After the first victim, all blocks are watched, because their counts
/// are equal.
#[test]
fn greedy_takes_the_block_that_reached_its_count_last() {
    let mut blocks = Blocks::of_candidates(10, 500, &rows_of_valid(&[5; 100]));
    let mut policy = policy_for(json!("greedy"), &blocks);
    blocks.take(policy.select(&blocks));
    let order: Vec<BlockId> =
        (0..100).map(|at| BlockId(37 * at % 100)).filter(|&block| blocks.is_candidate(block)).collect();
    for &block in &order {
        let score = blocks.invalidate(block);
        policy.invalidated(block, score, &blocks);
    }
    for &block in order.iter().rev() {
        assert_eq!(policy.select(&blocks), block);
        blocks.take(block);
    }
}

/// Of many blocks, the greedy policy only watches one in 32: those with the fewest valid pages.
#[test]
fn greedy_watches_only_blocks_with_few_valid_pages() {
    let valid: Vec<u32> = (0..3200).map(|block| 1 + block % 99).collect();
    let rows = rows_of_valid(&valid);
    let blocks = Blocks::of_candidates(100, 200_000, &rows);
    let mut policy = policy_for(json!("greedy"), &blocks);
    assert_eq!(blocks.valid_pages(policy.select(&blocks)), 1);
    // Each of four counts has 33 blocks, and the stack of a count may have twice that capacity.
    assert!((4 * 100..=2 * 4 * 132).contains(&policy.memory_bytes()), "{}", policy.memory_bytes());
}

/// A host that writes the given pages.
struct Writes(std::vec::IntoIter<u32>);

impl FutureOperations for Writes {
    fn next(&mut self, sink: &mut dyn FnMut(HostOp)) -> bool {
        self.0.next().map(|page| sink(HostOp::Write(Lpn(page)))).is_some()
    }
}

/// Three blocks of four pages, written in the order of their numbers.
#[test]
fn foresight_takes_the_block_that_would_wait_longest() {
    // Blocks 0 and 1 both have two invalid pages at write 12. Writes 13 and 14 invalidate the other pages of block 0;
    // the other pages of block 1 stay valid.
    let written = vec![0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 4, 5, 8, 2, 3, 0, 1];
    let future = Foresight::new(Box::new(Writes(written.clone().into_iter())), 20, 20);
    let config = config(json!({"policy": "foresight", "look_ahead": 1.0}));
    let size = size(3, 4, 20);
    assert_eq!(config.look_ahead_pages(&size), Some(20));
    let mut policy = config.build_with_foresight(&size, &future).unwrap();
    let mut blocks = Blocks::new(3, 4, 20, policy.needs());
    for block in 0..3 {
        let pages: Vec<Lpn> = written[4 * block as usize..][..4].iter().copied().map(Lpn).collect();
        blocks.open(BlockId(block));
        policy.programmed(BlockId(block), 0, &pages, Cause::Host, &blocks);
        blocks.advance(4);
        blocks.close(BlockId(block));
        policy.closed(BlockId(block), &blocks);
    }
    for block in [0, 0, 1, 1].map(BlockId) {
        let score = blocks.invalidate(block);
        policy.invalidated(block, score, &blocks);
    }
    // 2 / (2 * 2) for block 0, 2 / (2 * 20) for block 1; block 2 is full.
    assert_eq!(policy.select(&blocks), BlockId(1));
    // The policy knows the same pages in another block after a move.
    blocks.take(BlockId(1));
    blocks.erased(BlockId(1));
    blocks.open(BlockId(1));
    policy.programmed(BlockId(1), 0, &[2, 3].map(Lpn), Cause::Cleaning, &blocks);
    blocks.close(BlockId(1));
    policy.closed(BlockId(1), &blocks);
    for _ in 0..2 {
        let score = blocks.invalidate(BlockId(0));
        policy.invalidated(BlockId(0), score, &blocks);
    }
    assert_eq!(policy.select(&blocks), BlockId(0), "which holds nothing any more");
}

#[test]
fn foresight_is_refused_without_known_writes() {
    let error = config(json!("foresight")).build_boxed(&size(8, 4, 16)).err().unwrap().to_string();
    assert!(error.starts_with("policy: foresight needs a workload"), "{error}");
}
