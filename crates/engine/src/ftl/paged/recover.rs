//! Recovery from power loss: the contents of RAM are reconstructed from flash (paper, App. C: GeckoRec).

use super::config::{Durability, PagedConfig};
use super::contents::{MetadataContents, StateNote};
use super::parts;
use super::space::{BlockGroup, Space};
use super::store::{PagedFtl, Policies};
use crate::counters::{Cause, Operation};
use crate::layer::{LayerError, RecoveryReport, RecoverySteps};
use crate::mapping::{Handle, Mapping};
use crate::nand::{Flash, PageState};
use crate::pool::Frontier;
use crate::units::{BlockId, Lpn, Slot};
use crate::validity::{FoundPage, ValidityConfig};
use std::collections::{BTreeMap, BTreeSet};

/// State of an FTL that survives power loss.
pub struct SurvivingFlash<F> {
    /// The flash.
    pub flash: F,
    /// Contents of its metadata pages.
    pub contents: MetadataContents,
}

/// Result of a recovery.
pub type RecoveryResult<F> = Result<PagedFtl<F>, (LayerError, SurvivingFlash<F>)>;

/// Type and first page of every block that is not erased (paper, App. C, step 1: the blocks information directory).
#[derive(Default)]
pub(super) struct BlockScan {
    /// Non-empty blocks of each stream, newest last: sequence number of the first page, and block.
    pub streams: BTreeMap<u8, Vec<(u64, BlockId)>>,
    /// Blocks without a readable page.
    pub unreadable: Vec<BlockId>,
}

/// A version of a translation page found in flash.
#[derive(Clone, Copy, Debug)]
pub(super) struct Version {
    pub number: u32,
    pub sequence: u64,
    pub at: Slot,
}

impl<F: Flash> PagedFtl<F> {
    /// Returns the state that survives power loss; drops everything in RAM.
    pub fn into_surviving_flash(self) -> SurvivingFlash<F> {
        let Space { pool, mut contents, .. } = self.space;
        let crate::pool::SurvivingFlash { flash, erased_at } = pool.into_surviving_flash();
        contents.erased_at = erased_at;
        SurvivingFlash { flash, contents }
    }

    /// Recovers an FTL with the same settings from the state that survived power loss. If power is lost again during
    /// recovery, returns the error with the state that survives this power cut.
    ///
    /// # Panics
    ///
    /// If the settings are not those from which the FTL was built.
    #[expect(clippy::result_large_err, reason = "what is left of the drive goes back to its owner")]
    pub fn recover(
        config: PagedConfig,
        surviving: SurvivingFlash<F>,
        policies: Policies,
    ) -> RecoveryResult<F> {
        Self::recover_from(config, surviving, policies, true)
    }

    /// Recovers after a power cut in which the drive's battery, if there is one, has failed: dirty entries and valid
    /// pages are searched for in flash, back to the very first page.
    ///
    /// # Panics
    ///
    /// As for [`PagedFtl::recover`].
    #[expect(clippy::result_large_err, reason = "as above")]
    pub fn recover_unsaved(
        config: PagedConfig,
        surviving: SurvivingFlash<F>,
        policies: Policies,
    ) -> RecoveryResult<F> {
        Self::recover_from(config, surviving, policies, false)
    }

    #[expect(clippy::result_large_err, reason = "as above")]
    fn recover_from(
        config: PagedConfig,
        surviving: SurvivingFlash<F>,
        policies: Policies,
        saved: bool,
    ) -> RecoveryResult<F> {
        let SurvivingFlash { flash, contents } = surviving;
        let is_saved = saved && config.durability == Durability::Battery;
        let mut ftl =
            Self::assemble(config, flash, contents, policies).expect("settings that were good before");
        match ftl.recover_all(is_saved) {
            Ok(report) => {
                ftl.recovery = Some(report);
                ftl.begin_operation();
                Ok(ftl)
            }
            Err(error) => Err((error, ftl.into_surviving_flash())),
        }
    }

