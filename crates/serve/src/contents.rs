//! What the pages of a drive hold: bytes in slots, found by the names that the simulated flash keeps in their place.

use crate::flash::FlashImage;
use hashbrown::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use twox_hash::XxHash3_64;

/// Slots of memory that are asked for at a time.
const SLOTS_IN_CHUNK: usize = 64;

/// Slots that are given up before what lies in others has to be on disk, so that they can be used again.
const MOST_GIVEN_UP: usize = 1 << 16;

/// Where the bytes of slots are.
enum Slots {
    /// In memory, which grows with them.
    Memory { chunks: Vec<Box<[u8]>>, most_bytes: u64 },
    /// In a file, one after the other.
    File(File),
    /// In the pages of flash that is kept in files, which has no slots.
    Flash(FlashImage),
}

/// A content, under its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Where its bytes are.
    pub slot: u32,
    /// Its checksum by [`checksum`]; 0 where nobody asks for it.
    pub sum: u64,
    /// Logical pages that hold it.
    users: u32,
}

/// The bytes of all pages that were written and not yet overwritten or trimmed.
///
/// Where equal contents share a name, it is their checksum, which is what a drive that deduplicates takes for a fingerprint; the
/// first free number after it where another content has that already. Else each page that is written gets a name of its own.
pub struct Contents {
    page_bytes: usize,
    slots: Slots,
    /// Slots that were ever used.
    used: u32,
    free: Vec<u32>,
    /// Free slots of a file whose former content may still be needed after a power cut.
    given_up: Vec<u32>,
    by_name: HashMap<u64, Held, foldhash::fast::FixedState>,
    next_name: u64,
    shares: bool,
    compared: Vec<u8>,
}

/// The checksum of a page: XXH3 of 64 bits, seed 0.
pub fn checksum(page: &[u8]) -> u64 {
    XxHash3_64::oneshot(page)
}

impl Contents {
    /// In memory, of which they take at most `most_bytes`.
    pub fn in_memory(page_bytes: usize, shares: bool, most_bytes: u64) -> Self {
        Contents::new(page_bytes, shares, Slots::Memory { chunks: Vec::new(), most_bytes })
    }

    /// In a file.
    pub fn in_file(page_bytes: usize, shares: bool, file: File) -> Self {
        Contents::new(page_bytes, shares, Slots::File(file))
    }

    /// In the pages of flash that is kept in files.
    pub fn in_flash(page_bytes: usize, shares: bool, flash: FlashImage) -> Self {
        Contents::new(page_bytes, shares, Slots::Flash(flash))
    }

    fn new(page_bytes: usize, shares: bool, slots: Slots) -> Self {
        Contents {
            page_bytes,
            slots,
            used: 0,
            free: Vec::new(),
            given_up: Vec::new(),
            by_name: HashMap::default(),
            next_name: 1,
            shares,
            compared: vec![0; page_bytes],
        }
    }

    /// Bytes that are held.
    pub fn bytes(&self) -> u64 {
        if let Slots::Flash(flash) = &self.slots {
            return flash.medium().held_bytes();
        }
        self.by_name.len() as u64 * self.page_bytes as u64
    }

    /// The pages of a write will be kept, one after the other.
    pub fn begin_write(&mut self) {
        if let Slots::Flash(flash) = &self.slots {
            flash.medium().begin_write();
        }
    }

    /// The name of a page that will be written to flash, which keeps it.
    fn stage(&mut self, flash: &FlashImage, page: &[u8]) -> io::Result<(u64, Held)> {
        let mut medium = flash.medium();
        let sum = if self.shares { checksum(page) } else { 0 };
        let mut name = if self.shares { sum.max(1) } else { medium.next_name() };
        let held = Held { slot: 0, sum, users: 0 };
        while medium.has(name) {
            if medium.read(name, &mut self.compared)? && self.compared == page {
                return Ok((name, held));
            }
            name = name.wrapping_add(1).max(1);
        }
        medium.stage(name, page);
        Ok((name, held))
    }

    /// Keeps what one more logical page holds, and says under which name.
    ///
    /// # Errors
    /// No room, or a file that cannot be written.
    pub fn keep(&mut self, page: &[u8]) -> io::Result<(u64, Held)> {
        if let Slots::Flash(flash) = &self.slots {
            return self.stage(&flash.clone(), page);
        }
        let sum = if self.shares || matches!(self.slots, Slots::File(_)) { checksum(page) } else { 0 };
        let mut name = if self.shares { sum.max(1) } else { self.next_name };
        while let Some(&held) = self.by_name.get(&name) {
            let mut compared = std::mem::take(&mut self.compared);
            let same = self.read_slot(held.slot, &mut compared).map(|()| compared == page);
            self.compared = compared;
            if same? {
                self.by_name.entry(name).and_modify(|held| held.users += 1);
                return Ok((name, held));
            }
            name = name.wrapping_add(1).max(1);
        }
        let slot = self.take_slot()?;
        if let Err(error) = self.write_slot(slot, page) {
            self.free.push(slot);
            return Err(error);
        }
        self.next_name += u64::from(!self.shares);
        let held = Held { slot, sum, users: 1 };
        self.by_name.insert(name, held);
        Ok((name, held))
    }

