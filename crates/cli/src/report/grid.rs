//! Tables that fit the terminal: no word and no number is split over two lines.
//!
//! If a table is too wide even with multi-line column heads, it is transposed, provided that one table results.
//! Otherwise it is split into several tables that repeat the first columns. Where even these are too wide, they become
//! transposed tables of a few rows each.

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, Width};
use std::io::IsTerminal;

/// Table width without a terminal.
const WIDTH: u16 = 120;

/// Smallest width that is accepted from a terminal; nothing could be shown in less.
const MIN_WIDTH: u16 = 20;

/// Largest number of rows of a transposed table: more rows are easier to compare vertically.
const MAX_TRANSPOSED_ROWS: usize = 4;

/// Placeholder for the space between a number and its unit while lines are wrapped.
const UNIT_SPACE: char = '\u{a0}';

/// Units that stay on the line of their number.
const UNITS: &[&str] =
    &["%", "B", "KiB", "MiB", "GiB", "TiB", "MB", "GB", "TB", "TBW", "ns", "µs", "ms", "s"];

/// Prefix of a line that is meant to be pasted into a shell.
const COMMAND: &str = "  wearwell ";

/// Width of the left border of a column and of the spaces around its content.
const COLUMN_PADDING: usize = 3;

/// Returns the number of columns of the terminal, or that of `COLUMNS`; `None` if there is neither.
pub fn terminal_width() -> Option<u16> {
    let of_terminal = || std::io::stdout().is_terminal().then(|| Table::new().width()).flatten();
    let named = || std::env::var("COLUMNS").ok()?.parse().ok();
    of_terminal().or_else(named).filter(|&width| width >= MIN_WIDTH)
}

/// Returns the width available for a table.
pub fn table_width() -> u16 {
    terminal_width().unwrap_or(WIDTH)
}

/// Returns a table with a head; `right` lists the right-aligned columns, from 0.
pub fn grid(head: &[&str], rows: Vec<Vec<String>>, right: &[usize]) -> String {
    let head = head.iter().map(|title| (*title).to_owned()).collect();
    let bind_row = |row: Vec<String>| row.iter().map(|cell| bind_units(cell)).collect();
    let rows = if terminal_width().is_some() { rows.into_iter().map(bind_row).collect() } else { rows };
    let columns = ColumnTable { head, rows, right: right.to_vec() };
    columns.fit(table_width().into()).replace(UNIT_SPACE, " ")
}

/// Returns `text` with each number bound to its unit.
fn bind_units(text: &str) -> String {
    let mut bound = String::with_capacity(text.len());
    for word in text.split_inclusive(' ') {
        let is_unit = UNITS.contains(&word.trim_end_matches([' ', ',', ';', ')', ':']));
        if is_unit
            && bound.ends_with(' ')
            && bound.trim_end().ends_with(|letter: char| letter.is_ascii_digit())
        {
            bound.pop();
            bound.push(UNIT_SPACE);
        }
        bound += word;
    }
    bound
}

/// Returns `text` with all lines wrapped to the terminal, except those of tables and commands.
pub fn wrap(text: &str) -> String {
    match terminal_width() {
        Some(width) => text.split_inclusive('\n').map(|line| wrap_line(line, width.into())).collect(),
        None => text.to_owned(),
    }
}

fn wrap_line(line: &str, width: usize) -> String {
    let is_verbatim = line.starts_with(|letter| ('─'..='╿').contains(&letter)) || line.starts_with(COMMAND);
    if line.chars().count() <= width || is_verbatim {
        return line.to_owned();
    }
    let indent = hanging_indent(line);
    let mut text: String = line.chars().take(indent).collect();
    let mut used = indent;
    for word in line.chars().skip(indent).collect::<String>().split_whitespace() {
        let length = word.chars().count();
        if used > indent && used + 1 + length > width {
            text += "\n";
            text += &" ".repeat(indent);
            used = indent;
        } else if used > indent {
            text.push(' ');
            used += 1;
        }
        text += word;
        used += length;
    }
    text + if line.ends_with('\n') { "\n" } else { "" }
}

