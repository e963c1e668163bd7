//! A zoned drive, which has no map and does no cleaning; its user must write sequentially and reset whole zones.

use crate::config::ConfigError;
use crate::counters::{Cause, Counters, Operation};
use crate::layer::{
    Abilities, Ability, Answer, Command, Group, Layer, LayerError, LayerReport, Medium, MediumError,
    MediumExt, Pages, Query, Reports, Run, ZoneState, check_range,
};
use crate::pool::Moves;
use crate::units::{BlockId, Lpn, StreamId, run_length, runs};
use std::collections::BTreeSet;

/// RAM per zone, in bytes: for its blocks, its state and its write pointer.
const ZONE_BYTES: u64 = 16;

/// Settings of a zoned drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZonedDriveConfig {
    /// Number of consecutive erase blocks per zone; at least 1. Blocks beyond the last whole zone stay unused.
    pub zone_blocks: u32,
    /// Maximum number of open (partly written) zones; at least 1.
    pub max_open_zones: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Zone {
    /// Number of pages of the zone that were written since the last reset.
    written: u32,
    /// True if the zone was finished before it was full: it accepts no more writes.
    is_finished: bool,
    /// True if the zone has a bad block or a block with a failed program.
    is_offline: bool,
}

impl Zone {
    /// True if the zone is partly written and accepts writes.
    fn is_open(&self, zone_pages: u32) -> bool {
        self.written > 0 && self.written < zone_pages && !self.is_finished && !self.is_offline
    }

    /// Returns the write pointer.
    fn write_pointer(&self, zone_pages: u32) -> u32 {
        if self.is_finished { zone_pages } else { self.written }
    }
}

/// A zoned drive (NVMe Zoned Namespace Command Set; Bjørling et al., ATC 2021) on any medium.
///
/// Logical page `zone * zone_pages + k` is page `k` of a zone. A zone can only be written at its write pointer. The
/// first write opens a zone; filling, finishing or resetting it closes it. The number of open zones is limited. There
/// is no command that closes a partly written zone, so open and active zones are the same.
///
/// A finished zone accepts no writes until it is reset; its unwritten pages are not programmed, as in drives that keep
/// track of them. Trimming all pages of a zone resets the zone: its written blocks are erased, with the host as cause.
/// Trimming a part of a zone is rejected. Unwritten pages read as the default payload and cost no flash read.
///
/// A zone with a bad block (from the factory, or worn out by a reset) goes offline: its data is lost, it rejects
/// writes, and a reset does nothing. A zone with a failed program also goes offline, but its data stays readable
/// until it is reset.
pub struct ZonedDrive<M> {
    medium: M,
    config: ZonedDriveConfig,
    zones: Vec<Zone>,
    /// Number of partly written zones.
    open_zones: u32,
    /// Number of pages programmed so far.
    sequence: u64,
    counters: Counters,
    /// Counts of moved pages, which are always zero.
    moves: Moves,
}

impl<M: Medium> ZonedDrive<M> {
    /// Creates a drive of empty zones on an erased medium. Fails if a setting cannot work; the error names its key.
    pub fn new(medium: M, config: ZonedDriveConfig) -> Result<Self, ConfigError> {
        let blocks = medium.blocks();
        if config.zone_blocks == 0 || config.zone_blocks > blocks {
            let problem = format!("is {}; from 1 to the {blocks} blocks of the flash", config.zone_blocks);
            return Err(ConfigError::new("zone_blocks", problem));
        }
        if config.max_open_zones == 0 {
            return Err(ConfigError::new("max_open_zones", "is 0; at least 1 is needed"));
        }
        let zone = |zone: u32| {
            let mut blocks = zone * config.zone_blocks..(zone + 1) * config.zone_blocks;
            Zone { is_offline: blocks.any(|block| medium.is_bad(BlockId(block))), ..Zone::default() }
        };
        let zones = (0..blocks / config.zone_blocks).map(zone).collect();
        Ok(ZonedDrive {
            medium,
            config,
            zones,
            open_zones: 0,
            sequence: 0,
            counters: Counters::default(),
            moves: Moves::default(),
        })
    }

