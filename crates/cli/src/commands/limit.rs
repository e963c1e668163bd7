//! `wearwell limit`.

use crate::exit::Failure;
use crate::report::limit::as_table;
use crate::study_command::{CommonArgs, Study, StudyInput, StudyResult, run_study};
use serde_json::Value;
use wearwell_study::Axis;
use wearwell_study::limit::{LowerBoundOptions, compare_policies};

/// Compares a drive, and every placement and victim policy, with a lower bound on write amplification
///
/// Shows what the drive writes, a proven lower bound, and what placement and cleaning with knowledge of the future
/// achieve. Then runs each placement and victim policy with the same writes, and splits the excess into losses by
/// placement, by victim choice and by block size. docs/limit.md explains the terms.
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// Placements to compare with the limit, names or tables; all unless given, `none` for none
    #[arg(long, value_name = "NAME,...")]
    placements: Option<String>,
    /// Victim policies to compare with the limit, names or tables; all unless given, `none` for none
    #[arg(long, value_name = "NAME,...")]
    victims: Option<String>,
    /// Run each placement with each victim policy, not only with that of the scenario
    #[arg(long)]
    all_pairs: bool,
    /// Number of runs of each pair, with the same seeds for all pairs; from 2 on, the table shows means with their 95 % interval
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    replicas: u32,
    #[command(flatten)]
    common: CommonArgs<Self>,
}

const HELP: &str = "\
Examples:
  wearwell limit --capacity '72 MiB' --spare-factor 0.1 --quick
  wearwell limit my.toml --placements double,sepbit,death_windows --victims none
  wearwell limit my.toml --trace my-trace.csv.gz --trace-format msr --fit --format json
  wearwell limit my.toml --replicas 5 --report limit.html
  wearwell limit my.toml --all-pairs --output limit.csv --store runs/

With --output FILE, finished runs stand in the store FILE.runs until all are made, and the same command goes on from there after an
interruption; those in --store DIR stay.";

/// Placements and victim policies to compare.
pub struct Policies {
    placements: Vec<Value>,
    victims: Vec<Value>,
}

impl Study for Args {
    const RESULT: &'static str = "result";
    const ROW: &'static str = "placement and victim policy";
    const TITLE: &'static str = "A drive beside its limit";

    type Options = Policies;

    fn common(&self) -> &CommonArgs<Self> {
        &self.common
    }

    fn options(&self) -> Result<Policies, Failure> {
        let placements = match &self.placements {
            Some(text) => parts(text, "--placements")?,
            None => LowerBoundOptions::all_placements(),
        };
        let victims = match &self.victims {
            Some(text) => parts(text, "--victims")?,
            None => LowerBoundOptions::all_victims(),
        };
        Ok(Policies { placements, victims })
    }

    fn study(&self, policies: Policies, input: &StudyInput<'_>) -> Result<StudyResult, Failure> {
        let Policies { placements, victims } = policies;
        let (all_pairs, replicas) = (self.all_pairs, self.replicas);
        let outcome = input.run(|sweep, display| {
            let options = LowerBoundOptions { placements, victims, all_pairs, replicas, sweep };
            compare_policies(input.draft, &options, display)
        });
        let found = outcome.map_err(|error| Failure::of_limit(error, input.draft))?;
        Ok(StudyResult { table: as_table(&found), value: found.to_value(), rows: found.rows() })
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    run_study(args)
}

/// Parses the parts that an option names, each a bare word or a TOML table.
fn parts(text: &str, option: &str) -> Result<Vec<Value>, Failure> {
    if text == "none" {
        return Ok(Vec::new());
    }
    // Same syntax as the values of a sweep axis.
    let axis = Axis::parse(&format!("{option}={text}"));
    axis.map(|axis| axis.values).map_err(|problem| Failure::Usage(format!("{option}: {problem}")))
}
