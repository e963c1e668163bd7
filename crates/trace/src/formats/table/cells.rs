//! Cells of a table row, without copies unless the row has quotation marks.

use std::ops::Range;

use csv_core::{ReadRecordResult, ReaderBuilder, Terminator};

/// Separator between columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Separator {
    /// Exactly one byte.
    Byte(u8),
    /// Any run of blanks and tabs.
    Blanks,
}

/// The separators with their names.
pub const SEPARATORS: [(&str, Separator); 5] = [
    ("tab", Separator::Byte(b'\t')),
    ("comma", Separator::Byte(b',')),
    ("semicolon", Separator::Byte(b';')),
    ("pipe", Separator::Byte(b'|')),
    ("blanks", Separator::Blanks),
];

impl Separator {
    /// Returns the separator called `name`.
    pub fn named(name: &str) -> Option<Self> {
        SEPARATORS.iter().find(|(candidate, _)| *candidate == name).map(|(_, separator)| *separator)
    }

    /// Returns the name of the separator.
    pub fn name(self) -> &'static str {
        let entry = SEPARATORS.iter().find(|(_, separator)| *separator == self);
        entry.expect("the table has every separator").0
    }

    /// Detects the separator of a row: the one of tab, comma, semicolon and pipe that gives the most columns, if there
    /// are at least three; otherwise blanks, if blanks give more columns.
    pub fn of_row(row: &[u8]) -> Self {
        let bytes = SEPARATORS.iter().filter_map(|(_, separator)| match separator {
            Separator::Byte(byte) => {
                Some((row.iter().filter(|&found| found == byte).count() + 1, *separator))
            }
            Separator::Blanks => None,
        });
        // Of separators with equal numbers of columns, the first one is used.
        let most = bytes.rev().max_by_key(|(columns, _)| *columns);
        let (columns, separator) = most.expect("there are such separators");
        let by_blanks = row.split(u8::is_ascii_whitespace).filter(|cell| !cell.is_empty()).count();
        if columns >= 3 || columns > 1 && columns >= by_blanks { separator } else { Separator::Blanks }
    }
}

/// Cells of the current row.
#[derive(Default)]
pub struct RowCells {
    ranges: Vec<Range<usize>>,
    /// Unquoted cells of a row with quotation marks.
    unquoted_text: Vec<u8>,
    is_quoted: bool,
    cell_ends: Vec<usize>,
}

impl RowCells {
    /// Splits `row` into cells; returns true if its quotation marks are closed.
    #[inline]
    pub fn split(&mut self, row: &[u8], separator: Separator) -> bool {
        self.ranges.clear();
        self.is_quoted = false;
        let Separator::Byte(byte) = separator else {
            self.split_at_blanks(row);
            return true;
        };
        if memchr::memchr(b'"', row).is_some() {
            return self.split_quoted(row, byte);
        }
        let mut start = 0;
        for end in memchr::memchr_iter(byte, row) {
            self.ranges.push(start..end);
            start = end + 1;
        }
        self.ranges.push(start..row.len());
        true
    }

    fn split_at_blanks(&mut self, row: &[u8]) {
        let mut start = None;
        for (at, byte) in row.iter().enumerate() {
            match (byte.is_ascii_whitespace(), start) {
                (true, Some(from)) => {
                    self.ranges.push(from..at);
                    start = None;
                }
                (false, None) => start = Some(at),
                _ => {}
            }
        }
        self.ranges.extend(start.map(|from| from..row.len()));
    }

    #[cold]
    fn split_quoted(&mut self, row: &[u8], separator: u8) -> bool {
        if row.iter().filter(|&&byte| byte == b'"').count() % 2 == 1 {
            return false;
        }
        self.is_quoted = true;
        self.unquoted_text.resize(row.len() + 1, 0);
        self.cell_ends.resize(row.len() + 2, 0);
        let mut reader = ReaderBuilder::new().delimiter(separator).terminator(Terminator::Any(b'\n')).build();
        let (mut read, mut written, mut cells) = (0, 0, 0);
        // A second call, with empty input, ends the record.
        loop {
            let (result, more_read, more_written, more_cells) = reader.read_record(
                &row[read..],
                &mut self.unquoted_text[written..],
                &mut self.cell_ends[cells..],
            );
            read += more_read;
            written += more_written;
            cells += more_cells;
            if !matches!(result, ReadRecordResult::InputEmpty) {
                break;
            }
        }
        let mut start = 0;
        for &end in &self.cell_ends[..cells] {
            self.ranges.push(start..end);
            start = end;
        }
        true
    }

    /// Returns the number of cells.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Returns cell `at` of `row`, the row that was split last, without surrounding blanks; empty if there is no such
    /// cell.
    #[inline]
    pub fn get<'a>(&'a self, row: &'a [u8], at: usize) -> &'a [u8] {
        let Some(range) = self.ranges.get(at) else { return b"" };
        let text = if self.is_quoted { &self.unquoted_text[..] } else { row };
        text[range.clone()].trim_ascii()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cells(row: &str, separator: Separator) -> Vec<String> {
        let mut cells = RowCells::default();
        assert!(cells.split(row.as_bytes(), separator));
        (0..cells.len())
            .map(|at| String::from_utf8(cells.get(row.as_bytes(), at).to_vec()).unwrap())
            .collect()
    }

    #[test]
    fn row_is_split_at_separators_outside_of_quotes() {
        let comma = Separator::Byte(b',');
        assert_eq!(cells("1, W ,,x", comma), ["1", "W", "", "x"]);
        assert_eq!(cells("", comma), [""]);
        assert_eq!(cells("\"a,b\",\"say \"\"x\"\"\",3", comma), ["a,b", "say \"x\"", "3"]);
        assert_eq!(cells("  1 \t 2  ", Separator::Blanks), ["1", "2"]);
        assert_eq!(cells("1;2|3", Separator::Byte(b'|')), ["1;2", "3"]);
        assert!(!RowCells::default().split(b"1,\"open,2", comma));
    }

    #[test]
    fn separator_is_detected_from_a_row() {
        let rows = [
            ("1,2,3", "comma"),
            ("0.0 ; 37766853 ; 64 ; W ; 0.0", "semicolon"),
            ("1\t W \t 2\tx", "tab"),
            ("1|R|2|3", "pipe"),
            ("39949 D read 299008 4096 0.0 0 False", "blanks"),
            ("8,16 1 1 0.5 123 D W 5 + 8", "blanks"),
            ("W,4096", "comma"),
            ("17", "blanks"),
        ];
        for (row, name) in rows {
            assert_eq!(Separator::of_row(row.as_bytes()).name(), name, "{row}");
        }
    }

    proptest! {
        #[test]
        fn quoted_cells_are_unquoted(wanted in proptest::collection::vec("[a-z,\"; ]{0,6}", 1..6)) {
            let quoted = |cell: &String| format!("\"{}\"", cell.replace('"', "\"\""));
            let row = wanted.iter().map(quoted).collect::<Vec<_>>().join(",");
            let trimmed: Vec<_> = wanted.iter().map(|cell| cell.trim().to_owned()).collect();
            prop_assert_eq!(cells(&row, Separator::Byte(b',')), trimmed);
        }

        #[test]
        fn any_row_is_split_without_panic(row in proptest::collection::vec(any::<u8>(), 0..40), at in 0usize..5) {
            let mut cells = RowCells::default();
            if cells.split(&row, SEPARATORS[at].1) {
                (0..cells.len() + 1).for_each(|at| assert!(cells.get(&row, at).len() <= row.len()));
            }
        }
    }
}
