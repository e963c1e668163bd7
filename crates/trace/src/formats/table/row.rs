//! Conversion of a table row to a request.

use super::super::fiu::parse_digest;
use super::super::prelude::*;
use super::cells::{Cells, Separator};
use super::columns::{Column, Columns, OpColumn, SizeColumn};
use super::pieces::Pieces;
use super::values::{self, TimeUnit};
use super::words::{Meaning, Words};
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
    /// Known after the first row.
    layout: Option<Layout>,
    cells: Cells,
    pieces: Option<Pieces>,
    volumes: VolumeNames,
    has_volumes: bool,
}

/// Position of a field.
struct Place {
    at: At,
    /// Name in error messages.
    name: String,
}

#[derive(Clone, Copy)]
enum At {
    Start(usize),
    End(usize),
}

/// Positions of all fields.
struct Layout {
    separator: Separator,
    header: Option<Vec<u8>>,
    time: Option<(Place, TimeUnit)>,
    op: Option<(Place, Box<Words>)>,
    offset: (Place, u64),
    size: Option<(Place, u64)>,
    volume: Option<Place>,
    hint: Option<Place>,
    digest: Option<(Place, u32)>,
    kept: Option<(Place, Vec<String>)>,
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
        let pieces = columns.piece.map(Pieces::new);
        let (layout, cells, volumes) = Default::default();
        let has_volumes = columns.volume.is_some();
        let comment = comment.as_bytes().to_vec();
        Table { columns, separator, header, skip_lines, comment, layout, cells, pieces, volumes, has_volumes }
    }

    /// Finds the columns in the first row; returns true if the row was a header.
    fn begin(&mut self, row: &[u8]) -> Result<bool, Bad> {
        let separator = self.separator.unwrap_or_else(|| Separator::of_row(row));
        // A header may look like a comment without being one.
        let names = row.trim_ascii_start().strip_prefix(b"#").unwrap_or(row);
        let mut header = Header { cells: Cells::default(), row: names, separator };
        if !header.cells.cut(names, separator) {
            return Err(open_quotes(row));
        }
        let is_header = match self.header {
            HeaderRule::Yes => true,
            HeaderRule::No => false,
            HeaderRule::Auto => self.columns.has_names() || self.lacks_numbers(row, separator),
        };
        if !is_header && self.columns.has_names() {
            return Err(Bad::new(
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
        self.cells.cut(row, separator);
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

    fn row(&mut self, row: &[u8], digests: &mut Vec<Digest>) -> Result<Option<Request>, Bad> {
        let layout = self.layout.as_ref().expect("set by the first row");
        if !self.cells.cut(row, layout.separator) {
            return Err(open_quotes(row));
        }
        let cells = Row { cells: &self.cells, row };
        if let Some((place, values)) = &layout.kept {
            let found = cells.get(place);
            if !values.iter().any(|value| value.as_bytes() == found) {
                return Ok(None);
            }
        }
        let op = match (&layout.op, &self.columns.op) {
            (Some((place, words)), _) => match cells.meaning(place, words)? {
                Meaning::Is(op) => op,
                Meaning::Skip => return Ok(None),
            },
            (None, OpColumn::Always(op)) => *op,
            (None, OpColumn::Words(..)) => unreachable!("the layout has every column"),
        };
        let time_ns = layout.time.as_ref().map_or(Ok(0), |(place, unit)| cells.time(place, *unit))?;
        let volume = match &layout.volume {
            Some(place) => self.volumes.number(cells.text(place)?, cells.volume(place)),
            None => 0,
        };
        let hint = layout.hint.as_ref().map_or(Ok(0), |place| cells.hint(place))?;
        if op == Op::Flush {
            return Ok(Some(Request { time_ns, op, volume, offset_bytes: 0, length_bytes: 0, hint }));
        }
        let (place, unit) = &layout.offset;
        let offset_bytes = cells.bytes(place, *unit)?;
        let length_bytes = match (&layout.size, &self.columns.size) {
            (Some((place, unit)), _) => cells.bytes(place, *unit)?,
            (None, SizeColumn::Always(bytes)) => *bytes,
            (None, SizeColumn::Column(..)) => unreachable!("the layout has every column"),
        };
        if let Some((place, _)) = &layout.digest {
            cells.digests(place, digests)?;
        }
        let request = Request { time_ns, op, volume, offset_bytes, length_bytes, hint };
        Ok(Some(match &mut self.pieces {
            Some(pieces) if length_bytes > 0 => pieces.next(request),
            _ => request,
        }))
    }
}

impl LineFormat for Table {
    fn line(&mut self, line: &[u8], digests: &mut Vec<Digest>) -> Result<Option<Request>, Bad> {
        if self.skip_lines > 0 {
            self.skip_lines -= 1;
            return Ok(None);
        }
        if !self.comment.is_empty() && line.trim_ascii_start().starts_with(&self.comment) {
            return Ok(None);
        }
        if self.layout.is_none() && self.begin(line)? {
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

    fn finish(&mut self) -> Result<(), Bad> {
        match &self.layout {
            None => Err(Bad::new("(row)", b"", "a row behind what is passed over")),
            Some(_) => Ok(()),
        }
    }

    fn volume_names(&self) -> Vec<(u32, String)> {
        let names = if self.has_volumes { self.volumes.names() } else { Vec::new() };
        // A number does not count as a name.
        names.into_iter().filter(|(number, name)| number.to_string() != *name).collect()
    }
}

fn open_quotes(row: &[u8]) -> Bad {
    Bad::new("(line)", row, "quotation marks that are closed in the same line")
}

/// The first row, in which columns are searched.
struct Header<'a> {
    cells: Cells,
    row: &'a [u8],
    separator: Separator,
}

impl Header<'_> {
    /// Returns the position of `column`, which holds `field`.
    fn place(&mut self, column: &Column, field: &str) -> Result<Place, Bad> {
        let at = match column {
            Column::Number(at) => At::Start(*at),
            Column::FromEnd(at) => At::End(*at),
            Column::Name(name) => At::Start(self.find(name)?),
        };
        let name = match column {
            Column::Name(name) => format!("{name} ({field})"),
            Column::Number(at) => format!("{} ({field})", at + 1),
            Column::FromEnd(at) => format!("-{} ({field})", at + 1),
        };
        Ok(Place { at, name })
    }

    fn find(&self, name: &str) -> Result<usize, Bad> {
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
                Err(Bad::new("(header)", self.row, problem))
            }
            (None, _) => {
                let problem = format!(
                    "a column called `{name}` among {}, cut at the separator `{}`",
                    self.cells.len(),
                    self.separator.name()
                );
                Err(Bad::new("(header)", self.row, problem))
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
    ) -> Result<Self, Bad> {
        let mut place = |column: &Column, field: &str| header.place(column, field);
        let time = columns.time.as_ref().map(|(column, unit)| Ok((place(column, "time")?, *unit)));
        let op = match &columns.op {
            OpColumn::Words(column, words) => Some((place(column, "op")?, words.clone())),
            OpColumn::Always(_) => None,
        };
        let size = match &columns.size {
            SizeColumn::Column(column, unit) => Some((place(column, "size")?, *unit)),
            SizeColumn::Always(_) => None,
        };
        let digest = columns.digest.as_ref().map(|(column, bytes)| Ok((place(column, "digest")?, *bytes)));
        let digest = digest.transpose()?;
        let kept = columns.kept.as_ref();
        let kept = kept.map(|(column, values)| Ok((place(column, "where")?, values.clone()))).transpose()?;
        Ok(Layout {
            separator,
            header: text,
            time: time.transpose()?,
            op,
            offset: (place(&columns.offset.0, "offset")?, columns.offset.1),
            size,
            volume: columns.volume.as_ref().map(|column| place(column, "volume")).transpose()?,
            hint: columns.hint.as_ref().map(|column| place(column, "hint")).transpose()?,
            digest,
            kept,
        })
    }
}

/// The cells of a row by the fields that they hold.
struct Row<'a> {
    cells: &'a Cells,
    row: &'a [u8],
}

impl<'a> Row<'a> {
    #[inline]
    fn get(&self, place: &Place) -> &'a [u8] {
        let at = match place.at {
            At::Start(at) => at,
            At::End(at) => self.cells.len().wrapping_sub(1 + at),
        };
        self.cells.get(self.row, at)
    }

    /// Returns a cell that must not be empty.
    fn text(&self, place: &Place) -> Result<&'a [u8], Bad> {
        match self.get(place) {
            b"" => Err(Bad::new(place.name.clone(), b"", "a value")),
            text => Ok(text),
        }
    }

    #[inline]
    fn time(&self, place: &Place, unit: TimeUnit) -> Result<u64, Bad> {
        let text = self.get(place);
        let expected = "a number, not negative, that stays below 2^64 ns";
        unit.ns(text).ok_or_else(|| Bad::new(place.name.clone(), text, expected))
    }

    #[inline]
    fn bytes(&self, place: &Place, unit: u64) -> Result<u64, Bad> {
        let text = self.get(place);
        values::bytes(text, unit).ok_or_else(|| {
            let of = if unit == 1 { String::new() } else { format!(" of units of {unit} bytes") };
            let expected = format!("a number{of} that is a whole number of bytes below 2^64");
            Bad::new(place.name.clone(), text, expected)
        })
    }

    #[inline]
    fn meaning(&self, place: &Place, words: &Words) -> Result<Meaning, Bad> {
        let text = self.get(place);
        words.meaning(text).ok_or_else(|| Bad::new(place.name.clone(), text, words.expected()))
    }

    fn volume(&self, place: &Place) -> Option<u32> {
        fields::whole(self.get(place)).and_then(|number| u32::try_from(number).ok())
    }

    fn hint(&self, place: &Place) -> Result<u16, Bad> {
        let text = self.get(place);
        let hint = fields::whole(text).and_then(|hint| u16::try_from(hint).ok());
        hint.ok_or_else(|| Bad::new(place.name.clone(), text, "a whole number from 0 to 65535"))
    }

    /// Parses digests of 32 digits each, run together or joined by +; an empty cell has none.
    fn digests(&self, place: &Place, digests: &mut Vec<Digest>) -> Result<(), Bad> {
        let text = self.get(place);
        for run in text.split(|&byte| byte == b'+').filter(|_| !text.is_empty()) {
            let whole = run.chunks(DIGEST_DIGITS).map(parse_digest).collect::<Option<Vec<_>>>();
            let whole = whole.filter(|whole| !whole.is_empty());
            digests.extend(whole.ok_or_else(|| {
                Bad::new(
                    place.name.clone(),
                    run,
                    "MD5s of 32 hexadecimal digits, run together or joined by +",
                )
            })?);
        }
        Ok(())
    }
}
