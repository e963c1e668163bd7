//! The flash of an FTL by groups of blocks: pages are appended to a group's open block, die, and are erased in blocks.

use super::contents::{Contents, MetaPage, Note};
use super::wear::Levelling;
use crate::config::ConfigError;
use crate::counters::{Cause, Counters, Operation};
use crate::layer::{Group, LayerError, MediumError, Pages, Run};
use crate::nand::{Flash, PageState};
use crate::units::{BlockId, Divider, Lpn, Slot, StreamId};
use crate::validity::ValidityPage;
use crate::victim::{Blocks, VictimPolicy};
use std::collections::{BTreeSet, VecDeque};

/// What a block holds (paper, sec. 4: the three block groups).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockGroup {
    /// Pages of the user.
    User,
    /// Translation pages, and nodes of a tree over them.
    Translation,
    /// Pages of the validity store.
    Validity,
}

impl BlockGroup {
    /// Under which cause its pages are written, read and erased, but for those of the user.
    pub fn cause(self) -> Cause {
        match self {
            BlockGroup::User => Cause::Cleaning,
            BlockGroup::Translation => Cause::Translation,
            BlockGroup::Validity => Cause::Validity,
        }
    }
}

/// An open block and the page it takes next.
#[derive(Clone, Copy, Debug)]
pub struct Frontier {
    pub block: BlockId,
    pub page: u32,
}

/// The owner that the spare area of a translation page or of a page of the validity store names beyond its number is told by
/// its group, and the group by the block's stream.
pub struct Space<F: Flash> {
    pub flash: F,
    pub contents: Contents,
    pub counters: Counters,
    /// Pages appended so far.
    pub sequence: u64,
    /// Valid pages of every block: the paper's block validity counters.
    pub blocks: Blocks,
    pub victim: Box<dyn VictimPolicy>,
    /// How wear is levelled, if it is.
    pub levelling: Option<Levelling>,
    /// The open block of each stream: those of the user first, then translation, then validity.
    pub frontiers: Vec<Option<Frontier>>,
    /// Erased blocks in the order in which they were erased.
    pub free: VecDeque<BlockId>,
    /// The stream of every block that is not erased.
    pub streams: Vec<StreamId>,
    /// Sequence number of the first page of every block that is not erased.
    pub opened: Vec<u64>,
    /// Blocks of which nothing is valid, or can be read, to be erased when there is an occasion.
    pub dead: Vec<BlockId>,
    /// Blocks that a program failed in: to be emptied, and not used again.
    pub failed: Vec<BlockId>,
    /// Blocks that may not be erased before the validity store has written its buffer: they hold versions of translation
    /// pages from which what is in the buffer could be found again (paper, App. C.2.2). Each with the number of the version
    /// that followed.
    pub protected: Vec<(BlockId, u64)>,
    /// Whether versions are to be protected at all.
    pub protects: bool,
    /// Whether metadata blocks are candidates for cleaning.
    pub cleans_metadata: bool,
    pub usable_blocks: u32,
    /// Recovery horizon: no mapping entry was dirty that is older than this page.
    pub horizon: u64,
    /// All that was to be reported to the validity store because of pages older than this one has been reported.
    pub settled: u64,
    /// How things stood when the validity store last wrote its buffer.
    pub written_out: Note,
    /// Pages of the validity store that it turned out not to need, while it is recovered.
    pub unneeded: Option<BTreeSet<Slot>>,
    /// What pages of the validity store note while recovery puts back what the store lost, or a block is emptied: how things
    /// stood before.
    pub frozen: Option<Note>,
    /// Spare areas read, by cause.
    pub spare_reads: [u64; Cause::ALL.len()],
    divider: Divider,
}

