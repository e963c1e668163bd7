//! `wearwell pull-plug`.

use crate::exit::Failure;
use crate::output::print;
use crate::report::{count, grid, wrap};
use std::io::ErrorKind;
use std::path::PathBuf;
use wearwell_serve::power_switch::{Command, Reply, Step, send};

/// Cuts the power of a drive that is being served, and reports its recovery
///
/// The drive must be served by `wearwell serve --image FOLDER` as the bytes of its flash. It loses the contents of RAM, at once
/// or in the middle of a later request, which fails with an error. The drive continues to serve after its FTL has recovered.
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// Image of the drive
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Number of page programs and block erases before the cut
    #[arg(long, value_name = "N", default_value_t = 0)]
    after: u64,
    /// Cut in the middle of the next operation, which leaves a torn page or a partly erased block
    #[arg(long)]
    torn: bool,
    /// Seconds to wait for the cut
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(..=3600))]
    wait: u64,
}

const HELP: &str = "\
Examples:
  wearwell pull-plug drive
  wearwell pull-plug drive --after 500 --torn --wait 60";

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let command = Command::CutPower { after: args.after, torn: args.torn, wait_seconds: args.wait };
    let reply = send(&args.folder, &command).map_err(|error| {
        let folder = args.folder.display();
        match error.kind() {
            ErrorKind::NotFound | ErrorKind::ConnectionRefused => Failure::run(format!(
                "{folder}: nobody serves a drive that is kept there as the bytes of its flash"
            )),
            _ => Failure::run(format!("{folder}: {error}")),
        }
    })?;
    match reply {
        Reply::Recovered { operations, steps, trimmed_pages } => {
            print(&wrap(&recovery_text(operations, &steps, trimmed_pages)))
        }
        Reply::Scheduled => {
            print("The drive has not reached that operation yet; it will lose its power then.\n")
        }
        Reply::Refused(problem) => Err(Failure::run(format!("{}: {problem}", args.folder.display()))),
    }
}

fn recovery_text(operations: u64, steps: &[Step], trimmed_pages: u64) -> String {
    let head = ["recovery step", "spare reads", "page reads", "page writes", "erases"];
    let row = |step: &Step| [vec![step.name.clone()], step.operations.map(count).to_vec()].concat();
    let mut text = format!("Power was lost after operation {} of the flash.\n", count(operations));
    text += &match steps {
        [] => "Its flash was empty, so recovery read nothing.\n".to_owned(),
        steps => grid(&head, steps.iter().map(row).collect(), &[1, 2, 3, 4]),
    };
    if trimmed_pages > 0 {
        text +=
            &format!("{} pages were trimmed once more, from what a battery keeps.\n", count(trimmed_pages));
    }
    text
}
