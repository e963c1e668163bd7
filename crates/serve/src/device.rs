//! Block device: maps byte ranges to the pages of a simulated stack.

mod journaled;
mod paced;
mod problems;
mod recorded;
mod zeroes;
mod zoned;

pub use journaled::{JournalReport, check_journal};
pub use zoned::Zones;

use crate::contents::Contents;
use crate::error::{DeviceError, OpenError};
use crate::flash::StoredDrive;
use crate::image::{Image, JournalEntry, ReplayCounts};
use crate::pacing::{CompletedRequest, Pacing, Speed};
use crate::recording::Recording;
use crate::requests::{Operation, Requests};
use crate::status::Status;
use crate::table::{Table, UNKNOWN};
use problems::Problems;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::time::Instant;
use wearwell_base::config::ConfigError;
use wearwell_base::memory::available_bytes;
use wearwell_base::request::Op;
use wearwell_engine::layer::{ContentId, LayerError};
use wearwell_stack::{LiveStack, RunError, RunResult, Scenario};

/// Maximum number of pages per trim, or per long range of zeroes, sent to the stack.
const PAGES_PER_PIECE: u32 = 1 << 16;

/// A simulated stack that stores real bytes.
///
/// The simulated flash stores a content ID for each page. The ID that a read returns selects the bytes. So data takes
/// the same path as the pages of the engine, and overwritten content takes no memory. A request that does not cover
/// whole pages is read, modified and written.
pub struct Device {
    pub(crate) stack: LiveStack,
    pub(crate) table: Table,
    pub(crate) contents: Contents,
    image: Option<Image>,
    /// Flash image, if the drive's flash is kept in files.
    pub(crate) stored: Option<StoredDrive>,
    recording: Option<Recording>,
    pacing: Option<Pacing>,
    problems: Problems,
    requests: Requests,
    opened: Instant,
    /// Time at which the caller began to wait for the device; cleared when the request is counted.
    wait_started: Option<Instant>,
    /// Stream hint of the current request.
    hint: u16,
    page_bytes: u32,
    zones: Option<Zones>,
    found: Vec<ContentId>,
    content_ids: Vec<ContentId>,
}

impl Device {
    /// Creates a new device for `scenario`, in memory.
    ///
    /// # Errors
    /// Fails if the scenario does not describe a live drive.
    pub fn in_memory(scenario: &Scenario) -> Result<Self, ConfigError> {
        Device::in_memory_at(scenario, Speed::Full)
    }

    /// Does what [`Device::in_memory`] does, at a given speed.
    ///
    /// # Errors
    /// The errors of [`Device::in_memory`]; also fails if a timed device has no timing model.
    pub fn in_memory_at(scenario: &Scenario, speed: Speed) -> Result<Self, ConfigError> {
        let live = speed.build_stack(scenario)?;
        // An eighth of the memory is left to the system.
        let most_bytes = available_bytes().map_or(u64::MAX, |bytes| bytes / 8 * 7);
        let contents = Contents::in_memory(live.page_bytes() as usize, live.shares_contents(), most_bytes);
        Ok(Device::from_stack(live, contents, None).with_speed(speed))
    }

    /// Opens the device of `scenario` that is stored as a journal of all requests in the folder `at`, or creates it.
    /// Also returns the counts of the replay.
    ///
    /// # Errors
    /// The errors of [`Device::in_memory_at`]; also fails if the image is damaged, in use, or belongs to another
    /// scenario.
    pub fn in_journal(
        scenario: &Scenario,
        at: &Path,
        speed: Speed,
    ) -> Result<(Self, ReplayCounts), OpenError> {
        let live = speed.build_stack(scenario)?;
        // Timing does not affect the content, so it is not part of the journal's scenario.
        let untimed = Scenario { timing: None, ..live.scenario().clone() };
        let (image, pages) = Image::open(at, &untimed, live.page_bytes())?;
        let contents = Contents::in_file(live.page_bytes() as usize, live.shares_contents(), pages);
        let mut device = Device::from_stack(live, contents, None);
        let (image, mut counts) = image.replay(|entry| device.replay(entry))?;
        let bytes = image.page_file_bytes()?;
        let damaged = device.check_replayed(bytes).map_err(|error| image.failed(error))?;
        counts.damaged_slots = damaged.map_err(|problem| image.damaged(problem))?.len() as u64;
        device.image = Some(image);
        device.hint = 0;
        Ok((device.with_speed(speed), counts))
    }

