//! Guess of the columns of an unknown table, from its header and its first rows: a suggestion that is never applied by
//! itself.

use std::collections::BTreeSet;

use serde::Serialize;

use super::super::fiu::parse_digest;
use super::cells::{RowCells, Separator};
use super::names::{FIELDS, words_of};
use super::values::{TimeUnit, parse_bytes};
use super::words::WordSet;
use crate::fields::parse_u64;

/// Number of rows that are examined.
const EXAMINED_ROWS: usize = 300;

/// Number of rows that are shown.
const SHOWN_ROWS: usize = 5;

/// Guess of the structure of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TableGuess {
    /// Separator between the columns.
    pub separator: &'static str,
    /// True if the first row names the columns.
    pub has_header: bool,
    /// The columns, in order.
    pub columns: Vec<ColumnGuess>,
    /// The first rows, without the header.
    pub rows: Vec<Vec<String>>,
    /// The resulting value of the option `columns`.
    pub option: String,
    /// Points to check before the option is used; empty if the header leaves no doubt.
    pub doubts: Vec<String>,
}

impl TableGuess {
    /// True if the header leaves no doubt.
    pub fn is_certain(&self) -> bool {
        self.doubts.is_empty()
    }
}

/// Guess of a column's meaning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ColumnGuess {
    /// Name of the column in the header.
    pub name: Option<String>,
    /// The field that the column may hold.
    pub field: Option<&'static str>,
    /// Unit of the column, or its set of words.
    pub unit: Option<String>,
}

/// Examines the beginning of a file; `None` if it is not a table.
pub fn guess_table(beginning: &[u8]) -> Option<TableGuess> {
    let mut lines: Vec<&[u8]> = beginning.split(|&byte| byte == b'\n').take(EXAMINED_ROWS + 1).collect();
    if lines.len() > 1 {
        lines.pop(); // the last line may be incomplete
    }
    let is_row = |line: &&[u8]| !line.trim_ascii().is_empty() && !line.trim_ascii_start().starts_with(b"#");
    let comments = lines.iter().take_while(|line| !is_row(line)).filter(|line| !line.trim_ascii().is_empty());
    let comment = comments.last().copied();
    let lines: Vec<_> = lines.into_iter().filter(is_row).collect();
    let first = *lines.first()?;
    let is_control = |byte: &u8| byte.is_ascii_control() && !byte.is_ascii_whitespace();
    if lines.iter().any(|line| line.iter().any(is_control)) {
        return None;
    }
    let separator = Separator::of_row(first);
    let mut rows: Vec<Vec<String>> = lines.iter().filter_map(|line| cells(line, separator)).collect();
    let width = rows.first().filter(|row| row.len() > 1)?.len();
    let has_number = |row: &[String]| row.iter().any(|cell| is_number(cell));
    let has_header = !has_number(&rows[0]) && rows.get(1).is_some_and(|row| has_number(row));
    let names = has_header.then(|| rows.remove(0));
    let comment_names =
        comment.filter(|_| !has_header).and_then(|comment| names_in_comment(comment, separator, width));
    rows.retain(|row| row.len() >= width);
    if !has_header && !rows.iter().any(|row| has_number(row)) {
        return None;
    }
    let columns = (0..width).map(|at| ColumnValues {
        name: names.as_ref().or(comment_names.as_ref()).map(|names| names[at].clone()),
        cells: rows.iter().map(|row| row[at].as_str()).filter(|cell| !cell.is_empty()).collect(),
    });
    let columns: Vec<_> = columns.collect();
    let mut guess = match names.or(comment_names) {
        Some(_) => GuessBuilder::by_names(&columns),
        None => GuessBuilder::by_values(&columns),
    };
    guess.has_header = has_header;
    Some(guess.finish(&columns, separator.name(), rows.iter().take(SHOWN_ROWS).cloned().collect()))
}

