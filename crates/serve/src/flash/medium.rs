//! Flash in use: it writes to its files in the order of operations, until its power is cut.

mod storage;

use super::files::{Files, Shape};
use super::records::{BlockRecord, BlockState};
use super::scan::ScannedFlash;
use hashbrown::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wearwell_engine::counters::Cause;
use wearwell_engine::flash_format::{DATA, SpareRecord, crc};
use wearwell_engine::layer::{ContentId, Group, MediumError, Run};
use wearwell_engine::nand::{DescribePage, MetadataNote, Spare};
use wearwell_engine::units::BlockId;

/// Moment of a power cut, counted in flash operations (page programs and block erases).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerCut {
    /// Number of operations to complete before the cut.
    pub after: u64,
    /// True if the next operation begins before the cut, which leaves a torn page or a partly erased block.
    pub torn: bool,
}

/// Reason why the flash executes no further operations.
#[derive(Debug)]
pub enum PowerOff {
    /// Power was cut.
    Cut,
    /// The files failed, with an error of this kind.
    Failed(io::ErrorKind, String),
}

/// Location of a content and its checksum.
#[derive(Clone, Copy, Debug)]
struct Location {
    slot: u32,
    crc: u32,
}

/// Flash in use, with the state of its files.
pub struct Medium {
    pub files: Files,
    records: Vec<BlockRecord>,
    locations: ById<Location>,
    /// Further locations of content that has several copies, because it is being moved, or because equal content was
    /// not merged yet.
    other_slots: ById<Vec<u32>>,
    /// Content of the current write, by content ID: offset of the bytes in `staged_bytes`.
    staged: ById<usize>,
    staged_bytes: Vec<u8>,
    /// Descriptions of damaged pages that were moved, until they are taken.
    moved_damage: Vec<String>,
    /// Page with data of the FTL that is programmed, but whose bytes are not known yet.
    incomplete_page: Option<(u64, SpareRecord)>,
    /// Number of the last operation.
    pub operation: u64,
    /// Number of the last operation that is certainly durable.
    synced: u64,
    /// True if more of the battery's file is durable than the sync record says.
    has_new_battery: bool,
    scheduled_cut: Option<PowerCut>,
    off: Option<PowerOff>,
    /// Error for which the files are only read: all operations succeed, but are not stored.
    read_only: Option<(io::ErrorKind, String)>,
    pub next_id: u64,
    page: Vec<u8>,
    spares: Vec<u8>,
}

/// Flash shared by its users. The lock is never contended in practice.
#[derive(Clone)]
pub struct SharedMedium(Arc<Mutex<Medium>>);

impl SharedMedium {
    pub fn new(medium: Medium) -> Self {
        SharedMedium(Arc::new(Mutex::new(medium)))
    }

    pub fn lock(&self) -> MutexGuard<'_, Medium> {
        // A poisoned lock is harmless: the flash is consistent between operations.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Map from content IDs to locations.
type ById<T> = HashMap<u64, T, foldhash::fast::FixedState>;

/// Adds a location of the content `name`; later reads use it.
fn put(locations: &mut ById<Location>, other_slots: &mut ById<Vec<u32>>, name: u64, location: Location) {
    if let Some(before) = locations.insert(name, location)
        && before.slot != location.slot
    {
        other_slots.entry(name).or_default().push(before.slot);
    }
}

impl Medium {
    /// Creates the flash from the results of a scan. Removes pages after the last valid operation from the files. If
    /// this fails, the flash can only be read.
    pub fn new(files: Files, found: &ScannedFlash) -> Self {
        let Shape { pages_per_block, page_bytes, .. } = files.shape;
        let (mut locations, mut other_slots) = (HashMap::default(), HashMap::default());
        let mut next_id = 1;
        for (block, scanned) in (0..).zip(&found.blocks) {
            for (page, spare) in (0..).zip(scanned.pages.iter().flatten().flatten()) {
                let location = Location { slot: block * pages_per_block + page, crc: spare.page_crc };
                if spare.name != 0 && scanned.record.state == BlockState::InUse {
                    put(&mut locations, &mut other_slots, spare.name, location);
                    next_id = next_id.max(spare.name.saturating_add(1));
                }
            }
        }
        let mut medium = Medium {
            records: found.blocks.iter().map(|block| block.record).collect(),
            locations,
            other_slots,
            staged: HashMap::default(),
            staged_bytes: Vec::new(),
            moved_damage: Vec::new(),
            incomplete_page: None,
            operation: found.operation,
            synced: 0,
            has_new_battery: false,
            scheduled_cut: None,
            off: None,
            read_only: None,
            next_id,
            page: vec![0; page_bytes as usize],
            spares: Vec::new(),
            files,
        };
        if let Err(error) = medium.remove_undone(found) {
            medium.fail(error);
        }
        medium
    }