    pub(crate) fn from_stack(stack: LiveStack, contents: Contents, image: Option<Image>) -> Self {
        Device {
            table: Table::new(stack.logical_pages()),
            page_bytes: stack.page_bytes(),
            zones: Zones::of_stack(&stack),
            requests: Requests::default(),
            opened: Instant::now(),
            wait_started: None,
            hint: 0,
            found: Vec::new(),
            content_ids: Vec::new(),
            stack,
            contents,
            image,
            stored: None,
            recording: None,
            pacing: None,
            problems: Problems::default(),
        }
    }

    /// Returns the size of the device in bytes.
    pub fn bytes(&self) -> u64 {
        u64::from(self.stack.logical_pages()) * u64::from(self.page_bytes)
    }

    /// Returns the page size in bytes. Writes aligned to pages need no read.
    pub fn page_bytes(&self) -> u32 {
        self.page_bytes
    }

    /// Returns the size of the stored content in bytes.
    pub fn content_bytes(&self) -> u64 {
        self.contents.bytes()
    }

    /// Returns the number of placement handles (stream hints 0 and up) that the drive separates, or 0 if it ignores hints.
    pub fn placement_handles(&self) -> u16 {
        self.stack.placement_handles()
    }

    /// Begins a request of a caller that has waited for the device since `at`, from which the latency of the request
    /// is measured. Writes until the next call carry the stream hint `hint`.
    pub(crate) fn begin_request(&mut self, at: Instant, hint: u16) {
        (self.wait_started, self.hint) = (Some(at), hint);
        if let Some(pacing) = &mut self.pacing {
            pacing.begin_request(&mut self.stack);
        }
    }

    /// Returns the counts and the state of the device.
    pub fn status(&self) -> Status {
        Status {
            name: self.stack.scenario().name.clone(),
            snapshot: self.stack.snapshot(),
            requests: self.requests.clone(),
            seconds: self.opened.elapsed().as_secs_f64(),
            bytes: self.bytes(),
            content_bytes: self.contents.bytes(),
            failure: self.failure(),
        }
    }

    /// Performs a request and records its latency, measured from the time at which the caller began to wait for the
    /// device.
    fn timed(
        &mut self,
        operation: Operation,
        bytes: u64,
        work: impl FnOnce(&mut Self) -> Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        let started = self.wait_started.take().unwrap_or_else(Instant::now);
        let done = work(self);
        self.record_result(operation, &done);
        match &mut self.pacing {
            Some(pacing) => pacing.add(CompletedRequest { operation, bytes, started }),
            None => self.requests.add(operation, bytes, started.elapsed()),
        }
        done
    }

    /// Recounts all counters. An error is a bug in Wearwell.
    pub fn check(&self) -> Result<(), String> {
        self.stack.check()
    }

    /// Returns the result for all requests since the drive was new or recovered, in the form of the result of a
    /// simulation.
    ///
    /// # Errors
    /// Fails if counts disagree, which is a bug in Wearwell.
    pub fn result(self) -> Result<RunResult, RunError> {
        self.stack.result()
    }

    /// Returns the pages that overlap the range. Fails if the range ends beyond the device.
    fn pages(&self, offset: u64, length: u64) -> Result<Range<u32>, DeviceError> {
        let (bytes, page) = (self.bytes(), u64::from(self.page_bytes));
        let end = u128::from(offset) + u128::from(length);
        if end > u128::from(bytes) {
            return Err(DeviceError::OutOfRange { offset, end, bytes });
        }
        Ok((offset / page) as u32..(end as u64).div_ceil(page) as u32)
    }

    /// Returns the pages that lie wholly in the range.
    fn whole_pages(&self, offset: u64, length: u64) -> Range<u32> {
        let page = u64::from(self.page_bytes);
        let (first, end) = (offset.div_ceil(page), (offset + length) / page);
        first as u32..end.max(first) as u32
    }

    /// Fills `out` with the bytes from `offset` on. Unwritten and trimmed pages read as zeroes.
    ///
    /// # Errors
    /// Fails if the range ends beyond the device, or the device fails.
    pub fn read(&mut self, offset: u64, out: &mut [u8]) -> Result<(), DeviceError> {
        let pages = self.pages(offset, out.len() as u64)?;
        self.timed(Operation::Read, out.len() as u64, |device| device.read_range(pages, offset, out))
    }

    fn read_range(&mut self, pages: Range<u32>, offset: u64, out: &mut [u8]) -> Result<(), DeviceError> {
        if pages.is_empty() {
            return Ok(());
        }
        let page_bytes = self.page_bytes as usize;
        let before = (offset % u64::from(self.page_bytes)) as usize;
        if before == 0 && out.len().is_multiple_of(page_bytes) {
            return self.read_pages(pages, out);
        }
        let mut whole = vec![0; pages.len() * page_bytes];
        self.read_pages(pages, &mut whole)?;
        out.copy_from_slice(&whole[before..before + out.len()]);
        Ok(())
    }

