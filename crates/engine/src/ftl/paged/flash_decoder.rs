//! Reading the FTL's metadata pages from flash that was stored outside the simulation.

use super::config::PagedConfig;
use super::contents::{Change, MetaPage, MetadataContents, StateNote};
use crate::flash_format::{
    DecodedRun, FormatError, ValidityCodec, ValidityNote, decode_node, decode_translation,
};
use crate::nand::{Flash, PageState, Spare, StoredFlash, StoredFlashError};
use crate::units::{BlockId, Slot};
use crate::validity::ValidityPage;
use std::collections::{BTreeMap, HashMap};

/// A metadata page of the FTL.
#[derive(Clone, Copy)]
struct MetadataPageRef {
    block: BlockId,
    page: u32,
    at: Slot,
    spare: Spare,
}

impl MetadataPageRef {
    fn decode_error(&self, error: FormatError) -> StoredFlashError {
        StoredFlashError::page(self.block, self.page, error.0)
    }
}

/// Pages of a run of Logarithmic Gecko that were found in flash.
#[derive(Default)]
struct FoundRun {
    /// Sequence number, index, location and first key of each page.
    pages: Vec<(u64, u32, Slot, Option<u64>)>,
    /// Last page of the run, and any copies of it.
    last: Vec<(Slot, DecodedRun)>,
}

/// State while pages are read.
struct FlashDecoder<'a> {
    codec: ValidityCodec,
    entries: u32,
    translation_pages: u32,
    stored: &'a mut dyn StoredFlash,
    bytes: Vec<u8>,
    runs: BTreeMap<u32, FoundRun>,
    contents: MetadataContents,
}

/// Returns the contents of all metadata pages in `flash`, which an FTL with these settings and `user_streams` user
/// streams wrote.
///
/// Versions of a translation page are ordered by sequence number, and each is compared with the previous version. If
/// the previous version no longer exists, the list of changes is empty; the list is only used if both versions exist.
///
/// # Errors
/// Fails if a page is unreadable, or differs from what the FTL would have written.
pub(super) fn decode_contents<F: Flash>(
    config: &PagedConfig,
    user_streams: u8,
    flash: &F,
    stored: &mut dyn StoredFlash,
) -> Result<MetadataContents, StoredFlashError> {
    let (blocks, pages_per_block) = (flash.blocks(), flash.pages_per_block());
    let entries = config.entries_per_translation_page();
    let contents = MetadataContents::new(blocks, pages_per_block, config.logical_pages, entries);
    let metadata = metadata_pages(flash, user_streams);
    let mut decoder = FlashDecoder {
        codec: config.codec(&config.validity_size(blocks, pages_per_block)),
        entries,
        translation_pages: contents.translation_pages(),
        stored,
        bytes: vec![0; config.page_bytes as usize],
        runs: BTreeMap::new(),
        contents,
    };
    let is_version = |page: &MetadataPageRef| {
        page.spare.stream.0 == user_streams && page.spare.owner.0 < decoder.translation_pages
    };
    let versions: Vec<MetadataPageRef> = metadata.iter().filter(|page| is_version(page)).copied().collect();
    let mut changes = decoder.decode_versions(versions)?;
    for page in metadata {
        match changes.remove(&page.at) {
            Some((previous, changes)) => decoder.contents.restore_version(page.at, previous, &changes),
            None if page.spare.stream.0 == user_streams => decoder.decode_node_page(&page)?,
            None => decoder.decode_validity_page(&page)?,
        }
    }
    decoder.complete_runs();
    Ok(decoder.contents)
}

/// Returns the metadata pages of the FTL, by location.
fn metadata_pages<F: Flash>(flash: &F, user_streams: u8) -> Vec<MetadataPageRef> {
    let size = flash.pages_per_block();
    let mut metadata = Vec::new();
    for block in (0..flash.blocks()).map(BlockId) {
        for page in 0..flash.next_page(block).unwrap_or(0) {
            match flash.spare(block, page) {
                PageState::Written(spare) if spare.stream.0 >= user_streams => {
                    metadata.push(MetadataPageRef { block, page, at: Slot(block.0 * size + page), spare });
                }
                PageState::Written(_) => break,
                PageState::Erased | PageState::Unreadable => {}
            }
        }
    }
    metadata
}

