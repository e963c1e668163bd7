//! A bitmap with one bit per page, in flash.

use super::flash::newest_by_label;
use super::{BitmapPage, FoundPage, PageSet, PageValidity, ValidityFlash, ValidityPage};
use crate::layer::{LayerError, RamPart};
use crate::units::{BlockId, Slot};
use std::ops::Range;

/// The page-validity bitmap of μ-FTL: in flash, with a directory of its pages in RAM. Every update reads and writes a
/// flash page.
#[derive(Clone, Debug)]
pub struct FlashBitmap {
    blocks: u32,
    pages_per_block: u32,
    page_bits: u64,
    /// Location of each page of the bitmap; `Slot::NONE` until one of its bits has been set.
    directory: Vec<Slot>,
}

/// Splits the bits `range` of a page by words: returns the index of each word, and a mask of the bits in range.
fn masks(range: Range<u64>) -> impl Iterator<Item = (usize, u64)> {
    (range.start / 64..range.end.div_ceil(64)).map(move |word| {
        let from = range.start.saturating_sub(word * 64);
        let to = (range.end - word * 64).min(64);
        (word as usize, (u64::MAX << from) & (u64::MAX >> (64 - to)))
    })
}

/// Returns `word` with all bits of `mask` set to one value.
fn with_mask(word: u64, mask: u64, invalid: bool) -> u64 {
    if invalid { word | mask } else { word & !mask }
}

impl FlashBitmap {
    /// Creates the bitmap of `blocks` blocks of `pages_per_block` pages of `page_bytes` bytes, without invalid pages.
    pub fn new(blocks: u32, pages_per_block: u32, page_bytes: u32) -> Self {
        let page_bits = u64::from(page_bytes) * 8;
        let pages = (u64::from(blocks) * u64::from(pages_per_block)).div_ceil(page_bits);
        FlashBitmap { blocks, pages_per_block, page_bits, directory: vec![Slot::NONE; pages as usize] }
    }

    /// Recovers the bitmap from the newest version of each page. The pages must be up to date: μ-FTL has a battery
    /// that lets it complete operations at a power failure.
    pub fn recover(
        blocks: u32,
        pages_per_block: u32,
        page_bytes: u32,
        pages: &[FoundPage],
        flash: &mut dyn ValidityFlash,
    ) -> Result<Self, LayerError> {
        let mut store = Self::new(blocks, pages_per_block, page_bytes);
        for found in newest_by_label(pages, flash) {
            store.directory[found.label as usize] = found.at;
        }
        Ok(store)
    }

    /// Splits `bits` of the whole bitmap by bitmap pages: returns the page and the bits in the page.
    fn split_by_page(&self, bits: Range<u64>) -> impl Iterator<Item = (usize, Range<u64>)> + use<> {
        let size = self.page_bits;
        (bits.start / size..bits.end.div_ceil(size)).map(move |page| {
            let first = page * size;
            (page as usize, bits.start.max(first) - first..bits.end.min(first + size) - first)
        })
    }

    fn bits_of(&self, block: BlockId) -> Range<u64> {
        let pages = u64::from(self.pages_per_block);
        let first = u64::from(block.0) * pages;
        first..first + pages
    }

    /// Sets bits of a bitmap page, all of which are on this page, to one value. Returns the new version, or `None` if
    /// no bit changed.
    ///
    /// Only the write can fail, so the words need not be copied: they are moved from the old version after the write.
    fn assign_moving_words(
        &self,
        page: usize,
        bits: Range<u64>,
        invalid: bool,
        flash: &mut dyn ValidityFlash,
    ) -> Result<Option<Slot>, LayerError> {
        let at = self.directory[page];
        if at == Slot::NONE {
            return self.assign_copying_words(page, bits, invalid, flash);
        }
        let words = words_of(flash.read(at)?);
        if masks(bits.clone()).all(|(word, mask)| with_mask(words[word], mask, invalid) == words[word]) {
            return Ok(None);
        }
        let to =
            flash.append(ValidityPage::Bitmap(BitmapPage { index: page as u32, words: Box::default() }))?;
        flash.move_words(at, to, &|words| {
            masks(bits.clone()).for_each(|(word, mask)| words[word] = with_mask(words[word], mask, invalid));
        });
        Ok(Some(to))
    }

