//! Conversion of a table row to a request.

use super::super::fiu::parse_digest;
use super::super::prelude::*;
use super::cells::{RowCells, Separator};
use super::columns::{Column, Columns, OpColumn, SizeColumn};
use super::pieces::PieceSplitter;
use super::values::{self, TimeUnit};
use super::words::{OpWords, WordMeaning};
use crate::volumes::VolumeNames;

/// Hexadecimal digits of an MD5.
const DIGEST_DIGITS: usize = 32;

/// Rule that decides if the first row names the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderRule {
    /// Yes if columns are given by name, or if the row lacks a number in a column of numbers.
    Auto,
    /// The first row is a header.
    Yes,
    /// The first row is not a header.
    No,
}

/// Reads a table.
pub struct Table {
    columns: Columns,
    separator: Option<Separator>,
    header: HeaderRule,
    skip_lines: u64,
    comment: Vec<u8>,
    /// Positions of the fields; `None` before the first row.
    layout: Option<Layout>,
    cells: RowCells,
    pieces: Option<PieceSplitter>,
    volumes: VolumeNames,
    has_volumes: bool,
}

/// Position of a field.
struct FieldPosition {
    index: ColumnIndex,
    /// Name in error messages.
    name: String,
}

#[derive(Clone, Copy)]
enum ColumnIndex {
    Start(usize),
    End(usize),
}

/// Positions of all fields.
struct Layout {
    separator: Separator,
    header: Option<Vec<u8>>,
    time: Option<(FieldPosition, TimeUnit)>,
    op: Option<(FieldPosition, Box<OpWords>)>,
    offset: (FieldPosition, u64),
    size: Option<(FieldPosition, u64)>,
    volume: Option<FieldPosition>,
    hint: Option<FieldPosition>,
    digest: Option<(FieldPosition, u32)>,
    row_filter: Option<(FieldPosition, Vec<String>)>,
}

impl Table {
    /// Returns a table with these columns; with `None` the separator is detected from the first row.
    pub fn new(
        columns: Columns,
        separator: Option<Separator>,
        header: HeaderRule,
        skip_lines: u64,
        comment: &str,
    ) -> Self {
        let pieces = columns.piece_bytes.map(PieceSplitter::new);
        let (layout, cells, volumes) = Default::default();
        let has_volumes = columns.volume.is_some();
        let comment = comment.as_bytes().to_vec();
        Table { columns, separator, header, skip_lines, comment, layout, cells, pieces, volumes, has_volumes }
    }

    /// Finds the columns in the first row; returns true if the row was a header.
    fn read_first_row(&mut self, row: &[u8]) -> Result<bool, BadValue> {
        let separator = self.separator.unwrap_or_else(|| Separator::of_row(row));
        // A header may look like a comment without being one.
        let names = row.trim_ascii_start().strip_prefix(b"#").unwrap_or(row);
        let mut header = Header { cells: RowCells::default(), row: names, separator };
        if !header.cells.split(names, separator) {
            return Err(open_quotes(row));
        }
        let is_header = match self.header {
            HeaderRule::Yes => true,
            HeaderRule::No => false,
            HeaderRule::Auto => self.columns.has_names() || self.lacks_numbers(row, separator),
        };
        if !is_header && self.columns.has_names() {
            return Err(BadValue::new(
                "(header)",
                row,
                "a header, since `columns` names columns; or name them by number",
            ));
        }
        let text = is_header.then(|| row.to_vec());
        self.layout = Some(Layout::new(&self.columns, &mut header, separator, text)?);
        Ok(is_header)
    }

    /// True if no column of `row` that must be a number begins like a number.
    fn lacks_numbers(&mut self, row: &[u8], separator: Separator) -> bool {
        let size = match &self.columns.size {
            SizeColumn::Column(column, _) => Some(column),
            SizeColumn::Always(_) => None,
        };
        let time = self.columns.time.as_ref().map(|(column, _)| column);
        let numbers = [time, Some(&self.columns.offset.0), size];
        self.cells.split(row, separator);
        let is_number = |column: &Column| {
            let at = match column {
                Column::Number(at) => *at,
                Column::FromEnd(at) => self.cells.len().wrapping_sub(1 + at),
                Column::Name(_) => return false,
            };
            self.cells.get(row, at).first().is_some_and(|byte| byte.is_ascii_digit() || b"+-.".contains(byte))
        };
        let has_cells = (0..self.cells.len()).any(|at| !self.cells.get(row, at).is_empty());
        has_cells && !numbers.into_iter().flatten().any(is_number)
    }

