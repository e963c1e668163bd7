//! `wearwell trace columns`.

use super::failure;
use crate::commands::list::ListFormat;
use crate::exit::Failure;
use crate::interrupt::Interruptible;
use crate::output::print;
use crate::report::{grid, pretty, wrap};
use std::fs::File;
use std::path::PathBuf;
use wearwell_trace::{ColumnGuess, TableGuess, guess_columns};

/// Shows the first rows of a table and suggests how to name its columns
///
/// Takes names and units from a header; guesses the rest from the values, and lists the guesses below the table. Other
/// commands read no table by guesses: they need --columns.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  wearwell trace columns my-trace.csv
  wearwell trace describe my-trace.csv --columns time=ts:us,op=type,offset=lba:512,size=len:bytes
  wearwell trace describe other.txt --columns time=1:s,op=2:0=read/1=write,offset=3:512,size==4096")]
pub struct Args {
    /// The trace, plain or compressed (gzip, xz, zstd); `-` for standard input
    #[arg(value_name = "TRACE")]
    file: PathBuf,
    /// Output format
    #[arg(long, value_enum, default_value_t = ListFormat::Table)]
    format: ListFormat,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let name = args.file.display().to_string();
    let guess = if args.file.as_os_str() == "-" {
        guess_columns("(standard input)", Interruptible(std::io::stdin()))
    } else {
        let file = File::open(&args.file).map_err(|error| Failure::run(format!("{name}: {error}")))?;
        guess_columns(&name, Interruptible(file))
    };
    let guess = guess.map_err(failure)?.ok_or_else(|| {
        Failure::run(format!(
            "{name}: this is no table: there are no rows with several columns and numbers in them"
        ))
    })?;
    match args.format {
        ListFormat::Json => print(&pretty(&guess)),
        ListFormat::Table => print(&wrap(&table_text(&name, &guess))),
    }
}

fn table_text(name: &str, guess: &TableGuess) -> String {
    let header = if guess.has_header { "with a header" } else { "without a header" };
    let mut text = format!("a table {header}, separator {}\n", guess.separator);
    let samples = |at: usize| guess.rows.iter().filter_map(move |row| row.get(at)).map(|cell| excerpt(cell));
    let row = |(at, column): (usize, &ColumnGuess)| {
        vec![
            (at + 1).to_string(),
            column.name.as_deref().map_or_else(|| "–".into(), excerpt),
            samples(at).collect::<Vec<_>>().join("  "),
            column.field.map_or_else(|| "–".into(), str::to_owned),
            column.unit.clone().unwrap_or_else(|| "–".into()),
        ]
    };
    let rows = guess.columns.iter().enumerate().map(row).collect();
    text += &grid(&["column", "name", "first rows", "may be", "in"], rows, &[0]);
    text.push('\n');
    for doubt in &guess.doubts {
        text += &format!("look at this: {doubt}\n");
    }
    let is_open = guess.doubts.iter().any(|doubt| doubt.contains("has to be put right"));
    let use_it = if is_open { "Put right what is open, and read it with" } else { "Read it with" };
    text += &format!("{use_it}\n  wearwell trace describe {name} --columns '{}'\n", guess.option);
    text
}

/// Returns a cell, or the beginning of a long cell.
fn excerpt(cell: &str) -> String {
    const MAX_CHARS: usize = 24;
    match cell.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &cell[..end]),
        None => cell.to_owned(),
    }
}