    /// Sets bits of a bitmap page to one value. Returns the new version, or `None` if no bit changed.
    fn assign_copying_words(
        &self,
        page: usize,
        bits: Range<u64>,
        invalid: bool,
        flash: &mut dyn ValidityFlash,
    ) -> Result<Option<Slot>, LayerError> {
        let at = self.directory[page];
        let mut words: Box<[u64]> = match at {
            Slot::NONE if !invalid => return Ok(None),
            Slot::NONE => vec![0; self.page_bits.div_ceil(64) as usize].into(),
            at => words_of(flash.read(at)?).into(),
        };
        let mut changed = false;
        for (word, mask) in masks(bits) {
            let value = with_mask(words[word], mask, invalid);
            changed |= value != words[word];
            words[word] = value;
        }
        if !changed {
            return Ok(None);
        }
        flash.append(ValidityPage::Bitmap(BitmapPage { index: page as u32, words })).map(Some)
    }

    /// Sets bits of the bitmap to one value. After an error, no page has changed.
    fn assign(
        &mut self,
        bits: Range<u64>,
        invalid: bool,
        flash: &mut dyn ValidityFlash,
    ) -> Result<(), LayerError> {
        let mut written: Vec<(usize, Slot)> = Vec::new();
        let mut parts = self.split_by_page(bits.clone());
        if let (Some((page, bits)), None) = (parts.next(), parts.next()) {
            if let Some(to) = self.assign_moving_words(page, bits, invalid, flash)? {
                self.replace(page, to, flash);
            }
            return Ok(());
        }
        for (page, bits) in self.split_by_page(bits) {
            match self.assign_copying_words(page, bits, invalid, flash) {
                Ok(to) => written.extend(to.map(|to| (page, to))),
                Err(error) => {
                    written.into_iter().for_each(|(_, at)| flash.discard(at));
                    return Err(error);
                }
            }
        }
        written.into_iter().for_each(|(page, to)| self.replace(page, to, flash));
        Ok(())
    }

    /// Replaces a page by its new version at `to`.
    fn replace(&mut self, page: usize, to: Slot, flash: &mut dyn ValidityFlash) {
        let from = std::mem::replace(&mut self.directory[page], to);
        if from != Slot::NONE {
            flash.discard(from);
        }
    }
}

fn words_of(page: &ValidityPage) -> &[u64] {
    let ValidityPage::Bitmap(page) = page else { panic!("a page of the bitmap, not {page:?}") };
    &page.words
}

/// Adds the set bits among `bits` to a set of pages of a block; the first of `bits` stands for page `first_page` of the
/// block.
fn collect(words: &[u64], bits: Range<u64>, first_page: u32, invalid: &mut PageSet) {
    let start = bits.start;
    for (word, mask) in masks(bits) {
        let base = word as u64 * 64;
        let low = start.max(base);
        invalid.insert_bits(first_page + (low - start) as u32, (words[word] & mask) >> (low - base));
    }
}

impl PageValidity for FlashBitmap {
    fn invalidate(&mut self, page: Slot, flash: &mut dyn ValidityFlash) -> Result<(), LayerError> {
        let bit = u64::from(page.0);
        self.assign(bit..bit + 1, true, flash)
    }

    fn record_erase(&mut self, block: BlockId, flash: &mut dyn ValidityFlash) -> Result<(), LayerError> {
        self.assign(self.bits_of(block), false, flash)
    }

