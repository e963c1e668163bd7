//! Mapping of table columns to request fields, as the user writes it: `time=ts:us,op=type,offset=lba:512,size=len:512`.

use super::values::{BYTE_UNIT_NAMES, TIME_UNIT_NAMES, TimeUnit, byte_unit};
use super::words::{OpWords, WORDS_HELP, parse_operation};
use crate::fields::parse_u64;
use crate::request::Op;

/// A column as the user names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Column {
    /// Name of the column in the header.
    Name(String),
    /// Number of the column, from 0.
    Number(usize),
    /// Number of the column counted from the last column, from 0.
    FromEnd(usize),
}

/// Source of a row's operation.
#[derive(Clone, Debug, PartialEq)]
pub enum OpColumn {
    /// Words in a column.
    Words(Column, Box<OpWords>),
    /// All rows have this operation.
    Always(Op),
}

/// Source of a request's length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SizeColumn {
    /// A column, in units of the given number of bytes.
    Column(Column, u64),
    /// All requests have this many bytes.
    Always(u64),
}

/// Mapping of a table's columns to request fields.
#[derive(Clone, Debug, PartialEq)]
pub struct Columns {
    /// Time of the request; time 0, if there is no such column.
    pub time: Option<(Column, TimeUnit)>,
    /// Operation of the request.
    pub op: OpColumn,
    /// Start of the request, in units of the given number of bytes.
    pub offset: (Column, u64),
    /// Length of the request.
    pub size: SizeColumn,
    /// Volume of the request; volume 0, if there is no such column.
    pub volume: Option<Column>,
    /// Stream hint of the request.
    pub hint: Option<Column>,
    /// Digests of the request's content, and the bytes covered by each.
    pub digest: Option<(Column, u32)>,
    /// Filter: only rows with one of these values in the column are read.
    pub row_filter: Option<(Column, Vec<String>)>,
    /// Bytes of each row, if a request is a series of rows: rows that repeat a request cover its next bytes.
    pub piece_bytes: Option<u64>,
}

/// Request fields that a column may hold.
const FIELDS: [&str; 9] = ["time", "op", "offset", "size", "volume", "hint", "digest", "where", "piece"];

/// Form of the option, as the end of a sentence.
pub const SYNTAX: &str = "FIELD=COLUMN:UNIT or FIELD==VALUE, separated by commas, with columns by name or by number from 1 (from -1 at \
                        the end), such as time=ts:us,op=type,offset=lba:512,size=len:bytes; `wearwell trace columns FILE` \
                        suggests them";

impl Columns {
    /// Parses the text of the option.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut given: [Option<&str>; FIELDS.len()] = [None; FIELDS.len()];
        for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
            let (field, value) = item
                .split_once('=')
                .ok_or_else(|| format!("`{}` is not FIELD=COLUMN", item.escape_debug()))?;
            let field = field.trim();
            let at = FIELDS.iter().position(|candidate| *candidate == field).ok_or_else(|| {
                let fields = FIELDS.join(", ");
                format!("`{}` is no field of a request; the fields are {fields}", field.escape_debug())
            })?;
            if given[at].replace(value.trim()).is_some() {
                return Err(format!("`{field}` is given twice"));
            }
        }
        let [time, op, offset, size, volume, hint, digest, row_filter, piece] = given;
        let missing =
            |field: &str, constant: &str| format!("`{field}` is missing; name its column{constant}");
        Ok(Columns {
            time: time.map(parse_time_column).transpose()?,
            op: parse_op_column(
                op.ok_or_else(|| missing("op", ", or say op==write if all rows are writes"))?,
            )?,
            offset: parse_byte_column("offset", offset.ok_or_else(|| missing("offset", ""))?)?,
            size: parse_size_column(
                size.ok_or_else(|| missing("size", ", or say size==4096 if all requests have that size"))?,
            )?,
            volume: volume.map(|text| parse_plain_column("volume", text)).transpose()?,
            hint: hint.map(|text| parse_plain_column("hint", text)).transpose()?,
            digest: digest.map(parse_digest_column).transpose()?,
            row_filter: row_filter.map(parse_filter_column).transpose()?,
            piece_bytes: piece.map(|text| parse_constant_bytes("piece", text)).transpose()?,
        })
    }

    /// True if the table needs a header.
    pub fn has_names(&self) -> bool {
        self.columns().any(|column| matches!(column, Column::Name(_)))
    }

    /// Returns all columns, in the order of the fields.
    pub fn columns(&self) -> impl Iterator<Item = &Column> {
        let op = match &self.op {
            OpColumn::Words(column, _) => Some(column),
            OpColumn::Always(_) => None,
        };
        let size = match &self.size {
            SizeColumn::Column(column, _) => Some(column),
            SizeColumn::Always(_) => None,
        };
        let (time, digest) = (self.time.as_ref(), self.digest.as_ref());
        let columns = [
            time.map(|(column, _)| column),
            op,
            Some(&self.offset.0),
            size,
            self.volume.as_ref(),
            self.hint.as_ref(),
            digest.map(|(column, _)| column),
            self.row_filter.as_ref().map(|(column, _)| column),
        ];
        columns.into_iter().flatten()
    }
}

