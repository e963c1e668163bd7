//! Exact minimum of rewrites of a small drive, by exhaustive search.

use std::collections::HashMap;

/// Host operation on a small drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Write(u8),
    Trim(u8),
}

/// Block: its valid pages in order, and the number of its erased pages.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Block {
    valid: Vec<u8>,
    erased: u8,
}

/// Blocks in sorted order, because their identity does not matter.
type State = Vec<Block>;

/// Returns the minimum of rewrites over all algorithms on `blocks` erased blocks of `pages_per_block` pages; `None` if
/// the pages do not fit.
///
/// At every write an algorithm may read the valid pages of any blocks into memory, erase these blocks, and program
/// these pages into any erased pages. Reading pages at another time, or without an erase, gains nothing: pages that are
/// moved later can still go to the same place. Blocks without valid pages are erased at once.
pub fn fewest_rewrites(ops: &[Op], blocks: usize, pages_per_block: u8) -> Option<u64> {
    let erased = Block { valid: Vec::new(), erased: pages_per_block };
    let mut states = HashMap::from([(vec![erased; blocks], 0)]);
    for &op in ops {
        let mut next = HashMap::new();
        for (state, rewrites) in states {
            apply(state, op, pages_per_block, rewrites, &mut next);
        }
        states = next;
    }
    states.into_values().min()
}

/// Computes all states that `op` may lead to, with the minimum of rewrites for each.
fn apply(mut state: State, op: Op, pages_per_block: u8, rewrites: u64, next: &mut HashMap<State, u64>) {
    let (Op::Write(page) | Op::Trim(page)) = op;
    for block in &mut state {
        block.valid.retain(|&other| other != page);
        if block.valid.is_empty() {
            block.erased = pages_per_block;
        }
    }
    if op == Op::Trim(page) {
        state.sort();
        keep_minimum(next, state, rewrites);
        return;
    }
    for taken in 0..1u32 << state.len() {
        let (mut remaining, mut picked) = (state.clone(), vec![page]);
        for (_, block) in remaining.iter_mut().enumerate().filter(|(at, _)| taken >> at & 1 == 1) {
            picked.append(&mut block.valid);
            block.erased = pages_per_block;
        }
        let moved = picked.len() as u64 - 1;
        place_pages(remaining, &picked, rewrites + moved, next);
    }
}

/// Programs the picked pages into erased pages, in every possible way.
fn place_pages(state: State, picked: &[u8], rewrites: u64, next: &mut HashMap<State, u64>) {
    let Some((&page, rest)) = picked.split_first() else {
        let mut state = state;
        state.sort();
        keep_minimum(next, state, rewrites);
        return;
    };
    for at in 0..state.len() {
        // Equal blocks are interchangeable.
        if state[at].erased == 0 || state[..at].contains(&state[at]) {
            continue;
        }
        let mut state = state.clone();
        let block = &mut state[at];
        block.erased -= 1;
        block.valid.push(page);
        block.valid.sort_unstable();
        place_pages(state, rest, rewrites, next);
    }
}

fn keep_minimum(states: &mut HashMap<State, u64>, state: State, rewrites: u64) {
    states.entry(state).and_modify(|least| *least = rewrites.min(*least)).or_insert(rewrites);
}
