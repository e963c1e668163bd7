//! Tests that media refuse operations that flash does not support. Sequences of valid and invalid operations are
//! compared with a table of the rules.

use crate::naive::rig::Setup;
use proptest::prelude::*;
use wearwell_base::seed::Seed;
use wearwell_base::units::{BlockId, Lpn, StreamId};
use wearwell_engine::counters::Cause;
use wearwell_engine::layer::{Bytes, Group, Layer, Medium, MediumError, Pages, Run};
use wearwell_engine::log::Segments;
use wearwell_engine::nand::{Geometry, Nand, Wear};

#[derive(Clone, Debug)]
enum Op {
    Program { block: u32, page: u32, pages: u32 },
    Erase { block: u32 },
    List { block: u32, pages: Vec<u32> },
    Count { block: u32, pages: u32 },
}

/// Rules of flash: content of the programmed pages of each block, `None` for a bad block.
struct Rules {
    pages_per_block: u32,
    endurance: Option<u32>,
    blocks: Vec<Option<Vec<u64>>>,
    erases: Vec<u32>,
}

impl Rules {
    fn block(&mut self, block: u32, page: u32, end: u32) -> Result<&mut Vec<u64>, MediumError> {
        match self.blocks.get_mut(block as usize) {
            None => Err(MediumError::OutsideGeometry { block, page, end }),
            Some(None) => Err(MediumError::BadBlock { block }),
            Some(Some(pages)) => Ok(pages),
        }
    }

    fn program(&mut self, block: u32, page: u32, data: &[u64]) -> Result<(), MediumError> {
        let end = page.saturating_add(data.len() as u32);
        let pages_per_block = self.pages_per_block;
        let pages = self.block(block, page, end)?;
        if end > pages_per_block {
            return Err(MediumError::OutsideGeometry { block, page, end });
        }
        let expected = pages.len() as u32;
        if page != expected {
            return Err(MediumError::OutOfOrder { block, page, expected });
        }
        pages.extend(data);
        Ok(())
    }

    fn erase(&mut self, block: u32) -> Result<(), MediumError> {
        self.block(block, 0, 0)?.clear();
        let erases = self.erases[block as usize];
        if self.endurance == Some(erases) {
            self.blocks[block as usize] = None;
            return Err(MediumError::WornOut { block, erases });
        }
        self.erases[block as usize] += 1;
        Ok(())
    }

    fn read(&mut self, block: u32, listed: &[u32]) -> Result<Vec<u64>, MediumError> {
        let highest = listed.iter().max().copied();
        let pages = self.block(block, 0, highest.map_or(0, |page| page.saturating_add(1)))?;
        match highest {
            Some(page) if page as usize >= pages.len() => Err(MediumError::NotProgrammed { block, page }),
            _ => Ok(listed.iter().map(|&page| pages[page as usize]).collect()),
        }
    }
}

/// Draws block and page numbers around and beyond the limits.
fn ops(blocks: u32, pages_per_block: u32) -> impl Strategy<Value = Vec<Op>> {
    let block = || prop_oneof![20 => 0..blocks, 1 => blocks..blocks + 2, 1 => Just(u32::MAX)];
    let page = move || prop_oneof![20 => 0..pages_per_block + 2, 1 => u32::MAX - 1..=u32::MAX];
    // Half of the programs start at the next unwritten page; see `next`.
    let start = prop_oneof![page(), Just(NEXT)];
    prop::collection::vec(
        prop_oneof![
            4 => (block(), start, 0..pages_per_block + 2)
                .prop_map(|(block, page, pages)| Op::Program { block, page, pages }),
            2 => block().prop_map(|block| Op::Erase { block }),
            2 => (block(), prop::collection::vec(page(), 0..4))
                .prop_map(|(block, pages)| Op::List { block, pages }),
            1 => (block(), page()).prop_map(|(block, pages)| Op::Count { block, pages }),
        ],
        1..120,
    )
}

/// Represents the page that must be programmed next in the block.
const NEXT: u32 = u32::MAX - 2;

fn program<M: Medium<Payload = Bytes<8>>>(
    medium: &mut M,
    (block, page): (u32, u32),
    data: &[u64],
) -> Result<(), MediumError> {
    let data: Vec<Bytes<8>> = data.iter().map(|value| Bytes(value.to_le_bytes())).collect();
    let owners = vec![Lpn(0); data.len()];
    let (cause, stream) = (Cause::Host, StreamId(0));
    medium.program(
        BlockId(block),
        page,
        Run { owners: Some(&owners), data: &data, sequence: 0, cause, stream, group: Group::None, note: 0 },
    )
}

