//! `wearwell theory`: what write amplification must be, by calculation alone.

mod answer;
mod closed_forms;
mod mean_field;
mod options;
mod search;
mod spread;
mod transient;
mod writes;

use crate::exit::Failure;

/// Calculates what write amplification must be, without simulating
#[derive(clap::Subcommand)]
#[command(after_help = HELP)]
pub enum Command {
    /// Mean field of one write frontier: host writes and moved pages share a block
    Single(mean_field::Args),
    /// Mean field of two write frontiers: host writes and moved pages go to blocks of their own
    Double(mean_field::Args),
    Fifo(closed_forms::FifoArgs),
    Greedy(closed_forms::GreedyArgs),
    Windowed(closed_forms::WindowedArgs),
    Random(closed_forms::RandomArgs),
    Separated(closed_forms::SeparatedArgs),
    OptimalChoices(search::ChoicesArgs),
    SolveSpare(search::SpareArgs),
    Transient(transient::Args),
}

const HELP: &str = "\
Examples:
  wearwell theory single --pages-per-block 32 --spare-factor 0.07 --choices 9 --hot-writes 0.81 --hot-space 0.06
  wearwell theory double --class 0.6:0.1 --class 0.3:0.3 --class 0.1:0.6
  wearwell theory double --zipf 0.99 --pages-per-block 64
  wearwell theory greedy --pages-per-block 256 --over-provisioning 0.07
  wearwell theory optimal-choices --hot-writes 0.8 --hot-space 0.2
  wearwell theory solve-spare --target-wa 2.5
  wearwell theory transient --from fresh --simulate
  wearwell theory double --format json | jq .write_amplification

All models are limits for very many blocks. docs/theory.md derives them; `wearwell check theory` holds them against
the simulator.";

/// Runs the command.
pub fn run(command: &Command) -> Result<(), Failure> {
    use wearwell_theory::mean_field::Structure;
    match command {
        Command::Single(args) => mean_field::run(Structure::Single, args),
        Command::Double(args) => mean_field::run(Structure::Double, args),
        Command::Fifo(args) => closed_forms::fifo(args),
        Command::Greedy(args) => closed_forms::greedy(args),
        Command::Windowed(args) => closed_forms::windowed(args),
        Command::Random(args) => closed_forms::random(args),
        Command::Separated(args) => closed_forms::separated(args),
        Command::OptimalChoices(args) => search::optimal_choices(args),
        Command::SolveSpare(args) => search::solve_spare(args),
        Command::Transient(args) => transient::run(args),
    }
}
