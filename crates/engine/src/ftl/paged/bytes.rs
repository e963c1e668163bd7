//! The FTL's metadata pages as bytes, for flash that is stored outside the simulation.

use super::contents::{MetaPage, StateNote};
use super::space::Space;
use crate::flash_format::{FormatError, ValidityNote, encode_node, encode_translation};
use crate::layer::LayerError;
use crate::nand::{Flash, MetadataNote};
use crate::units::Slot;
use crate::validity::ValidityPage;

/// Converts the result of encoding a page to the type that the flash expects.
fn fill_result(note: Result<MetadataNote, FormatError>) -> Result<MetadataNote, String> {
    note.map_err(|error| error.0)
}

impl<F: Flash> Space<F> {
    /// Stores the bytes of the newest version of translation page `number`, which was programmed at `at`.
    #[inline]
    pub fn store_translation(&mut self, number: u32, at: Slot) -> Result<(), LayerError> {
        if !self.pool.medium.needs_page_bytes() {
            return Ok(());
        }
        let ((block, page), bytes) = (self.split(at), self.codec.page_bytes as usize);
        let entries = self.contents.newest_version(number);
        let mut fill = |page: &mut [u8]| fill_result(encode_translation(entries, &mut page[..bytes]));
        Ok(self.pool.medium.store_page_bytes(block, page, &mut fill)?)
    }

    /// Stores the bytes of a tree node or of a page of the validity store, which was programmed at `at`. A bitmap page
    /// whose words are not set yet is skipped; the function is called again once the page has received the words of its
    /// predecessor.
    #[inline]
    pub fn store_page(&mut self, at: Slot) -> Result<(), LayerError> {
        if !self.pool.medium.needs_page_bytes() {
            return Ok(());
        }
        let ((block, index), codec, bytes) = (self.split(at), self.codec, self.codec.page_bytes as usize);
        let content = self.contents.page(at).expect("it was just programmed");
        if let MetaPage::Validity(page) = content
            && let ValidityPage::Bitmap(bitmap) = &page.0
            && bitmap.words.is_empty()
        {
            return Ok(());
        }
        let mut fill = |page: &mut [u8]| {
            let page = &mut page[..bytes];
            fill_result(match content {
                MetaPage::Node(children) => encode_node(children, page),
                MetaPage::Validity(page_and_note) => {
                    let StateNote { reported_before: settled, horizon } = page_and_note.1;
                    codec.encode(&page_and_note.0, ValidityNote { reported_before: settled, horizon }, page)
                }
                MetaPage::Translation { .. } | MetaPage::Replaced | MetaPage::Unreadable => {
                    Err(FormatError::new("it is no page of the validity store, and no node"))
                }
            })
        };
        Ok(self.pool.medium.store_page_bytes(block, index, &mut fill)?)
    }
}
