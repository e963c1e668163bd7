//! The flash in use: what is written to its files, in the order of its operations, until its power is cut.

use super::files::{Files, Shape};
use super::records::{BlockRecord, BlockState};
use super::scan::Found;
use hashbrown::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wearwell_engine::counters::Cause;
use wearwell_engine::flash_format::{Class, DATA, SPOILT, SpareRecord, crc};
use wearwell_engine::layer::{Content, Group, MediumError, Run};
use wearwell_engine::nand::{Backing, DescribePage, FillPage, KeptError, KeptFlash, OwnNote, Spare};
use wearwell_engine::units::BlockId;

/// When power is to be cut: operations are programs of pages and erases of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerCut {
    /// Operations that are still done.
    pub after: u64,
    /// Whether the next one is begun, so that a page is left torn or a block half erased.
    pub torn: bool,
}

/// Why nothing can be done any more.
#[derive(Debug)]
pub enum Off {
    /// Power was cut.
    Cut,
    /// The files failed.
    Failed(String),
}

/// Where the bytes of a name are, and their checksum.
#[derive(Clone, Copy, Debug)]
struct Place {
    slot: u32,
    crc: u32,
}

/// The flash.
pub struct Medium {
    pub files: Files,
    records: Vec<BlockRecord>,
    places: Places<Place>,
    /// Where else contents are that are in more than one place, as one is that is being moved, and equal ones are before they are merged.
    others: Places<Vec<u32>>,
    /// Contents of the write in hand, by name: where their bytes begin, which lie one after the other.
    staged: Places<usize>,
    staged_bytes: Vec<u8>,
    /// A page of the FTL's own that waits for what it holds.
    waiting: Option<(u64, SpareRecord)>,
    /// Operations so far.
    pub operation: u64,
    /// Those that are on disk for sure.
    synced: u64,
    cut: Option<PowerCut>,
    off: Option<Off>,
    pub next_name: u64,
    page: Vec<u8>,
    spares: Vec<u8>,
}

/// The flash, as its several users have it. The lock only proves that there is one at a time.
#[derive(Clone)]
pub struct SharedMedium(Arc<Mutex<Medium>>);

impl SharedMedium {
    pub fn new(medium: Medium) -> Self {
        SharedMedium(Arc::new(Mutex::new(medium)))
    }

    pub fn lock(&self) -> MutexGuard<'_, Medium> {
        // Between two operations it is whole, whatever became of a thread that used it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Names, and places of what they call.
type Places<T> = HashMap<u64, T, foldhash::fast::FixedState>;

/// What is called `name` is at `place`, too; it is read from there from now on.
fn put(places: &mut Places<Place>, others: &mut Places<Vec<u32>>, name: u64, place: Place) {
    if let Some(before) = places.insert(name, place)
        && before.slot != place.slot
    {
        others.entry(name).or_default().push(before.slot);
    }
}

impl Medium {
    /// Flash of which `found` was found. What came after the last operation that counts is taken out of the files.
    ///
    /// # Errors
    /// Files that cannot be read or written.
    pub fn new(files: Files, found: &Found) -> io::Result<Self> {
        let Shape { pages_per_block, page_bytes, .. } = files.shape;
        let (mut places, mut others) = (HashMap::default(), HashMap::default());
        let mut next_name = 1;
        for (block, held) in (0..).zip(&found.blocks) {
            for (page, spare) in (0..).zip(held.pages.iter().flatten().flatten()) {
                let place = Place { slot: block * pages_per_block + page, crc: spare.page_crc };
                if spare.name != 0 && held.record.state == BlockState::InUse {
                    put(&mut places, &mut others, spare.name, place);
                    next_name = next_name.max(spare.name.saturating_add(1));
                }
            }
            if found.has_stale {
                let first = block * pages_per_block;
                for page in held.pages.len() as u32..pages_per_block {
                    files.write_spare(u64::from(first + page), &[0; _])?;
                }
            }
        }
        let mut medium = Medium {
            records: found.blocks.iter().map(|block| block.record).collect(),
            places,
            others,
            staged: HashMap::default(),
            staged_bytes: Vec::new(),
            waiting: None,
            operation: found.operation,
            synced: 0,
            cut: None,
            off: None,
            next_name,
            page: vec![0; page_bytes as usize],
            spares: Vec::new(),
            files,
        };
        // What was only half there must not come back.
        medium.sync()?;
        Ok(medium)
    }

