//! A naive model of the log-structured store on flash, and utilities for comparing the engine with it.
//!
//! Written from Van Houdt (2013), sec. 2.3, and the documentation of the engine's types, with plain vectors that are
//! searched linearly. It shares only the random draws (seed names and `seed::below`) with the engine. A policy may
//! take any of several equally good victims; therefore the model is given the engine's choice and asserts that the
//! policy's rule admits it.

pub mod cases;
pub mod observe;
pub mod rig;
mod rules;

pub use observe::{BlockState, Observation};
pub use rules::Rule;

use std::collections::VecDeque;
use wearwell_base::seed::{Random, random_below};
use wearwell_base::units::{Lpn, StreamId};
use wearwell_engine::counters::{Cause, Counters, Operation};
use wearwell_engine::layer::LayerError;
use wearwell_engine::log::{CopyOrder, Reclaim, StoreConfig};
use wearwell_engine::placement::{PageContext, Placement};

/// A programmed page. It is valid while the map refers to it.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    owner: u32,
    content: u64,
}

/// An erase block: `pages` are those programmed since the last erase.
#[derive(Clone, Debug)]
pub struct Block {
    pub pages: Vec<Page>,
    pub state: BlockState,
    pub erases: u32,
    stream: StreamId,
    opened_at: u64,
}

/// A request that a store sends to the layer below.
#[derive(Clone, Debug)]
pub enum Request {
    Program { block: usize, page: usize, content: u64, stream: StreamId },
    Read { block: usize, pages: Vec<usize> },
    Erase { block: usize },
}

/// The whole engine: flash, map, streams, free pool, cleaning.
pub struct Model {
    pub config: StoreConfig,
    pub pages_per_block: usize,
    /// Number of erases that each block endures.
    pub endurance: Option<u32>,
    pub blocks: Vec<Block>,
    pub map: Vec<Option<(usize, usize)>>,
    pub counters: Counters,
    pub victims: Vec<u64>,
    pub spilled: u64,
    /// Victims that the engine took and the model has not taken yet.
    pub pending_victims: VecDeque<usize>,
    /// Recorded requests to the blocks, if recording is enabled.
    pub requests: Option<Vec<Request>>,
    /// User of the current write, if the store has several.
    pub writer: usize,
    /// Writer and page of every move by cleaning.
    pub moved: Vec<(usize, u32)>,
    open: Vec<Option<usize>>,
    /// Erased blocks, in the order in which they were erased.
    free: VecDeque<usize>,
    /// Closed blocks, in the order in which they were closed.
    closed: Vec<usize>,
    host_pages: u64,
    /// Live pages that were read from a victim and are not yet written to their new location.
    ram: Vec<Page>,
    rule: Rule,
    placement: Box<dyn Placement>,
    random: Random,
}

impl Model {
    /// Creates erased flash of `blocks` blocks; those in `bad` are bad.
    pub fn new(
        config: StoreConfig,
        (blocks, pages_per_block): (u32, u32),
        bad: &[usize],
        rule: Rule,
        placement: Box<dyn Placement>,
    ) -> Self {
        let erased = Block {
            pages: Vec::new(),
            state: BlockState::Erased,
            erases: 0,
            stream: StreamId(0),
            opened_at: 0,
        };
        let mut model = Model {
            pages_per_block: pages_per_block as usize,
            endurance: None,
            blocks: vec![erased; blocks as usize],
            map: vec![None; config.logical_pages as usize],
            counters: Counters::default(),
            victims: vec![0; pages_per_block as usize + 1],
            spilled: 0,
            pending_victims: VecDeque::new(),
            requests: None,
            writer: 0,
            moved: Vec::new(),
            open: vec![None; usize::from(placement.streams())],
            free: (0..blocks as usize).filter(|block| !bad.contains(block)).collect(),
            closed: Vec::new(),
            host_pages: 0,
            ram: Vec::new(),
            rule,
            placement,
            random: config.seed.derive("copy order").random(),
            config,
        };
        bad.iter().for_each(|&block| model.blocks[block].state = BlockState::Bad);
        model
    }

