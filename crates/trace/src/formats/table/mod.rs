//! Tables of any structure: the user names columns, units and words.

mod cells;
mod columns;
mod guess;
mod names;
mod pieces;
mod row;
mod values;
mod words;
mod write;

use super::prelude::*;
use crate::options::TextOption;
use columns::Columns;
pub use guess::{ColumnGuess, TableGuess, guess_table};
use row::{HeaderRule, Table};
use write::TableWriter;

/// The `table` format.
pub static FORMAT: Format = Format {
    name: "table",
    help: "any table (CSV, blanks, tabs, ...) whose columns and units are named with `columns`",
    columns: "By the option `columns`: FIELD=COLUMN[:UNIT], separated by commas; columns by their name in the header or by \
              number, from 1, or from -1 at the end. Fields: time (s, ms, us, ns, filetime), op (words, scsi, nvme, or \
              WORD=read/WORD=write/WORD=trim/WORD=flush/WORD=skip; or op==write), offset and size (bytes, sectors, pages, \
              kB, KiB, MiB, or a number of bytes; or size==4096), volume (number or name), hint, digest (MD5s of so many \
              bytes each), where (COLUMN:VALUE/VALUE: other rows are passed over), piece==BYTES (a row is so many bytes of \
              its request, and the next ones where it repeats the row). Without time, all requests come at time 0.",
    source: "your own",
    extensions: &["csv", "tsv", "txt"],
    time_step_ns: 1,
    options: &[
        OptionSpec {
            name: "columns",
            help: "which column is what, in which unit",
            choices: &[],
            text: Some(&TextOption {
                expected: columns::SYNTAX,
                example: "time=ts:ns,op=type,offset=lba:512,size=len:512,volume=dev",
                check: |text| Columns::parse(text).map(|_| ()),
            }),
            default: None,
        },
        OptionSpec {
            name: "separator",
            help: "what stands between columns; `auto`: what the first row shows",
            choices: &["auto", "comma", "semicolon", "tab", "pipe", "blanks"],
            text: None,
            default: Some("auto"),
        },
        OptionSpec {
            name: "header",
            help: "whether the first row names the columns; `auto`: if columns are named, or if it has no number where one \
                   belongs",
            choices: &["auto", "yes", "no"],
            text: None,
            default: Some("auto"),
        },
        OptionSpec {
            name: "skip_lines",
            help: "lines to pass over at the beginning, blank ones not counted",
            choices: &[],
            text: Some(&TextOption {
                expected: "a whole number from 0 to 1000000",
                example: "0",
                check: |text| match fields::parse_u64(text.as_bytes()) {
                    Some(0..=1_000_000) => Ok(()),
                    _ => Err(format!("`{}` is no such number", text.escape_debug())),
                },
            }),
            default: Some("0"),
        },
        OptionSpec {
            name: "comment",
            help: "lines that begin with it are passed over; `none` for no such lines",
            choices: &[],
            text: Some(&TextOption {
                expected: "text, or none",
                example: "#",
                check: |text| if text.is_empty() { Err("it is empty".to_owned()) } else { Ok(()) },
            }),
            default: Some("#"),
        },
    ],
    detect: None, // the content may be any table
    read: |settings| Lines::boxed(table(settings)),
    write: Some(|settings| {
        Box::new(TableWriter::new(columns_of(settings), cells::Separator::named(settings.get("separator"))))
    }),
};

fn columns_of(settings: &Settings) -> Columns {
    Columns::parse(settings.get("columns")).expect("checked when the settings were made")
}

fn table(settings: &Settings) -> Table {
    let header = match settings.get("header") {
        "yes" => HeaderRule::Yes,
        "no" => HeaderRule::No,
        _ => HeaderRule::Auto,
    };
    let comment = Some(settings.get("comment")).filter(|comment| *comment != "none");
    Table::new(
        columns_of(settings),
        cells::Separator::named(settings.get("separator")),
        header,
        settings.number("skip_lines"),
        comment.unwrap_or_default(),
    )
}