    fn query(
        &mut self,
        block: BlockId,
        invalid: &mut PageSet,
        flash: &mut dyn ValidityFlash,
    ) -> Result<(), LayerError> {
        let mut from = 0;
        for (page, bits) in self.split_by_page(self.bits_of(block)) {
            let length = (bits.end - bits.start) as u32;
            if self.directory[page] != Slot::NONE {
                collect(words_of(flash.read(self.directory[page])?), bits, from, invalid);
            }
            from += length;
        }
        Ok(())
    }

    fn peek(&self, block: BlockId, flash: &dyn ValidityFlash, invalid: &mut PageSet) {
        let mut from = 0;
        for (page, bits) in self.split_by_page(self.bits_of(block)) {
            let length = (bits.end - bits.start) as u32;
            if self.directory[page] != Slot::NONE {
                let stored = flash.peek(self.directory[page]).expect("a page of the directory");
                collect(words_of(stored), bits, from, invalid);
            }
            from += length;
        }
    }

    fn relocate(&mut self, at: Slot, flash: &mut dyn ValidityFlash) -> Result<bool, LayerError> {
        let Some(page) = flash.peek(at).map(|page| page.label() as usize) else { return Ok(false) };
        if self.directory.get(page) != Some(&at) {
            return Ok(false);
        }
        self.directory[page] = flash.copy(at)?;
        Ok(true)
    }

    fn count_invalid(
        &mut self,
        flash: &mut dyn ValidityFlash,
        visit: &mut dyn FnMut(BlockId, u32),
    ) -> Result<(), LayerError> {
        // A block may continue in the next page of the bitmap.
        let (mut block, mut count) = (BlockId(0), 0);
        for (page, &at) in (0..).zip(&self.directory).filter(|(_, at)| **at != Slot::NONE) {
            let first = page * self.page_bits;
            for (word, &bits) in (0..).zip(words_of(flash.read(at)?)) {
                let mut rest = bits;
                while rest != 0 {
                    let slot = first + word * 64 + u64::from(rest.trailing_zeros());
                    let owner = BlockId((slot / u64::from(self.pages_per_block)) as u32);
                    if owner != block && count > 0 {
                        visit(block, count);
                        count = 0;
                    }
                    block = owner;
                    count += 1;
                    rest &= rest - 1;
                }
            }
        }
        if count > 0 {
            visit(block, count);
        }
        Ok(())
    }

    fn save(&mut self, _flash: &mut dyn ValidityFlash) -> Result<(), LayerError> {
        Ok(())
    }

    fn durable_until(&self) -> u64 {
        u64::MAX
    }

    fn ram(&self) -> Vec<RamPart> {
        vec![RamPart { name: "validity directory", bytes: 4 * self.directory.len() as u64 }]
    }

    fn max_appended_pages(&self) -> u64 {
        if self.page_bits.is_multiple_of(u64::from(self.pages_per_block)) {
            return 1;
        }
        1 + (u64::from(self.pages_per_block) - 1).div_ceil(self.page_bits)
    }

    fn flash_pages(&self) -> u64 {
        self.directory.iter().filter(|at| **at != Slot::NONE).count() as u64
    }

    fn check(&self, flash: &dyn ValidityFlash) -> Result<(), String> {
        let pages = u64::from(self.blocks) * u64::from(self.pages_per_block);
        for (index, &at) in (0..).zip(&self.directory).filter(|(_, at)| **at != Slot::NONE) {
            let Some(ValidityPage::Bitmap(page)) = flash.peek(at) else {
                return Err(format!("page {index} of the bitmap is not at {}", at.0));
            };
            let end = (pages - u64::from(index) * self.page_bits).min(self.page_bits);
            let beyond =
                masks(end..page.words.len() as u64 * 64).any(|(word, mask)| page.words[word] & mask != 0);
            if page.index != index || beyond {
                return Err(format!("page {index} of the bitmap at {}: {page:?}", at.0));
            }
        }
        Ok(())
    }
}