    pub fn write(&mut self, pages: &[Lpn], contents: &[u64], hint: u16) -> Result<(), LayerError> {
        self.check_range(pages)?;
        for (page, &content) in pages.iter().zip(contents) {
            let stream = match self.placement.host_stream() {
                Some(stream) => stream,
                None => self.place(page.0, Cause::Host, None, hint),
            };
            self.open_for_host(stream)?;
            self.append(stream, Page { owner: page.0, content }, Cause::Host);
        }
        Ok(())
    }

    /// Returns the content of each page; 0 for an unmapped page, `None` for a page whose block has failed.
    pub fn read(&mut self, pages: &[Lpn]) -> Result<Vec<Option<u64>>, LayerError> {
        self.check_range(pages)?;
        self.counters.add_incoming(Operation::Read, pages.len() as u64);
        let stored = pages.iter().filter(|page| self.map[page.index()].is_some()).count();
        self.counters.add_outgoing(Cause::Host, Operation::Read, stored as u64);
        for (block, page) in pages.iter().filter_map(|page| self.map[page.index()]).collect::<Vec<_>>() {
            self.record_request(Request::Read { block, pages: vec![page] });
        }
        Ok(pages.iter().map(|&page| self.content(page)).collect())
    }

    fn record_request(&mut self, request: Request) {
        self.requests.iter_mut().for_each(|all| all.push(request.clone()));
    }

    pub fn content(&self, page: Lpn) -> Option<u64> {
        let Some((block, at)) = self.map[page.index()] else { return Some(0) };
        self.blocks[block].pages.get(at).map(|page| page.content)
    }

    pub fn trim(&mut self, pages: &[Lpn]) -> Result<(), LayerError> {
        self.check_range(pages)?;
        self.counters.add_incoming(Operation::Trim, pages.len() as u64);
        for &page in pages {
            if self.map[page.index()].take().is_some() {
                self.placement.trimmed(page);
            }
        }
        Ok(())
    }

    pub fn flush(&mut self) {
        self.counters.add_incoming(Operation::Flush, 1);
    }

    /// Returns the pages of `block` that the map refers to.
    pub fn valid(&self, block: usize) -> usize {
        self.live_pages(block).len()
    }

    fn check_range(&self, pages: &[Lpn]) -> Result<(), LayerError> {
        let highest = pages.iter().map(|page| page.0).max().unwrap_or(0);
        match highest >= self.config.logical_pages {
            true => Err(LayerError::OutOfRange { page: highest, pages: self.config.logical_pages }),
            false => Ok(()),
        }
    }

    fn live_pages(&self, block: usize) -> Vec<Page> {
        let is_current = |(at, page): (usize, &Page)| {
            (self.map[page.owner as usize] == Some((block, at))).then_some(*page)
        };
        self.blocks[block].pages.iter().enumerate().filter_map(is_current).collect()
    }

    fn place(&mut self, page: u32, cause: Cause, from: Option<StreamId>, hint: u16) -> StreamId {
        let now = self.host_pages;
        self.placement.place(&PageContext { page: Lpn(page), cause, now, from, hint, references: 1 })
    }

    fn erased_pages(&self, block: usize) -> usize {
        self.pages_per_block - self.blocks[block].pages.len()
    }

    /// Programs the next page of the stream's open block: first the page is written, and then its old location is
    /// unmapped.
    fn append(&mut self, stream: StreamId, page: Page, cause: Cause) {
        let block = self.open[stream.index()].expect("the stream has an open block");
        assert!(self.erased_pages(block) > 0, "an open block has room");
        let at = self.blocks[block].pages.len();
        self.record_request(Request::Program { block, page: at, content: page.content, stream });
        self.blocks[block].pages.push(page);
        self.map[page.owner as usize] = Some((block, self.blocks[block].pages.len() - 1));
        self.counters.add_outgoing(cause, Operation::Write, 1);
        if cause == Cause::Cleaning {
            self.moved.push((self.writer, page.owner));
        }
        if cause == Cause::Host {
            self.counters.add_incoming(Operation::Write, 1);
            self.host_pages += 1;
        }
        if self.erased_pages(block) == 0 {
            self.open[stream.index()] = None;
            self.blocks[block].state = BlockState::Closed;
            self.closed.push(block);
        }
    }

