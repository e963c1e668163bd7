//! What is found when the files of an image are looked through.

use super::files::Files;
use super::records::{BlockRecord, BlockState};
use std::io;
use wearwell_engine::flash_format::{FormatError, SPARE_BYTES, SPOILT, SpareRecord};
use wearwell_engine::layer::Content;
use wearwell_engine::nand::{KeptBlock, KeptPage, Spare};

/// A programmed page, as far as the drive as a whole has to know of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundPage {
    /// What its FTL finds there.
    pub spare: Spare,
    /// As in its [`SpareRecord`], and so are the others.
    pub note: u64,
    pub name: u64,
    pub operation: u64,
    pub page_crc: u32,
    pub class: u8,
}

impl From<SpareRecord> for FoundPage {
    fn from(SpareRecord { spare, note, name, operation, page_crc, own }: SpareRecord) -> Self {
        FoundPage { spare, note, name, operation, page_crc, class: own.class }
    }
}

/// What a spare area says: `None` of an erased page.
pub type PageFound = Result<Option<FoundPage>, FormatError>;

/// A block as its files have it.
pub struct FoundBlock {
    /// Its record.
    pub record: BlockRecord,
    /// Its pages up to the last that is not erased: what their spare areas say, `None` of an erased one between others.
    pub pages: Vec<PageFound>,
}

/// All blocks, and up to which operation nothing is missing.
pub struct Found {
    /// The blocks.
    pub blocks: Vec<FoundBlock>,
    /// The last operation that everything before is there of, and that is there itself.
    pub operation: u64,
    /// Operations after it that are there, but not all: the machine stopped before they were on its disk.
    pub left_over: u64,
    /// Whether spare areas are there that do not count any more.
    pub has_stale: bool,
}

/// Looks through all files.
///
/// # Errors
/// Files that cannot be read; and, within, what makes the image one that cannot be used.
pub fn scan(files: &mut Files) -> io::Result<Result<Found, String>> {
    let synced = match files.synced()? {
        Ok(synced) => synced,
        Err(error) => return Ok(Err(format!("what is on disk for sure is not known: {error}"))),
    };
    let (mut blocks, mut bytes) = (Vec::with_capacity(files.shape.blocks as usize), Vec::new());
    for block in 0..files.shape.blocks {
        let record = match BlockRecord::decode(&files.read_block(block)?) {
            Ok(record) => record,
            Err(error) => return Ok(Err(format!("block {block}: {error}"))),
        };
        files.read_spares(block, &mut bytes)?;
        blocks.push(FoundBlock { record, pages: pages(&bytes) });
    }
    let mut found = Found { blocks, operation: synced, left_over: 0, has_stale: false };
    Ok(found.settle(synced).map(|()| found))
}

/// What the spare areas of a block say.
fn pages(bytes: &[u8]) -> Vec<PageFound> {
    let (spares, _) = bytes.as_chunks::<SPARE_BYTES>();
    let end = spares.iter().rposition(|spare| spare.iter().any(|byte| *byte != 0)).map_or(0, |last| last + 1);
    let found = |spare| SpareRecord::decode(spare).map(|record| record.map(FoundPage::from));
    spares[..end].iter().map(found).collect()
}

impl Found {
    /// Finds the last operation up to which nothing is missing, and leaves out what comes after it. All up to `synced` must be there.
    ///
    /// What a process was told is written is there whatever becomes of the process. When the machine itself stops, of the operations
    /// since everything was on disk some may be there and others not: those before the first that is missing are what a power cut at
    /// that moment leaves.
    fn settle(&mut self, synced: u64) -> Result<(), String> {
        let mut operations: Vec<u64> = Vec::new();
        for block in &mut self.blocks {
            self.has_stale |= block.drop_stale();
            operations.push(block.record.operation);
            operations.extend(block.pages.iter().flatten().flatten().map(|spare| spare.operation));
        }
        operations.retain(|operation| *operation > synced);
        operations.sort_unstable();
        operations.dedup();
        let whole =
            (synced + 1..).zip(&operations).take_while(|(next, operation)| next == *operation).count();
        self.operation = synced + whole as u64;
        self.left_over = (operations.len() - whole) as u64;
        let last = self.operation;
        for (number, block) in (0..).zip(&mut self.blocks) {
            if block.record.operation > last {
                return Err(format!(
                    "block {number} was erased after operation {}, which is missing",
                    last + 1
                ));
            }
            if self.left_over > 0 {
                self.has_stale = true;
                block.drop_after(last);
            }
            block.check().map_err(|problem| format!("block {number}, {problem}"))?;
        }
        Ok(())
    }
}