fn parse_column(field: &str, text: &str) -> Result<Column, String> {
    let text = text.trim();
    let number = |digits: &str| {
        let number = parse_u64(digits.as_bytes()).filter(|number| (1..=100_000).contains(number));
        number.map(|number| number as usize - 1)
    };
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if text.is_empty() {
        return Err(format!("`{field}` names no column"));
    }
    let column = match text.strip_prefix('-') {
        Some(digits) if is_number(digits) => number(digits).map(Column::FromEnd),
        None if is_number(text) => number(text).map(Column::Number),
        _ => Some(Column::Name(text.to_owned())),
    };
    column.ok_or_else(|| format!("`{field}`: there is no column {text}"))
}

/// Parses a column without a unit.
fn parse_plain_column(field: &str, text: &str) -> Result<Column, String> {
    match text.strip_prefix('=') {
        Some(_) => Err(format!("`{field}` takes a column and no value")),
        None => parse_column(field, text),
    }
}

/// Returns the column and the text after its colon.
fn split_unit<'a>(field: &str, text: &'a str, units: &str) -> Result<(Column, &'a str), String> {
    if text.starts_with('=') {
        return Err(format!("`{field}` takes a column and no value"));
    }
    let (name, unit) = text.rsplit_once(':').ok_or_else(|| {
        format!("`{field}={}` has no unit; write {field}={}:UNIT with {units}", text.escape_debug(), text)
    })?;
    Ok((parse_column(field, name)?, unit.trim()))
}

fn parse_time_column(text: &str) -> Result<(Column, TimeUnit), String> {
    let (column, unit) = split_unit("time", text, TIME_UNIT_NAMES)?;
    let unit = TimeUnit::named(unit).ok_or_else(|| {
        format!("`{}` is no unit of time; the units are {TIME_UNIT_NAMES}", unit.escape_debug())
    })?;
    Ok((column, unit))
}

fn parse_byte_column(field: &str, text: &str) -> Result<(Column, u64), String> {
    let (column, unit) = split_unit(field, text, BYTE_UNIT_NAMES)?;
    Ok((column, parse_unit(unit)?))
}

fn parse_unit(unit: &str) -> Result<u64, String> {
    byte_unit(unit)
        .ok_or_else(|| format!("`{}` is no unit of addresses; write {BYTE_UNIT_NAMES}", unit.escape_debug()))
}

fn parse_op_column(text: &str) -> Result<OpColumn, String> {
    if let Some(name) = text.strip_prefix('=') {
        let op = parse_operation(name.trim()).ok_or_else(|| {
            format!("op=={} is no operation; write read, write, trim or flush", name.escape_debug())
        })?;
        return Ok(OpColumn::Always(op));
    }
    let Some((name, words)) = text.rsplit_once(':') else {
        return Ok(OpColumn::Words(parse_column("op", text)?, Box::default()));
    };
    let words = OpWords::parse(words)
        .map_err(|problem| format!("op={}: {problem}; write {WORDS_HELP}", text.escape_debug()))?;
    Ok(OpColumn::Words(parse_column("op", name)?, Box::new(words)))
}

fn parse_size_column(text: &str) -> Result<SizeColumn, String> {
    match text.strip_prefix('=') {
        Some(_) => parse_constant_bytes("size", text).map(SizeColumn::Always),
        None => parse_byte_column("size", text).map(|(column, unit)| SizeColumn::Column(column, unit)),
    }
}

