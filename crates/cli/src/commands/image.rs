//! `wearwell image`: inspection of images of live drives.

use crate::exit::Failure;
use crate::interrupt::interrupted;
use crate::output::print;
use crate::report::{count, grid, pretty, wrap};
use clap::ValueEnum;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use wearwell_engine::layer::RecoveryReport;
use wearwell_serve::ImageError;
use wearwell_serve::device::check_journal;
use wearwell_serve::flash::{self, CheckReport, ImageCounts, PageLine};
use wearwell_serve::image::{self, JournalCounts, JournalEntry};

/// Inspects the image of a live drive: its contents, its recovery, and its pages
#[derive(clap::Subcommand)]
pub enum Command {
    Info(InfoArgs),
    Fsck(FsckArgs),
    Dump(DumpArgs),
}

/// Describes an image
#[derive(clap::Args)]
pub struct InfoArgs {
    /// The image
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table, help_heading = "Output")]
    format: Format,
}

/// Checks every byte of an image and the recovery of its drive; changes nothing
///
/// Every checksum is compared, and the drive is restored in memory: its FTL recovers, or its journal is replayed. Exit
/// codes are those of fsck(8): 0 no errors, 4 errors, 8 the image cannot be checked or is no longer an image.
#[derive(clap::Args)]
pub struct FsckArgs {
    /// The image
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table, help_heading = "Output")]
    format: Format,
}

/// Lists an image as lines of JSON: the programmed pages of its flash, or the records of its journal
#[derive(clap::Args)]
pub struct DumpArgs {
    /// The image
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Show only the pages of one block
    #[arg(long, value_name = "N")]
    block: Option<u32>,
}

/// A table for people or JSON for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Table for people
    Table,
    /// Everything, for programs
    Json,
}

/// Exit code for an image with errors, as in fsck(8).
const EXIT_ERRORS: u8 = 4;
/// Exit code for an image that cannot be checked or is too damaged to be recognised.
const EXIT_NOT_CHECKED: u8 = 8;

/// Runs the command.
pub fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Info(args) => info(args),
        Command::Fsck(args) => fsck(args),
        Command::Dump(args) => dump(args),
    }
}

impl From<ImageError> for Failure {
    fn from(error: ImageError) -> Self {
        Failure::run(error)
    }
}

fn print_rows(rows: Vec<(String, String)>) -> Result<(), Failure> {
    let rows = rows.into_iter().map(|(name, value)| vec![name, value]).collect();
    print(&wrap(&grid(&["figure", "value"], rows, &[1])))
}

fn info(args: &InfoArgs) -> Result<(), Failure> {
    if flash::is_flash(&args.folder) {
        let census = flash::count_image(&args.folder)?;
        return match args.format {
            Format::Table => print_rows(flash_rows(&census)),
            Format::Json => print(&format!("{}\n", pretty(&flash_json(&census)))),
        };
    }
    let census = image::read_journal::<Failure>(&args.folder, |_| Ok(()))?;
    match args.format {
        Format::Table => print_rows(journal_rows(&census)),
        Format::Json => print(&format!("{}\n", pretty(&journal_json(&census)))),
    }
}

fn flash_rows(census: &ImageCounts) -> Vec<(String, String)> {
    let (blocks, pages, bytes) = census.shape;
    let (fewest, most, all) = census.erases;
    let [erased, used, half, bad] = census.blocks;
    let mut rows = vec![
        ("Kept as".into(), "the bytes of its flash".into()),
        ("Blocks, pages of each, bytes of a page".into(), format!("{blocks}, {pages}, {bytes}")),
        ("Bytes on disk".into(), count(census.bytes)),
        ("Operations of the flash so far".into(), count(census.operations)),
        ("Operations left over, to be undone".into(), count(census.undone_operations)),
        ("Blocks erased, in use, half erased, bad".into(), format!("{erased}, {used}, {half}, {bad}")),
        ("Erases: fewest and most of a block, all".into(), format!("{fewest}, {most}, {}", count(all))),
    ];
    rows.extend(census.pages.iter().map(|(holds, pages)| (format!("Pages with {holds}"), count(*pages))));
    rows
}

fn flash_json(census: &ImageCounts) -> Value {
    let (blocks, pages_per_block, page_bytes) = census.shape;
    let [erased, used, half_erased, bad] = census.blocks;
    let (fewest, most, all) = census.erases;
    json!({
        "kept_as": "flash", "blocks": blocks, "pages_per_block": pages_per_block, "page_bytes": page_bytes,
        "bytes": census.bytes, "operations": census.operations, "left_over": census.undone_operations,
        "erased_blocks": erased, "used_blocks": used, "half_erased_blocks": half_erased, "bad_blocks": bad,
        "fewest_erases": fewest, "most_erases": most, "erases": all,
        "pages": census.pages, "scenario": census.scenario,
    })
}