    /// Bytes of pages that are called by a name.
    pub fn held_bytes(&self) -> u64 {
        self.places.len() as u64 * self.page.len() as u64
    }

    /// Power is cut then, instead of when was said before; `None`: it stays on.
    pub fn cut(&mut self, cut: Option<PowerCut>) {
        self.cut = cut;
    }

    /// Why nothing can be done any more, if it is so.
    pub fn off(&self) -> Option<&Off> {
        self.off.as_ref()
    }

    /// Power is off from now on.
    pub fn turn_off(&mut self) {
        self.off.get_or_insert(Off::Cut);
    }

    /// Makes everything survive a power cut of this machine.
    pub fn sync(&mut self) -> io::Result<()> {
        if self.operation > self.synced {
            self.files.sync(self.operation)?;
            self.synced = self.operation;
        }
        Ok(())
    }

    /// The contents of a write follow.
    pub fn begin_write(&mut self) {
        self.staged.clear();
        self.staged_bytes.clear();
    }

    /// The next free name.
    pub fn next_name(&mut self) -> u64 {
        self.next_name += 1;
        self.next_name - 1
    }

    /// Whether anything has this name.
    pub fn has(&self, name: u64) -> bool {
        self.places.contains_key(&name) || self.staged.contains_key(&name)
    }

    /// What is called `name` will be written.
    pub fn stage(&mut self, name: u64, page: &[u8]) {
        self.staged.insert(name, self.staged_bytes.len());
        self.staged_bytes.extend_from_slice(page);
    }

    /// Puts the bytes called `name` into `out`; whether there are any.
    ///
    /// # Errors
    /// Files that cannot be read, and a page that is not what was written.
    pub fn read(&self, name: u64, out: &mut [u8]) -> io::Result<bool> {
        if let Some(&at) = self.staged.get(&name) {
            out.copy_from_slice(&self.staged_bytes[at..][..out.len()]);
            return Ok(true);
        }
        let Some(place) = self.places.get(&name) else { return Ok(false) };
        self.files.read_page(place.slot.into(), out)?;
        if crc(out) != place.crc {
            let problem = format!("page {} of the image is damaged: its checksum is another", place.slot);
            return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
        }
        Ok(true)
    }

    fn slot(&self, block: BlockId, page: u32) -> u64 {
        u64::from(block.0) * u64::from(self.files.shape.pages_per_block) + u64::from(page)
    }

    /// Notes that the files failed.
    fn fail(&mut self, problem: impl ToString) -> MediumError {
        self.off.get_or_insert(Off::Failed(problem.to_string()));
        MediumError::PowerLost
    }

    /// Whether one more operation is done; if not, whether it is begun.
    fn begin(&mut self) -> Result<(), bool> {
        if self.off.is_some() {
            return Err(false);
        }
        match &mut self.cut {
            Some(cut) if cut.after == 0 => {
                let torn = cut.torn;
                self.off = Some(Off::Cut);
                return Err(torn);
            }
            Some(cut) => cut.after -= 1,
            None => {}
        }
        self.operation += 1;
        Ok(())
    }

    /// Leaves a page neither erased nor readable.
    fn tear(&mut self, slot: u64) -> io::Result<()> {
        self.operation += 1;
        self.files.write_spare(slot, &SpareRecord::spoilt(self.operation).encode())
    }

    /// Programs a page with the bytes in hand: the bytes first, then the spare area, with which it is programmed.
    fn write(&mut self, slot: u64, mut spare: SpareRecord) -> io::Result<()> {
        spare.page_crc = crc(&self.page);
        self.files.write_page(slot, &self.page)?;
        self.files.write_spare(slot, &spare.encode())?;
        if spare.name != 0 {
            let place = Place { slot: slot as u32, crc: spare.page_crc };
            put(&mut self.places, &mut self.others, spare.name, place);
        }
        Ok(())
    }