    /// Performs all steps. `is_saved`: a battery has written all data of the RAM to flash.
    fn recover_all(&mut self, is_saved: bool) -> Result<RecoveryReport, LayerError> {
        let lacks_battery = self.config.durability == Durability::Battery && !is_saved;
        let mut steps = RecoverySteps::default();
        let scan = self.scan_blocks();
        self.find_open_blocks(&scan);
        self.end_step(&mut steps, "block scan");
        let versions = self.find_translation_pages(&scan)?;
        self.end_step(&mut steps, "mapping directory");
        let note = self.recover_validity(&scan, lacks_battery)?;
        self.end_step(&mut steps, self.validity_step());
        // Repeated reports do not make the notes of the validity store newer, so that this recovery itself can be
        // repeated.
        self.space.frozen_state = Some(note);
        if self.space.protects_versions || lacks_battery {
            self.report_erased(&scan, note.reported_before)?;
            self.report_replaced(&versions, note.reported_before)?;
        }
        // After the reports of erased blocks, which forget all earlier reports of these blocks.
        self.report_torn()?;
        self.end_step(&mut steps, "validity buffer");
        let found = if is_saved { Default::default() } else { self.scan_recent(&scan, note.horizon)? };
        self.report_overwritten(&found, &versions, note.reported_before)?;
        self.space.reported_before = self.space.pool.sequence;
        self.restore_entries(&found, &versions);
        self.end_step(&mut steps, "dirty entries");
        if self.config.durability == Durability::Synchronised {
            self.count_valid()?;
            self.synchronise_all()?;
            self.end_step(&mut steps, "synchronisation");
        }
        if self.config.has_ram_bitmap() && !is_saved || lacks_battery {
            self.rebuild_bitmap(&scan)?;
            self.identify_entries(lacks_battery);
            self.end_step(&mut steps, "validity bitmap");
        }
        self.count_valid()?;
        self.close_blocks(&scan);
        self.end_step(&mut steps, "block validity counters");
        self.space.frozen_state = None;
        Ok(steps.report)
    }

    fn end_step(&mut self, steps: &mut RecoverySteps, name: &'static str) {
        let total = |operation| self.space.pool.counters.outgoing_total(operation);
        let pages = [Operation::Read, Operation::Write, Operation::Erase].map(total);
        steps.end_step(name, [self.space.spare_reads().iter().sum(), pages[0], pages[1], pages[2]]);
        self.space.pool.medium.recovery_step_ended();
    }

