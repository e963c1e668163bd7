//! Storage for the content of a drive's pages: bytes in slots, found by the content IDs that the simulated flash
//! stores.

use crate::flash::FlashImage;
use hashbrown::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use twox_hash::XxHash3_64;

/// Number of slots of memory that are allocated at a time.
const SLOTS_IN_CHUNK: usize = 64;

/// Number of released slots of a file that triggers a sync. A released slot is reused only after the requests that
/// released it are on disk.
const MAX_RELEASED: usize = 1 << 16;

/// Storage of the bytes.
enum Slots {
    /// In memory, allocated in chunks as needed.
    Memory { chunks: Vec<Box<[u8]>>, most_bytes: u64 },
    /// In a file, one slot after the other.
    File(File),
    /// In the pages of a flash image, which has no slots.
    Flash(FlashImage),
}

/// Storage location and checksum of one content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredContent {
    /// Slot that holds the bytes.
    pub slot: u32,
    /// Checksum by [`checksum`], or 0 if no checksum is stored.
    pub sum: u64,
    /// Number of logical pages with this content.
    references: u32,
}

/// Content of all pages that were written and not overwritten or trimmed since.
///
/// If pages with equal content share an ID, the ID is the checksum of the content, which a deduplicating drive also
/// uses as the fingerprint. If a page with different content already has that ID, the next free number is used.
/// Without sharing, each written page gets a separate ID.
pub struct Contents {
    page_bytes: usize,
    slots: Slots,
    /// Number of slots ever used.
    used: u32,
    free: Vec<u32>,
    /// Free slots of a file whose old content may still be needed after a power cut.
    released: Vec<u32>,
    by_id: HashMap<u64, StoredContent, foldhash::fast::FixedState>,
    next_id: u64,
    deduplicates: bool,
    comparison_buffer: Vec<u8>,
}

/// Returns the checksum of a page: 64-bit XXH3 with seed 0.
pub fn checksum(page: &[u8]) -> u64 {
    XxHash3_64::oneshot(page)
}

impl Contents {
    /// Creates a store in memory for at most `max_bytes` of content.
    pub fn in_memory(page_bytes: usize, deduplicates: bool, max_bytes: u64) -> Self {
        Contents::new(page_bytes, deduplicates, Slots::Memory { chunks: Vec::new(), most_bytes: max_bytes })
    }

    /// Creates a store in a file.
    pub fn in_file(page_bytes: usize, deduplicates: bool, file: File) -> Self {
        Contents::new(page_bytes, deduplicates, Slots::File(file))
    }

    /// Creates a store in the pages of a flash image.
    pub fn in_flash(page_bytes: usize, deduplicates: bool, flash: FlashImage) -> Self {
        Contents::new(page_bytes, deduplicates, Slots::Flash(flash))
    }

    fn new(page_bytes: usize, deduplicates: bool, slots: Slots) -> Self {
        Contents {
            page_bytes,
            slots,
            used: 0,
            free: Vec::new(),
            released: Vec::new(),
            by_id: HashMap::default(),
            next_id: 1,
            deduplicates,
            comparison_buffer: vec![0; page_bytes],
        }
    }

    /// Returns the size of the stored content in bytes.
    pub fn bytes(&self) -> u64 {
        if let Slots::Flash(flash) = &self.slots {
            return flash.medium().stored_bytes();
        }
        self.by_id.len() as u64 * self.page_bytes as u64
    }

    /// Begins a write, whose pages follow in calls of [`Contents::store`].
    pub fn begin_write(&mut self) {
        if let Slots::Flash(flash) = &self.slots {
            flash.medium().begin_write();
        }
    }

    /// Stages a page, whose bytes are stored when the flash programs it, and returns its ID.
    fn stage(&mut self, flash: &FlashImage, page: &[u8]) -> io::Result<(u64, StoredContent)> {
        let mut medium = flash.medium();
        let sum = if self.deduplicates { checksum(page) } else { 0 };
        let mut content_id = if self.deduplicates { sum.max(1) } else { medium.next_id() };
        let stored = StoredContent { slot: 0, sum, references: 0 };
        while medium.has(content_id) {
            match medium.read(content_id, &mut self.comparison_buffer) {
                Ok(true) if self.comparison_buffer == page => return Ok((content_id, stored)),
                Ok(_) => {}
                // A write of the same content repairs a damaged page: the content is stored again.
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {}
                Err(error) => return Err(error),
            }
            content_id = content_id.wrapping_add(1).max(1);
        }
        medium.stage(content_id, page);
        Ok((content_id, stored))
    }