impl FoundBlock {
    /// Leaves out pages from before the block was erased last, which the machine may have kept when it stopped, and takes an erase for
    /// complete after which something was programmed; whether there were such pages.
    fn drop_stale(&mut self) -> bool {
        let (record, mut stale) = (self.record, false);
        for page in &mut self.pages {
            if matches!(page, Ok(Some(page)) if page.operation < record.operation) {
                (*page, stale) = (Ok(None), true);
            }
        }
        while matches!(self.pages.last(), Some(Ok(None))) {
            self.pages.pop();
        }
        if record.state == BlockState::Erasing && self.pages.iter().any(|page| matches!(page, Ok(Some(_)))) {
            self.record = BlockRecord { state: BlockState::InUse, erases: record.erases + 1, ..record };
        }
        stale
    }

    /// Leaves out pages that were programmed after operation `last`, and those at the end that nothing can be said of.
    fn drop_after(&mut self, last: u64) {
        let stays = |page: &PageFound| matches!(page, Ok(Some(page)) if page.operation <= last);
        while self.pages.last().is_some_and(|page| !stays(page)) {
            self.pages.pop();
        }
    }

    /// Refuses pages that nothing can be said of, in a block that was not being erased.
    fn check(&self) -> Result<(), String> {
        if self.record.state != BlockState::InUse {
            return Ok(());
        }
        for (page, found) in self.pages.iter().enumerate() {
            match found {
                Ok(Some(_)) => {}
                Ok(None) => return Err(format!("page {page}: it is erased, and a later one is not")),
                Err(error) => return Err(format!("page {page}: {error}")),
            }
        }
        Ok(())
    }

    /// The block as flash of `pages_per_block` pages a block takes it.
    pub fn kept(&self, pages_per_block: u32) -> KeptBlock<Content> {
        let BlockRecord { state, erases, .. } = self.record;
        let mut kept = KeptBlock { erases, is_bad: state == BlockState::Bad, note: 0, pages: Vec::new() };
        match state {
            BlockState::Bad => {}
            BlockState::Erasing => kept.pages = vec![KeptPage::Unreadable; pages_per_block as usize],
            BlockState::InUse => {
                for spare in self.pages.iter().flatten().flatten() {
                    if spare.class == SPOILT {
                        kept.pages.push(KeptPage::Unreadable);
                        continue;
                    }
                    kept.note = spare.note;
                    kept.pages.push(KeptPage::Written { spare: spare.spare, content: Content(spare.name) });
                }
            }
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(operation: u64) -> PageFound {
        Ok(Some(SpareRecord::spoilt(operation).into()))
    }

    fn found(blocks: Vec<(u64, Vec<PageFound>)>) -> Found {
        let block = |(operation, pages)| FoundBlock {
            record: BlockRecord { operation, ..BlockRecord::default() },
            pages,
        };
        Found {
            blocks: blocks.into_iter().map(block).collect(),
            operation: 0,
            left_over: 0,
            has_stale: false,
        }
    }

    #[test]
    fn everything_up_to_the_first_missing_operation_counts() {
        // Operation 4 is missing; 5 and 6 came to the disk before it.
        let mut all = found(vec![(0, vec![page(1), page(3), page(5)]), (2, vec![page(6)])]);
        all.settle(1).unwrap();
        assert_eq!((all.operation, all.left_over), (3, 2));
        assert_eq!(all.blocks.iter().map(|block| block.pages.len()).collect::<Vec<_>>(), [2, 0]);
        let mut whole = found(vec![(0, vec![page(1), page(3)]), (2, vec![page(4)])]);
        whole.settle(0).unwrap();
        assert_eq!((whole.operation, whole.left_over), (4, 0));
    }

    #[test]
    fn pages_from_before_an_erase_do_not_count() {
        let erasing = |pages| {
            let record = BlockRecord { state: BlockState::Erasing, erases: 4, operation: 7 };
            FoundBlock { record, pages }
        };
        let mut begun = erasing(vec![page(2), page(3)]);
        assert!(begun.drop_stale());
        assert_eq!((begun.pages.len(), begun.record.state), (0, BlockState::Erasing));
        // The record of its end is not on disk, and what was programmed after it is.
        let mut done = erasing(vec![page(8), page(3)]);
        assert!(done.drop_stale());
        assert_eq!((done.pages.len(), done.record.state, done.record.erases), (1, BlockState::InUse, 5));
    }

    #[test]
    fn what_was_on_disk_for_sure_must_be_there() {
        let damaged = || vec![page(1), Err(FormatError::new("is damaged")), page(3)];
        assert!(found(vec![(0, damaged())]).settle(3).unwrap_err().contains("page 1"));
        assert!(
            found(vec![(0, damaged())]).settle(0).is_ok(),
            "operation 2 is missing, and 3 came too early"
        );
        assert!(found(vec![(0, vec![page(1), Ok(None), page(2)])]).settle(2).is_err());
        assert!(found(vec![(5, vec![]), (0, vec![page(1)])]).settle(1).unwrap_err().contains("erased after"));
    }
}