    /// A logical page no longer holds what is called `name`.
    pub fn give_up(&mut self, name: u64) {
        let Some(held) = self.by_name.get_mut(&name) else { return };
        held.users -= 1;
        if held.users == 0 {
            let slot = held.slot;
            self.by_name.remove(&name);
            match self.slots {
                Slots::Memory { .. } => self.free.push(slot),
                Slots::File(_) => self.given_up.push(slot),
                // What nobody names any more is there until its block is erased.
                Slots::Flash(_) => {}
            }
        }
    }

    /// Puts the bytes called `name` into `out`; whether there are any.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn read(&self, name: u64, out: &mut [u8]) -> io::Result<bool> {
        if let Slots::Flash(flash) = &self.slots {
            return flash.medium().read(name, out);
        }
        match self.by_name.get(&name) {
            Some(held) => self.read_slot(held.slot, out).map(|()| true),
            None => Ok(false),
        }
    }

    /// Whether so much was given up that [`Contents::sync`] should come first.
    pub fn wants_sync(&self) -> bool {
        self.given_up.len() >= MOST_GIVEN_UP
    }

    /// Makes all bytes survive a power cut of this machine, where they are in a file.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn sync(&mut self) -> io::Result<()> {
        match &self.slots {
            Slots::Memory { .. } => Ok(()),
            Slots::File(file) => file.sync_data(),
            Slots::Flash(flash) => flash.medium().sync(),
        }
    }

    /// What was given up before the last [`Contents::sync`] is needed no more: everybody who names it is on disk.
    pub fn reuse(&mut self) {
        self.free.append(&mut self.given_up);
    }

    /// One more logical page holds what an image says.
    ///
    /// # Errors
    /// What it says cannot be.
    pub fn restore(&mut self, name: u64, slot: u32, sum: u64) -> Result<(), &'static str> {
        if name == 0 {
            return Err("a page that holds nothing");
        }
        let held = self.by_name.entry(name).or_insert(Held { slot, sum, users: 0 });
        if (held.slot, held.sum) != (slot, sum) {
            return Err("one content in two places");
        }
        held.users += 1;
        self.next_name = self.next_name.max(name.saturating_add(1));
        Ok(())
    }

    /// After the last [`Contents::restore`]: finds the free slots, and looks at every content.
    ///
    /// # Errors
    /// Two contents in one slot, or one that is not what it was.
    pub fn check_restored(&mut self, file_bytes: u64) -> io::Result<Result<(), String>> {
        let slots = (file_bytes / self.page_bytes as u64).min(u64::from(u32::MAX)) as u32;
        let mut held: Vec<(u32, u64)> = self.by_name.values().map(|held| (held.slot, held.sum)).collect();
        held.sort_unstable();
        if let Some(pair) = held.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Ok(Err(format!("two contents are said to be in slot {}", pair[0].0)));
        }
        let mut page = vec![0; self.page_bytes];
        self.free.clear();
        self.given_up.clear();
        let mut next = 0;
        for (slot, sum) in held {
            if slot >= slots {
                return Ok(Err(format!("slot {slot} is missing: the file has {slots}")));
            }
            self.read_slot(slot, &mut page)?;
            if checksum(&page) != sum {
                return Ok(Err(format!("slot {slot} does not hold what was written to it")));
            }
            self.free.extend(next..slot);
            next = slot + 1;
        }
        self.used = next;
        Ok(Ok(()))
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
    fn equal_pages_have_one_name_where_contents_are_shared_and_two_else() {
        for shares in [true, false] {
            let mut contents = Contents::in_memory(8, shares, 1 << 20);
            let (one, _) = contents.keep(&[7; 8]).unwrap();
            let (two, _) = contents.keep(&[7; 8]).unwrap();
            assert_eq!(one == two, shares);
            contents.give_up(one);
            let mut out = [0; 8];
            assert!(contents.read(two, &mut out).unwrap());
            assert_eq!(out, [7; 8]);
            contents.give_up(two);
            assert!(!contents.read(two, &mut out).unwrap());
            assert_eq!(contents.bytes(), 0);
        }
    }

    #[test]
    fn contents_with_one_checksum_keep_their_own_bytes() {
        let mut contents = Contents::in_memory(8, true, 1 << 20);
        let name = checksum(&[1; 8]);
        // As if another content had the checksum of this one.
        contents.restore(name, 0, name).unwrap();
        assert_eq!(contents.take_slot().unwrap(), 0);
        let (given, _) = contents.keep(&[1; 8]).unwrap();
        assert_eq!(given, name + 1);
    }

    #[test]
    fn memory_has_an_end() {
        let mut contents = Contents::in_memory(512, false, 64 * 512);
        for _ in 0..64 {
            contents.keep(&[1; 512]).unwrap();
        }
        assert_eq!(contents.keep(&[1; 512]).unwrap_err().kind(), io::ErrorKind::StorageFull);
        contents.give_up(5);
        contents.keep(&[2; 512]).unwrap();
    }
}
