//! Offline inspection of flash images: counts, recovery check, and list of pages.

use super::battery::Battery;
use super::files::Files;
use super::records::BlockState;
use super::scan::{ScannedBlock, ScannedFlash, scan};
use super::trial::TrialFlash;
use crate::error::ImageError;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use wearwell_engine::flash_format::{DATA, PageType, UNREADABLE, crc};
use wearwell_engine::layer::RecoveryReport;
use wearwell_stack::{LiveStack, Scenario};

/// Counts of a flash image.
#[derive(Clone, Debug)]
pub struct ImageCounts {
    /// Scenario of the drive.
    pub scenario: Scenario,
    /// Number of erase blocks, pages per block, and bytes per page.
    pub shape: (u32, u32, u32),
    /// Disk space of the files in bytes.
    pub bytes: u64,
    /// Number of flash operations since the drive was new.
    pub operations: u64,
    /// Number of later operations that will be undone, because operations before them are missing.
    pub undone_operations: u64,
    /// Numbers of erased blocks, blocks with pages, partly erased blocks, and bad blocks.
    pub blocks: [u32; 4],
    /// Smallest and largest erase count of a block, and the sum over all blocks.
    pub erases: (u32, u32, u64),
    /// Number of programmed pages by kind of content.
    pub pages: BTreeMap<&'static str, u64>,
}

/// Results of a check.
#[derive(Clone, Debug)]
pub struct CheckReport {
    /// Counts of the image.
    pub counts: ImageCounts,
    /// Problems with their locations; empty if the drive recovers completely.
    pub problems: Vec<String>,
    /// Steps that the recovery of the FTL would take, if it would succeed.
    pub recovery: Option<RecoveryReport>,
}

/// Programmed page in a listing.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct PageLine {
    /// Block number.
    pub block: u32,
    /// Page number in the block.
    pub page: u32,
    /// Kind of content.
    pub kind: &'static str,
    /// Number of the operation that programmed the page.
    pub operation: u64,
    /// Logical page, or the index of a page that holds the FTL's own data.
    pub owner: u32,
    /// Sequence number among all pages that the FTL has appended.
    pub sequence: u64,
    /// Stream to which the page was appended.
    pub stream: u8,
    /// Cause of the program operation.
    pub cause: &'static str,
    /// Content ID, or 0 for pages of the FTL's own data.
    pub content: u64,
}

/// Returns a name for the content of pages of a class.
fn class_name(class: u8) -> &'static str {
    match class {
        DATA => "data",
        UNREADABLE => "nothing that can be read",
        class => PageType::from_number(class).map_or("something unknown", PageType::name),
    }
}

fn scan_folder(folder: &Path) -> Result<(Files, Scenario, ScannedFlash), ImageError> {
    let (mut files, scenario) = Files::read_only(folder)?;
    let found = scan(&mut files).map_err(|error| files.failed(&error))?;
    let found = found.map_err(|problem| files.damaged(problem))?;
    Ok((files, scenario, found))
}

/// Counts the blocks, pages and operations of the image in `folder`.
///
/// # Errors
/// Fails if the folder has no flash image, or the image is in use or too damaged to be read.
pub fn count_image(folder: &Path) -> Result<ImageCounts, ImageError> {
    let (files, scenario, found) = scan_folder(folder)?;
    count(&files, scenario, &found)
}

fn count(files: &Files, scenario: Scenario, found: &ScannedFlash) -> Result<ImageCounts, ImageError> {
    let mut counts = ImageCounts {
        scenario,
        shape: (files.shape.blocks, files.shape.pages_per_block, files.shape.page_bytes),
        bytes: files.bytes().map_err(|error| files.failed(&error))?,
        operations: found.operation,
        undone_operations: found.undone_operations,
        blocks: [0; 4],
        erases: (u32::MAX, 0, 0),
        pages: BTreeMap::new(),
    };
    for ScannedBlock { record, pages } in &found.blocks {
        let state = match record.state {
            BlockState::InUse if pages.is_empty() => 0,
            BlockState::InUse => 1,
            BlockState::Erasing => 2,
            BlockState::Bad => 3,
        };
        counts.blocks[state] += 1;
        let (fewest, most, all) = counts.erases;
        counts.erases = (fewest.min(record.erases), most.max(record.erases), all + u64::from(record.erases));
        if record.state == BlockState::InUse {
            for page in pages.iter().flatten().flatten() {
                *counts.pages.entry(class_name(page.class)).or_default() += 1;
            }
        }
    }
    Ok(counts)
}