    /// Removes pages after the last valid operation from the files, and makes the removals durable, so that removed
    /// pages do not reappear.
    fn remove_undone(&mut self, found: &ScannedFlash) -> io::Result<()> {
        let pages_per_block = self.files.shape.pages_per_block;
        for (block, scanned) in (0..).zip(&found.blocks).filter(|_| found.has_stale) {
            let first: u32 = block * pages_per_block;
            for page in scanned.pages.len() as u32..pages_per_block {
                self.files.write_spare(u64::from(first + page), &[0; _])?;
            }
        }
        self.sync()
    }

    /// Returns the number of bytes in pages that have a content ID.
    pub fn stored_bytes(&self) -> u64 {
        self.locations.len() as u64 * self.page.len() as u64
    }

    /// Schedules a power cut and replaces an earlier schedule; `None` cancels it.
    pub fn schedule_cut(&mut self, cut: Option<PowerCut>) {
        self.scheduled_cut = cut;
    }

    /// Returns the error for which the files are not written any more, if there is one.
    pub fn failure(&self) -> Option<io::Error> {
        match (&self.off, &self.read_only) {
            (Some(PowerOff::Failed(kind, problem)), _) | (_, Some((kind, problem))) => {
                Some(io::Error::new(*kind, problem.clone()))
            }
            _ => None,
        }
    }

    /// From now on, lets all operations succeed without storing them, because the files cannot be written for `reason`.
    pub fn set_read_only(&mut self, reason: &io::Error) {
        (self.off, self.read_only) = (None, Some((reason.kind(), reason.to_string())));
    }

    /// True if operations are not stored.
    pub fn is_read_only(&self) -> bool {
        self.read_only.is_some()
    }

    /// Turns the power off now.
    pub fn turn_off(&mut self) {
        self.off.get_or_insert(PowerOff::Cut);
    }

    /// Sets the durable part of the battery's file, which the next sync records.
    pub fn set_battery(&mut self, battery: u64) {
        self.has_new_battery |= battery != self.files.battery;
        self.files.battery = battery;
    }

    /// Makes all files durable, so that they survive a power cut of the host machine.
    pub fn sync(&mut self) -> io::Result<()> {
        // A read-only drive refuses writes, so it has nothing to make durable.
        if self.is_read_only() {
            return Ok(());
        }
        if let Some(error) = self.failure() {
            return Err(error);
        }
        if self.operation > self.synced || self.has_new_battery {
            // After a failed sync, the host may have dropped writes. A later sync that succeeds would hide this.
            self.files.sync(self.operation).inspect_err(|error| {
                self.off.get_or_insert(PowerOff::Failed(error.kind(), error.to_string()));
            })?;
            (self.synced, self.has_new_battery) = (self.operation, false);
        }
        Ok(())
    }

    /// Begins a write, whose content follows in calls of [`Medium::stage`].
    pub fn begin_write(&mut self) {
        self.staged.clear();
        self.staged_bytes.clear();
    }

    /// Allocates the next free content ID.
    pub fn next_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id - 1
    }

    /// True if a content has this ID.
    pub fn has(&self, name: u64) -> bool {
        self.locations.contains_key(&name) || self.staged.contains_key(&name)
    }

    /// Adds a content to the current write.
    pub fn stage(&mut self, name: u64, page: &[u8]) {
        self.staged.insert(name, self.staged_bytes.len());
        self.staged_bytes.extend_from_slice(page);
    }