fn compare_with_rules<M: Medium<Payload = Bytes<8>>>(medium: &mut M, rules: &mut Rules, ops: &[Op]) {
    let mut version = 0u64;
    for op in ops {
        let mut out = Vec::new();
        match *op {
            Op::Program { block, page, pages } => {
                let next = rules.block(block, 0, 0).map_or(0, |pages| pages.len() as u32);
                let page = if page == NEXT { next } else { page };
                let data: Vec<u64> = (version..).take(pages as usize).collect();
                version += u64::from(pages);
                assert_eq!(
                    program(medium, (block, page), &data),
                    rules.program(block, page, &data),
                    "{op:?}"
                );
            }
            Op::Erase { block } => {
                assert_eq!(medium.erase(BlockId(block), Cause::Host), rules.erase(block), "{op:?}");
            }
            Op::List { block, ref pages } => {
                let answer = medium.read(BlockId(block), Pages::Listed(pages), Cause::Host, &mut out);
                let contents = answer.map(|()| out.iter().map(|page| u64::from_le_bytes(page.0)).collect());
                assert_eq!(contents, rules.read(block, pages), "{op:?}");
            }
            Op::Count { block, pages } => {
                // The result does not depend on the pages that are counted, so only the last page must exist.
                let last = pages.checked_sub(1);
                let answer = medium.read(BlockId(block), Pages::Counted(pages), Cause::Host, &mut out);
                assert_eq!(answer, rules.read(block, last.as_slice()).map(|_| ()), "{op:?}");
                assert!(answer.is_err() || out.len() == pages as usize, "{op:?}");
            }
        }
        medium.check().unwrap();
    }
    for block in 0..rules.blocks.len() as u32 {
        assert_eq!(medium.is_bad(BlockId(block)), rules.blocks[block as usize].is_none());
        assert_eq!(medium.erases(BlockId(block)), rules.erases[block as usize]);
    }
}

/// Creates flash and its rules, with `bad` factory bad blocks.
fn flash(
    (blocks, pages_per_block): (u32, u32),
    endurance: Option<u32>,
    bad: u32,
    seed: u64,
) -> (Nand<Bytes<8>>, Rules) {
    let wear =
        Wear { endurance_cycles: endurance, endurance_spread: 0.0, factory_bad_blocks: bad.min(blocks) };
    let nand = Nand::new(Geometry::flat(blocks, pages_per_block, 4096), wear, Seed(seed));
    let erased_if_good = |block| (!nand.is_bad(BlockId(block))).then(Vec::new);
    let contents: Vec<_> = (0..blocks).map(erased_if_good).collect();
    assert_eq!(contents.iter().filter(|block| block.is_none()).count() as u32, bad.min(blocks));
    (nand, Rules { pages_per_block, endurance, blocks: contents, erases: vec![0; blocks as usize] })
}

fn shape_and_ops() -> impl Strategy<Value = ((u32, u32), Vec<Op>)> {
    (1..=4u32, 1..=9u32).prop_flat_map(|(blocks, pages)| (Just((blocks, pages)), ops(blocks, pages)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1600))]

    #[test]
    fn nand_refuses_what_flash_cannot_do(
        (shape, ops) in shape_and_ops(),
        endurance in prop::option::of(0..6u32),
        bad in 0..3u32,
        spare: bool,
        seed: u64,
    ) {
        let (nand, mut rules) = flash(shape, endurance, bad, seed);
        let mut nand = if spare { nand.with_spare_area() } else { nand };
        compare_with_rules(&mut nand, &mut rules, &ops);
    }

    /// Segments of another layer look like flash that is never bad.
    #[test]
    fn segments_refuse_like_flash(ops in ops(3, 8), trim: bool) {
        let lower: Box<dyn Layer<Bytes<8>>> = Box::new(Setup::default().engine::<Bytes<8>>());
        let blocks = lower.logical_pages() / 8;
        let mut rules = Rules {
            pages_per_block: 8,
            endurance: None,
            blocks: vec![Some(Vec::new()); blocks as usize],
            erases: vec![0; blocks as usize],
        };
        compare_with_rules(&mut Segments::new(lower, 8, trim.then(wearwell_engine::log::TrimRule::default)), &mut rules, &ops);
    }
}

#[test]
fn spare_area_requires_an_owner_for_every_page() {
    let mut nand = Nand::new(Geometry::flat(2, 4, 4096), Wear::default(), Seed(1)).with_spare_area();
    for owners in [None, Some(&[Lpn(3)][..])] {
        let run = Run {
            owners,
            data: &[(), ()],
            sequence: 0,
            cause: Cause::Host,
            stream: StreamId(0),
            group: Group::None,
            note: 0,
        };
        assert_eq!(nand.program(BlockId(1), 0, run), Err(MediumError::OwnersMissing { block: 1 }));
    }
    assert_eq!(nand.next_page(BlockId(1)), Some(0), "a refused program changes nothing");
}
