//! `wearwell theory fifo`, `greedy`, `windowed`, `random` and `separated`.

use super::answer::{Answer, OutputArgs};
use super::options::DriveArgs;
use super::writes::WriteArgs;
use crate::exit::Failure;
use crate::report::grid;
use clap::ValueEnum;
use serde_json::json;
use wearwell_theory::Classes;
use wearwell_theory::closed_forms::{self, ClassCleaning};

/// First-in first-out: blocks are cleaned in the order in which they were written
///
/// A closed form for uniform writes, the root of one equation for classes of pages (Robinson 1996; Menon 1995;
/// Desnoyers 2014). Valid for every block size.
#[derive(clap::Args)]
pub struct FifoArgs {
    #[command(flatten)]
    drive: DriveArgs,
    #[command(flatten)]
    writes: WriteArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Greedy cleaning of uniform writes: the block with the fewest valid pages
///
/// Also shows Desnoyers' smooth formula and the limit for large blocks, which equals that of FIFO.
#[derive(clap::Args)]
pub struct GreedyArgs {
    #[command(flatten)]
    drive: DriveArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Windowed greedy cleaning of uniform writes: the fewest valid pages among the oldest blocks
#[derive(clap::Args)]
pub struct WindowedArgs {
    #[command(flatten)]
    drive: DriveArgs,
    /// Share of the blocks in the window, the oldest, 0 to 1
    #[arg(long, value_name = "W", help_heading = "Cleaning", allow_negative_numbers = true)]
    window_share: f64,
    #[command(flatten)]
    output: OutputArgs,
}

/// Random cleaning: 1 / S_f for any writes
#[derive(clap::Args)]
pub struct RandomArgs {
    #[command(flatten)]
    drive: DriveArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Each class in separate blocks, with the best division of the spare space (Desnoyers 2014)
#[derive(clap::Args)]
pub struct SeparatedArgs {
    #[command(flatten)]
    drive: DriveArgs,
    #[command(flatten)]
    writes: WriteArgs,
    /// Cleaning policy of the blocks of one class
    #[arg(long, value_enum, default_value_t = ClassPolicy::Greedy, help_heading = "Cleaning")]
    policy: ClassPolicy,
    #[command(flatten)]
    output: OutputArgs,
}

/// Lower bound on write amplification for any algorithm that knows all future writes
///
/// Valid for every algorithm, with any number of open blocks and any amount of memory; docs/theory.md has the proof.
/// Where the bound is 1, all write amplification comes from not knowing the future.
#[derive(clap::Args)]
pub struct ForesightArgs {
    #[command(flatten)]
    drive: DriveArgs,
    /// Logical pages of the drive: the larger the drive, the smaller the share of spare space that foresight needs
    #[arg(long, value_name = "PAGES", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..), help_heading = "Drive")]
    drive_pages: u64,
    #[command(flatten)]
    writes: WriteArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ClassPolicy {
    /// The fewest valid pages
    Greedy,
    /// In the order of writing
    Fifo,
    /// Any block
    Random,
}

/// Runs `theory fifo`.
pub fn fifo(args: &FifoArgs) -> Result<(), Failure> {
    let (drive, writes) = (args.drive.drive()?, args.writes.writes()?);
    let classes = writes.classes(&drive)?;
    let (amplification, copied) = closed_forms::fifo_copied_shares(&drive, &classes)?;
    let mut answer = Answer::for_drive("fifo", "first-in first-out", &drive, Some(&writes), amplification);
    if (2..=MAX_SHOWN_CLASSES).contains(&classes.count()) {
        answer.sections.push(copied_table(&classes, &copied, amplification));
    }
    answer.value("moved_shares", json!(copied));
    answer.curve = args.output.curve(&drive, |drive| closed_forms::fifo(&drive, &writes.classes(&drive)?));
    answer.finish(&args.output)
}

/// Largest number of classes that get a line each.
const MAX_SHOWN_CLASSES: usize = 20;

fn copied_table(classes: &Classes, copied: &[f64], amplification: f64) -> String {
    let rows = classes.as_slice().iter().zip(copied).map(|(class, &copied)| {
        let class_amplification = 1.0 + (amplification - 1.0) * copied / class.write_share;
        let shares = [class.write_share, class.space_share, copied].map(percent);
        shares.into_iter().chain([format!("{class_amplification:.4}")]).collect()
    });
    let head =
        ["writes to class", "its logical pages", "its share of moved pages", "its write amplification"];
    grid(&head, rows.collect(), &[0, 1, 2, 3])
}

fn percent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}

/// Runs `theory greedy`.
pub fn greedy(args: &GreedyArgs) -> Result<(), Failure> {
    let drive = args.drive.drive()?;
    let amplification = closed_forms::greedy(&drive)?;
    let mut answer = Answer::for_drive("greedy", "greedy, uniform writes", &drive, None, amplification);
    let comparisons = [
        ("Smooth formula", "smooth", closed_forms::greedy_smooth(&drive)?),
        ("Limit of large blocks", "large_blocks", closed_forms::greedy_large_blocks(&drive)?),
    ];
    for (title, name, other_amplification) in comparisons {
        let difference = 100.0 * (other_amplification / amplification - 1.0);
        answer.figure(title, format!("{other_amplification:.4} ({difference:+.2} %)"));
        answer.value(&format!("write_amplification_{name}"), json!(other_amplification));
    }
    answer.curve = args.output.curve(&drive, |drive| closed_forms::greedy(&drive));
    answer.finish(&args.output)
}

/// Runs `theory windowed`.
pub fn windowed(args: &WindowedArgs) -> Result<(), Failure> {
    let drive = args.drive.drive()?;
    let amplification = closed_forms::windowed(&drive, args.window_share)?;
    let title = "windowed greedy, uniform writes";
    let mut answer = Answer::for_drive("windowed", title, &drive, None, amplification);
    answer.parameter("window_share", json!(args.window_share));
    answer.figure("Window", format!("the oldest {} of the blocks", percent(args.window_share)));
    let ends = [
        ("Greedy", "greedy", closed_forms::greedy(&drive)?),
        ("First-in first-out", "fifo", closed_forms::fifo(&drive, &Classes::uniform())?),
    ];
    for (title, name, end) in ends {
        answer.figure(title, format!("{end:.4}"));
        answer.value(&format!("write_amplification_{name}"), json!(end));
    }
    answer.curve = args.output.curve(&drive, |drive| closed_forms::windowed(&drive, args.window_share));
    answer.finish(&args.output)
}

/// Runs `theory random`.
pub fn random(args: &RandomArgs) -> Result<(), Failure> {
    let drive = args.drive.drive()?;
    let amplification = closed_forms::random(&drive)?;
    let mut answer = Answer::for_drive("random", "random cleaning, any writes", &drive, None, amplification);
    answer.curve = args.output.curve(&drive, |drive| closed_forms::random(&drive));
    answer.finish(&args.output)
}

/// Runs `theory separated`.
pub fn separated(args: &SeparatedArgs) -> Result<(), Failure> {
    let (drive, writes) = (args.drive.drive()?, args.writes.writes()?);
    let classes = writes.few_classes(&drive)?;
    let cleaning = match args.policy {
        ClassPolicy::Greedy => ClassCleaning::Greedy,
        ClassPolicy::Fifo => ClassCleaning::Fifo,
        ClassPolicy::Random => ClassCleaning::Random,
    };
    let name = args.policy.to_possible_value().expect("no law is hidden").get_name().to_owned();
    let found = closed_forms::separated(&drive, &classes, cleaning)?;
    let title = format!("classes in blocks of their own, {name}");
    let mut answer = Answer::for_drive("separated", title, &drive, Some(&writes), found.write_amplification);
    answer.parameter("policy", json!(name));
    let rows = classes.as_slice().iter().zip(&found.shares).map(|(class, share)| {
        let shares = [class.write_share, class.space_share, share.physical_share].map(percent);
        let figures = [share.spare_factor, share.write_amplification].map(|value| format!("{value:.4}"));
        shares.into_iter().chain(figures).collect()
    });
    let head = [
        "writes to class",
        "its logical pages",
        "its physical pages",
        "its spare factor",
        "its write amplification",
    ];
    answer.sections.push(grid(&head, rows.collect(), &[0, 1, 2, 3, 4]));
    let shares = found.shares.iter().map(|share| {
        json!({
            "spare_factor": share.spare_factor,
            "physical_share": share.physical_share,
            "write_amplification": share.write_amplification,
        })
    });
    answer.value("classes", shares.collect());
    answer.curve = args
        .output
        .curve(&drive, |drive| Ok(closed_forms::separated(&drive, &classes, cleaning)?.write_amplification));
    answer.finish(&args.output)
}

/// Runs `theory foresight`.
pub fn foresight(args: &ForesightArgs) -> Result<(), Failure> {
    let (drive, writes) = (args.drive.drive()?, args.writes.writes()?);
    let (classes, pages) = (writes.classes(&drive)?, args.drive_pages as f64);
    let found = closed_forms::offline_bound(&drive, &classes, pages)?;
    let title = "foresight, lower bound";
    let mut answer = Answer::for_drive("foresight", title, &drive, Some(&writes), found.write_amplification);
    answer.parameter("drive_pages", json!(args.drive_pages));
    let spare_pages = pages * drive.spare_factor() / drive.load();
    answer.figure("Spare pages", format!("{spare_pages:.0}"));
    answer.figure("  needed for 1", format!("{:.0}", found.needed_pages));
    answer.value("needed_pages", json!(found.needed_pages));
    answer.curve = args
        .output
        .curve(&drive, |drive| Ok(closed_forms::offline_bound(&drive, &classes, pages)?.write_amplification));
    answer.finish(&args.output)
}
