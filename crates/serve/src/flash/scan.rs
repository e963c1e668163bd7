//! Scan of the files of an image.

use super::files::Files;
use super::records::{BlockRecord, BlockState};
use std::io;
use wearwell_engine::flash_format::{FormatError, SPARE_BYTES, SpareRecord, UNREADABLE};
use wearwell_engine::layer::ContentId;
use wearwell_engine::nand::{Spare, StoredBlock, StoredPage};

/// Programmed page found by a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScannedPage {
    /// Data for the FTL in the spare area.
    pub spare: Spare,
    /// Number that the FTL attached to the block when this page was written.
    pub note: u64,
    /// Identifier of the page's content; 0 for metadata pages of the FTL.
    pub name: u64,
    /// Number of the operation that programmed the page.
    pub operation: u64,
    /// Checksum of the page's bytes.
    pub page_crc: u32,
    /// Type of the page.
    pub class: u8,
}

impl From<SpareRecord> for ScannedPage {
    fn from(
        SpareRecord { spare, note, content_id: name, operation, page_crc, ftl_note: own }: SpareRecord,
    ) -> Self {
        ScannedPage { spare, note, name, operation, page_crc, class: own.class }
    }
}

/// Decoded spare area; `None` for an erased page.
pub type PageScan = Result<Option<ScannedPage>, FormatError>;

/// Block found by a scan.
pub struct ScannedBlock {
    /// Record of the block.
    pub record: BlockRecord,
    /// Pages up to the last page that is not erased.
    pub pages: Vec<PageScan>,
}

/// Result of a scan.
pub struct ScannedFlash {
    /// All blocks.
    pub blocks: Vec<ScannedBlock>,
    /// Last valid operation: this operation and all operations before it are in the files.
    pub operation: u64,
    /// Number of later operations in the files. They are not valid, because the host machine stopped before all
    /// operations preceding them had reached its disk.
    pub undone_operations: u64,
    /// True if the files have spare areas that are no longer valid.
    pub has_stale: bool,
}

/// Scans all files.
///
/// # Errors
/// Fails if the files cannot be read. The inner result fails if the image cannot be used.
pub fn scan(files: &mut Files) -> io::Result<Result<ScannedFlash, String>> {
    let synced = match files.last_synced()? {
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
        blocks.push(ScannedBlock { record, pages: pages(&bytes) });
    }
    let mut found = ScannedFlash { blocks, operation: synced, undone_operations: 0, has_stale: false };
    Ok(found.drop_incomplete(synced).map(|()| found))
}

/// Decodes the spare areas of a block.
fn pages(bytes: &[u8]) -> Vec<PageScan> {
    let (spares, _) = bytes.as_chunks::<SPARE_BYTES>();
    let end = spares.iter().rposition(|spare| spare.iter().any(|byte| *byte != 0)).map_or(0, |last| last + 1);
    let found = |spare| SpareRecord::decode(spare).map(|record| record.map(ScannedPage::from));
    spares[..end].iter().map(found).collect()
}

impl ScannedFlash {
    /// Finds the last valid operation and drops the pages of later operations. All operations up to `synced` must be
    /// present.
    ///
    /// Data that a process has written survives the end of the process. If the host machine stops, some operations
    /// since the last sync may be on its disk while earlier ones are missing. The operations before the first missing
    /// one are the state that a power cut at that moment leaves.
    fn drop_incomplete(&mut self, synced: u64) -> Result<(), String> {
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
        self.undone_operations = (operations.len() - whole) as u64;
        let last = self.operation;
        for (number, block) in (0..).zip(&mut self.blocks) {
            if block.record.operation > last {
                return Err(format!(
                    "block {number} was erased after operation {}, which is missing",
                    last + 1
                ));
            }
            if self.undone_operations > 0 {
                self.has_stale = true;
                block.drop_after(last);
            }
            block.check().map_err(|problem| format!("block {number}, {problem}"))?;
        }
        Ok(())
    }
}

impl ScannedBlock {
    /// Drops pages that were programmed before the block's last erase, which the host machine may have kept when it
    /// stopped. An erase counts as complete if a page was programmed after it. Returns true if pages were dropped.
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