    fn row(&mut self, row: &[u8], digests: &mut Vec<Digest>) -> Result<Option<Request>, BadValue> {
        let layout = self.layout.as_ref().expect("set by the first row");
        if !self.cells.split(row, layout.separator) {
            return Err(open_quotes(row));
        }
        let cells = Row { cells: &self.cells, row };
        if let Some((position, values)) = &layout.row_filter {
            let found = cells.get(position);
            if !values.iter().any(|value| value.as_bytes() == found) {
                return Ok(None);
            }
        }
        let op = match (&layout.op, &self.columns.op) {
            (Some((place, words)), _) => match cells.meaning(place, words)? {
                WordMeaning::Request(op) => op,
                WordMeaning::Skip => return Ok(None),
            },
            (None, OpColumn::Always(op)) => *op,
            (None, OpColumn::Words(..)) => unreachable!("the layout has every column"),
        };
        let time_ns = layout.time.as_ref().map_or(Ok(0), |(position, unit)| cells.time(position, *unit))?;
        let volume = match &layout.volume {
            Some(place) => self.volumes.number(cells.text(place)?, cells.volume(place)),
            None => 0,
        };
        let hint = layout.hint.as_ref().map_or(Ok(0), |position| cells.hint(position))?;
        if op == Op::Flush {
            return Ok(Some(Request { time_ns, op, volume, offset_bytes: 0, length_bytes: 0, hint }));
        }
        let (position, unit) = &layout.offset;
        let offset_bytes = cells.bytes(position, *unit)?;
        let length_bytes = match (&layout.size, &self.columns.size) {
            (Some((place, unit)), _) => cells.bytes(place, *unit)?,
            (None, SizeColumn::Always(bytes)) => *bytes,
            (None, SizeColumn::Column(..)) => unreachable!("the layout has every column"),
        };
        if let Some((position, _)) = &layout.digest {
            cells.digests(position, digests)?;
        }
        let request = Request { time_ns, op, volume, offset_bytes, length_bytes, hint };
        Ok(Some(match &mut self.pieces {
            Some(pieces) if length_bytes > 0 => pieces.next(request),
            _ => request,
        }))
    }
}

impl LineFormat for Table {
    fn line(&mut self, line: &[u8], digests: &mut Vec<Digest>) -> Result<Option<Request>, BadValue> {
        if self.skip_lines > 0 {
            self.skip_lines -= 1;
            return Ok(None);
        }
        if !self.comment.is_empty() && line.trim_ascii_start().starts_with(&self.comment) {
            return Ok(None);
        }
        if self.layout.is_none() && self.read_first_row(line)? {
            return Ok(None);
        }
        self.row(line, digests).or_else(|bad| {
            // Concatenated tables repeat their header.
            let layout = self.layout.as_ref();
            let is_header = layout.is_some_and(|layout| layout.header.as_deref() == Some(line));
            if is_header { Ok(None) } else { Err(bad) }
        })
    }

    fn digest_bytes(&self) -> u32 {
        self.columns.digest.as_ref().map_or(0, |(_, bytes)| *bytes)
    }

    fn finish(&mut self) -> Result<(), BadValue> {
        match &self.layout {
            None => Err(BadValue::new("(row)", b"", "a row behind what is passed over")),
            Some(_) => Ok(()),
        }
    }

    fn volume_names(&self) -> Vec<(u32, String)> {
        let names = if self.has_volumes { self.volumes.names() } else { Vec::new() };
        // A number does not count as a name.
        names.into_iter().filter(|(number, name)| number.to_string() != *name).collect()
    }
}

fn open_quotes(row: &[u8]) -> BadValue {
    BadValue::new("(line)", row, "quotation marks that are closed in the same line")
}

/// The first row, in which columns are searched.
struct Header<'a> {
    cells: RowCells,
    row: &'a [u8],
    separator: Separator,
}

impl Header<'_> {
    /// Returns the position of `column`, which holds `field`.
    fn locate(&mut self, column: &Column, field: &str) -> Result<FieldPosition, BadValue> {
        let at = match column {
            Column::Number(at) => ColumnIndex::Start(*at),
            Column::FromEnd(at) => ColumnIndex::End(*at),
            Column::Name(name) => ColumnIndex::Start(self.find(name)?),
        };
        let name = match column {
            Column::Name(name) => format!("{name} ({field})"),
            Column::Number(at) => format!("{} ({field})", at + 1),
            Column::FromEnd(at) => format!("-{} ({field})", at + 1),
        };
        Ok(FieldPosition { index: at, name })
    }

    fn find(&self, name: &str) -> Result<usize, BadValue> {
        let wanted = name.as_bytes();
        let named = |equals: fn(&[u8], &[u8]) -> bool| {
            let mut found = (0..self.cells.len()).filter(|&at| equals(self.cells.get(self.row, at), wanted));
            (found.next(), found.next())
        };
        let exact = named(|cell, wanted| cell == wanted);
        let found = if exact.0.is_some() { exact } else { named(<[u8]>::eq_ignore_ascii_case) };
        let name = name.escape_debug();
        match found {
            (Some(at), None) => Ok(at),
            (Some(_), Some(_)) => {
                let problem = format!("one column called `{name}`, not several; name it by its number");
                Err(BadValue::new("(header)", self.row, problem))
            }
            (None, _) => {
                let problem = format!(
                    "a column called `{name}` among {}, cut at the separator `{}`",
                    self.cells.len(),
                    self.separator.name()
                );
                Err(BadValue::new("(header)", self.row, problem))
            }
        }
    }
}

