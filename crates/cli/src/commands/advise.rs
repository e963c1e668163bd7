//! `wearwell advise`.

use super::sweep::sweep_failure;
use crate::exit::Failure;
use crate::report::advice::{RepeatCommand, as_rows, as_table, as_value};
use crate::scenario_args::ScenarioArgs;
use crate::study_command::{CommonArgs, Study, StudyInput, StudyResult, run_study};
use wearwell_study::advise::{self, AdviseError, AdviseOptions, Family, Setting};

/// Finds changes that reduce the write amplification of a stack
///
/// Tries changes to merge trees, file-system layouts, map caches, segment sizes, spare space, streams, TRIM and victim
/// policies of the scenario: one at a time, then the best together. The flash and the capacity for the applications
/// stay the same. Ranks the changes by the write amplification that they save, with confidence intervals over common
/// seeds and their costs elsewhere. Prints the command that repeats each change, and the equivalent options of RocksDB,
/// F2FS, NILFS2 or fatcache.
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// Families of changes to try; all unless given: segments, capacity, streams, trim, coordination,
    /// victim, merge_tree, layout, map_cache
    #[arg(long, value_name = "FAMILY,...", value_delimiter = ',')]
    only: Vec<String>,
    /// Runs of each change with different seeds; with 1, intervals come from the batches of a single run
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    replicas: u32,
    /// Largest number of changes to combine; 1 tries no combinations
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    depth: u32,
    #[command(flatten)]
    common: CommonArgs<Self>,
}

const HELP: &str = "\
Examples:
  wearwell advise scenarios/log_on_ftl.toml
  wearwell advise my.toml --quick --only segments,trim
  wearwell advise scenarios/rocksdb_on_f2fs.toml --quick --only merge_tree,layout
  wearwell advise my.toml --replicas 8 --depth 3 --output advice.json
  wearwell advise my.toml --quick --report advice.html

With --output FILE, finished runs stand in the store FILE.runs until the advice is complete, and the same command goes on
from there after an interruption; those in --store DIR stay.";

impl Study for Args {
    const RESULT: &'static str = "advice";
    const ROW: &'static str = "change";
    const TITLE: &'static str = "Advice";

    type Options = ();

    fn common(&self) -> &CommonArgs<Self> {
        &self.common
    }

    fn options(&self) -> Result<(), Failure> {
        self.only
            .iter()
            .try_for_each(|name| Family::named(name).map(drop))
            .map_err(|problem| Failure::Usage(format!("--only: {problem}")))
    }

    fn study(&self, (): (), input: &StudyInput<'_>) -> Result<StudyResult, Failure> {
        let (replicas, depth) = (self.replicas, self.depth);
        let outcome = input.run(|sweep, display| {
            let options = AdviseOptions { only: self.only.clone(), replicas, depth, sweep };
            advise::advise(input.draft, &options, display)
        });
        let advice = outcome.map_err(failure)?;
        let repeat = RepeatCommand::new(repeat_words(&self.common.scenario, input.shortened));
        Ok(StudyResult {
            table: as_table(&advice, &repeat),
            value: as_value(&advice, &repeat),
            rows: as_rows(&advice, &repeat),
        })
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    run_study(args)
}

/// Returns the words of the command that runs the scenario with the shortened measurement.
fn repeat_words(scenario: &ScenarioArgs, shortened: &[Setting]) -> Vec<String> {
    let mut words = vec!["wearwell".to_owned(), "run".to_owned()];
    words.extend(scenario.arguments());
    words.extend(shortened.iter().flat_map(|setting| ["--set".to_owned(), setting.argument()]));
    words
}

fn failure(error: AdviseError) -> Failure {
    match error {
        AdviseError::Draft(error) => (*error).into(),
        AdviseError::Options(problem) => Failure::Usage(problem),
        AdviseError::Sweep(error) => sweep_failure(error),
        AdviseError::Base(_) => Failure::run(error),
    }
}