    fn open(&mut self, stream: StreamId, block: usize) {
        assert!(self.blocks[block].pages.is_empty() && self.open[stream.index()].is_none());
        self.open[stream.index()] = Some(block);
        let opened_at = self.host_pages;
        self.blocks[block] =
            Block { state: BlockState::Open, stream, opened_at, ..self.blocks[block].clone() };
    }

    fn open_for_host(&mut self, stream: StreamId) -> Result<(), LayerError> {
        if self.open[stream.index()].is_some() {
            return Ok(());
        }
        match self.config.reclaim {
            Reclaim::InPlace if self.free.is_empty() => self.reclaim_in_place()?,
            Reclaim::FreePool { low, high } if self.free.len() <= low as usize => {
                self.refill(stream, low as usize, high as usize)?;
            }
            _ => {}
        }
        if self.open[stream.index()].is_none() {
            let block = self.free.pop_front().expect("cleaning left an erased block");
            self.open(stream, block);
        }
        Ok(())
    }

    /// Section 2.3: the victim's live pages go to RAM. As many as fit are written to the internal frontier, if there is
    /// one. The rest is written back to the erased victim, which then becomes the internal frontier. If no page is
    /// left, the victim becomes the external frontier.
    fn reclaim_in_place(&mut self) -> Result<(), LayerError> {
        let external = StreamId(0);
        let internal = self.placement.cleaning_stream().expect("in place has a fixed cleaning stream");
        while self.open[external.index()].is_none() {
            let victim = self.take_victim();
            if internal != external {
                self.choose_copied(internal);
                self.copy_to_open(internal);
            }
            if !self.erase(victim)? {
                continue;
            }
            self.open(if self.ram.is_empty() { external } else { internal }, victim);
            self.copy_to_open(internal);
        }
        Ok(())
    }

    /// Cleans until `high` blocks are erased. With `high` = `low`, cleans until cleaning's open block has free pages
    /// for the host, or more than `low` blocks are erased.
    fn refill(&mut self, host: StreamId, low: usize, high: usize) -> Result<(), LayerError> {
        loop {
            let has_room_for_host = self.free.len() > low || self.open[host.index()].is_some();
            let is_done = if high == low { has_room_for_host } else { self.free.len() >= high };
            if is_done {
                return Ok(());
            }
            let victim = self.take_victim();
            let open: usize = self.open.iter().flatten().map(|&block| self.erased_pages(block)).sum();
            if self.ram.len() > open + self.free.len() * self.pages_per_block {
                // Only blocks that wore out during cleaning can have used up the reserve.
                return Err(self.end_of_life());
            }
            match self.placement.cleaning_stream() {
                Some(stream) => {
                    while !self.ram.is_empty() {
                        let target = self.open_for_cleaning(stream);
                        let before = self.ram.len();
                        self.choose_copied(target);
                        self.copy_to_open(target);
                        self.spilled += if target == stream { 0 } else { (before - self.ram.len()) as u64 };
                    }
                }
                None => self.copy_one_by_one(victim),
            }
            if self.erase(victim)? {
                self.free.push_back(victim);
            }
        }
    }

    fn copy_one_by_one(&mut self, victim: usize) {
        let from = self.placement.needs_block_history().then_some(self.blocks[victim].stream);
        for page in std::mem::take(&mut self.ram) {
            let stream = self.place(page.owner, Cause::Cleaning, from, 0);
            let target = self.open_for_cleaning(stream);
            self.spilled += u64::from(target != stream);
            self.append(target, page, Cause::Cleaning);
        }
    }