impl<F: Flash> Space<F> {
    /// On flash whose blocks have yet to be sorted into erased and others.
    pub fn new(
        flash: F,
        contents: Contents,
        logical_pages: u32,
        user_streams: u8,
        victim: Box<dyn VictimPolicy>,
    ) -> Self {
        let (blocks, pages_per_block) = (flash.blocks(), flash.pages_per_block());
        Space {
            blocks: Blocks::new(blocks, pages_per_block, logical_pages, victim.needs()),
            contents,
            counters: Counters::default(),
            // 0 is before all pages.
            sequence: 1,
            victim,
            levelling: None,
            frontiers: vec![None; usize::from(user_streams) + 2],
            free: VecDeque::new(),
            streams: vec![StreamId(0); blocks as usize],
            opened: vec![0; blocks as usize],
            dead: Vec::new(),
            failed: Vec::new(),
            protected: Vec::new(),
            protects: false,
            cleans_metadata: true,
            usable_blocks: (0..blocks).filter(|&block| !flash.is_bad(BlockId(block))).count() as u32,
            horizon: 0,
            settled: 0,
            written_out: Note::default(),
            unneeded: None,
            frozen: None,
            spare_reads: [0; Cause::ALL.len()],
            divider: Divider::new(pages_per_block),
            flash,
        }
    }

    /// Refuses flash that the FTL could not work on: its pages, metadata and reserve need `needed_blocks`.
    pub fn check_room(&self, needed_blocks: u64) -> Result<(), ConfigError> {
        if u64::from(self.usable_blocks) >= needed_blocks {
            return Ok(());
        }
        let problem = format!(
            "has {} usable blocks; this FTL needs {needed_blocks} for the logical pages, its metadata and a reserve of \
             erased blocks to clean with",
            self.usable_blocks
        );
        Err(ConfigError::new("device", problem))
    }

    pub fn pages_per_block(&self) -> u32 {
        self.divider.divisor()
    }

    /// The block and the index in it of a page.
    #[inline]
    pub fn split(&self, at: Slot) -> (BlockId, u32) {
        let block = self.divider.quotient(at.0);
        (BlockId(block), at.0 - block * self.pages_per_block())
    }

    #[inline]
    pub fn slot(&self, block: BlockId, page: u32) -> Slot {
        Slot(block.0 * self.pages_per_block() + page)
    }

    /// Sequence number of the first page of the block that holds the page.
    pub fn opened_at(&self, at: Slot) -> u64 {
        self.opened[self.split(at).0.index()]
    }

    pub fn user_streams(&self) -> usize {
        self.frontiers.len() - 2
    }

    pub fn stream_of(&self, group: BlockGroup) -> StreamId {
        let streams = self.user_streams() as u8;
        match group {
            BlockGroup::User => StreamId(0),
            BlockGroup::Translation => StreamId(streams),
            BlockGroup::Validity => StreamId(streams + 1),
        }
    }

    pub fn group_of_stream(&self, stream: StreamId) -> BlockGroup {
        match stream.index().checked_sub(self.user_streams()) {
            None => BlockGroup::User,
            Some(0) => BlockGroup::Translation,
            Some(_) => BlockGroup::Validity,
        }
    }

    /// The group of a block that is not erased.
    pub fn group(&self, block: BlockId) -> BlockGroup {
        self.group_of_stream(self.streams[block.index()])
    }

    /// Pages that a block may hold: all, or those before its frontier.
    pub fn end_of(&self, block: BlockId) -> u32 {
        let open = self.frontiers.iter().flatten().find(|frontier| frontier.block == block);
        open.map_or(self.pages_per_block(), |frontier| frontier.page)
    }

    pub fn is_open(&self, block: BlockId) -> bool {
        self.frontiers.iter().flatten().any(|frontier| frontier.block == block)
    }