impl FlashDecoder<'_> {
    /// Returns the versions of all translation pages, each with the location of the previous version and the changes.
    /// Stores the newest versions in the table.
    fn decode_versions(
        &mut self,
        mut versions: Vec<MetadataPageRef>,
    ) -> Result<HashMap<Slot, (Slot, Vec<Change>)>, StoredFlashError> {
        versions.sort_unstable_by_key(|page| (page.spare.owner.0, page.spare.sequence));
        let mut found = HashMap::with_capacity(versions.len());
        let mut before: Option<(MetadataPageRef, Vec<Slot>)> = None;
        for page in versions {
            let note = self.stored.read_metadata_page(page.block, page.page, &mut self.bytes)?;
            let entries = decode_translation(&note, &self.bytes, self.entries, self.codec.pages)
                .map_err(|error| page.decode_error(error))?;
            let previous = before.take_if(|(before, _)| before.spare.owner == page.spare.owner);
            let (previous, changes) = match &previous {
                Some((previous, old)) => (previous.at, differences(old, &entries)),
                None => (Slot::NONE, Vec::new()),
            };
            found.insert(page.at, (previous, changes));
            self.contents.restore_newest(page.spare.owner.0, page.at, &entries);
            before = Some((page, entries));
        }
        Ok(found)
    }

    fn decode_node_page(&mut self, page: &MetadataPageRef) -> Result<(), StoredFlashError> {
        let note = self.stored.read_metadata_page(page.block, page.page, &mut self.bytes)?;
        let children =
            decode_node(&note, &self.bytes, self.codec.pages).map_err(|error| page.decode_error(error))?;
        self.contents.program(page.at, MetaPage::Node(Box::new(children.into())));
        Ok(())
    }

    fn decode_validity_page(&mut self, page_ref: &MetadataPageRef) -> Result<(), StoredFlashError> {
        let note = self.stored.read_metadata_page(page_ref.block, page_ref.page, &mut self.bytes)?;
        let decoded = self.codec.decode(&note, page_ref.spare.owner.0, &mut self.bytes);
        let (page, state, last) = decoded.map_err(|error| page_ref.decode_error(error))?;
        if let (ValidityPage::Gecko(page), Some(config)) = (&page, &self.codec.gecko) {
            let head_bits = config.entry_words().head_bits;
            let first_key = page.entries.first().map(|head| head >> (head_bits + 1));
            let run = self.runs.entry(page.run).or_default();
            run.pages.push((page_ref.spare.sequence, page.index, page_ref.at, first_key));
            run.last.extend(last.map(|last| (page_ref.at, last)));
        }
        let ValidityNote { reported_before: settled, horizon } = state;
        self.contents.program(
            page_ref.at,
            MetaPage::Validity(Box::new((page, StateNote { reported_before: settled, horizon }))),
        );
        Ok(())
    }

    /// Adds the computed lists to the last pages of all runs.
    fn complete_runs(&mut self) {
        for mut run in std::mem::take(&mut self.runs).into_values() {
            // If there are several copies of a page, the oldest is at the location that the last page refers to.
            run.pages.sort_unstable_by_key(|&(sequence, index, ..)| (index, sequence));
            run.pages.dedup_by_key(|&mut (_, index, ..)| index);
            for (at, last) in run.last {
                let mut first_keys = vec![None; last.pages as usize];
                let mut locations = Vec::new();
                for &(_, index, location, first_key) in &run.pages {
                    if let Some(key) = first_keys.get_mut(index as usize) {
                        *key = first_key;
                    }
                    if index + 1 < last.pages {
                        locations.push(location);
                    }
                }
                let (first_keys, slots) = last.postamble_lists(&first_keys, &locations);
                self.contents.complete_run(at, first_keys, slots);
            }
        }
    }
}

/// Returns the entries that differ, with their old values.
fn differences(old: &[Slot], new: &[Slot]) -> Vec<Change> {
    let differing = (0..).zip(old.iter().zip(new)).filter(|(_, (old, new))| old != new);
    differing.map(|(entry, (&old, _))| Change { entry, old }).collect()
}