/// Returns the names in a comment before the first row, if it has as many names as there are columns.
fn names_in_comment(comment: &[u8], separator: Separator, width: usize) -> Option<Vec<String>> {
    let comment = comment.trim_ascii();
    let text = comment.iter().position(|&byte| byte != b'#')?;
    let names = cells(comment[text..].trim_ascii_start(), separator)?;
    (names.len() == width && !names.iter().any(|name| is_number(name))).then_some(names)
}

fn cells(line: &[u8], separator: Separator) -> Option<Vec<String>> {
    let mut cells = RowCells::default();
    let text = |cell: &[u8]| String::from_utf8_lossy(cell).into_owned();
    cells.split(line, separator).then(|| (0..cells.len()).map(|at| text(cells.get(line, at))).collect())
}

fn is_number(cell: &str) -> bool {
    TimeUnit::named("ns").expect("a unit").ns(cell.as_bytes()).is_some()
        || parse_bytes(cell.as_bytes(), 1).is_some()
}

/// Name and cells of a column.
struct ColumnValues<'a> {
    name: Option<String>,
    cells: Vec<&'a str>,
}

impl ColumnValues<'_> {
    fn all(&self, test: impl Fn(&str) -> bool) -> bool {
        !self.cells.is_empty() && self.cells.iter().all(|cell| test(cell))
    }

    fn are_numbers(&self) -> bool {
        self.all(is_number)
    }

    fn numbers(&self) -> impl Iterator<Item = u64> {
        self.cells.iter().filter_map(|cell| parse_bytes(cell.as_bytes(), 1))
    }

    /// True if all values, taken as bytes, are whole sectors.
    fn are_whole_sectors(&self) -> bool {
        self.numbers().all(|number| number.is_multiple_of(512)) && self.numbers().any(|number| number > 0)
    }

    fn rarely_decrease(&self) -> bool {
        let unit = TimeUnit::named("s").expect("a unit");
        let times: Vec<_> = self.cells.iter().filter_map(|cell| unit.ns(cell.as_bytes())).collect();
        let decreases = times.windows(2).filter(|pair| pair[0] > pair[1]).count();
        times.len() == self.cells.len() && decreases * 20 <= times.len()
    }

    /// Returns the unit in which the values are present-day dates, if there is one; such a unit is certain.
    fn date_unit(&self) -> Option<&'static str> {
        // Dates from 2001 to 2286 in units since 1970, and Windows file times of similar years.
        const DATES: [(&str, u64, u64); 5] = [
            ("s", 1_000_000_000, 9_999_999_999),
            ("ms", 1_000_000_000_000, 9_999_999_999_999),
            ("us", 1_000_000_000_000_000, 9_999_999_999_999_999),
            ("filetime", 126_000_000_000_000_000, 215_000_000_000_000_000),
            ("ns", 1_000_000_000_000_000_000, 9_999_999_999_999_999_999),
        ];
        let ns = TimeUnit::named("ns").expect("a unit");
        let is_in = |from, to| {
            self.all(|cell| ns.ns(cell.as_bytes()).is_some_and(|time| (from..=to).contains(&time)))
        };
        DATES.into_iter().find(|&(_, from, to)| is_in(from, to)).map(|(unit, ..)| unit)
    }

    /// Returns the set of words in the column, in the notation of the option `columns`.
    fn word_set(&self) -> Option<&'static str> {
        let sets = [(WordSet::Words, ""), (WordSet::Scsi, ":scsi")];
        let holds = |set: WordSet| self.all(|cell| set.op(cell.as_bytes()).is_some());
        sets.into_iter().find(|(set, _)| holds(*set)).map(|(_, words)| words)
    }

    fn are_zero_and_one(&self) -> bool {
        self.all(|cell| cell == "0" || cell == "1")
    }
}