    /// Reads whole pages through the stack. The content IDs that the stack returns select the bytes.
    fn read_pages(&mut self, pages: Range<u32>, out: &mut [u8]) -> Result<(), DeviceError> {
        if let Some(image) = &mut self.image {
            image.record_read(pages.clone());
        }
        self.record_request(Op::Read, pages.clone(), &[]);
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        let done = self.stack.read(pages.clone(), &mut found);
        let filled = done
            .map_err(|error| self.convert_error(error))
            .and_then(|()| self.fill_from_contents(pages.start, &found, out));
        self.found = found;
        filled
    }

    fn fill_from_contents(
        &mut self,
        first: u32,
        found: &[ContentId],
        out: &mut [u8],
    ) -> Result<(), DeviceError> {
        for ((page, content), out) in (first..).zip(found).zip(out.chunks_exact_mut(self.page_bytes as usize))
        {
            if self.table.get(page) == UNKNOWN {
                self.table.set(page, content.0);
            }
            // If the drive reached its end of life during a write, it may have stored a part of that write.
            if content.0 != self.table.get(page) && self.stack.end_of_life().is_none() {
                return Err(DeviceError::Astray { page });
            }
            if content.0 == 0 {
                out.fill(0);
            } else if !self.contents.read(content.0, out)? {
                return Err(DeviceError::Astray { page });
            }
        }
        Ok(())
    }

    /// Writes `data` at `offset` as one request.
    ///
    /// # Errors
    /// Fails if the range ends beyond the device, there is no free space for the content, the drive is at its end of
    /// life, or the zone does not allow the write.
    pub fn write(&mut self, offset: u64, data: &[u8]) -> Result<(), DeviceError> {
        let pages = self.pages(offset, data.len() as u64)?;
        self.check_written(offset, data.len() as u64)?;
        self.timed(Operation::Write, data.len() as u64, |device| device.write_range(pages, offset, data))
    }

    fn write_range(&mut self, pages: Range<u32>, offset: u64, data: &[u8]) -> Result<(), DeviceError> {
        if pages.is_empty() {
            return Ok(());
        }
        self.check_writable()?;
        let page_bytes = self.page_bytes as usize;
        let before = (offset % u64::from(self.page_bytes)) as usize;
        if before == 0 && data.len().is_multiple_of(page_bytes) {
            return self.write_pages(pages.start, data);
        }
        let mut whole = vec![0; pages.len() * page_bytes];
        let after = before + data.len();
        if before > 0 {
            self.read_pages(pages.start..pages.start + 1, &mut whole[..page_bytes])?;
        }
        if !after.is_multiple_of(page_bytes) && (pages.len() > 1 || before == 0) {
            let last = whole.len() - page_bytes;
            self.read_pages(pages.end - 1..pages.end, &mut whole[last..])?;
        }
        whole[before..after].copy_from_slice(data);
        self.write_pages(pages.start, &whole)
    }

    /// Writes whole pages: first the bytes, then the journal entry, then the pages of the simulated flash.
    fn write_pages(&mut self, first: u32, data: &[u8]) -> Result<(), DeviceError> {
        if self.contents.needs_sync() {
            self.sync()?;
        }
        let mut content_ids = std::mem::take(&mut self.content_ids);
        content_ids.clear();
        let mut stored = self.store_all(data, &mut content_ids);
        if stored.is_ok()
            && let Some(image) = &mut self.image
        {
            stored = image.record_write(first, self.hint);
        }
        let done = match stored {
            Ok(()) => self.write_contents(first, &content_ids).map_err(|error| self.convert_error(error)),
            Err(error) => {
                content_ids.iter().for_each(|content_id| self.contents.release(content_id.0));
                Err(error.into())
            }
        };
        self.content_ids = content_ids;
        done
    }

    fn store_all(&mut self, data: &[u8], content_ids: &mut Vec<ContentId>) -> io::Result<()> {
        if let Some(image) = &mut self.image {
            image.begin_write();
        }
        self.contents.begin_write();
        for page in data.chunks_exact(self.page_bytes as usize) {
            let (content_id, stored) = self.contents.store(page)?;
            content_ids.push(ContentId(content_id));
            if let Some(image) = &mut self.image {
                image.add_page(content_id, &stored);
            }
        }
        Ok(())
    }