    /// Reads the content `name` into `out`. Returns false if there is no such content.
    ///
    /// # Errors
    /// Fails if the files cannot be read or the checksum is wrong.
    pub fn read(&self, name: u64, out: &mut [u8]) -> io::Result<bool> {
        if self.read_staged(name, out) {
            return Ok(true);
        }
        let Some(location) = self.locations.get(&name) else { return Ok(false) };
        self.files.read_page(location.slot.into(), out)?;
        if crc(out) != location.crc {
            let problem = format!("page {} of the image is damaged: its checksum is another", location.slot);
            return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
        }
        Ok(true)
    }

    /// Copies the content `name` into `out` if it is part of the current write. Returns false if it is not.
    fn read_staged(&self, name: u64, out: &mut [u8]) -> bool {
        let Some(&at) = self.staged.get(&name) else { return false };
        out.copy_from_slice(&self.staged_bytes[at..][..out.len()]);
        true
    }

    /// Reads the content `name` into `self.page`, which will be programmed, and returns its checksum.
    ///
    /// A damaged page keeps its checksum when it is moved: its copy is damaged too, and is never taken for valid.
    fn copy_content(&mut self, name: u64) -> io::Result<u32> {
        let mut page = std::mem::take(&mut self.page);
        let is_staged = self.read_staged(name, &mut page);
        self.page = page;
        if is_staged {
            return Ok(crc(&self.page));
        }
        let Some(&Location { slot, crc: expected }) = self.locations.get(&name) else {
            return Err(io::Error::other(format!("nobody knows what content {name} is")));
        };
        self.files.read_page(slot.into(), &mut self.page)?;
        if crc(&self.page) != expected {
            let (block, page) =
                (slot / self.files.shape.pages_per_block, slot % self.files.shape.pages_per_block);
            self.moved_damage.push(format!(
                "block {block}, page {page}: the checksum of its bytes is another; cleaning has moved the page, and it still cannot be read"
            ));
        }
        Ok(expected)
    }

    /// Takes the descriptions of damaged pages that were moved since the last call.
    pub fn take_moved_damage(&mut self) -> Vec<String> {
        std::mem::take(&mut self.moved_damage)
    }

    fn slot(&self, block: BlockId, page: u32) -> u64 {
        u64::from(block.0) * u64::from(self.files.shape.pages_per_block) + u64::from(page)
    }

    /// Turns the flash off because the files failed.
    fn fail(&mut self, error: io::Error) -> MediumError {
        self.off.get_or_insert(PowerOff::Failed(error.kind(), error.to_string()));
        MediumError::PowerLost
    }

    /// Begins an operation. Fails when power is off. With `Err(true)`, the caller must begin the operation and leave
    /// it incomplete.
    fn begin(&mut self) -> Result<(), bool> {
        if self.off.is_some() {
            return Err(false);
        }
        match &mut self.scheduled_cut {
            Some(cut) if cut.after == 0 => {
                let torn = cut.torn;
                self.off = Some(PowerOff::Cut);
                return Err(torn);
            }
            Some(cut) => cut.after -= 1,
            None => {}
        }
        self.operation += 1;
        Ok(())
    }

    /// Leaves a page torn, so that it is neither erased nor readable.
    fn tear(&mut self, slot: u64) -> io::Result<()> {
        self.operation += 1;
        self.files.write_spare(slot, &SpareRecord::unreadable(self.operation).encode())
    }

    /// Programs a page with the bytes in `self.page`: first the bytes, then the spare area, which makes the page programmed.
    fn write(&mut self, slot: u64, spare: SpareRecord) -> io::Result<()> {
        self.files.write_page(slot, &self.page)?;
        self.files.write_spare(slot, &spare.encode())?;
        if spare.content_id != 0 {
            let location = Location { slot: slot as u32, crc: spare.page_crc };
            put(&mut self.locations, &mut self.other_slots, spare.content_id, location);
        }
        Ok(())
    }