/// Builder of a [`TableGuess`].
#[derive(Default)]
struct GuessBuilder {
    /// Field, column, and the unit or words with their colon.
    fields: Vec<(&'static str, usize, String)>,
    doubts: Vec<String>,
    /// True if columns can be referred to by the names of the first row.
    has_header: bool,
}

impl GuessBuilder {
    fn column_of(&self, field: &str) -> Option<usize> {
        self.fields.iter().find(|(name, ..)| *name == field).map(|(_, at, _)| *at)
    }

    fn is_free(&self, at: usize) -> bool {
        self.fields.iter().all(|(_, used, _)| *used != at)
    }

    fn by_names(columns: &[ColumnValues]) -> Self {
        let mut guess = GuessBuilder::default();
        let name_and_unit = |values: &ColumnValues| {
            let name = values.name.as_deref().unwrap_or_default();
            let (words, unit) = words_of(name);
            // `sector` names an offset as well as its unit; `sectors` and `bytes` name a length.
            let field_of_bare_unit = match (words.as_str(), unit) {
                ("", Some("sectors")) if !name.to_lowercase().ends_with('s') => Some("offset"),
                ("", Some("sectors" | "bytes" | "pages" | "KiB")) => Some("size"),
                ("" | "start", Some("s" | "ms" | "us" | "ns" | "filetime")) => Some("time"),
                _ => None,
            };
            let usual = FIELDS.iter().find(|(_, names)| names.contains(&words.as_str()));
            (field_of_bare_unit.or(usual.map(|(field, _)| *field)), unit)
        };
        let names: Vec<_> = columns.iter().map(name_and_unit).collect();
        for (field, _) in FIELDS {
            let mut candidates = (0..columns.len()).filter(|&at| names[at].0 == Some(field));
            let Some(at) = candidates.next() else { continue };
            if let Some(other) = candidates.next() {
                let name = |at: usize| columns[at].name.clone().unwrap_or_default();
                guess.doubts.push(format!("`{field}` may be `{}` or `{}`", name(at), name(other)));
            }
            let unit = guess.unit(field, &columns[at], names[at].1);
            guess.fields.push((field, at, unit));
        }
        guess.add_digests(columns);
        if guess.column_of("op").is_none() {
            let holds_words = |at: &usize| guess.is_free(*at) && columns[*at].word_set() == Some("");
            if let Some(at) = (0..columns.len()).find(holds_words) {
                let name = columns[at].name.clone().unwrap_or_default();
                guess.doubts.push(format!("`{name}` is taken for `op` because of the words in it"));
                guess.fields.push(("op", at, String::new()));
            }
        }
        guess
    }

    /// Returns the unit of a column whose name means `field`, with its colon.
    fn unit(&mut self, field: &str, values: &ColumnValues, named: Option<&str>) -> String {
        let name = values.name.clone().unwrap_or_default();
        let is_time_unit = named.is_some_and(|unit| TimeUnit::named(unit).is_some());
        match (field, named) {
            ("time", Some(unit)) if is_time_unit => format!(":{unit}"),
            ("time", _) => self.time_unit(&name, values),
            ("op", _) => self.words(&name, values),
            ("offset" | "size", Some(unit)) if !is_time_unit => format!(":{unit}"),
            ("offset", _) => self.address_unit(&name, values),
            ("size", _) => self.size_unit(&name, values),
            _ => String::new(),
        }
    }

    fn time_unit(&mut self, name: &str, values: &ColumnValues) -> String {
        if let Some(unit) = values.date_unit() {
            return format!(":{unit}");
        }
        let unit = if values.cells.iter().any(|cell| cell.contains('.')) { "s" } else { "us" };
        self.doubts.push(format!("the unit of `{name}` is not said; {unit} is a guess"));
        format!(":{unit}")
    }