/// Returns the column where the text of a line begins: behind the indent and, if a gap of two spaces separates it,
/// behind the label.
fn hanging_indent(line: &str) -> usize {
    let letters: Vec<char> = line.chars().collect();
    let begins = |from: usize| letters[from..].iter().take_while(|letter| **letter == ' ').count() + from;
    let start = begins(0);
    let gap = letters[start..].windows(2).position(|pair| pair == [' ', ' ']);
    match gap.filter(|gap| start > 0 && *gap < usize::from(MIN_WIDTH)) {
        Some(gap) => begins(start + gap),
        None => start,
    }
}

/// A table before it is drawn.
#[derive(Clone)]
struct ColumnTable {
    /// Column titles; empty if the first column names the contents of the other columns.
    head: Vec<String>,
    rows: Vec<Vec<String>>,
    right: Vec<usize>,
}

impl ColumnTable {
    fn fit(&self, width: usize) -> String {
        if self.min_width() <= width || self.head.is_empty() {
            return self.draw(width);
        }
        let fits = |tables: &Vec<ColumnTable>| tables.iter().all(|table| table.min_width() <= width);
        let transposed = (1..=MAX_TRANSPOSED_ROWS).rev().map(|rows| self.transposed(rows)).find(fits);
        let stack = |tables: &[ColumnTable]| {
            tables.iter().map(|table| table.draw(width)).collect::<Vec<_>>().join("\n")
        };
        match (transposed, self.split(width)) {
            (Some(transposed), _) if transposed.len() == 1 => stack(&transposed),
            (_, parts) if fits(&parts) => stack(&parts),
            (Some(transposed), _) => stack(&transposed),
            (None, _) => self.draw(width),
        }
    }

    fn count(&self) -> usize {
        self.rows.iter().map(Vec::len).chain([self.head.len()]).max().unwrap_or(0)
    }

    /// Returns the least width of a column: numbers stay on one line with their units, text may be wrapped between
    /// words.
    fn min_content_width(&self, column: usize) -> usize {
        let word_width =
            |text: &str| text.split_whitespace().map(|word| word.chars().count()).max().unwrap_or(0);
        let line_width = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        let is_right = self.right.contains(&column);
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        let of_cells = cells.map(|cell| if is_right { line_width(cell) } else { word_width(cell) });
        of_cells.chain(self.head.get(column).map(|title| word_width(title))).max().unwrap_or(0)
    }

    fn min_width(&self) -> usize {
        (0..self.count()).map(|column| self.min_content_width(column) + COLUMN_PADDING).sum::<usize>() + 1
    }

    /// Transposes the table, with `rows` rows in each resulting table.
    fn transposed(&self, rows: usize) -> Vec<ColumnTable> {
        let cell = |row: &Vec<String>, column: usize| row.get(column).cloned().unwrap_or_default();
        let table = |rows: &[Vec<String>]| {
            let line = |column: usize| {
                let cells = rows.iter().map(|row| cell(row, column));
                [self.head[column].clone()].into_iter().chain(cells).collect()
            };
            let mut lines: Vec<Vec<String>> = (0..self.head.len()).map(line).collect();
            let head = lines.remove(0);
            ColumnTable { head, rows: lines, right: (1..=rows.len()).collect() }
        };
        self.rows.chunks(rows).map(table).collect()
    }

    /// Splits the table into tables that are narrow enough, each with the columns that identify the rows.
    fn split(&self, width: usize) -> Vec<ColumnTable> {
        let is_figure = |column: &usize| self.right.contains(column);
        // A row number may precede the name.
        let first_text = (0..self.count()).find(|column| !is_figure(column)).unwrap_or(0);
        let key_end = match self.right.is_empty() {
            true => 1,
            false => (first_text..self.count()).find(is_figure).unwrap_or(1).max(1),
        };
        let width_of = |columns: &[usize]| -> usize {
            columns.iter().map(|&column| self.min_content_width(column) + COLUMN_PADDING).sum::<usize>() + 1
        };
        let keys: Vec<usize> = (0..key_end).collect();
        let mut parts = vec![keys.clone()];
        for column in key_end..self.count() {
            let current = parts.last_mut().expect("there is one");
            current.push(column);
            if width_of(current) > width && current.len() > keys.len() + 1 {
                current.pop();
                parts.push([keys.clone(), vec![column]].concat());
            }
        }
        parts.iter().map(|columns| self.with_columns(columns)).collect()
    }