impl Layout {
    fn new(
        columns: &Columns,
        header: &mut Header<'_>,
        separator: Separator,
        text: Option<Vec<u8>>,
    ) -> Result<Self, BadValue> {
        let mut locate = |column: &Column, field: &str| header.locate(column, field);
        let time = columns.time.as_ref().map(|(column, unit)| Ok((locate(column, "time")?, *unit)));
        let op = match &columns.op {
            OpColumn::Words(column, words) => Some((locate(column, "op")?, words.clone())),
            OpColumn::Always(_) => None,
        };
        let size = match &columns.size {
            SizeColumn::Column(column, unit) => Some((locate(column, "size")?, *unit)),
            SizeColumn::Always(_) => None,
        };
        let digest = columns.digest.as_ref().map(|(column, bytes)| Ok((locate(column, "digest")?, *bytes)));
        let digest = digest.transpose()?;
        let row_filter = columns.row_filter.as_ref();
        let row_filter =
            row_filter.map(|(column, values)| Ok((locate(column, "where")?, values.clone()))).transpose()?;
        Ok(Layout {
            separator,
            header: text,
            time: time.transpose()?,
            op,
            offset: (locate(&columns.offset.0, "offset")?, columns.offset.1),
            size,
            volume: columns.volume.as_ref().map(|column| locate(column, "volume")).transpose()?,
            hint: columns.hint.as_ref().map(|column| locate(column, "hint")).transpose()?,
            digest,
            row_filter,
        })
    }
}

/// The cells of a row by the fields that they hold.
struct Row<'a> {
    cells: &'a RowCells,
    row: &'a [u8],
}

impl<'a> Row<'a> {
    #[inline]
    fn get(&self, position: &FieldPosition) -> &'a [u8] {
        let at = match position.index {
            ColumnIndex::Start(at) => at,
            ColumnIndex::End(at) => self.cells.len().wrapping_sub(1 + at),
        };
        self.cells.get(self.row, at)
    }

    /// Returns a cell that must not be empty.
    fn text(&self, position: &FieldPosition) -> Result<&'a [u8], BadValue> {
        match self.get(position) {
            b"" => Err(BadValue::new(position.name.clone(), b"", "a value")),
            text => Ok(text),
        }
    }

    #[inline]
    fn time(&self, position: &FieldPosition, unit: TimeUnit) -> Result<u64, BadValue> {
        let text = self.get(position);
        let expected = "a number, not negative, that stays below 2^64 ns";
        unit.ns(text).ok_or_else(|| BadValue::new(position.name.clone(), text, expected))
    }

    #[inline]
    fn bytes(&self, position: &FieldPosition, unit: u64) -> Result<u64, BadValue> {
        let text = self.get(position);
        values::parse_bytes(text, unit).ok_or_else(|| {
            let of = if unit == 1 { String::new() } else { format!(" of units of {unit} bytes") };
            let expected = format!("a number{of} that is a whole number of bytes below 2^64");
            BadValue::new(position.name.clone(), text, expected)
        })
    }

    #[inline]
    fn meaning(&self, position: &FieldPosition, words: &OpWords) -> Result<WordMeaning, BadValue> {
        let text = self.get(position);
        words.meaning(text).ok_or_else(|| BadValue::new(position.name.clone(), text, words.expected()))
    }

    fn volume(&self, position: &FieldPosition) -> Option<u32> {
        fields::parse_u64(self.get(position)).and_then(|number| u32::try_from(number).ok())
    }

    fn hint(&self, position: &FieldPosition) -> Result<u16, BadValue> {
        let text = self.get(position);
        let hint = fields::parse_u64(text).and_then(|hint| u16::try_from(hint).ok());
        hint.ok_or_else(|| BadValue::new(position.name.clone(), text, "a whole number from 0 to 65535"))
    }

    /// Parses digests of 32 digits each, run together or joined by +; an empty cell has none.
    fn digests(&self, position: &FieldPosition, digests: &mut Vec<Digest>) -> Result<(), BadValue> {
        let text = self.get(position);
        for run in text.split(|&byte| byte == b'+').filter(|_| !text.is_empty()) {
            let whole = run.chunks(DIGEST_DIGITS).map(parse_digest).collect::<Option<Vec<_>>>();
            let whole = whole.filter(|whole| !whole.is_empty());
            digests.extend(whole.ok_or_else(|| {
                BadValue::new(
                    position.name.clone(),
                    run,
                    "MD5s of 32 hexadecimal digits, run together or joined by +",
                )
            })?);
        }
        Ok(())
    }
}