    /// Drops pages that were programmed after operation `last`, and undecodable pages at the end.
    fn drop_after(&mut self, last: u64) {
        let stays = |page: &PageScan| matches!(page, Ok(Some(page)) if page.operation <= last);
        while self.pages.last().is_some_and(|page| !stays(page)) {
            self.pages.pop();
        }
    }

    /// Refuses erased pages between programmed pages, and undecodable pages, unless the block is being erased or bad.
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

    /// Converts the block to a block of simulated flash with `pages_per_block` pages per block.
    pub fn to_stored(&self, pages_per_block: u32) -> StoredBlock<ContentId> {
        let BlockRecord { state, erases, .. } = self.record;
        let mut stored = StoredBlock { erases, is_bad: state == BlockState::Bad, note: 0, pages: Vec::new() };
        match state {
            BlockState::Bad => {}
            BlockState::Erasing => stored.pages = vec![StoredPage::Unreadable; pages_per_block as usize],
            BlockState::InUse => {
                for spare in self.pages.iter().flatten().flatten() {
                    if spare.class == UNREADABLE {
                        stored.pages.push(StoredPage::Unreadable);
                        continue;
                    }
                    stored.note = spare.note;
                    stored
                        .pages
                        .push(StoredPage::Written { spare: spare.spare, content: ContentId(spare.name) });
                }
            }
        }
        stored
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(operation: u64) -> PageScan {
        Ok(Some(SpareRecord::unreadable(operation).into()))
    }

    fn found(blocks: Vec<(u64, Vec<PageScan>)>) -> ScannedFlash {
        let block = |(operation, pages)| ScannedBlock {
            record: BlockRecord { operation, ..BlockRecord::default() },
            pages,
        };
        ScannedFlash {
            blocks: blocks.into_iter().map(block).collect(),
            operation: 0,
            undone_operations: 0,
            has_stale: false,
        }
    }

    #[test]
    fn drop_incomplete_keeps_operations_before_first_missing_one() {
        // Operation 4 is missing; operations 5 and 6 reached the disk before it.
        let mut all = found(vec![(0, vec![page(1), page(3), page(5)]), (2, vec![page(6)])]);
        all.drop_incomplete(1).unwrap();
        assert_eq!((all.operation, all.undone_operations), (3, 2));
        assert_eq!(all.blocks.iter().map(|block| block.pages.len()).collect::<Vec<_>>(), [2, 0]);
        let mut whole = found(vec![(0, vec![page(1), page(3)]), (2, vec![page(4)])]);
        whole.drop_incomplete(0).unwrap();
        assert_eq!((whole.operation, whole.undone_operations), (4, 0));
    }

    #[test]
    fn drop_stale_removes_pages_from_before_an_erase() {
        let erasing = |pages| {
            let record = BlockRecord { state: BlockState::Erasing, erases: 4, operation: 7 };
            ScannedBlock { record, pages }
        };
        let mut partly_erased = erasing(vec![page(2), page(3)]);
        assert!(partly_erased.drop_stale());
        assert_eq!((partly_erased.pages.len(), partly_erased.record.state), (0, BlockState::Erasing));
        // The record of the end of the erase did not reach the disk, but a page that was programmed later did.
        let mut done = erasing(vec![page(8), page(3)]);
        assert!(done.drop_stale());
        assert_eq!((done.pages.len(), done.record.state, done.record.erases), (1, BlockState::InUse, 5));
    }

    #[test]
    fn drop_incomplete_without_synced_operation_fails() {
        let damaged = || vec![page(1), Err(FormatError::new("is damaged")), page(3)];
        assert!(found(vec![(0, damaged())]).drop_incomplete(3).unwrap_err().contains("page 1"));
        assert!(
            found(vec![(0, damaged())]).drop_incomplete(0).is_ok(),
            "operation 2 is missing, and 3 came too early"
        );
        assert!(found(vec![(0, vec![page(1), Ok(None), page(2)])]).drop_incomplete(2).is_err());
        assert!(
            found(vec![(5, vec![]), (0, vec![page(1)])])
                .drop_incomplete(1)
                .unwrap_err()
                .contains("erased after")
        );
    }
}