    /// Stores the content of another logical page and returns its ID.
    ///
    /// # Errors
    /// Fails if there is no free space, or the file cannot be written.
    pub fn store(&mut self, page: &[u8]) -> io::Result<(u64, StoredContent)> {
        if let Slots::Flash(flash) = &self.slots {
            return self.stage(&flash.clone(), page);
        }
        let sum = if self.deduplicates || matches!(self.slots, Slots::File(_)) { checksum(page) } else { 0 };
        let mut content_id = if self.deduplicates { sum.max(1) } else { self.next_id };
        while let Some(&stored) = self.by_id.get(&content_id) {
            let mut compared = std::mem::take(&mut self.comparison_buffer);
            let same = self.read_slot(stored.slot, &mut compared).map(|()| compared == page);
            self.comparison_buffer = compared;
            if same? {
                self.by_id.entry(content_id).and_modify(|stored| stored.references += 1);
                return Ok((content_id, stored));
            }
            content_id = content_id.wrapping_add(1).max(1);
        }
        let slot = self.take_slot()?;
        if let Err(error) = self.write_slot(slot, page) {
            self.free.push(slot);
            return Err(error);
        }
        self.next_id += u64::from(!self.deduplicates);
        let stored = StoredContent { slot, sum, references: 1 };
        self.by_id.insert(content_id, stored);
        Ok((content_id, stored))
    }

    /// Releases the content `content_id` for one logical page.
    pub fn release(&mut self, content_id: u64) {
        let Some(stored) = self.by_id.get_mut(&content_id) else { return };
        stored.references -= 1;
        if stored.references == 0 {
            let slot = stored.slot;
            self.by_id.remove(&content_id);
            match self.slots {
                Slots::Memory { .. } => self.free.push(slot),
                Slots::File(_) => self.released.push(slot),
                // Content without references stays in flash until its block is erased.
                Slots::Flash(_) => {}
            }
        }
    }

    /// Reads the content `content_id` into `out`. Returns false if there is no such content.
    ///
    /// # Errors
    /// Fails if the file cannot be read or the checksum is wrong.
    pub fn read(&self, content_id: u64, out: &mut [u8]) -> io::Result<bool> {
        if let Slots::Flash(flash) = &self.slots {
            return flash.medium().read(content_id, out);
        }
        let Some(stored) = self.by_id.get(&content_id) else { return Ok(false) };
        self.read_slot(stored.slot, out)?;
        if matches!(self.slots, Slots::File(_)) && checksum(out) != stored.sum {
            let problem = format!("slot {} of the image is damaged: its checksum is another", stored.slot);
            return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
        }
        Ok(true)
    }

    /// True if so many slots are released that [`Contents::sync`] should be called before the next write.
    pub fn needs_sync(&self) -> bool {
        self.released.len() >= MAX_RELEASED
    }