    /// Returns the number of pages per zone.
    pub fn zone_pages(&self) -> u32 {
        self.config.zone_blocks * self.medium.pages_per_block()
    }

    /// Returns the number of offline zones.
    pub fn offline_zones(&self) -> u32 {
        self.zones.iter().filter(|zone| zone.is_offline).count() as u32
    }

    /// Returns the write pointer of a zone: the index of the page that is written next. Zones are numbered from 0.
    pub fn write_pointer(&self, zone: u32) -> u32 {
        self.zones[zone as usize].write_pointer(self.zone_pages())
    }

    fn total_pages(&self) -> u32 {
        self.zones.len() as u32 * self.zone_pages()
    }

    /// Returns the block of a page, and the page's index in it.
    fn locate(&self, page: Lpn) -> (BlockId, u32) {
        // Zone `z` occupies `zone_blocks` consecutive blocks from block `z * zone_blocks` on.
        let pages_per_block = self.medium.pages_per_block();
        (BlockId(page.0 / pages_per_block), page.0 % pages_per_block)
    }

    /// Rejects a write that is not at the write pointer of a writable zone.
    fn check_write(&self, page: Lpn) -> Result<(), LayerError> {
        let (zone, at) = (page.0 / self.zone_pages(), page.0 % self.zone_pages());
        let Zone { written, is_offline: offline, .. } = self.zones[zone as usize];
        if offline {
            return Err(LayerError::ZoneOffline { zone });
        }
        let expected = self.write_pointer(zone);
        if at != expected {
            return Err(LayerError::NotSequential { zone, page: at, expected });
        }
        if written == 0 && self.open_zones == self.config.max_open_zones {
            return Err(LayerError::TooManyOpenZones { zone, limit: self.config.max_open_zones });
        }
        Ok(())
    }

    /// Programs consecutive pages of one block.
    fn program(&mut self, pages: &[Lpn], data: &[M::Payload], hint: u16) -> Result<(), LayerError> {
        self.check_write(pages[0])?;
        let (block, page) = self.locate(pages[0]);
        let run = Run {
            owners: Some(pages),
            data,
            sequence: self.sequence,
            cause: Cause::Host,
            stream: StreamId(hint.min(u8::MAX.into()) as u8),
            group: Group::None,
            note: 0,
        };
        let accepted = match self.medium.program(block, page, run) {
            Ok(()) => pages.len() as u32,
            Err(MediumError::ProgramFailed { page: failed, .. }) => failed - page,
            Err(error) => return Err(error.into()),
        };
        self.sequence += pages.len() as u64;
        self.counters.add_incoming(Operation::Write, accepted.into());
        self.counters.add_outgoing(Cause::Host, Operation::Write, accepted.into());
        let (number, zone_pages) = (pages[0].0 / self.zone_pages(), self.zone_pages());
        let zone = &mut self.zones[number as usize];
        let was_open = zone.is_open(zone_pages);
        zone.written += accepted;
        zone.is_offline = (accepted as usize) < pages.len();
        self.open_zones = self.open_zones + u32::from(zone.is_open(zone_pages)) - u32::from(was_open);
        if zone.is_offline { Err(LayerError::ZoneOffline { zone: number }) } else { Ok(()) }
    }

    /// Returns the state of the zone that contains `page`.
    fn state(&self, page: Lpn) -> ZoneState {
        let Zone { written, is_finished: finished, is_offline: offline } =
            self.zones[(page.0 / self.zone_pages()) as usize];
        let is_blocked = written == 0 && !finished && self.open_zones == self.config.max_open_zones;
        let open_limit = is_blocked.then_some(self.config.max_open_zones);
        let pages = self.zone_pages();
        ZoneState { pages, written, is_finished: finished, is_offline: offline, open_limit }
    }

