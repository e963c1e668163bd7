//! Reading the FTL's own pages from flash that was stored outside the simulation.

use super::config::PagedConfig;
use super::contents::{Change, Contents, MetaPage, Note};
use crate::flash_format::{
    DecodedRun, FormatError, ValidityCodec, ValidityNote, decode_node, decode_translation,
};
use crate::nand::{Flash, KeptError, KeptFlash, PageState, Spare};
use crate::units::{BlockId, Slot};
use crate::validity::ValidityPage;
use std::collections::{BTreeMap, HashMap};

/// A page that the FTL wrote for itself.
#[derive(Clone, Copy)]
struct Own {
    block: BlockId,
    page: u32,
    at: Slot,
    spare: Spare,
}

impl Own {
    fn damaged(&self, error: FormatError) -> KeptError {
        KeptError::page(self.block, self.page, error.0)
    }
}

/// The found pages of a run of Logarithmic Gecko.
#[derive(Default)]
struct FoundRun {
    /// Sequence number, index, location and first key of each page.
    pages: Vec<(u64, u32, Slot, Option<u64>)>,
    /// Last page of the run, with copies if there are any.
    last: Vec<(Slot, DecodedRun)>,
}

/// State while pages are read.
struct Rereading<'a> {
    codec: ValidityCodec,
    entries: u32,
    translation_pages: u32,
    kept: &'a mut dyn KeptFlash,
    bytes: Vec<u8>,
    runs: BTreeMap<u32, FoundRun>,
    contents: Contents,
}

/// Returns the contents of all pages in `flash` that an FTL with these settings and `user_streams` user streams wrote
/// for itself.
///
/// Versions of a translation page are ordered by sequence number, and each is compared with the one before. If the
/// version before no longer exists, the list of changes is empty; it is only used if both exist.
///
/// # Errors
/// Fails if a page is unreadable, or differs from what the FTL would have written.
pub(super) fn reread<F: Flash>(
    config: &PagedConfig,
    user_streams: u8,
    flash: &F,
    kept: &mut dyn KeptFlash,
) -> Result<Contents, KeptError> {
    let (blocks, pages_per_block) = (flash.blocks(), flash.pages_per_block());
    let entries = config.entries_per_translation_page();
    let contents = Contents::new(blocks, pages_per_block, config.logical_pages, entries);
    let own = own_pages(flash, user_streams);
    let mut rereading = Rereading {
        codec: config.codec(&config.validity_size(blocks, pages_per_block)),
        entries,
        translation_pages: contents.translation_pages(),
        kept,
        bytes: vec![0; config.page_bytes as usize],
        runs: BTreeMap::new(),
        contents,
    };
    let is_version =
        |own: &Own| own.spare.stream.0 == user_streams && own.spare.owner.0 < rereading.translation_pages;
    let versions: Vec<Own> = own.iter().filter(|own| is_version(own)).copied().collect();
    let mut changes = rereading.compare(versions)?;
    for page in own {
        match changes.remove(&page.at) {
            Some((previous, changes)) => rereading.contents.restore_version(page.at, previous, &changes),
            None if page.spare.stream.0 == user_streams => rereading.node(&page)?,
            None => rereading.validity(&page)?,
        }
    }
    rereading.complete_runs();
    Ok(rereading.contents)
}

/// Returns the pages that the FTL wrote for itself, by location.
fn own_pages<F: Flash>(flash: &F, user_streams: u8) -> Vec<Own> {
    let size = flash.pages_per_block();
    let mut own = Vec::new();
    for block in (0..flash.blocks()).map(BlockId) {
        for page in 0..flash.next_page(block).unwrap_or(0) {
            match flash.spare(block, page) {
                PageState::Written(spare) if spare.stream.0 >= user_streams => {
                    own.push(Own { block, page, at: Slot(block.0 * size + page), spare });
                }
                PageState::Written(_) => break,
                PageState::Erased | PageState::Unreadable => {}
            }
        }
    }
    own
}

impl Rereading<'_> {
    /// Returns the versions of all translation pages, each with the location of the one before and the changes.
    /// Enters the newest versions into the table.
    fn compare(&mut self, mut versions: Vec<Own>) -> Result<HashMap<Slot, (Slot, Vec<Change>)>, KeptError> {
        versions.sort_unstable_by_key(|own| (own.spare.owner.0, own.spare.sequence));
        let mut found = HashMap::with_capacity(versions.len());
        let mut before: Option<(Own, Vec<Slot>)> = None;
        for own in versions {
            let note = self.kept.read_own(own.block, own.page, &mut self.bytes)?;
            let entries = decode_translation(&note, &self.bytes, self.entries, self.codec.pages)
                .map_err(|error| own.damaged(error))?;
            let previous = before.take_if(|(before, _)| before.spare.owner == own.spare.owner);
            let (previous, changes) = match &previous {
                Some((previous, old)) => (previous.at, differences(old, &entries)),
                None => (Slot::NONE, Vec::new()),
            };
            found.insert(own.at, (previous, changes));
            self.contents.restore_newest(own.spare.owner.0, own.at, &entries);
            before = Some((own, entries));
        }
        Ok(found)
    }

    fn node(&mut self, own: &Own) -> Result<(), KeptError> {
        let note = self.kept.read_own(own.block, own.page, &mut self.bytes)?;
        let children =
            decode_node(&note, &self.bytes, self.codec.pages).map_err(|error| own.damaged(error))?;
        self.contents.program(own.at, MetaPage::Node(Box::new(children.into())));
        Ok(())
    }

    fn validity(&mut self, own: &Own) -> Result<(), KeptError> {
        let note = self.kept.read_own(own.block, own.page, &mut self.bytes)?;
        let decoded = self.codec.decode(&note, own.spare.owner.0, &mut self.bytes);
        let (page, stood, last) = decoded.map_err(|error| own.damaged(error))?;
        if let (ValidityPage::Gecko(page), Some(config)) = (&page, &self.codec.gecko) {
            let head_bits = config.words().head_bits;
            let first_key = page.entries.first().map(|head| head >> (head_bits + 1));
            let run = self.runs.entry(page.run).or_default();
            run.pages.push((own.spare.sequence, page.index, own.at, first_key));
            run.last.extend(last.map(|last| (own.at, last)));
        }
        let ValidityNote { settled, horizon } = stood;
        self.contents.program(own.at, MetaPage::Validity(Box::new((page, Note { settled, horizon }))));
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
                let mut places = Vec::new();
                for &(_, index, place, first_key) in &run.pages {
                    if let Some(key) = first_keys.get_mut(index as usize) {
                        *key = first_key;
                    }
                    if index + 1 < last.pages {
                        places.push(place);
                    }
                }
                let (first_keys, slots) = last.lists(&first_keys, &places);
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