    /// Finds what page `at` of a run holds: says what its spare area notes, `None` of a page that waits for its bytes.
    fn prepare(
        &mut self,
        at: usize,
        run: &Run<'_, Content>,
        describe: &DescribePage<'_>,
    ) -> Result<Option<(OwnNote, u64)>, String> {
        self.page.fill(0);
        let own = describe(at, &mut self.page)?;
        let name = run.data[at].0;
        if let Some(own) = own.filter(|own| own.class != DATA) {
            return Ok(Some((own, 0)));
        }
        if name == 0 && matches!(run.cause, Cause::Translation | Cause::Validity) {
            return Ok(None);
        }
        if name != 0 {
            let mut page = std::mem::take(&mut self.page);
            let found = self.read(name, &mut page);
            self.page = page;
            if !found.map_err(|error| error.to_string())? {
                return Err(format!("nobody knows what content {name} is"));
            }
        }
        Ok(Some((own.unwrap_or(OwnNote::new(DATA)), name)))
    }

    fn program_one(
        &mut self,
        (block, page): (BlockId, u32),
        at: usize,
        run: &Run<'_, Content>,
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
            Group::GoesOn => true,
            Group::Ends => at + 1 != run.data.len(),
        };
        let sequence = run.sequence + at as u64;
        let spare = Spare { owner, sequence, stream: run.stream, cause: run.cause, group_goes_on };
        let (note, operation) = (run.note, self.operation);
        let record = |own, name| SpareRecord { spare, note, name, operation, page_crc: 0, own };
        match self.prepare(at, run, describe) {
            Ok(Some((own, name))) => self.write(slot, record(own, name)).map_err(|error| self.fail(error)),
            Ok(None) => {
                self.waiting = Some((slot, record(OwnNote::new(DATA), 0)));
                Ok(())
            }
            Err(problem) => Err(self.fail(problem)),
        }
    }

    /// The erase of `block` is begun: from now on no page of it can be read. Everything before it is on disk, so that whatever the machine
    /// loses was written after it.
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
        self.forget(block)
    }

    /// Nothing in `block` can be found any more.
    fn forget(&mut self, block: u32) -> io::Result<()> {
        let mut spares = std::mem::take(&mut self.spares);
        let read = self.files.read_spares(block, &mut spares);
        let first = block * self.files.shape.pages_per_block;
        for (slot, bytes) in (first..).zip(spares.as_chunks().0) {
            // Damaged ones are called by no name.
            if let Ok(Some(spare)) = SpareRecord::decode(bytes) {
                self.forget_place(spare.name, slot);
            }
        }
        self.spares = spares;
        read
    }

    /// What is called `name` is no more at `slot`.
    fn forget_place(&mut self, name: u64, slot: u32) {
        let mut others = self.others.remove(&name).unwrap_or_default();
        others.retain(|other| *other != slot);
        match self.places.get_mut(&name) {
            Some(place) if place.slot == slot => match others.pop() {
                Some(other) => place.slot = other,
                None => {
                    self.places.remove(&name);
                }
            },
            _ => {}
        }
        if !others.is_empty() {
            self.others.insert(name, others);
        }
    }

    fn end_erase(&mut self, block: u32, erases: u32) -> io::Result<()> {
        self.files.empty(block)?;
        let record = BlockRecord { state: BlockState::InUse, erases, operation: self.operation };
        self.files.write_block(block, &record)?;
        self.records[block as usize] = record;
        Ok(())
    }
}

impl Backing<Content> for SharedMedium {
    fn program(
        &mut self,
        block: BlockId,
        page: u32,
        run: &Run<'_, Content>,
        describe: &DescribePage<'_>,
    ) -> Result<(), MediumError> {
        let mut medium = self.lock();
        (0..run.data.len()).try_for_each(|at| medium.program_one((block, page), at, run, describe))
    }

