//! Replay of the requests of a journal.

use super::Device;
use crate::image::JournalEntry;
use std::ops::Range;
use wearwell_engine::layer::ContentId;

impl Device {
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
