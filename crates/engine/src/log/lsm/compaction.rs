//! Compaction: the choice of runs to merge, and the time of each merge.

use super::Shape;
use super::merge::Run;
use super::tables::TableId;
use super::tree::LsmTree;
use crate::layer::{LayerError, Payload};
use std::ops::Range;

impl<P: Payload> LsmTree<P> {
    /// Merges until no level exceeds its size.
    pub(super) fn compact(&mut self) -> Result<(), LayerError> {
        match self.config.shape {
            Shape::Leveled { level0_runs, .. } => self.compact_leveled(level0_runs as usize),
            Shape::Tiered { runs } => self.compact_tiered(runs as usize),
            Shape::Silt { hash_stores } => self.compact_silt(hash_stores as usize),
        }
    }

    fn compact_leveled(&mut self, level0_runs: usize) -> Result<(), LayerError> {
        loop {
            if self.levels[0].len() >= level0_runs {
                self.merge_level0()?;
                continue;
            }
            let last = self.levels.len() - 1;
            let full = (1..last).find(|&level| self.tables_in(level) > self.plan.targets[level]);
            match full {
                Some(level) => self.push_down_one(level)?,
                None => return Ok(()),
            }
        }
    }

    fn compact_tiered(&mut self, full: usize) -> Result<(), LayerError> {
        let last = self.levels.len() - 1;
        for level in 0..=last {
            if self.levels[level].len() < full {
                continue;
            }
            let to = last.min(level + 1);
            let runs = newest_first(&mut self.levels[level]);
            let keep = self.levels[to..].iter().any(|runs| !runs.is_empty());
            let merged = self.merge(runs, to, keep)?;
            self.add_run(to, merged);
        }
        Ok(())
    }

    fn compact_silt(&mut self, full: usize) -> Result<(), LayerError> {
        if self.levels[0].len() < full {
            return Ok(());
        }
        let mut runs = newest_first(&mut self.levels[0]);
        runs.append(&mut self.levels[1]);
        let merged = self.merge(runs, 1, false)?;
        self.add_run(1, merged);
        Ok(())
    }

    /// Merges level 0 with the overlapping tables of level 1. If the oldest run of level 0 overlaps no table of level
    /// 1, only this run moves down, without being rewritten.
    fn merge_level0(&mut self) -> Result<(), LayerError> {
        let mut below = self.take_run(1);
        let oldest = self.levels[0].remove(0);
        let is_disjoint =
            |run: &Run| overlap(run, self.run_range(&oldest), |id| self.table_range(id)).is_empty();
        let newer_runs = &self.levels[0];
        if is_disjoint(&below) && newer_runs.iter().all(is_disjoint) && self.may_move(&oldest, 1) {
            self.trivial_moves += oldest.len() as u64;
            let at = overlap(&below, self.run_range(&oldest), |id| self.table_range(id));
            below.splice(at, oldest);
            self.add_run(1, below);
            return Ok(());
        }
        self.levels[0].insert(0, oldest);
        let ranges = self.levels[0].iter().map(|run| self.run_range(run));
        let full_range = ranges.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).expect("level 0 has runs");
        let overlapped = overlap(&below, full_range, |id| self.table_range(id));
        let mut runs = newest_first(&mut self.levels[0]);
        runs.push(below[overlapped.clone()].to_vec());
        let keep = self.has_data_below(1);
        let merged = self.merge(runs, 1, keep)?;
        below.splice(overlapped, merged);
        self.add_run(1, below);
        Ok(())
    }

    /// Merges one table of a level into the next level. Tables are chosen round robin in the order of keys.
    fn push_down_one(&mut self, level: usize) -> Result<(), LayerError> {
        let (mut run, mut below) = (self.take_run(level), self.take_run(level + 1));
        let from = self.next_keys[level];
        let at = run.iter().position(|&id| self.table_range(id).0 >= from).unwrap_or(0);
        let id = run.remove(at);
        let range = self.table_range(id);
        // Cannot overflow: page numbers are below `u32::MAX`. After the last key, the round robin starts again.
        self.next_keys[level] = range.1 + 1;
        let overlapped = overlap(&below, range, |id| self.table_range(id));
        if overlapped.is_empty() && self.may_move(&[id], level + 1) {
            self.trivial_moves += 1;
            below.insert(overlapped.start, id);
        } else {
            let keep = self.has_data_below(level + 1);
            let merged = self.merge(vec![vec![id], below[overlapped.clone()].to_vec()], level + 1, keep)?;
            below.splice(overlapped, merged);
        }
        self.add_run(level, run);
        self.add_run(level + 1, below);
        Ok(())
    }

    /// Rewrites the last level if its tables are too sparsely filled for the remaining space.
    pub(super) fn squeeze_if_needed(&mut self) -> Result<(), LayerError> {
        let last = self.levels.len() - 1;
        let leveled = matches!(self.config.shape, Shape::Leveled { .. });
        if !leveled || self.tables.free.len() as u64 >= self.plan.reserve {
            return Ok(());
        }
        let run = self.take_run(last);
        let records: usize = run.iter().map(|&id| self.tables.table(id).keys.len()).sum();
        if run.len() == records.div_ceil(self.config.table_pages as usize) {
            self.add_run(last, run);
            return Ok(());
        }
        self.squeezes += 1;
        let merged = self.merge(vec![run], last, false)?;
        self.add_run(last, merged);
        Ok(())
    }

    fn merge(&mut self, mut runs: Vec<Run>, to: usize, keep_tombstones: bool) -> Result<Run, LayerError> {
        runs.retain(|run| !run.is_empty());
        self.compactions += 1;
        self.tables.merge(runs, &mut self.builder, keep_tombstones, Self::hint(to))
    }

    /// True if tables may move to level `to` without being rewritten. Tables with tombstones must not move to a
    /// level without data below it, because only merges drop tombstones there.
    fn may_move(&self, run: &[TableId], to: usize) -> bool {
        self.has_data_below(to) || run.iter().all(|&id| self.tables.table(id).tombstones.is_empty())
    }

    fn has_data_below(&self, level: usize) -> bool {
        self.levels[level + 1..].iter().any(|runs| !runs.is_empty())
    }

    fn tables_in(&self, level: usize) -> u64 {
        self.levels[level].iter().map(|run| run.len() as u64).sum()
    }

    fn take_run(&mut self, level: usize) -> Run {
        self.levels[level].pop().unwrap_or_default()
    }

    fn add_run(&mut self, level: usize, run: Run) {
        self.levels[level].extend((!run.is_empty()).then_some(run));
    }

    /// Returns the first and the last key of a table.
    fn table_range(&self, id: TableId) -> (u32, u32) {
        self.tables.table(id).range()
    }

    fn run_range(&self, run: &[TableId]) -> (u32, u32) {
        (self.table_range(run[0]).0, self.table_range(run[run.len() - 1]).1)
    }
}

/// Takes the runs of a level, newest first; a level stores the oldest first.
fn newest_first(runs: &mut Vec<Run>) -> Vec<Run> {
    runs.drain(..).rev().collect()
}

/// Returns the positions of the tables of a run that overlap a range of keys. If no table does, returns the empty
/// range at which the range of keys would be inserted.
fn overlap(run: &[TableId], keys: (u32, u32), range: impl Fn(TableId) -> (u32, u32)) -> Range<usize> {
    let start = run.partition_point(|&id| range(id).1 < keys.0);
    let end = run.partition_point(|&id| range(id).0 <= keys.1);
    start..end.max(start)
}