/// Parses a number of bytes after `==`, with an optional unit after a colon.
fn parse_constant_bytes(field: &str, text: &str) -> Result<u64, String> {
    let wrong =
        || format!("`{field}={}`: write a number of bytes above 0, as in {field}==4096", text.escape_debug());
    let text = text.strip_prefix('=').ok_or_else(wrong)?;
    let (number, unit) =
        text.rsplit_once(':').map_or((text, 1), |(number, unit)| (number, byte_unit(unit).unwrap_or(0)));
    let bytes = parse_u64(number.trim().as_bytes()).and_then(|number| number.checked_mul(unit));
    bytes.filter(|&bytes| bytes > 0).ok_or_else(wrong)
}

fn parse_digest_column(text: &str) -> Result<(Column, u32), String> {
    let (column, unit) = split_unit("digest", text, "the bytes under each digest")?;
    let bytes =
        u32::try_from(parse_unit(unit)?).map_err(|_| "`digest`: no digest covers so much".to_owned())?;
    Ok((column, bytes))
}

fn parse_filter_column(text: &str) -> Result<(Column, Vec<String>), String> {
    let (column, values) = split_unit("where", text, "the values of the rows to be read, joined by /")?;
    Ok((column, values.split('/').map(|value| value.trim().to_owned()).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn columns_are_parsed_by_name_and_number_with_units() {
        let found =
            Columns::parse("time = ts:us, op=3:0=read/1=write ,offset=-2:sectors,size=len:KiB,volume=dev")
                .unwrap();
        assert_eq!(found.time, Some((Column::Name("ts".into()), TimeUnit::named("us").unwrap())));
        assert_eq!(
            found.op,
            OpColumn::Words(Column::Number(2), Box::new(OpWords::parse("0=read/1=write").unwrap()))
        );
        assert_eq!(found.offset, (Column::FromEnd(1), 512));
        assert_eq!(found.size, SizeColumn::Column(Column::Name("len".into()), 1024));
        assert_eq!(found.volume, Some(Column::Name("dev".into())));
        assert!(found.has_names());
    }

    #[test]
    fn constants_row_filters_and_pieces_are_parsed() {
        let found =
            Columns::parse("op==write,offset=1:1,size==4:KiB,where=2:D/Q,digest=7:4096,piece==4096").unwrap();
        assert_eq!((found.time.clone(), &found.op), (None, &OpColumn::Always(Op::Write)));
        assert_eq!((found.size.clone(), found.piece_bytes), (SizeColumn::Always(4096), Some(4096)));
        assert_eq!(found.row_filter, Some((Column::Number(1), vec!["D".into(), "Q".into()])));
        assert_eq!(found.digest, Some((Column::Number(6), 4096)));
        assert!(!found.has_names());
    }

    #[test]
    fn parse_error_names_problem_and_allowed_values() {
        let cases = [
            ("", "`op` is missing"),
            ("op", "`op` is not FIELD=COLUMN"),
            ("opp=1", "`opp` is no field of a request; the fields are time, op, offset"),
            ("op=1,op=2", "`op` is given twice"),
            ("op=1,size==4096", "`offset` is missing"),
            ("op=1,offset=2:1", "size==4096 if all requests"),
            (
                "op=1,offset=lba,size==1",
                "`offset=lba` has no unit; write offset=lba:UNIT with bytes, sectors (512)",
            ),
            ("op=1,offset=lba:blocks,size==1", "`blocks` is no unit of addresses"),
            ("time=1:min,op=1,offset=2:1,size==1", "`min` is no unit of time; the units are s, ms, us, ns"),
            ("op=1:0=reed,offset=2:1,size==1", "`reed` is no operation; write words"),
            ("op==erase,offset=2:1,size==1", "op==erase is no operation"),
            ("op=0,offset=2:1,size==1", "`op`: there is no column 0"),
            ("op=,offset=2:1,size==1", "`op` names no column"),
            ("op=1,offset=2:1,size==0", "size==4096"),
            ("op=1,offset==2,size==1", "`offset` takes a column and no value"),
            ("op=1,offset=2:1,size==1,volume==3", "`volume` takes a column and no value"),
        ];
        for (text, expected) in cases {
            let found = Columns::parse(text).unwrap_err();
            assert!(found.contains(expected), "{text}: {found}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_refused(text in "((time|op|offset|size|where|digest|piece|x)=[a-z0-9=:/. -]{0,8},?){0,6}") {
            if let Err(problem) = Columns::parse(&text) {
                prop_assert!(problem.len() < 1000);
            }
        }
    }
}
