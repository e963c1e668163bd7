//! A bitmap with one bit per page, in RAM.

use super::{FoundPage, ImagePage, PageSet, PageValidity, RamBitmap, ValidityFlash, ValidityPage};
use crate::layer::{LayerError, RamPart};
use crate::table::prefetch;
use crate::units::{BlockId, Slot};

/// The page-validity bitmap of DFTL and LazyFTL: no flash traffic, but 64 MB of RAM for a drive of 2 TB.
///
/// At a power failure, a battery lets DFTL write the bitmap to flash ([`PageValidity::save`],
/// [`RamValidity::recover_image`]). LazyFTL has no battery and rebuilds the bitmap from the translation table.
#[derive(Clone, Debug)]
pub struct RamValidity {
    valid: RamBitmap,
    blocks: u32,
    pages_per_block: u32,
    page_bytes: u32,
    /// Pages of the saved bitmap; empty if it is outdated.
    image: Vec<Slot>,
}

impl RamValidity {
    /// Creates the bitmap of `blocks` blocks of `pages_per_block` pages of `page_bytes` bytes, without invalid pages.
    pub fn new(blocks: u32, pages_per_block: u32, page_bytes: u32) -> Self {
        let valid = RamBitmap::new(blocks, pages_per_block);
        RamValidity { valid, blocks, pages_per_block, page_bytes, image: Vec::new() }
    }

    /// Reads the newest complete image of the bitmap and discards all other pages. Returns `None` if there is no
    /// image.
    ///
    /// The image is only correct if no operation followed after it was saved, which only a drive with a battery can
    /// guarantee.
    pub fn recover_image(
        blocks: u32,
        pages_per_block: u32,
        page_bytes: u32,
        pages: &[FoundPage],
        flash: &mut dyn ValidityFlash,
    ) -> Result<Option<Self>, LayerError> {
        let mut store = Self::new(blocks, pages_per_block, page_bytes);
        let mut found = Vec::with_capacity(pages.len());
        for page in pages {
            match flash.peek(page.at).expect("a page that was found") {
                ValidityPage::Image(image) => found.push((image.image, image.index, page.sequence, page.at)),
                other => panic!("an image's page was expected at {}, not {other:?}", page.at.0),
            }
        }
        found.sort_unstable_by_key(|&(image, index, sequence, _)| {
            (std::cmp::Reverse(image), index, std::cmp::Reverse(sequence))
        });
        let expected_pages = store.image_pages();
        for images in found.chunk_by(|one, next| one.0 == next.0) {
            let mut slots: Vec<(u32, Slot)> = images.iter().map(|&(_, index, _, at)| (index, at)).collect();
            slots.dedup_by_key(|&mut (index, _)| index);
            if slots.len() as u32 == expected_pages && store.image.is_empty() {
                store.image = slots.into_iter().map(|(_, at)| at).collect();
            }
        }
        for (_, _, _, at) in found.iter().filter(|(_, _, _, at)| !store.image.contains(at)) {
            flash.discard(*at);
        }
        store.load(flash)?;
        Ok((!store.image.is_empty()).then_some(store))
    }

    /// Marks the pages as invalid whose bits are set in the image.
    fn load(&mut self, flash: &mut dyn ValidityFlash) -> Result<(), LayerError> {
        let bits = self.image_bits();
        for (index, &at) in (0..).zip(&self.image) {
            let ValidityPage::Image(image) = flash.read(at)? else { panic!("an image's page at {}", at.0) };
            for (word, &invalid) in (0..).zip(&image.words) {
                let mut rest = invalid;
                while rest != 0 {
                    let bit = word * 64 + u64::from(rest.trailing_zeros());
                    self.valid.clear(Slot((index * bits + bit) as u32));
                    rest &= rest - 1;
                }
            }
        }
        Ok(())
    }

    fn pages(&self) -> u64 {
        u64::from(self.blocks) * u64::from(self.pages_per_block)
    }

    fn image_bits(&self) -> u64 {
        u64::from(self.page_bytes) * 8
    }