/// Verifies every page of the image in `folder`, and that its drive recovers. Writes nothing.
///
/// # Errors
/// The errors of [`count_image`].
pub fn check(folder: &Path, progress: &mut dyn FnMut(f64) -> bool) -> Result<CheckReport, ImageError> {
    let (files, scenario, found) = scan_folder(folder)?;
    let counts = count(&files, scenario.clone(), &found)?;
    let mut problems = damaged_pages(&files, &found, progress)?;
    if found.undone_operations > 0 {
        problems.push(format!(
            "{} operations after number {} are there, and earlier ones are not: the machine stopped before they were on disk; opening \
             the image undoes them",
            found.undone_operations, found.operation
        ));
    }
    let (battery, is_new) = (files.battery, found.operation == 0);
    let scratch = Arc::new(TrialFlash::new(Arc::new(files), found));
    let live = catch_unwind(AssertUnwindSafe(|| LiveStack::on_stored_flash(&scenario, scratch.clone())));
    let recovery = match (live, scratch.outcome()) {
        (Ok(Ok(live)), how) => {
            problems.extend(live.check().err().map(|problem| format!("the tables do not add up: {problem}")));
            if scratch.has_battery() && !live.shares_contents() {
                problems.extend(Battery::check(folder, battery, is_new).err().map(|error| error.to_string()));
            }
            how.and_then(Result::ok)
        }
        (Ok(Err(_)), Some(Err(problem))) => {
            problems.push(format!("the drive cannot be recovered: {problem}"));
            None
        }
        (Err(_), _) => {
            problems.push("the drive cannot be recovered: its FTL failed during recovery".into());
            None
        }
        (Ok(Err(error)), _) => {
            problems.push(format!("the drive cannot be built: {error}"));
            None
        }
    };
    Ok(CheckReport { counts, problems, recovery })
}

/// Finds pages whose bytes do not match their checksum.
pub(super) fn damaged_pages(
    files: &Files,
    found: &ScannedFlash,
    progress: &mut dyn FnMut(f64) -> bool,
) -> Result<Vec<String>, ImageError> {
    let mut problems = Vec::new();
    let (all, size) = (found.blocks.len() as f64, files.shape.pages_per_block);
    let mut bytes = vec![0; files.shape.page_bytes as usize];
    for (block, scanned) in (0u32..).zip(&found.blocks) {
        if !progress(f64::from(block) / all) {
            break;
        }
        if scanned.record.state != BlockState::InUse {
            continue;
        }
        for (page, spare) in (0..).zip(scanned.pages.iter().flatten().flatten()) {
            let slot = u64::from(block) * u64::from(size) + page;
            files.read_page(slot, &mut bytes).map_err(|error| files.failed(&error))?;
            if spare.class != UNREADABLE && crc(&bytes) != spare.page_crc {
                problems.push(format!("block {block}, page {page}: the checksum of its bytes is another"));
            }
        }
    }
    Ok(problems)
}

/// Calls `line` for every programmed page of the image in `folder`, in one block or in all blocks.
///
/// # Errors
/// The errors of [`count_image`]; also fails if the block does not exist. Errors of `line` are returned.
pub fn dump<E: From<ImageError>>(
    folder: &Path,
    block: Option<u32>,
    mut line: impl FnMut(&PageLine) -> Result<(), E>,
) -> Result<(), E> {
    let (files, _, found) = scan_folder(folder)?;
    let blocks = files.shape.blocks;
    if let Some(block) = block.filter(|block| *block >= blocks) {
        return Err(
            ImageError::new(folder, format!("has blocks 0 to {}, and no block {block}", blocks - 1)).into()
        );
    }
    for (number, scanned) in (0..).zip(&found.blocks) {
        if block.is_some_and(|block| block != number) {
            continue;
        }
        for (page, found) in (0..).zip(scanned.pages.iter().flatten().flatten()) {
            line(&PageLine {
                block: number,
                page,
                kind: class_name(found.class),
                operation: found.operation,
                owner: found.spare.owner.0,
                sequence: found.spare.sequence,
                stream: found.spare.stream.0,
                cause: found.spare.cause.name(),
                content: found.name,
            })?;
        }
    }
    Ok(())
}
