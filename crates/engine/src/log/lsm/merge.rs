//! Merging sorted runs.

use super::table_builder::TableBuilder;
use super::tables::{TableId, Tables};
use crate::counters::Cause;
use crate::layer::{LayerError, Payload};
use crate::units::Slot;

/// Tables with disjoint ranges of keys, in the order of their keys.
pub(super) type Run = Vec<TableId>;

/// Position of a merge in one of its runs.
struct Cursor<P> {
    /// Tables that are not yet completely read; the next one is last.
    tables: Vec<TableId>,
    /// Pages of the current table.
    data: Vec<P>,
    record: usize,
    tombstone: usize,
}

impl<P: Payload> Cursor<P> {
    fn new(run: Run, tables: &mut Tables<P>) -> Result<Self, LayerError> {
        let mut cursor = Cursor { tables: run, data: Vec::new(), record: 0, tombstone: 0 };
        cursor.tables.reverse();
        cursor.load(tables)?;
        Ok(cursor)
    }

    /// Reads the next table, if there is one.
    fn load(&mut self, tables: &mut Tables<P>) -> Result<(), LayerError> {
        (self.record, self.tombstone) = (0, 0);
        self.data.clear();
        self.tables.last().map_or(Ok(()), |&id| tables.read_table(id, &mut self.data))
    }

    /// Returns the next key, with true if its entry is a tombstone.
    fn peek(&self, tables: &Tables<P>) -> Option<(u32, bool)> {
        let table = tables.table(*self.tables.last()?);
        match (table.keys.get(self.record), table.tombstones.get(self.tombstone)) {
            (Some(&key), Some(&tombstone)) if tombstone < key => Some((tombstone, true)),
            (Some(&key), _) => Some((key, false)),
            (None, tombstone) => tombstone.map(|&key| (key, true)),
        }
    }

    /// Skips an entry. Returns the entry's table if this was the last entry of the table.
    fn advance(&mut self, tombstone: bool, tables: &mut Tables<P>) -> Result<Option<TableId>, LayerError> {
        if tombstone {
            self.tombstone += 1;
        } else {
            self.record += 1;
        }
        if self.peek(tables).is_some() {
            return Ok(None);
        }
        let finished = self.tables.pop();
        self.load(tables)?;
        Ok(finished)
    }
}

impl<P: Payload> Tables<P> {
    /// Merges runs, given newest first, into one run. Keeps the newest version of each key, and keeps tombstones only
    /// if older versions may exist in lower levels.
    pub fn merge(
        &mut self,
        runs: Vec<Run>,
        builder: &mut TableBuilder<P>,
        keep_tombstones: bool,
        hint: u16,
    ) -> Result<Run, LayerError> {
        let mut cursors = Vec::with_capacity(runs.len());
        for run in runs {
            cursors.push(Cursor::new(run, self)?);
        }
        let (mut merged, mut finished) = (Run::new(), Vec::new());
        while let Some((key, newest)) = first_key(&cursors, self) {
            let cursor = &cursors[newest];
            let (_, tombstone) = cursor.peek(self).expect("it has the first key");
            if !builder.has_room(tombstone) {
                merged.push(self.write_table(builder, Cause::Cleaning, hint)?);
                self.drop_tables(&mut finished)?;
            }
            if !tombstone {
                let from: Slot = self.slot(*cursor.tables.last().expect("a table in hand"), cursor.record);
                builder.push(key, from, cursor.data[cursor.record]);
            } else if keep_tombstones {
                builder.tombstones.push(key);
            }
            for cursor in &mut cursors {
                if let Some((_, tombstone)) = cursor.peek(self).filter(|(other, _)| *other == key) {
                    finished.extend(cursor.advance(tombstone, self)?);
                }
            }
        }
        if !builder.is_empty() {
            merged.push(self.write_table(builder, Cause::Cleaning, hint)?);
        }
        self.drop_tables(&mut finished)?;
        Ok(merged)
    }

    fn drop_tables(&mut self, finished: &mut Vec<TableId>) -> Result<(), LayerError> {
        finished.drain(..).try_for_each(|id| self.drop_table(id))
    }
}

/// Returns the smallest next key of all cursors, and the newest run that contains it.
fn first_key<P: Payload>(cursors: &[Cursor<P>], tables: &Tables<P>) -> Option<(u32, usize)> {
    let next = cursors.iter().enumerate();
    next.filter_map(|(at, cursor)| cursor.peek(tables).map(|(key, _)| (key, at))).min()
}