    /// Prepares the bytes of page `at` of a run. Returns the page's note, content ID and checksum, or `None` if the
    /// bytes come later.
    fn prepare(
        &mut self,
        at: usize,
        run: &Run<'_, ContentId>,
        describe: &DescribePage<'_>,
    ) -> io::Result<Option<(MetadataNote, u64, u32)>> {
        self.page.fill(0);
        let note = describe(at, &mut self.page).map_err(io::Error::other)?;
        let name = run.data[at].0;
        if let Some(own) = note.filter(|own| own.class != DATA) {
            return Ok(Some((own, 0, crc(&self.page))));
        }
        if name == 0 && matches!(run.cause, Cause::Translation | Cause::Validity) {
            return Ok(None);
        }
        let page_crc = match name {
            0 => crc(&self.page),
            name => self.copy_content(name)?,
        };
        Ok(Some((note.unwrap_or(MetadataNote::new(DATA)), name, page_crc)))
    }

    fn program_page(
        &mut self,
        (block, page): (BlockId, u32),
        at: usize,
        run: &Run<'_, ContentId>,
        describe: &DescribePage<'_>,
    ) -> Result<(), MediumError> {
        let slot = self.slot(block, page + at as u32);
        if let Err(torn) = self.begin() {
            return Err(match if torn { self.tear(slot) } else { Ok(()) } {
                Ok(()) => MediumError::PowerLost,
                Err(error) => self.fail(error),
            });
        }
        let owner = run.owners.and_then(|owners| owners.get(at)).copied();
        let owner = owner.ok_or(MediumError::OwnersMissing { block: block.0 })?;
        let group_goes_on = match run.group {
            Group::None => false,
            Group::Continues => true,
            Group::Ends => at + 1 != run.data.len(),
        };
        let sequence = run.sequence + at as u64;
        let spare =
            Spare { owner, sequence, stream: run.stream, cause: run.cause, group_continues: group_goes_on };
        let (note, operation) = (run.note, self.operation);
        let record = |own, name, page_crc| SpareRecord {
            spare,
            note,
            content_id: name,
            operation,
            page_crc,
            ftl_note: own,
        };
        match self.prepare(at, run, describe) {
            Ok(Some((own, name, page_crc))) => {
                self.write(slot, record(own, name, page_crc)).map_err(|error| self.fail(error))
            }
            Ok(None) => {
                self.incomplete_page = Some((slot, record(MetadataNote::new(DATA), 0, 0)));
                Ok(())
            }
            Err(error) => Err(self.fail(error)),
        }
    }

    /// Begins the erase of `block`, whose pages can then no longer be read. First syncs all earlier operations, so
    /// that the host machine can lose only later operations.
    fn begin_erase(&mut self, block: u32) -> io::Result<()> {
        if self.operation - 1 > self.synced {
            self.files.sync(self.operation - 1)?;
            self.synced = self.operation - 1;
        }
        let record = BlockRecord {
            state: BlockState::Erasing,
            operation: self.operation,
            ..self.records[block as usize]
        };
        self.files.write_block(block, &record)?;
        self.files.sync_blocks()?;
        self.records[block as usize] = record;
        self.remove_locations(block)
    }

    /// Removes all locations in `block`.
    fn remove_locations(&mut self, block: u32) -> io::Result<()> {
        let mut spares = std::mem::take(&mut self.spares);
        let read = self.files.read_spares(block, &mut spares);
        let first = block * self.files.shape.pages_per_block;
        for (slot, bytes) in (first..).zip(spares.as_chunks().0) {
            // Damaged spare areas have no content ID.
            if let Ok(Some(spare)) = SpareRecord::decode(bytes) {
                self.remove_location(spare.content_id, slot);
            }
        }
        self.spares = spares;
        read
    }

    /// Removes `slot` from the locations of the content `name`.
    fn remove_location(&mut self, name: u64, slot: u32) {
        let mut other_slots = self.other_slots.remove(&name).unwrap_or_default();
        other_slots.retain(|other| *other != slot);
        match self.locations.get_mut(&name) {
            Some(location) if location.slot == slot => match other_slots.pop() {
                Some(other) => location.slot = other,
                None => {
                    self.locations.remove(&name);
                }
            },
            _ => {}
        }
        if !other_slots.is_empty() {
            self.other_slots.insert(name, other_slots);
        }
    }

    fn end_erase(&mut self, block: u32, erases: u32) -> io::Result<()> {
        self.files.erase_pages(block)?;
        let record = BlockRecord { state: BlockState::InUse, erases, operation: self.operation };
        self.files.write_block(block, &record)?;
        self.records[block as usize] = record;
        Ok(())
    }
}