    fn with_columns(&self, columns: &[usize]) -> ColumnTable {
        let of = |cells: &Vec<String>| {
            columns.iter().map(|&column| cells.get(column).cloned().unwrap_or_default()).collect()
        };
        ColumnTable {
            head: of(&self.head),
            rows: self.rows.iter().map(of).collect(),
            right: (0..columns.len()).filter(|&at| self.right.contains(&columns[at])).collect(),
        }
    }

    fn draw(&self, width: usize) -> String {
        let mut table = Table::new();
        table.load_style(UTF8_FULL_CONDENSED.with_rounded_corners());
        table.set_content_arrangement(ContentArrangement::Dynamic);
        let width = u16::try_from(width).unwrap_or(u16::MAX);
        table.set_width(width);
        if !self.head.is_empty() {
            table.set_header(&self.head);
        }
        table.add_rows(self.rows.iter());
        for at in 0..self.count() {
            // A word that is longer than a line is nevertheless split.
            let least = self.min_content_width(at).min(width.saturating_sub(MIN_WIDTH).into()) as u16 + 2;
            let Some(column) = table.column_mut(at) else { continue };
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(least)));
            if self.right.contains(&at) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a table with `rows` rows of numbers, with names in the first column.
    fn figures(rows: usize, columns: usize) -> ColumnTable {
        let row = |at: usize| {
            let cells =
                (1..columns).map(|column| format!("{},{:03},{:03}", at + 1, column * 37, at * 11 % 1000));
            [format!("layer {at}")].into_iter().chain(cells).collect()
        };
        let titles = ["layer", "writes in", "amplification", "valid pages in victim", "most erased"];
        ColumnTable {
            head: (0..columns).map(|at| titles[at % titles.len()].to_owned()).collect(),
            rows: (0..rows).map(row).collect(),
            right: (1..columns).collect(),
        }
    }

    fn words(text: &str) -> Vec<String> {
        let unframed = text.replace(|letter| ('─'..='╿').contains(&letter), " ");
        let mut words: Vec<String> = unframed.split_whitespace().map(str::to_owned).collect();
        words.sort();
        words.dedup();
        words
    }

    #[test]
    fn words_are_unbroken_at_any_width() {
        for (rows, columns) in [(1, 9), (3, 9), (4, 4), (12, 3), (12, 9), (40, 20)] {
            let table = figures(rows, columns);
            let expected = words(&table.draw(2000));
            for width in [40, 60, 80, 120, 200] {
                let text = table.fit(width);
                assert_eq!(words(&text), expected, "{rows} rows, {columns} columns at {width}\n{text}");
                let longest = text.lines().map(|line| line.chars().count()).max().unwrap();
                assert!(longest <= width, "{longest} of {width}\n{text}");
            }
        }
    }

    #[test]
    fn few_rows_are_transposed_and_many_repeat_their_names() {
        let long_names = ColumnTable { head: vec!["x".repeat(30), "y".repeat(30)], ..figures(12, 2) }.fit(60);
        assert_eq!(long_names.matches('╭').count(), 6, "{long_names}");
        let transposed = figures(2, 9).fit(60);
        assert!(transposed.lines().nth(1).unwrap().contains("layer 0"), "{transposed}");
        assert_eq!(transposed.matches("layer 1").count(), 1, "{transposed}");
        let parts = figures(12, 9).fit(60);
        let tables = parts.matches('╭').count();
        assert!(tables > 1 && parts.matches("layer 11").count() == tables, "{parts}");
    }

    #[test]
    fn fitting_table_is_unchanged() {
        let table = figures(2, 3);
        assert_eq!(table.fit(80), table.fit(200));
        assert_eq!(table.fit(80).matches('╭').count(), 1);
    }

    #[test]
    fn numbers_are_bound_only_to_their_units() {
        let bound =
            bind_units("capacity -8.80 %, RAM 4 MiB → 16 MiB; 3 runs, no MiB").replace(UNIT_SPACE, "~");
        assert_eq!(bound, "capacity -8.80~%, RAM 4~MiB → 16~MiB; 3 runs, no MiB");
    }

    #[test]
    fn sentences_are_wrapped_and_tables_and_commands_are_not() {
        assert_eq!(wrap_line("one two three\n", 8), "one two\nthree\n");
        let listed = "  use  one two three four\n";
        assert_eq!(wrap_line(listed, 17), "  use  one two\n       three four\n");
        for line in ["  wearwell run my.toml", "│ one two three │\n", "short\n"] {
            assert_eq!(wrap_line(line, 8), line);
        }
    }
}
