//! Flash without content, compared with flash with content: its shortcuts must not change results.

use super::*;
use crate::seed::random_below;

/// Flash with content and flash without, of the same geometry.
struct NandPair {
    full: Nand<ContentId>,
    bare: Nand<()>,
}

impl NandPair {
    fn new(has_spare_area: bool) -> Self {
        let (geometry, wear) =
            (Geometry::flat(4, PAGES, 4096), Wear { factory_bad_blocks: 1, ..Wear::default() });
        let (full, empty) = (Nand::new(geometry, wear, Seed(1)), Nand::new(geometry, wear, Seed(1)));
        if has_spare_area {
            NandPair { full: full.with_spare_area(), bare: empty.with_spare_area() }
        } else {
            NandPair { full, bare: empty }
        }
    }

    fn program(&mut self, block: BlockId, page: u32, pages: u32) {
        let owners: Vec<Lpn> = (0..pages).map(Lpn).collect();
        let data = vec![ContentId(1); owners.len()];
        let run = Run {
            owners: Some(&owners[..]),
            data: &data[..],
            sequence: 0,
            cause: Cause::Host,
            stream: StreamId(0),
            group: Group::None,
            note: 0,
        };
        let Run { owners, sequence, cause, stream, group, note, .. } = run;
        let bare = Run { owners, data: no_data(data.len()), sequence, cause, stream, group, note };
        assert_eq!(self.full.program(block, page, run), self.bare.program(block, page, bare));
    }

    fn read(&mut self, block: BlockId, pages: Pages<'_>) {
        let (mut full, mut empty) = (Vec::new(), Vec::new());
        let done = self.full.read(block, pages, Cause::Host, &mut full);
        assert_eq!(self.bare.read(block, pages, Cause::Host, &mut empty), done, "{block:?} {pages:?}");
        assert_eq!(full.len(), empty.len());
    }

    fn tear(&mut self, block: BlockId) {
        if let Some(page) = self.full.next_page(block).filter(|page| *page < PAGES) {
            self.full.tear_program(block, page);
            self.bare.tear_program(block, page);
        }
    }

    fn counts(&self) -> [(u64, u64, u64, u32, Vec<u32>); 2] {
        [report(&self.full), report(&self.bare)]
            .map(|nand| (nand.programs, nand.reads, nand.erases, nand.bad_blocks, nand.erase_counts))
    }
}

#[test]
fn flash_without_content_behaves_like_flash_with_content() {
    for has_spare_area in [false, true] {
        let mut pair = NandPair::new(has_spare_area);
        let mut random = Seed(2).random();
        let mut draw = |end: u64| random_below(&mut random, end) as u32;
        for _ in 0..3000 {
            // Includes block 4 and page 4, which do not exist.
            let (block, page, pages) = (BlockId(draw(5)), draw(6), 1 + draw(3));
            match draw(8) {
                0 => {
                    let erased = pair.full.erase(block, Cause::Host);
                    assert_eq!(pair.bare.erase(block, Cause::Host), erased);
                }
                1 if has_spare_area && block.0 < 4 => pair.tear(block),
                2 => pair.read(block, Pages::Counted(pages)),
                3 => pair.read(block, Pages::Listed(&[page])),
                4 => pair.read(block, Pages::Listed(&[page, 0])),
                5 => pair.program(block, page, pages),
                _ if block.0 < 4 => pair.program(block, pair.full.next_page(block).unwrap_or(0), pages),
                _ => {}
            }
            let [full, empty] = pair.counts();
            assert_eq!(full, empty);
        }
        let [(programs, reads, erases, bad_blocks, _), _] = pair.counts();
        assert!(
            programs > 300 && reads > 100 && erases > 100 && bad_blocks == 1,
            "{programs} {reads} {erases}"
        );
    }
}
