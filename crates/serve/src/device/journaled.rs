//! Replay of the requests of a journal, when an image is opened or checked.

use super::Device;
use crate::contents::Contents;
use crate::error::ImageError;
use crate::image::{JournalCounts, JournalEntry, read_journal};
use crate::pacing::Speed;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use wearwell_engine::layer::ContentId;

/// Results of a check of a journal.
#[derive(Clone, Debug)]
pub struct JournalReport {
    /// Counts of the entries.
    pub counts: JournalCounts,
    /// Damaged pages, with their locations.
    pub problems: Vec<String>,
}

/// Replays the journal in `folder` in memory and verifies the bytes of all pages, as opening the image does. Writes
/// nothing.
///
/// # Errors
/// Fails if the image cannot be read, or is so damaged that it cannot be opened.
pub fn check_journal(folder: &Path) -> Result<JournalReport, ImageError> {
    let failed = |problem: String| ImageError::new(folder, problem);
    let damaged = |problem: String| failed(format!("is damaged: {problem}"));
    let io = |error: io::Error| failed(error.to_string());
    let counts = read_journal::<ImageError>(folder, |_| Ok(()))?;
    let live = Speed::Full.build_stack(&counts.scenario).map_err(|error| failed(error.to_string()))?;
    let pages = File::open(folder.join("pages")).map_err(io)?;
    let bytes = pages.metadata().map_err(io)?.len();
    let contents = Contents::in_file(live.page_bytes() as usize, live.shares_contents(), pages);
    let mut device = Device::from_stack(live, contents, None);
    let mut number = 0;
    read_journal::<ImageError>(folder, |entry| {
        number += 1;
        let replayed = device.replay(entry.clone());
        replayed.map_err(|problem| damaged(format!("note {number} of `requests`: {problem}")))
    })?;
    let slots = device.check_replayed(bytes).map_err(io)?.map_err(damaged)?;
    let problem = |slot: u32| format!("slot {slot} of `pages`: the checksum of its bytes is another");
    Ok(JournalReport { counts, problems: slots.into_iter().map(problem).collect() })
}

impl Device {
    /// Checks the drive and its contents after the replay of all entries; the file with the pages has `bytes` bytes.
    /// Returns the slots with damaged bytes. An inner error is a text about the damage.
    pub(super) fn check_replayed(&mut self, bytes: u64) -> io::Result<Result<Vec<u32>, String>> {
        let slots = match self.contents.check_restored(bytes)? {
            Ok(slots) => slots,
            Err(problem) => return Ok(Err(problem)),
        };
        Ok(self.stack.check().map(|()| slots))
    }

    /// Repeats a request from the journal. An error is a text about the damage.
    pub(super) fn replay(&mut self, entry: JournalEntry<'_>) -> Result<(), String> {
        let (pages, page) = (self.stack.logical_pages(), u64::from(self.page_bytes));
        let within = |range: &Range<u32>| match range.end <= pages && range.start <= range.end {
            true => Ok(()),
            false => Err(format!("pages {} to {} of a drive of {pages}", range.start, range.end)),
        };
        let done = match entry {
            JournalEntry::Write(first, hint, written) => {
                self.hint = hint;
                within(&(first..first.saturating_add(written.len() as u32)))?;
                let [offset, length] = [first, written.len() as u32].map(|pages| u64::from(pages) * page);
                self.check_written(offset, length).map_err(|error| error.to_string())?;
                let mut content_ids = Vec::with_capacity(written.len());
                for page in written {
                    self.contents.restore(page.content_id, page.slot, page.sum)?;
                    content_ids.push(ContentId(page.content_id));
                }
                self.write_contents(first, &content_ids)
            }
            JournalEntry::Read(range) => {
                within(&range)?;
                self.found.clear();
                self.stack.read(range, &mut self.found)
            }
            JournalEntry::Trim(range) => within(&range).map(|()| self.discard(range))?,
            JournalEntry::Flush => self.stack.flush(),
            JournalEntry::Finish(range) => {
                within(&range)?;
                match range.is_empty() || self.zones.is_none() {
                    true => return Err("the end of a zone that there is not".into()),
                    false => self.stack.finish_zone(range.start).map(drop),
                }
            }
        };
        match done {
            // A request that fails because the drive is at its end of life also failed originally.
            Err(error) if !error.is_end_of_life() => Err(error.to_string()),
            _ => Ok(()),
        }
    }
}
