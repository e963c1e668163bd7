//! `wearwell theory`: write amplification by calculation alone.

mod answer;
mod closed_forms;
mod distributions;
mod mean_field;
mod options;
mod scenario;
mod search;
mod transient;
mod writes;

use crate::exit::Failure;

/// Calculates write amplification without simulation
#[derive(clap::Args)]
#[command(after_help = HELP, args_conflicts_with_subcommands = true, arg_required_else_help = true)]
pub struct Args {
    #[command(subcommand)]
    model: Option<Model>,
    #[command(flatten)]
    scenario: scenario::Args,
}

/// The models.
#[derive(clap::Subcommand)]
enum Model {
    /// Mean field of one write frontier: host writes and moved pages share a block
    Single(mean_field::Args),
    /// Mean field of two write frontiers: host writes and moved pages go to separate blocks
    Double(mean_field::Args),
    Fifo(closed_forms::FifoArgs),
    Greedy(closed_forms::GreedyArgs),
    Windowed(closed_forms::WindowedArgs),
    Random(closed_forms::RandomArgs),
    Separated(closed_forms::SeparatedArgs),
    Foresight(closed_forms::ForesightArgs),
    OptimalChoices(search::ChoicesArgs),
    SolveSpare(search::SpareArgs),
    Transient(transient::Args),
}

const HELP: &str = "\
Examples:
  wearwell theory --scenario my.toml                    what it says of a scenario, or of that of a result
  wearwell theory --scenario my.toml --set device.spare_factor=0.2 --format json
  wearwell theory single --pages-per-block 32 --spare-factor 0.07 --choices 9 --hot-writes 0.81 --hot-space 0.06
  wearwell theory double --class 0.6:0.1 --class 0.3:0.3 --class 0.1:0.6
  wearwell theory double --zipf 0.99 --pages-per-block 64
  wearwell theory greedy --pages-per-block 256 --over-provisioning 0.07
  wearwell theory foresight --spare-factor 0.01 --drive-pages 16384
  wearwell theory optimal-choices --hot-writes 0.8 --hot-space 0.2
  wearwell theory solve-spare --target-wa 2.5
  wearwell theory transient --from fresh --simulate
  wearwell theory double --report double.html           curves, for a browser
  wearwell theory double --format json | jq .write_amplification

All models are limits for very many blocks. docs/theory.md derives them; `wearwell check theory` holds them against
the simulator.";

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    use wearwell_theory::mean_field::Structure;
    let Some(model) = &args.model else { return scenario::run(&args.scenario) };
    match model {
        Model::Single(args) => mean_field::run(Structure::Single, args),
        Model::Double(args) => mean_field::run(Structure::Double, args),
        Model::Fifo(args) => closed_forms::fifo(args),
        Model::Greedy(args) => closed_forms::greedy(args),
        Model::Windowed(args) => closed_forms::windowed(args),
        Model::Random(args) => closed_forms::random(args),
        Model::Separated(args) => closed_forms::separated(args),
        Model::Foresight(args) => closed_forms::foresight(args),
        Model::OptimalChoices(args) => search::optimal_choices(args),
        Model::SolveSpare(args) => search::solve_spare(args),
        Model::Transient(args) => transient::run(args),
    }
}