    fn words(&mut self, name: &str, values: &ColumnValues) -> String {
        if let Some(words) = values.word_set() {
            return words.to_owned();
        }
        if values.are_zero_and_one() {
            if words_of(name).0.ends_with("write") {
                return ":0=read/1=write".to_owned();
            }
            self.doubts.push(format!(
                "whether 0 or 1 in `{name}` is a write is not said; some traces have it the other way round"
            ));
            return ":0=read/1=write".to_owned();
        }
        let words: BTreeSet<_> = values.cells.iter().map(|word| word.escape_debug().to_string()).collect();
        let words: Vec<_> = words.into_iter().take(6).collect();
        self.doubts.push(format!("say what the words of `{name}` mean: {}", words.join(", ")));
        ":0=read/1=write".to_owned()
    }

    fn address_unit(&mut self, name: &str, values: &ColumnValues) -> String {
        let counts_blocks = ["lb", "blk", "block"].iter().any(|part| words_of(name).0.contains(part));
        if counts_blocks {
            self.doubts.push(format!("`{name}` is taken to count sectors of 512 bytes"));
            return ":sectors".to_owned();
        }
        if !values.are_whole_sectors() {
            self.doubts
                .push(format!("`{name}` is taken to be in bytes, but it is not always a multiple of 512"));
        }
        ":bytes".to_owned()
    }

    fn size_unit(&mut self, name: &str, values: &ColumnValues) -> String {
        if values.are_whole_sectors() {
            return ":bytes".to_owned();
        }
        self.doubts.push(format!("`{name}` is taken to count sectors of 512 bytes"));
        ":sectors".to_owned()
    }

    fn by_values(columns: &[ColumnValues]) -> Self {
        let mut guess = GuessBuilder::default();
        guess.doubts.push("there is no header: columns are guessed from their values alone".to_owned());
        guess.add_digests(columns);
        let time = (0..columns.len()).find(|&at| {
            columns[at].date_unit().is_some_and(|unit| unit != "s" || columns[at].rarely_decrease())
        });
        let decimals = |at: &usize| {
            let values = &columns[*at];
            values.are_numbers()
                && values.cells.iter().any(|cell| cell.contains('.'))
                && values.rarely_decrease()
        };
        if let Some(at) = time.or_else(|| (0..columns.len()).find(decimals)) {
            let unit = guess.time_unit(&(at + 1).to_string(), &columns[at]);
            guess.fields.push(("time", at, unit));
        }
        let words = (0..columns.len()).find(|&at| guess.is_free(at) && columns[at].word_set() == Some(""));
        let codes = || {
            (0..columns.len()).find(|&at| columns[at].word_set().is_some() && !columns[at].are_zero_and_one())
        };
        let bits = || {
            let has_both = |at: &usize| ["0", "1"].iter().all(|bit| columns[*at].cells.contains(bit));
            let mut bits = (0..columns.len()).filter(|&at| columns[at].are_zero_and_one());
            bits.clone().find(has_both).or_else(|| bits.next())
        };
        if let Some(at) = words.or_else(codes).or_else(bits).filter(|&at| guess.is_free(at)) {
            let unit = guess.words(&(at + 1).to_string(), &columns[at]);
            guess.fields.push(("op", at, unit));
        }
        let most = |at: &usize| columns[*at].numbers().max();
        let whole_numbers = |at: &usize| columns[*at].all(|cell| parse_u64(cell.as_bytes()).is_some());
        let free = |guess: &GuessBuilder| {
            (0..columns.len()).filter(|&at| guess.is_free(at)).filter(whole_numbers).collect::<Vec<_>>()
        };
        if let Some(at) = free(&guess).into_iter().rev().max_by_key(most) {
            let unit = if columns[at].are_whole_sectors() { ":bytes" } else { ":sectors" };
            guess.fields.push(("offset", at, unit.to_owned()));
        }
        let is_size = |at: &usize| {
            let mut numbers = columns[*at].numbers();
            numbers.all(|number| (1..=1 << 32).contains(&number))
                && columns[*at].numbers().min() < columns[*at].numbers().max()
        };
        let sizes = free(&guess).into_iter().filter(is_size);
        if let Some(at) = sizes.max_by_key(|&at| (columns[at].are_whole_sectors(), std::cmp::Reverse(at))) {
            let unit = if columns[at].are_whole_sectors() { ":bytes" } else { ":sectors" };
            guess.fields.push(("size", at, unit.to_owned()));
        }
        guess
    }