    /// Returns the stream itself if it has or gets an open block, otherwise the first stream with one.
    fn open_for_cleaning(&mut self, stream: StreamId) -> StreamId {
        if self.open[stream.index()].is_some() {
            return stream;
        }
        if let Some(block) = self.free.pop_front() {
            self.open(stream, block);
            return stream;
        }
        StreamId(self.open.iter().position(Option::is_some).expect("some open block has room") as u8)
    }

    /// Draws the pages that fill the stream's open block, if not all pages fit.
    fn choose_copied(&mut self, stream: StreamId) {
        let Some(block) = self.open[stream.index()] else { return };
        let erased_pages = self.erased_pages(block);
        if self.config.copy_order == CopyOrder::Random && erased_pages < self.ram.len() {
            for at in 0..erased_pages {
                let other = at + random_below(&mut self.random, (self.ram.len() - at) as u64) as usize;
                self.ram.swap(at, other);
            }
        }
    }

    /// Copies pages from RAM to the stream's open block, if there is one, until no page is left or the block is full.
    fn copy_to_open(&mut self, stream: StreamId) {
        let Some(block) = self.open[stream.index()] else { return };
        let erased_pages = self.erased_pages(block);
        for page in self.ram.drain(..erased_pages.min(self.ram.len())).collect::<Vec<_>>() {
            self.append(stream, page, Cause::Cleaning);
        }
    }

    /// Takes the victim that the engine took, if the policy's rule admits it, and reads its live pages into RAM.
    fn take_victim(&mut self) -> usize {
        let victim = self.pending_victims.pop_front().expect("the engine cleaned, too");
        let candidates: Vec<(usize, usize)> =
            self.closed.iter().map(|&block| (block, self.valid(block))).collect();
        self.rule.admit(victim, &candidates, self.blocks.len());
        self.closed.retain(|&block| block != victim);
        let live = self.live_pages(victim);
        self.victims[live.len()] += 1;
        self.counters.add_outgoing(Cause::Cleaning, Operation::Read, live.len() as u64);
        if self.placement.needs_block_history() {
            let Block { stream, opened_at, .. } = self.blocks[victim];
            self.placement.reclaimed(stream, opened_at, self.host_pages, live.len() as u32);
        }
        let position = |page: &Page| self.map[page.owner as usize].expect("a live page").1;
        let pages = live.iter().map(position).collect();
        self.record_request(Request::Read { block: victim, pages });
        self.ram.extend(live);
        victim
    }

    /// Erases the block; returns false if it wore out.
    fn erase(&mut self, block: usize) -> Result<bool, LayerError> {
        self.blocks[block].pages.clear();
        self.record_request(Request::Erase { block });
        if self.endurance == Some(self.blocks[block].erases) {
            self.blocks[block].state = BlockState::Bad;
            let is_at_end_of_life = self.usable() < self.needed_blocks();
            return if is_at_end_of_life { Err(self.end_of_life()) } else { Ok(false) };
        }
        self.blocks[block].state = BlockState::Erased;
        self.blocks[block].erases += 1;
        self.counters.add_outgoing(Cause::Cleaning, Operation::Erase, 1);
        Ok(true)
    }

    fn usable(&self) -> u32 {
        self.blocks.iter().filter(|block| block.state != BlockState::Bad).count() as u32
    }

    /// Returns the blocks needed for the logical pages, one open block per stream, and the erased reserve.
    fn needed_blocks(&self) -> u32 {
        let reserve = match self.config.reclaim {
            Reclaim::InPlace => 0,
            Reclaim::FreePool { low, high } => high.max(low + 1),
        };
        self.config.logical_pages.div_ceil(self.pages_per_block as u32) + self.open.len() as u32 + reserve
    }

    fn end_of_life(&self) -> LayerError {
        let usable_blocks = self.usable();
        LayerError::EndOfLife { usable_blocks, needed_blocks: self.needed_blocks().max(usable_blocks + 1) }
    }
}