    /// Makes all bytes in files durable, so that they survive a power cut of the host machine.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn sync(&mut self) -> io::Result<()> {
        match &self.slots {
            Slots::Memory { .. } => Ok(()),
            Slots::File(file) => file.sync_data(),
            Slots::Flash(flash) => flash.medium().sync(),
        }
    }

    /// Makes released slots reusable. Must be called after a [`Contents::sync`] and a sync of the journal, so that no
    /// request on disk needs these slots.
    pub fn reuse_released(&mut self) {
        self.free.append(&mut self.released);
    }

    /// Adds a reference to a content for a logical page, according to an entry of the journal.
    ///
    /// # Errors
    /// Fails if the entry contradicts an earlier one, or has ID 0.
    pub fn restore(&mut self, content_id: u64, slot: u32, sum: u64) -> Result<(), &'static str> {
        if content_id == 0 {
            return Err("a page that holds nothing");
        }
        let stored = self.by_id.entry(content_id).or_insert(StoredContent { slot, sum, references: 0 });
        if (stored.slot, stored.sum) != (slot, sum) {
            return Err("one content in two places");
        }
        stored.references += 1;
        self.next_id = self.next_id.max(content_id.saturating_add(1));
        Ok(())
    }

    /// Completes a series of [`Contents::restore`] calls: finds the free slots and verifies the checksum of every
    /// content. Returns the slots whose checksum differs; reading their content fails.
    ///
    /// # Errors
    /// Fails if the file cannot be read. The inner result fails if two contents share a slot or a slot is missing.
    pub fn check_restored(&mut self, file_bytes: u64) -> io::Result<Result<Vec<u32>, String>> {
        let slots = (file_bytes / self.page_bytes as u64).min(u64::from(u32::MAX)) as u32;
        let mut stored: Vec<(u32, u64)> =
            self.by_id.values().map(|stored| (stored.slot, stored.sum)).collect();
        stored.sort_unstable();
        if let Some(pair) = stored.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Ok(Err(format!("two contents are said to be in slot {}", pair[0].0)));
        }
        let mut page = vec![0; self.page_bytes];
        self.free.clear();
        self.released.clear();
        let (mut next, mut damaged) = (0, Vec::new());
        for (slot, sum) in stored {
            if slot >= slots {
                return Ok(Err(format!("slot {slot} is missing: the file has {slots}")));
            }
            self.read_slot(slot, &mut page)?;
            if checksum(&page) != sum {
                damaged.push(slot);
            }
            self.free.extend(next..slot);
            next = slot + 1;
        }
        self.used = next;
        Ok(Ok(damaged))
    }

    fn take_slot(&mut self) -> io::Result<u32> {
        if let Some(slot) = self.free.pop() {
            return Ok(slot);
        }
        let slot = self.used;
        if let Slots::Memory { chunks, most_bytes } = &mut self.slots
            && slot as usize >= chunks.len() * SLOTS_IN_CHUNK
        {
            let bytes = SLOTS_IN_CHUNK * self.page_bytes;
            if ((chunks.len() + 1) * bytes) as u64 > *most_bytes {
                return Err(io::ErrorKind::StorageFull.into());
            }
            chunks.push(vec![0; bytes].into());
        }
        self.used = slot.checked_add(1).ok_or(io::ErrorKind::StorageFull)?;
        Ok(slot)
    }

    fn read_slot(&self, slot: u32, out: &mut [u8]) -> io::Result<()> {
        match &self.slots {
            Slots::Memory { chunks, .. } => {
                let at = slot as usize % SLOTS_IN_CHUNK * self.page_bytes;
                out.copy_from_slice(&chunks[slot as usize / SLOTS_IN_CHUNK][at..at + self.page_bytes]);
                Ok(())
            }
            Slots::File(file) => file.read_exact_at(out, u64::from(slot) * self.page_bytes as u64),
            Slots::Flash(_) => unreachable!("flash has no slots"),
        }
    }

    fn write_slot(&mut self, slot: u32, page: &[u8]) -> io::Result<()> {
        match &mut self.slots {
            Slots::Memory { chunks, .. } => {
                let at = slot as usize % SLOTS_IN_CHUNK * self.page_bytes;
                chunks[slot as usize / SLOTS_IN_CHUNK][at..at + self.page_bytes].copy_from_slice(page);
                Ok(())
            }
            Slots::File(file) => file.write_all_at(page, u64::from(slot) * self.page_bytes as u64),
            Slots::Flash(_) => unreachable!("flash has no slots"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_pages_share_id_only_with_sharing() {
        for shares in [true, false] {
            let mut contents = Contents::in_memory(8, shares, 1 << 20);
            let (one, _) = contents.store(&[7; 8]).unwrap();
            let (two, _) = contents.store(&[7; 8]).unwrap();
            assert_eq!(one == two, shares);
            contents.release(one);
            let mut out = [0; 8];
            assert!(contents.read(two, &mut out).unwrap());
            assert_eq!(out, [7; 8]);
            contents.release(two);
            assert!(!contents.read(two, &mut out).unwrap());
            assert_eq!(contents.bytes(), 0);
        }
    }

    #[test]
    fn contents_with_equal_checksums_get_different_ids() {
        let mut contents = Contents::in_memory(8, true, 1 << 20);
        let content_id = checksum(&[1; 8]);
        // This simulates a different content with the same checksum.
        contents.restore(content_id, 0, content_id).unwrap();
        assert_eq!(contents.take_slot().unwrap(), 0);
        let (first_id, _) = contents.store(&[1; 8]).unwrap();
        assert_eq!(first_id, content_id + 1);
    }

    #[test]
    fn store_beyond_memory_limit_returns_storage_full() {
        let mut contents = Contents::in_memory(512, false, 64 * 512);
        for _ in 0..64 {
            contents.store(&[1; 512]).unwrap();
        }
        assert_eq!(contents.store(&[1; 512]).unwrap_err().kind(), io::ErrorKind::StorageFull);
        contents.release(5);
        contents.store(&[2; 512]).unwrap();
    }

    #[test]
    fn flipped_byte_of_restored_content_is_noticed() {
        let mut contents = Contents::in_memory(8, true, 1 << 20);
        let content = [1, 2, 3, 4, 5, 6, 7, 8];
        contents.store(&content).unwrap();
        assert_eq!(contents.check_restored(8).unwrap(), Ok(Vec::new()));
        assert!(contents.check_restored(7).unwrap().is_err(), "the slot is missing");
        for at in 0..8 {
            let mut flipped = content;
            flipped[at] ^= 0x10;
            contents.write_slot(0, &flipped).unwrap();
            assert_eq!(contents.check_restored(8).unwrap(), Ok(vec![0]), "byte {at}");
        }
    }
}