    /// Writes pages whose content is already stored.
    fn write_contents(&mut self, first: u32, content_ids: &[ContentId]) -> Result<(), LayerError> {
        let pages = first..first + content_ids.len() as u32;
        self.record_request(Op::Write, pages.clone(), content_ids);
        let was_dead = self.stack.end_of_life().is_some();
        if let Err(error) = self.stack.write(first, content_ids, self.hint) {
            let (taken, refused) = content_ids.split_at(self.written_in_part(pages).len());
            self.set_contents(first, taken);
            // A drive that reaches its end of life during a write may have stored a part of the write, which must be
            // readable.
            if was_dead || self.zones().is_some() || !error.is_end_of_life() {
                refused.iter().for_each(|content_id| self.contents.release(content_id.0));
            }
            return Err(error);
        }
        self.set_contents(first, content_ids);
        self.record_written(pages);
        Ok(())
    }

    /// Replaces the content IDs of the pages from `first` on.
    fn set_contents(&mut self, first: u32, content_ids: &[ContentId]) {
        for (page, content_id) in (first..).zip(content_ids) {
            let before = self.table.set(page, content_id.0);
            self.contents.release(before);
        }
    }

    /// Discards the content of the whole pages in the range.
    ///
    /// # Errors
    /// Fails if the range ends beyond the device, the drive is at its end of life, or the range covers a part of a
    /// zone.
    pub fn trim(&mut self, offset: u64, length: u64) -> Result<(), DeviceError> {
        self.pages(offset, length)?;
        self.check_trimmed(offset, length)?;
        self.trim_pages(self.whole_pages(offset, length))
    }

    fn trim_pages(&mut self, pages: Range<u32>) -> Result<(), DeviceError> {
        let bytes = pages.len() as u64 * u64::from(self.page_bytes);
        self.timed(Operation::Trim, bytes, |device| device.trim_in_pieces(pages))
    }

    fn trim_in_pieces(&mut self, pages: Range<u32>) -> Result<(), DeviceError> {
        self.check_writable()?;
        // Zones are reset one by one. Other stacks may need undivided requests.
        let at_once = match self.zones {
            Some(zones) => (zones.bytes / u64::from(self.page_bytes)) as u32,
            None if self.stack.wants_requests() => u32::MAX,
            None => PAGES_PER_PIECE,
        };
        let mut first = pages.start;
        while first < pages.end {
            let end = pages.end.min(first.saturating_add(at_once));
            if let Some(image) = &mut self.image {
                image.record(JournalEntry::Trim(first..end))?;
            }
            self.record_trim(first..end)?;
            self.discard(first..end).map_err(|error| self.convert_error(error))?;
            first = end;
        }
        Ok(())
    }

    pub(crate) fn discard(&mut self, pages: Range<u32>) -> Result<(), LayerError> {
        self.record_request(Op::Trim, pages.clone(), &[]);
        self.stack.trim(pages.clone())?;
        for page in pages {
            let before = self.table.set(page, 0);
            self.contents.release(before);
        }
        Ok(())
    }

    /// Makes all completed writes durable, so that they survive a power cut of the simulated drive and, with an
    /// image, of the host machine.
    ///
    /// # Errors
    /// Fails if the device fails.
    pub fn flush(&mut self) -> Result<(), DeviceError> {
        self.timed(Operation::Flush, 0, Self::flush_all)
    }

    fn flush_all(&mut self) -> Result<(), DeviceError> {
        if let Some(image) = &mut self.image {
            image.record(JournalEntry::Flush)?;
        }
        self.record_request(Op::Flush, 0..0, &[]);
        let flushed = self.stack.flush().map_err(|error| self.convert_error(error));
        self.sync()?;
        flushed
    }

    /// Makes the current image durable, so that it survives a power cut of the host machine. Does nothing without an
    /// image.
    ///
    /// # Errors
    /// Fails if the disk fails.
    pub fn sync(&mut self) -> io::Result<()> {
        if let Some(kept) = &self.stored {
            return kept.sync().and_then(|()| self.contents.sync());
        }
        let Some(image) = &mut self.image else { return Ok(()) };
        self.contents.sync().inspect_err(|_| image.close())?;
        image.sync()?;
        self.contents.reuse_released();
        Ok(())
    }

    /// Returns at most `max` extents of the range, each with its end and a flag that tells if its pages hold content.
    /// The last extent may end before the range does.
    ///
    /// # Errors
    /// Fails if the range ends beyond the device.
    pub fn extents(&self, offset: u64, length: u64, max: usize) -> Result<Vec<(u64, bool)>, DeviceError> {
        let pages = self.pages(offset, length)?;
        let (mut at, mut extents) = (pages.start, Vec::new());
        while at < pages.end && extents.len() < max {
            let holds = self.table.get(at) != 0;
            at = self.table.end_of_run(at, pages.end);
            extents.push(((u64::from(at) * u64::from(self.page_bytes)).min(offset + length), holds));
        }
        Ok(extents)
    }
}
