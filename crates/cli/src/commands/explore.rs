//! `wearwell explore`.

use crate::exit::Failure;
use crate::interrupt;
use crate::output::print;
use crate::progress::ProgressArgs;
use crate::scenario_args::{self, ScenarioArgs};
use crate::top;
use wearwell_explore::Explorer;
use wearwell_stack::{Draft, ResolvedScenario};

/// Default drive: small, so that a simulation takes less than a second.
const DRIVE: &str = include_str!("../../../../scenarios/explore.toml");

/// Serves a page with sliders: theory answers at once, simulations are drawn over its curve
///
/// The sliders change keys of the scenario, so the page agrees with `wearwell theory --scenario` and `wearwell run`,
/// and provides the scenario of any point. Only this machine can open the page. Ctrl-C ends it.
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// Port on 127.0.0.1; a free one unless given
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Page")]
    port: u16,
    /// Simulations at a time; number of cores unless given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), help_heading = "Page")]
    threads: Option<u16>,
}

const HELP: &str = "\
Examples:
  wearwell explore                        then open the address that it prints
  wearwell explore my.toml --port 8080    what my drive would do, starting from it";

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let mut draft = match args.scenario.file {
        Some(_) => args.scenario.draft()?,
        None => {
            let mut draft = Draft::from_toml(DRIVE, "explore.toml (built in)")?;
            args.scenario.overrides.apply(&mut draft)?;
            draft
        }
    };
    scenario_args::fit(&mut draft, ProgressArgs { quiet: false, progress: false })?;
    let scenario = top::resolve(&draft.scenario()?).map_err(|error| Failure::of_run(error, &draft))?;
    let resolved = ResolvedScenario::of(scenario).map_err(|error| draft.explain(&error))?;
    let threads = args.threads.map(usize::from);
    let explorer = Explorer::bind(args.port, draft, &resolved, top::run, threads).map_err(|error| {
        Failure::run(format!("cannot listen on port {} of 127.0.0.1: {error}", args.port))
    })?;
    print(&format!("The page is at {}  (Ctrl-C ends it)\n", explorer.url()))?;
    explorer.serve(|| !interrupt::interrupted()).map_err(|error| Failure::run(format!("the page: {error}")))
}