fn journal_rows(census: &JournalCounts) -> Vec<(String, String)> {
    let [writes, reads, trims, flushes, finished] = census.entries;
    let [journal, pages] = census.bytes;
    vec![
        ("Kept as".into(), "a journal of all requests".into()),
        (
            "Writes, reads, trims, flushes, zones finished".into(),
            [writes, reads, trims, flushes, finished].map(count).join(", "),
        ),
        ("Pages written".into(), count(census.written_pages)),
        ("Bytes of the journal, of the pages".into(), format!("{}, {}", count(journal), count(pages))),
        ("Bytes of a note that was cut short".into(), count(census.torn_bytes)),
    ]
}

fn journal_json(census: &JournalCounts) -> Value {
    let [writes, reads, trims, flushes, finished] = census.entries;
    let [journal_bytes, page_bytes] = census.bytes;
    json!({
        "kept_as": "journal", "writes": writes, "reads": reads, "trims": trims, "flushes": flushes,
        "finished_zones": finished,
        "written_pages": census.written_pages, "torn_bytes": census.torn_bytes,
        "journal_bytes": journal_bytes, "pages_bytes": page_bytes, "scenario": census.scenario,
    })
}

fn fsck(args: &FsckArgs) -> Result<(), Failure> {
    if !flash::is_flash(&args.folder) {
        return fsck_journal(args);
    }
    let checked = flash::check(&args.folder, &mut |_| !interrupted());
    let checked = checked.map_err(|error| Failure::CheckFailed(EXIT_NOT_CHECKED, error.to_string()))?;
    if interrupted() {
        return Err(Failure::Interrupted);
    }
    let CheckReport { counts: census, problems, recovery } = &checked;
    match args.format {
        Format::Table => {
            print_rows(flash_rows(census))?;
            if let Some(recovery) = recovery {
                print(&wrap(&steps(recovery)))?;
            }
        }
        Format::Json => {
            let mut found = flash_json(census);
            found["problems"] = json!(problems);
            print(&format!("{}\n", pretty(&found)))?;
        }
    }
    problems_failure(&args.folder, problems)
}

fn fsck_journal(args: &FsckArgs) -> Result<(), Failure> {
    let checked = check_journal(&args.folder);
    let checked = checked.map_err(|error| Failure::CheckFailed(EXIT_NOT_CHECKED, error.to_string()))?;
    match args.format {
        Format::Table => print_rows(journal_rows(&checked.counts))?,
        Format::Json => {
            let mut found = journal_json(&checked.counts);
            found["problems"] = json!(checked.problems);
            print(&format!("{}\n", pretty(&found)))?;
        }
    }
    problems_failure(&args.folder, &checked.problems)
}

/// Returns the failure of a check that found problems.
fn problems_failure(folder: &Path, problems: &[String]) -> Result<(), Failure> {
    if problems.is_empty() {
        return Ok(());
    }
    Err(Failure::CheckFailed(EXIT_ERRORS, format!("{}: {}", folder.display(), problems.join("\n"))))
}

/// Returns the steps of a recovery as text.
fn steps(recovery: &RecoveryReport) -> String {
    let row = |step: &wearwell_engine::layer::RecoveryStep| {
        let operations = [step.spare_reads, step.page_reads, step.page_writes, step.erases];
        [vec![step.name.to_owned()], operations.map(count).to_vec()].concat()
    };
    let head = ["recovery step", "spare reads", "page reads", "page writes", "erases"];
    grid(&head, recovery.steps.iter().map(row).collect(), &[1, 2, 3, 4])
}

fn dump(args: &DumpArgs) -> Result<(), Failure> {
    if flash::is_flash(&args.folder) {
        return flash::dump(&args.folder, args.block, |line: &PageLine| print_line(&json!(line)));
    }
    if args.block.is_some() {
        return Err(Failure::usage("--block: the image is a journal of requests, and has no blocks"));
    }
    image::read_journal(&args.folder, |entry| {
        print_line(&match entry {
            JournalEntry::Write(first, hint, pages) => {
                json!({ "write": first, "pages": pages.len(), "hint": hint })
            }
            JournalEntry::Read(pages) => json!({ "read": pages.start, "pages": pages.len() }),
            JournalEntry::Trim(pages) => json!({ "trim": pages.start, "pages": pages.len() }),
            JournalEntry::Flush => json!({ "flush": true }),
            JournalEntry::Finish(pages) => json!({ "finish": pages.start, "pages": pages.len() }),
        })
    })
    .map(drop)
}

fn print_line(line: &Value) -> Result<(), Failure> {
    if interrupted() {
        return Err(Failure::Interrupted);
    }
    print(&format!("{line}\n"))
}