    /// Finishes the zone that contains `page`: it accepts no more writes.
    fn finish(&mut self, page: Lpn) -> Result<(), LayerError> {
        let (zone, zone_pages) = (page.0 / self.zone_pages(), self.zone_pages());
        let state = &mut self.zones[zone as usize];
        if state.is_offline {
            return Err(LayerError::ZoneOffline { zone });
        }
        self.open_zones -= u32::from(state.is_open(zone_pages));
        state.is_finished = state.written < zone_pages;
        Ok(())
    }

    /// Answers how many pages would stay valid in the blocks that hold any of `pages`.
    fn left_valid(&self, pages: &[Lpn]) -> Answer {
        let (zone_pages, size) = (self.zone_pages(), self.medium.pages_per_block());
        let written = |page: u32| self.zones[(page / zone_pages) as usize].written;
        let stored = pages.iter().filter(|page| page.0 % zone_pages < written(page.0));
        let trimmed = stored.clone().count() as u64;
        let blocks: BTreeSet<u32> = stored.map(|page| page.0 / size).collect();
        let valid = |block: &u32| written(block * size).saturating_sub(block * size % zone_pages).min(size);
        let valid: u64 = blocks.iter().map(|block| u64::from(valid(block))).sum();
        Answer::LeftValid { valid_pages: valid - trimmed, block_pages: blocks.len() as u64 * u64::from(size) }
    }