    fn add_digests(&mut self, columns: &[ColumnValues]) {
        let are_digests = |at: &usize| columns[*at].all(|cell| parse_digest(cell.as_bytes()).is_some());
        if let Some(at) = (0..columns.len()).find(are_digests) {
            self.doubts.push("each digest is taken to cover 4096 bytes".to_owned());
            self.fields.push(("digest", at, ":4096".to_owned()));
        }
    }

    /// Adds doubts about columns of a few letters, which may mark rows that are not requests.
    fn add_event_doubts(&mut self, columns: &[ColumnValues]) {
        let events = (0..columns.len()).filter(|&at| self.is_free(at)).filter_map(|at| {
            let words: BTreeSet<_> = columns[at].cells.iter().copied().collect();
            let is_event =
                |word: &&str| word.len() <= 2 && word.bytes().all(|byte| byte.is_ascii_uppercase());
            let are_events = (2..=6).contains(&words.len()) && words.iter().all(is_event);
            let name = columns[at].name.clone().filter(|_| self.has_header);
            let column = name.unwrap_or_else(|| (at + 1).to_string());
            are_events.then(|| (column, words.into_iter().collect::<Vec<_>>()))
        });
        let doubts: Vec<_> = events
            .map(|(column, words)| {
                let (first, all) = (words[0], words.join(", "));
                format!("`{column}` holds {all}: if only some of these rows are requests, add where={column}:{first}")
            })
            .collect();
        self.doubts.extend(doubts);
    }

    fn finish(
        mut self,
        columns: &[ColumnValues],
        separator: &'static str,
        rows: Vec<Vec<String>>,
    ) -> TableGuess {
        self.add_event_doubts(columns);
        let mut parts = Vec::new();
        let names = || columns.iter().filter_map(|column| column.name.as_deref());
        if !self.has_header && columns[0].name.is_some() {
            self.doubts.push("the names are those of a comment in front of the first row".to_owned());
        }
        for field in ["time", "op", "offset", "size", "volume", "digest"] {
            let Some((_, at, unit)) = self.fields.iter().find(|(name, ..)| *name == field) else { continue };
            let name = columns[*at].name.as_deref().filter(|_| self.has_header).filter(|name| {
                let is_plain = !name.is_empty()
                    && !name.contains([',', '=', ':', '"', '\''])
                    && !name.starts_with(['-', '#']);
                is_plain
                    && !is_number(name)
                    && names().filter(|other| other.eq_ignore_ascii_case(name)).count() == 1
            });
            parts.push(format!("{field}={}{unit}", name.map_or_else(|| (at + 1).to_string(), str::to_owned)));
        }
        for (field, constant) in [("op", "op==write"), ("offset", "offset=?:bytes"), ("size", "size==4096")] {
            if self.column_of(field).is_none() {
                self.doubts.push(format!("no column looks like `{field}`; {constant} has to be put right"));
                parts.push(constant.to_owned());
            }
        }
        if self.column_of("time").is_none() {
            self.doubts
                .push("no column looks like `time`: without one, all requests come at once".to_owned());
        }
        let column = |(at, values): (usize, &ColumnValues)| {
            let assigned = self.fields.iter().find(|(_, index, _)| *index == at);
            ColumnGuess {
                name: values.name.clone(),
                field: assigned.map(|(field, ..)| *field),
                unit: assigned
                    .map(|(.., unit)| unit.trim_start_matches(':').to_owned())
                    .filter(|unit| !unit.is_empty()),
            }
        };
        TableGuess {
            separator,
            has_header: self.has_header,
            columns: columns.iter().enumerate().map(column).collect(),
            rows,
            option: parts.join(","),
            doubts: self.doubts,
        }
    }
}

#[cfg(test)]
mod tests;
