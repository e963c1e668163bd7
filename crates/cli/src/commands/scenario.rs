//! `wearwell scenario`: schema, check, new.

use crate::exit::Failure;
use crate::output::print;
use crate::progress::ProgressArgs;
use crate::report::pretty;
use crate::scenario_args::{self, CANONICAL, ScenarioArgs};
use crate::top;

/// Starts, checks and describes scenarios
#[derive(clap::Subcommand)]
pub enum Command {
    /// Prints a commented scenario to start from
    #[command(after_help = "Example:\n  wearwell scenario new > my.toml")]
    New,
    /// Checks a scenario without running it, and prints it with every default filled in
    #[command(
        after_help = "Examples:\n  wearwell scenario check my.toml\n  wearwell scenario check my.toml --set device.load=0.9"
    )]
    Check(Box<ScenarioArgs>),
    /// Prints the JSON Schema of scenarios, for completion and checks in editors
    #[command(after_help = "\
Example:
  wearwell scenario schema > scenario.schema.json
and `#:schema ./scenario.schema.json` as the first line of the scenario.")]
    Schema,
}

/// Runs the command.
pub fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::New => print(&remove_schema_line(CANONICAL)),
        Command::Check(args) => check(args),
        Command::Schema => print(&schema()),
    }
}

/// Returns the schema of scenarios.
fn schema() -> String {
    let schema = top::schema();
    pretty(&schema)
}

/// Removes the path of the schema, which is valid only within the repository.
fn remove_schema_line(scenario: &str) -> String {
    let lines = scenario.lines().filter(|line| !line.starts_with("#:schema"));
    lines.map(|line| format!("{line}\n")).collect::<String>().trim_start().to_owned()
}

fn check(args: &ScenarioArgs) -> Result<(), Failure> {
    let mut draft = args.draft()?;
    scenario_args::fit(&mut draft, ProgressArgs { quiet: false, progress: false })?;
    let resolved = top::resolve(&draft.scenario()?).map_err(|error| Failure::of_run(error, &draft))?;
    let text = toml::to_string(&resolved)
        .map_err(|error| Failure::run(format!("cannot print the scenario: {error}")))?;
    print(&text)
}