    fn validity_step(&self) -> &'static str {
        match self.config.validity {
            ValidityConfig::RamBitmap(_) => "validity bitmap image",
            ValidityConfig::FlashBitmap(_) => "validity directory",
            ValidityConfig::Log(_) => "validity log",
            ValidityConfig::Gecko(_) => "run directories",
        }
    }

    /// Step 1: reads the spare area of the first page of every block.
    fn scan_blocks(&mut self) -> BlockScan {
        let mut scan = BlockScan::default();
        for block in (0..self.space.pool.blocks.len()).map(BlockId) {
            if self.space.pool.medium.is_bad(block) {
                continue;
            }
            match self.space.read_spare(self.space.slot(block, 0), Cause::Host) {
                PageState::Erased => self.space.pool.erased.push_back(block),
                PageState::Unreadable => scan.unreadable.push(block),
                PageState::Written(spare) => {
                    self.space.streams[block.index()] = spare.stream;
                    self.space.first_sequences[block.index()] = spare.sequence;
                    self.space.pool.blocks.open(block);
                    self.space.pool.blocks.set_stream(block, spare.stream);
                    scan.streams.entry(spare.stream.0).or_default().push((spare.sequence, block));
                }
            }
        }
        scan.streams.values_mut().for_each(|blocks| blocks.sort_unstable());
        self.space.erasable.clone_from(&scan.unreadable);
        self.space.release_count_at_check = None;
        self.space.pool.recover_wear();
        scan
    }

    /// Finds the open blocks: the newest block of each stream may have free pages. Sequence numbers continue after
    /// the newest page of all.
    fn find_open_blocks(&mut self, scan: &BlockScan) {
        let mut torn = Vec::new();
        for (&stream, blocks) in &scan.streams {
            let &(_, block) = blocks.last().expect("a stream that was found has a block");
            let pages = self.space.pages_per_block();
            let mut page = 0;
            while page < pages {
                match self.space.read_spare(self.space.slot(block, page), Cause::Host) {
                    PageState::Erased => break,
                    PageState::Unreadable => torn.push(self.space.slot(block, page)),
                    PageState::Written(spare) => {
                        self.space.pool.sequence = self.space.pool.sequence.max(spare.sequence + 1);
                    }
                }
                page += 1;
            }
            self.space.horizon = self.space.horizon.max(self.space.pool.medium.note(block));
            if page < pages {
                self.space.pool.frontiers[usize::from(stream)] = Some(Frontier { block, page });
            }
        }
        self.torn = torn;
    }

    /// Step 2: reads the spare areas of all translation pages; the newest version of each translation page is valid.
    fn find_translation_pages(&mut self, scan: &BlockScan) -> Result<Vec<Version>, LayerError> {
        let stream = self.space.stream_of(BlockGroup::Translation);
        let mut versions = Vec::new();
        for (at, owner, sequence) in self.scan_group(scan, stream.0) {
            if owner.0 < self.space.contents.translation_pages() {
                versions.push(Version { number: owner.0, sequence, at });
            } else {
                // This is a tree node, which is ignored because the tree is rebuilt from its leaves.
                self.space.discard_metadata(at);
            }
        }
        versions.sort_unstable_by_key(|version| (version.number, std::cmp::Reverse(version.sequence)));
        let mut locations = vec![Slot::NONE; self.space.contents.translation_pages() as usize];
        for version in &versions {
            let location = &mut locations[version.number as usize];
            if *location == Slot::NONE {
                *location = version.at;
            } else {
                self.space.discard_metadata(version.at);
            }
        }
        self.directory =
            parts::build_directory(&self.config, &locations).expect("settings that were good before");
        self.directory.shrink(&mut self.space)?;
        Ok(versions)
    }

    /// Returns the readable pages of all blocks of a stream, from their spare areas. Unreadable pages are discarded.
    fn scan_group(&mut self, scan: &BlockScan, stream: u8) -> Vec<(Slot, Lpn, u64)> {
        let mut found = Vec::new();
        let cause = self.space.group_of_stream(crate::units::StreamId(stream)).cause();
        for &(_, block) in scan.streams.get(&stream).into_iter().flatten() {
            let end = self.space.end_of(block);
            for page in 0..end {
                let at = self.space.slot(block, page);
                match self.space.read_spare(at, cause) {
                    PageState::Written(spare) => found.push((at, spare.owner, spare.sequence)),
                    PageState::Erased | PageState::Unreadable => self.space.discard_metadata(at),
                }
            }
            if !self.space.pool.is_open(block) && !self.space.erasable.contains(&block) {
                self.space.close(block);
            }
        }
        found
    }

    /// Step 3: recovers the validity store from its pages. Returns the note of its last written buffer.
    ///
    /// An image of a bitmap in RAM is only valid if it was saved at the power failure; otherwise it is outdated.
    fn recover_validity(&mut self, scan: &BlockScan, lacks_battery: bool) -> Result<StateNote, LayerError> {
        let stream = self.space.stream_of(BlockGroup::Validity);
        let pages = self.scan_group(scan, stream.0);
        let found: Vec<FoundPage> = pages
            .into_iter()
            .map(|(at, owner, sequence)| FoundPage { at, label: owner.0, sequence })
            .collect();
        let mut first = vec![None; self.space.pool.blocks.len() as usize];
        for &(sequence, block) in scan.streams.values().flatten() {
            first[block.index()] = Some(sequence);
        }
        let size = self.config.validity_size(self.space.pool.blocks.len(), self.space.pages_per_block());
        let first_written = |block: BlockId| first[block.index()];
        self.space.unneeded = Some(BTreeSet::new());
        if lacks_battery && self.config.has_ram_bitmap() {
            found.iter().for_each(|page| self.space.discard_metadata(page.at));
        } else {
            self.validity =
                parts::recover_validity(&self.config, &size, &found, &first_written, &mut self.space)?;
        }
        let unneeded = self.space.unneeded.take().expect("set above");
        let needed = found.iter().map(|found| found.at).filter(|at| !unneeded.contains(at));
        let note = needed.filter_map(|at| self.space.note_at(at)).max_by_key(|note| note.reported_before);
        self.space.flushed_state = note.unwrap_or_default();
        Ok(self.space.flushed_state)
    }

    /// Step 4, App. C.2.1: reports blocks erased since the store's buffer was written.
    fn report_erased(&mut self, scan: &BlockScan, reported_before: u64) -> Result<(), LayerError> {
        let free: Vec<BlockId> = self.space.pool.erased.iter().copied().collect();
        let later = scan.streams.values().flatten().filter(|(sequence, _)| *sequence >= reported_before);
        let blocks = later.map(|&(_, block)| block).chain(free).chain(scan.unreadable.iter().copied());
        // The log-structured validity store compares the ages of blocks instead.
        if !matches!(self.config.validity, ValidityConfig::Log(_)) {
            for block in blocks.collect::<Vec<_>>() {
                self.validity.record_erase(block, &mut self.space)?;
            }
        }
        Ok(())
    }

    /// Reports pages that power loss left unreadable as invalid.
    fn report_torn(&mut self) -> Result<(), LayerError> {
        for at in std::mem::take(&mut self.torn) {
            let (block, _) = self.space.split(at);
            if self.space.group(block) == BlockGroup::User {
                self.report_again(at)?;
            }
        }
        Ok(())
    }

    /// Step 4, App. C.2.2: reports pages that were replaced according to newer versions of translation pages.
    fn report_replaced(&mut self, versions: &[Version], reported_before: u64) -> Result<(), LayerError> {
        let per_page = self.space.contents.entries_per_page();
        for (index, version) in versions.iter().enumerate() {
            let Some(previous) = versions.get(index + 1).filter(|next| next.number == version.number) else {
                continue;
            };
            if version.sequence < reported_before {
                continue;
            }
            self.space.read_metadata(version.at, Cause::Translation)?;
            self.space.read_metadata(previous.at, Cause::Translation)?;
            self.space.protect_until(previous.at, version.sequence + 1);
            for change in self.space.contents.changes(version.at).to_vec() {
                let page = Lpn(version.number * per_page + change.entry);
                if change.old != Slot::NONE && self.is_older(change.old, page, version.sequence) {
                    self.report_again(change.old)?;
                }
            }
        }
        Ok(())
    }

    /// True if a version of `page` older than `sequence` is still at `at`.
    fn is_older(&mut self, at: Slot, page: Lpn, sequence: u64) -> bool {
        let (block, _) = self.space.split(at);
        match self.space.read_spare(at, Cause::Translation) {
            PageState::Written(spare) => {
                spare.owner == page
                    && spare.sequence < sequence
                    && self.space.group(block) == BlockGroup::User
            }
            PageState::Erased | PageState::Unreadable => false,
        }
    }

    /// Step 5: counts the valid pages of every user block from the reports.
    fn count_valid(&mut self) -> Result<(), LayerError> {
        let blocks: Vec<BlockId> = (0..self.space.pool.blocks.len()).map(BlockId).collect();
        let free: std::collections::BTreeSet<BlockId> =
            self.space.pool.erased.iter().chain(&self.space.erasable).copied().collect();
        for &block in &blocks {
            let used = !self.space.pool.medium.is_bad(block) && !free.contains(&block);
            if used && self.space.group(block) == BlockGroup::User {
                self.space.recount_from_full(block);
            }
        }
        if self.config.counters.choices().is_some() {
            // The device queries the other numbers only when it needs them.
            let is_counted = |&&block: &&BlockId| {
                !self.space.pool.medium.is_bad(block)
                    && !free.contains(&block)
                    && self.space.group(block) == BlockGroup::User
            };
            let counted: Vec<BlockId> = blocks.iter().filter(is_counted).copied().collect();
            self.count_for_statistics(&counted);
            return Ok(());
        }
        let mut invalid = Vec::new();
        self.validity.count_invalid(&mut self.space, &mut |block, pages| invalid.push((block, pages)))?;
        for (block, pages) in invalid {
            let used = !self.space.pool.medium.is_bad(block) && !free.contains(&block);
            if used && self.space.group(block) == BlockGroup::User {
                self.space.pool.blocks.invalidate_many(block, pages);
            }
        }
        Ok(())
    }

    /// Makes full user blocks candidates, in the order in which they were opened.
    fn close_blocks(&mut self, scan: &BlockScan) {
        let streams = self.space.user_streams() as u8;
        let mut full: Vec<(u64, BlockId)> =
            scan.streams.range(..streams).flat_map(|(_, blocks)| blocks).copied().collect();
        full.sort_unstable();
        for (_, block) in full {
            if !self.space.pool.is_open(block) {
                self.space.close(block);
            }
        }
    }

    /// Rebuilds a bitmap that was not saved: exactly the pages in the translation table are valid, except those for
    /// which a newer entry was found.
    fn rebuild_bitmap(&mut self, scan: &BlockScan) -> Result<(), LayerError> {
        let mut valid =
            vec![false; self.space.pool.blocks.len() as usize * self.space.pages_per_block() as usize];
        for number in 0..self.space.contents.translation_pages() {
            let at = self.directory.locate(number, &mut self.space)?;
            if at == Slot::NONE {
                continue;
            }
            self.space.read_metadata(at, Cause::Translation)?;
            let first = number * self.space.contents.entries_per_page();
            for (page, entry) in (first..).map(Lpn).zip(self.space.contents.version(number, at)) {
                if entry != Slot::NONE && self.cache.find(page).is_none() {
                    valid[entry.0 as usize] = true;
                }
            }
        }
        self.for_each_cached(|ftl, handle| {
            let slot = ftl.cache.get(handle).slot;
            if slot != Slot::NONE {
                valid[slot.0 as usize] = true;
            }
        });
        let streams = self.space.user_streams() as u8;
        for &(_, block) in scan.streams.range(..streams).flat_map(|(_, blocks)| blocks) {
            let end = self.space.end_of(block);
            for page in 0..end {
                let at = self.space.slot(block, page);
                if !valid[at.0 as usize] {
                    self.validity.invalidate(at, &mut self.space)?;
                }
            }
        }
        Ok(())
    }

    /// Calls `visit` with every entry of the cache.
    fn for_each_cached(&mut self, mut visit: impl FnMut(&mut Self, Handle)) {
        let mut handles = std::mem::take(&mut self.handles);
        for number in 0..self.space.contents.translation_pages() {
            self.cache.cached_of_translation_page(number, &mut handles);
            handles.iter().for_each(|&handle| visit(self, handle));
        }
        self.handles = handles;
    }

    /// Marks restored entries as identified if the bitmap was rebuilt: it already treats the pages that they replace
    /// as invalid.
    fn identify_entries(&mut self, lacks_battery: bool) {
        if lacks_battery {
            self.for_each_cached(|ftl, handle| {
                let identified = Mapping { unidentified: false, uncertain: false, ..ftl.cache.get(handle) };
                ftl.cache.amend(handle, identified);
            });
        }
    }

    /// Starts normal operation: the work of recovery is reported separately and not counted as work for the user.
    fn begin_operation(&mut self) {
        self.space.reset_counts();
        self.count_mapped();
        self.checkpoints.last = self.space.pool.sequence;
        self.space.pool.skip_unreported();
        let restored = u64::from(self.cache.len());
        let until = u64::from(self.config.cache_entries).saturating_sub(restored).max(1);
        self.checkpoints.operations_left = until;
    }
}