    /// Erases the written blocks of a zone.
    fn reset(&mut self, zone: u32) -> Result<(), LayerError> {
        let zone_pages = self.zone_pages();
        let state = &mut self.zones[zone as usize];
        self.open_zones -= u32::from(state.is_open(zone_pages));
        let written = std::mem::take(&mut state.written);
        state.is_finished = false;
        if state.is_offline {
            return Ok(());
        }
        let first = zone * self.config.zone_blocks;
        for block in first..first + written.div_ceil(self.medium.pages_per_block()) {
            match self.medium.erase(BlockId(block), Cause::Host) {
                Ok(()) => self.counters.add_outgoing(Cause::Host, Operation::Erase, 1),
                Err(MediumError::WornOut { .. }) => state.is_offline = true,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

impl<M: Medium> Layer<M::Payload> for ZonedDrive<M> {
    fn logical_pages(&self) -> u32 {
        self.total_pages()
    }

    /// Writes pages up to the first rejected page.
    fn write(&mut self, mut pages: &[Lpn], mut data: &[M::Payload], hint: u16) -> Result<(), LayerError> {
        assert_eq!(pages.len(), data.len(), "content for every page");
        check_range(pages, self.total_pages())?;
        while let Some(&first) = pages.first() {
            let room = self.medium.pages_per_block() - self.locate(first).1;
            let length = run_length(&pages[..pages.len().min(room as usize)]);
            self.program(&pages[..length], &data[..length], hint)?;
            (pages, data) = (&pages[length..], &data[length..]);
        }
        Ok(())
    }

    fn read(&mut self, pages: &[Lpn], out: &mut Vec<M::Payload>) -> Result<(), LayerError> {
        check_range(pages, self.total_pages())?;
        self.counters.add_incoming(Operation::Read, pages.len() as u64);
        let zone_pages = self.zone_pages();
        for &page in pages {
            if page.0 % zone_pages >= self.zones[(page.0 / zone_pages) as usize].written {
                out.push(M::Payload::default());
                continue;
            }
            let (block, index) = self.locate(page);
            self.counters.add_outgoing(Cause::Host, Operation::Read, 1);
            self.medium.read(block, Pages::Listed(&[index]), Cause::Host, out)?;
        }
        Ok(())
    }

    /// Resets the zones whose pages are all listed, one after the other. A list with a partial zone is rejected
    /// completely.
    fn trim(&mut self, pages: &[Lpn]) -> Result<(), LayerError> {
        check_range(pages, self.total_pages())?;
        let zone_pages = self.zone_pages();
        let ranges = || runs(pages).map(|run| (run[0].0, run[0].0 + run.len() as u32));
        let partial = |page: u32| !page.is_multiple_of(zone_pages);
        for (first, end) in ranges() {
            if partial(first) || partial(end) {
                let page = if partial(first) { first } else { end };
                return Err(LayerError::PartialReset { zone: page / zone_pages });
            }
        }
        self.counters.add_incoming(Operation::Trim, pages.len() as u64);
        for (first, end) in ranges() {
            (first / zone_pages..end / zone_pages).try_for_each(|zone| self.reset(zone))?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), LayerError> {
        self.counters.add_incoming(Operation::Flush, 1);
        Ok(self.medium.flush()?)
    }

    fn abilities(&self) -> Abilities {
        let below = self.medium.abilities_below();
        let own = [Ability::Attribution, Ability::MoveCounts, Ability::LeftValid, Ability::Zones]
            .map(|ability| (ability, true));
        let forwarded =
            [Ability::Deferral, Ability::IdleCleaning].map(|ability| (ability, below.has(ability)));
        Abilities::of(&[&own[..], &forwarded].concat())
    }

    fn query(&self, query: Query<'_>) -> Answer {
        match query {
            Query::MovedPages(_) => Answer::Pages(0),
            Query::LeftValid(pages) => self.left_valid(pages),
            Query::Zone(pages) => {
                pages.first().map_or(Answer::Nothing, |page| Answer::Zone(self.state(*page)))
            }
            _ => Answer::Nothing,
        }
    }

    fn command(&mut self, command: Command<'_, M::Payload>) -> Result<Answer, LayerError> {
        match command {
            Command::SetPartitions { ends } => self.moves.set_partitions(ends),
            Command::CleaningAbove { begins } => self.medium.notify_cleaning(begins),
            Command::FinishZone { pages } => {
                let Some(&page) = pages.first() else { return Ok(Answer::Done(false)) };
                self.finish(page)?;
                return Ok(Answer::Done(true));
            }
            Command::CleanWhileIdle if self.medium.abilities_below().has(Ability::IdleCleaning) => {
                return Ok(Answer::Done(self.medium.clean_while_idle()?));
            }
            other => return other.unsupported(),
        }
        Ok(Answer::Nothing)
    }

    fn describe(&self, reports: &mut Reports) {
        reports.layers.push(LayerReport {
            moved_pages: self.moves.matrix(),
            counters: self.counters,
            logical_pages: self.total_pages(),
            physical_pages: u64::from(self.medium.blocks()) * u64::from(self.medium.pages_per_block()),
            mapped_pages: self.zones.iter().map(|zone| zone.written).sum(),
            memory_bytes: size_of_val(&*self.zones) as u64,
            directory: "zones",
            map_bytes: Some(ZONE_BYTES * self.zones.len() as u64),
            erased_blocks: Some(
                self.zones
                    .iter()
                    .filter(|zone| zone.written == 0 && !zone.is_finished && !zone.is_offline)
                    .count() as u32,
            ),
            ..LayerReport::default()
        });
        self.medium.describe(reports);
    }

    fn written_pages(&self) -> u64 {
        self.counters.incoming(Operation::Write)
    }

    /// Returns 0: zones draw no random numbers.
    fn final_draw(&mut self) -> u64 {
        0
    }

    fn check(&self) -> Result<(), String> {
        let zone_pages = self.zone_pages();
        let open = self.zones.iter().filter(|zone| zone.is_open(zone_pages)).count();
        if open != self.open_zones as usize || self.open_zones > self.config.max_open_zones {
            return Err(format!(
                "zones: {open} are open, {} were counted, {} are allowed",
                self.open_zones, self.config.max_open_zones
            ));
        }
        match self.zones.iter().position(|zone| zone.written > zone_pages) {
            Some(zone) => Err(format!("zones: zone {zone} holds more than it can")),
            None => self.medium.check(),
        }
    }
}