    fn image_pages(&self) -> u32 {
        self.pages().div_ceil(self.image_bits()) as u32
    }

    /// Discards the image in flash, if there is one: it is now outdated.
    fn discard_image(&mut self, flash: &mut dyn ValidityFlash) {
        self.image.drain(..).for_each(|at| flash.discard(at));
    }

    fn image_page(&self, image: u64, index: u32) -> ImagePage {
        let bits = self.image_bits();
        let first = u64::from(index) * bits;
        let mut words = vec![0; bits.div_ceil(64) as usize].into_boxed_slice();
        for page in first..(first + bits).min(self.pages()) {
            let invalid = u64::from(!self.valid.is_set(Slot(page as u32)));
            words[((page - first) / 64) as usize] |= invalid << ((page - first) % 64);
        }
        ImagePage { image, index, pages: self.image_pages(), words }
    }
}

impl PageValidity for RamValidity {
    fn invalidate(&mut self, page: Slot, flash: &mut dyn ValidityFlash) -> Result<(), LayerError> {
        self.discard_image(flash);
        self.valid.clear(page);
        Ok(())
    }

    fn prefetch(&self, page: Slot) {
        prefetch(self.valid.address(page));
    }

    fn record_erase(&mut self, block: BlockId, flash: &mut dyn ValidityFlash) -> Result<(), LayerError> {
        self.discard_image(flash);
        self.valid.set_block(block);
        Ok(())
    }

    fn query(
        &mut self,
        block: BlockId,
        invalid: &mut PageSet,
        flash: &mut dyn ValidityFlash,
    ) -> Result<(), LayerError> {
        self.peek(block, flash, invalid);
        Ok(())
    }

    fn peek(&self, block: BlockId, _flash: &dyn ValidityFlash, invalid: &mut PageSet) {
        let first = block.0 * self.pages_per_block;
        for page in (0..self.pages_per_block).filter(|page| !self.valid.is_set(Slot(first + page))) {
            invalid.insert(page);
        }
    }

    fn relocate(&mut self, at: Slot, flash: &mut dyn ValidityFlash) -> Result<bool, LayerError> {
        let Some(index) = self.image.iter().position(|&slot| slot == at) else { return Ok(false) };
        self.image[index] = flash.copy(at)?;
        Ok(true)
    }

    fn count_invalid(
        &mut self,
        flash: &mut dyn ValidityFlash,
        visit: &mut dyn FnMut(BlockId, u32),
    ) -> Result<(), LayerError> {
        let mut invalid = PageSet::new(self.pages_per_block);
        for block in (0..self.blocks).map(BlockId) {
            invalid.clear();
            self.peek(block, flash, &mut invalid);
            if invalid.count() > 0 {
                visit(block, invalid.count());
            }
        }
        Ok(())
    }

    fn save(&mut self, flash: &mut dyn ValidityFlash) -> Result<(), LayerError> {
        let image = flash.now();
        let mut slots = Vec::new();
        for index in 0..self.image_pages() {
            match flash.append(ValidityPage::Image(self.image_page(image, index))) {
                Ok(at) => slots.push(at),
                Err(error) => {
                    slots.into_iter().for_each(|at| flash.discard(at));
                    return Err(error);
                }
            }
        }
        self.discard_image(flash);
        self.image = slots;
        Ok(())
    }

    fn durable_until(&self) -> u64 {
        0
    }

    fn ram(&self) -> Vec<RamPart> {
        vec![RamPart { name: "validity bitmap", bytes: self.pages().div_ceil(8) }]
    }

    fn max_appended_pages(&self) -> u64 {
        0
    }

    fn flash_pages(&self) -> u64 {
        self.image.len() as u64
    }

    fn check(&self, flash: &dyn ValidityFlash) -> Result<(), String> {
        for (index, &at) in (0..).zip(&self.image) {
            match flash.peek(at) {
                Some(ValidityPage::Image(page)) if page.index == index => {}
                other => return Err(format!("image page {index} is not at {}: {other:?}", at.0)),
            }
        }
        Ok(())
    }
}