    fn hold(&mut self, block: BlockId, page: u32, fill: &mut FillPage<'_>) -> Result<(), MediumError> {
        let mut medium = self.lock();
        let slot = medium.slot(block, page);
        let Some((_, mut record)) = medium.waiting.take_if(|(waiting, _)| *waiting == slot) else {
            return Err(medium.fail(format!("page {page} of block {} waits for nothing", block.0)));
        };
        medium.page.fill(0);
        let mut bytes = std::mem::take(&mut medium.page);
        let filled = fill(&mut bytes);
        medium.page = bytes;
        match filled {
            Ok(own) => record.own = own,
            Err(problem) => return Err(medium.fail(problem)),
        }
        let written = medium.write(slot, record);
        written.map_err(|error| medium.fail(error))
    }

    fn spoil(&mut self, block: BlockId, page: u32, pages: u32) {
        let mut medium = self.lock();
        if medium.begin().is_err() {
            return;
        }
        let slot = medium.slot(block, page);
        medium.operation -= 1;
        let torn = match pages {
            1 => medium.tear(slot),
            _ => {
                medium.operation += 1;
                medium.begin_erase(block.0)
            }
        };
        if let Err(error) = torn {
            medium.fail(error);
        }
    }

    fn erase(&mut self, block: BlockId, erases: u32) -> Result<(), MediumError> {
        let mut medium = self.lock();
        let begun = medium.begin();
        if begun == Err(false) {
            return Err(MediumError::PowerLost);
        }
        if begun == Err(true) {
            medium.operation += 1;
        }
        if let Err(error) = medium.begin_erase(block.0) {
            return Err(medium.fail(error));
        }
        if begun.is_err() {
            return Err(MediumError::PowerLost);
        }
        let erased = medium.end_erase(block.0, erases);
        erased.map_err(|error| medium.fail(error))
    }

    fn retire(&mut self, block: BlockId) {
        let mut medium = self.lock();
        if medium.off.is_some() {
            return;
        }
        medium.operation += 1;
        let record = BlockRecord {
            state: BlockState::Bad,
            operation: medium.operation,
            ..medium.records[block.index()]
        };
        let begun = medium.begin_erase(block.0);
        if let Err(error) = begun.and_then(|()| medium.files.write_block(block.0, &record)) {
            medium.fail(error);
        }
        medium.records[block.index()] = record;
    }
}

impl KeptFlash for SharedMedium {
    fn read_own(&mut self, block: BlockId, page: u32, bytes: &mut [u8]) -> Result<OwnNote, KeptError> {
        let medium = self.lock();
        read_own(&medium.files, block, page, bytes)
    }

    fn noted(&self, block: BlockId, page: u32) -> Option<(OwnNote, u64)> {
        noted(&self.lock().files, block, page)
    }
}

/// Reads a page that an FTL wrote for itself.
pub fn read_own(files: &Files, block: BlockId, page: u32, bytes: &mut [u8]) -> Result<OwnNote, KeptError> {
    let slot = u64::from(block.0) * u64::from(files.shape.pages_per_block) + u64::from(page);
    let damaged = |problem: String| KeptError::page(block, page, problem);
    let spare = files.read_spare(slot).map_err(|error| damaged(error.to_string()))?;
    let spare = SpareRecord::decode(&spare).map_err(|error| damaged(error.to_string()))?;
    let spare = spare.ok_or_else(|| damaged("is erased".into()))?;
    if spare.own.class == SPOILT {
        return Err(damaged("was left torn".into()));
    }
    Class::of(spare.own.class).map_err(|error| damaged(error.to_string()))?;
    let mut whole = vec![0; files.shape.page_bytes as usize];
    files.read_page(slot, &mut whole).map_err(|error| damaged(error.to_string()))?;
    if crc(&whole) != spare.page_crc {
        return Err(damaged("the checksum of its bytes is another".into()));
    }
    if bytes.len() > whole.len() {
        return Err(damaged(format!("has {} bytes, and {} are needed", whole.len(), bytes.len())));
    }
    bytes.copy_from_slice(&whole[..bytes.len()]);
    Ok(spare.own)
}

/// What the spare area of a programmed page notes.
pub fn noted(files: &Files, block: BlockId, page: u32) -> Option<(OwnNote, u64)> {
    let slot = u64::from(block.0) * u64::from(files.shape.pages_per_block) + u64::from(page);
    let spare = SpareRecord::decode(&files.read_spare(slot).ok()?).ok()??;
    (spare.own.class != SPOILT).then_some((spare.own, spare.name))
}