    /// Appends a page to the open block of `stream`.
    pub fn append(
        &mut self,
        stream: StreamId,
        owner: Lpn,
        data: &F::Payload,
        cause: Cause,
    ) -> Result<Slot, LayerError> {
        loop {
            let frontier = match self.frontiers[stream.index()] {
                Some(frontier) => frontier,
                None => self.open(stream, cause)?,
            };
            let run = Run {
                owners: Some(&[owner]),
                data: std::slice::from_ref(data),
                sequence: self.sequence,
                cause,
                stream,
                group: Group::None,
                note: self.horizon,
            };
            match self.flash.program(frontier.block, frontier.page, run) {
                Ok(()) => {
                    self.sequence += 1;
                    self.counters.add_outgoing(cause, Operation::Write, 1);
                    self.advance(stream, frontier);
                    return Ok(self.slot(frontier.block, frontier.page));
                }
                Err(MediumError::ProgramFailed { .. }) => self.fail(stream, frontier),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Erases a block of metadata that holds nothing any more, if there is one: what an operation in hand can do to win
    /// room, such as one that reports all pages of a large trim.
    #[cold]
    fn reclaim_metadata(&mut self) -> Result<(), LayerError> {
        let is_dead = |&block: &BlockId| {
            self.blocks.valid_pages(block) == 0
                && (self.blocks.is_candidate(block) || self.dead.contains(&block))
                && self.group(block) != BlockGroup::User
                && !self.is_protected(block)
                && !self.failed.contains(&block)
        };
        let Some(block) = (0..self.flash.blocks()).map(BlockId).find(is_dead) else { return Ok(()) };
        if self.blocks.is_candidate(block) {
            self.blocks.take(block);
            self.victim.taken(block);
        }
        self.dead.retain(|&dead| dead != block);
        self.erase(block, self.group(block).cause()).map(|_| ())
    }

    fn open(&mut self, stream: StreamId, cause: Cause) -> Result<Frontier, LayerError> {
        if self.free.len() < 2 {
            self.reclaim_metadata()?;
        }
        let block = self.take_free(cause).ok_or(LayerError::NoSpace)?;
        let frontier = Frontier { block, page: 0 };
        self.frontiers[stream.index()] = Some(frontier);
        self.streams[block.index()] = stream;
        self.opened[block.index()] = self.sequence;
        self.blocks.open(block);
        Ok(frontier)
    }

    fn advance(&mut self, stream: StreamId, frontier: Frontier) {
        let page = frontier.page + 1;
        if page < self.pages_per_block() {
            self.frontiers[stream.index()] = Some(Frontier { page, ..frontier });
        } else {
            self.frontiers[stream.index()] = None;
            self.close(frontier.block);
        }
    }

    /// The block takes no more pages.
    pub fn close(&mut self, block: BlockId) {
        if self.cleans_metadata || self.group(block) == BlockGroup::User {
            self.blocks.close(block);
            self.victim.closed(block, &self.blocks);
        } else if self.blocks.valid_pages(block) == 0 {
            self.dead.push(block);
        }
    }

    /// A program failed at the frontier: the block is closed with what it holds.
    fn fail(&mut self, stream: StreamId, frontier: Frontier) {
        let left = self.pages_per_block() - frontier.page;
        self.frontiers[stream.index()] = None;
        let valid = self.blocks.valid_pages(frontier.block).saturating_sub(left);
        self.blocks.invalidate_many(frontier.block, self.blocks.valid_pages(frontier.block) - valid);
        self.failed.push(frontier.block);
        self.close(frontier.block);
        // It is dealt with as failed, not as dead.
        self.dead.retain(|&block| block != frontier.block);
    }

    /// One valid page less in its block.
    #[inline]
    pub fn invalidate(&mut self, at: Slot) {
        let (block, _) = self.split(at);
        // Reports that are made anew after a power cut may find the page counted out already.
        if self.blocks.valid_pages(block) == 0 {
            return;
        }
        let score = self.blocks.invalidate(block);
        self.victim.invalidated(block, score, &self.blocks);
    }

    /// A page of metadata has been replaced.
    pub fn discard_metadata(&mut self, at: Slot) {
        self.invalidate(at);
        let (block, _) = self.split(at);
        let candidate = self.cleans_metadata || self.blocks.valid_pages(block) > 0;
        if !candidate && !self.is_open(block) && !self.failed.contains(&block) {
            self.dead.push(block);
        }
    }

    /// An old version of a translation page must stay until the validity store has written its buffer.
    pub fn protect(&mut self, at: Slot) {
        let (block, _) = self.split(at);
        if !self.protects {
            return;
        }
        match self.protected.iter_mut().find(|(protected, _)| *protected == block) {
            Some((_, until)) => *until = self.sequence,
            None => self.protected.push((block, self.sequence)),
        }
    }

    /// As [`Space::protect`], for a version that was followed by one of number `until`.
    pub fn protect_until(&mut self, at: Slot, until: u64) {
        let (block, _) = self.split(at);
        if self.protects {
            self.protected.push((block, until));
        }
    }

    /// All pages of the block, which is no candidate, count as valid again.
    pub fn recount_from_full(&mut self, block: BlockId) {
        self.blocks.open(block);
    }

    /// What the validity store has written out needs protection no more.
    pub fn release(&mut self) {
        let settled = self.written_out.settled;
        self.protected.retain(|&(_, until)| until > settled);
    }

    /// How things stand.
    pub fn standing(&self) -> Note {
        Note { settled: self.settled, horizon: self.horizon }
    }

    /// How things stood when the page of the validity store at `at` was written.
    pub fn note_at(&self, at: Slot) -> Option<Note> {
        match self.contents.page(at) {
            Some(MetaPage::Validity(page)) => Some(page.1),
            _ => None,
        }
    }

    pub fn is_protected(&self, block: BlockId) -> bool {
        self.protected.iter().any(|&(protected, _)| protected == block)
    }

    /// Erases a block and puts it into the pool; false if it wore out.
    pub fn erase(&mut self, block: BlockId, cause: Cause) -> Result<bool, LayerError> {
        self.before_erase(block);
        let worn_out = match self.flash.erase(block, cause) {
            Ok(()) => false,
            Err(MediumError::WornOut { .. }) => true,
            Err(error) => return Err(error.into()),
        };
        self.blocks.erased(block);
        self.contents.erase(block);
        if worn_out {
            self.usable_blocks -= 1;
            return Ok(false);
        }
        self.counters.add_outgoing(cause, Operation::Erase, 1);
        self.free.push_back(block);
        self.note_erase(block);
        Ok(true)
    }

    /// Gives up a failed block that holds nothing any more.
    pub fn retire(&mut self, block: BlockId) {
        self.flash.retire(block);
        self.blocks.erased(block);
        self.contents.erase(block);
        self.failed.retain(|&failed| failed != block);
        self.usable_blocks -= 1;
    }

    /// Reads the spare area of a page.
    #[inline]
    pub fn read_spare(&mut self, at: Slot, cause: Cause) -> PageState {
        let (block, page) = self.split(at);
        self.spare_reads[cause as usize] += 1;
        self.flash.read_spare(block, page, cause)
    }

    /// Reads a page of the user and appends its content to `out`.
    pub fn read_user(&mut self, at: Slot, cause: Cause, out: &mut Vec<F::Payload>) -> Result<(), LayerError> {
        let (block, page) = self.split(at);
        self.counters.add_outgoing(cause, Operation::Read, 1);
        Ok(self.flash.read(block, Pages::Listed(&[page]), cause, out)?)
    }

    /// Reads a page whose content is kept in `contents`.
    pub fn read_metadata(&mut self, at: Slot, cause: Cause) -> Result<(), LayerError> {
        let (block, page) = self.split(at);
        self.counters.add_outgoing(cause, Operation::Read, 1);
        let mut nothing = Vec::new();
        Ok(self.flash.read(block, Pages::Listed(&[page]), cause, &mut nothing)?)
    }

    /// Appends the next version of a translation page.
    pub fn append_translation(&mut self, number: u32, entries: &[(u32, Slot)]) -> Result<Slot, LayerError> {
        let stream = self.stream_of(BlockGroup::Translation);
        let at = self.append(stream, Lpn(number), &F::Payload::default(), Cause::Translation)?;
        self.contents.program_translation(number, at, entries);
        Ok(at)
    }

    pub fn append_validity(&mut self, page: ValidityPage, note: Note) -> Result<Slot, LayerError> {
        let stream = self.stream_of(BlockGroup::Validity);
        let label = Lpn(page.label());
        let at = self.append(stream, label, &F::Payload::default(), Cause::Validity)?;
        self.contents.program(at, MetaPage::Validity(Box::new((page, note))));
        Ok(at)
    }

    /// Appends a node of the tree over the translation pages, named by a number beyond theirs.
    pub fn append_node(&mut self, label: u32, children: &[Slot]) -> Result<Slot, LayerError> {
        let stream = self.stream_of(BlockGroup::Translation);
        let at = self.append(stream, Lpn(label), &F::Payload::default(), Cause::Translation)?;
        self.contents.program(at, MetaPage::Node(children.into()));
        Ok(at)
    }

    /// Metadata blocks that are neither open nor erased, with their valid pages.
    pub fn closed_metadata(&self) -> impl Iterator<Item = (u32, BlockId)> + '_ {
        let all = (0..self.flash.blocks()).map(BlockId);
        let used = all.filter(|&block| self.blocks.valid_pages(block) > 0);
        let metadata = used.filter(|&block| self.group(block) != BlockGroup::User);
        metadata.filter(|&block| !self.is_open(block)).map(|block| (self.blocks.valid_pages(block), block))
    }
}
