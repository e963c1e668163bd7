//! Stacks of any kind, each given as a scenario, and what tables take from their runs.

use crate::Failure;
use crate::interval::Interval;
use crate::log_on_log::number;
use crate::replicas::{run_each, scenario};
use crate::session::Session;
use crate::table::Table;
use wearwell_stack::{LayerResult, RunResult};

/// A stack to run: what names it in the table, and its scenario without seed.
#[derive(Clone, Debug)]
pub struct Stack {
    /// The first fields of its row.
    pub keys: Vec<String>,
    /// The scenario in TOML.
    pub toml: String,
}

/// A stack and its runs.
#[derive(Clone, Debug)]
pub struct Runs {
    /// The first fields of its row.
    pub keys: Vec<String>,
    /// One result a seed.
    pub results: Vec<RunResult>,
}

/// The end of a scenario: a sequential fill and one drive write of uniform overwrites, `length` times three drive
/// writes, or another multiple of these, to warm up, and one and a half measured.
pub fn steady(length: f64, warm_up: f64) -> String {
    let (warm_up, measured) = (3.0 * warm_up * length, 1.5 * length);
    format!(
        "[precondition]\nrandom_overwrites = 1.0\n\
         [measure]\nwarm_up = {warm_up:?}\ndrive_writes = {measured:?}\nwindow = 0.5\n"
    )
}

/// Runs all stacks with the seeds 1, 2, …
pub fn run_stacks(session: &Session, stacks: Vec<Stack>) -> Result<Vec<Runs>, Failure> {
    let scenarios = stacks.iter().map(|stack| scenario(&stack.toml)).collect::<Result<Vec<_>, _>>()?;
    let results = run_each(session, &scenarios, "result", |result| Ok(result.clone()))?;
    Ok(stacks.into_iter().zip(results).map(|(stack, results)| Runs { keys: stack.keys, results }).collect())
}

impl Runs {
    /// What `field` takes from the runs.
    pub fn of(&self, field: impl Fn(&RunResult) -> f64) -> Interval {
        Interval::of(&self.results.iter().map(field).collect::<Vec<_>>())
    }

    /// Its mean.
    pub fn mean(&self, field: impl Fn(&RunResult) -> f64) -> f64 {
        self.of(field).mean
    }

    /// What `field` takes, over the same of other runs, seed by seed.
    pub fn over(&self, other: &Runs, field: impl Fn(&RunResult) -> f64) -> Interval {
        let pairs = self.results.iter().zip(&other.results);
        Interval::of(&pairs.map(|(ours, theirs)| field(ours) / field(theirs)).collect::<Vec<_>>())
    }

    /// The same less that of other runs, seed by seed.
    pub fn minus(&self, other: &Runs, field: impl Fn(&RunResult) -> f64) -> Interval {
        let pairs = self.results.iter().zip(&other.results);
        Interval::of(&pairs.map(|(ours, theirs)| field(ours) - field(theirs)).collect::<Vec<_>>())
    }

    /// Whether it is larger than that of other runs by more than the interval of the difference.
    pub fn exceeds(&self, other: &Runs, field: impl Fn(&RunResult) -> f64) -> bool {
        let more = self.minus(other, field);
        more.mean > more.half_width
    }

    /// The keys as one name.
    pub fn name(&self) -> String {
        self.keys.join(", ")
    }

    /// Whether it has these keys, the first ones.
    pub fn is(&self, keys: &[&str]) -> bool {
        self.keys.iter().zip(keys).all(|(ours, theirs)| ours == theirs)
    }
}

/// The runs with these keys.
pub fn find<'a>(runs: &'a [Runs], keys: &[&str]) -> &'a Runs {
    runs.iter().find(|runs| runs.is(keys)).unwrap_or_else(|| panic!("no runs of {keys:?}"))
}

/// A column: its name and what it takes from a run.
pub type Column = (&'static str, fn(&RunResult) -> f64);

/// A table of runs: their keys, `of` with its interval, then the means of the other columns.
pub fn table(keys: &[&'static str], of: Column, columns: &[Column], runs: &[Runs]) -> Table {
    let names = columns.iter().map(|(name, _)| *name);
    let head: Vec<&'static str> = keys.iter().copied().chain([of.0, "ci"]).chain(names).collect();
    let mut table = Table::new(&head);
    for runs in runs {
        let first = runs.of(of.1);
        let values = columns.iter().map(|(_, field)| runs.mean(field));
        let values = [first.mean, first.half_width].into_iter().chain(values).map(|value| number(value, 4));
        table.push(runs.keys.iter().cloned().chain(values).collect());
    }
    table
}

/// Pages over those that the host wrote.
pub fn per_host(result: &RunResult, pages: u64) -> f64 {
    pages as f64 / result.course.measured_host_pages as f64
}

/// Total combined write amplification, whether anything was cleaned or not.
pub fn total(result: &RunResult) -> f64 {
    per_host(result, result.nand.programs)
}

/// Erases per thousand pages that the host wrote.
pub fn erases(result: &RunResult) -> f64 {
    1000.0 * per_host(result, result.nand.erases)
}

/// The topmost layer.
pub fn top(result: &RunResult) -> &LayerResult {
    &result.layers[0]
}

/// The FTL.
pub fn ftl(result: &RunResult) -> &LayerResult {
    result.layers.last().expect("a stack has an FTL")
}

/// Pages that a layer wrote below for one cause.
pub fn sent(layer: &LayerResult, cause: &str) -> u64 {
    layer.outgoing.get(cause).and_then(|amounts| amounts.get("write")).copied().unwrap_or(0)
}

/// Pages that a layer wrote below.
pub fn written(layer: &LayerResult) -> u64 {
    layer.outgoing.values().filter_map(|amounts| amounts.get("write")).sum()
}

/// FSWA: pages that all layers above the FTL wrote to it, over those of the host; 1 on a bare FTL.
pub fn above(result: &RunResult) -> f64 {
    per_host(result, ftl(result).incoming["write"])
}

/// Write amplification of the FTL alone.
pub fn device(result: &RunResult) -> f64 {
    result.nand.programs as f64 / ftl(result).incoming["write"] as f64
}

/// Pages that the FTL copied, per page of the host.
pub fn copied_below(result: &RunResult) -> f64 {
    per_host(result, sent(ftl(result), "cleaning"))
}

/// Pages that the layers above the FTL copied, per page of the host.
pub fn copied_above(result: &RunResult) -> f64 {
    let logs = &result.layers[..result.layers.len() - 1];
    per_host(result, logs.iter().map(|log| sent(log, "cleaning")).sum())
}

/// Pages of metadata that all layers wrote, per page of the host.
pub fn metadata(result: &RunResult) -> f64 {
    per_host(result, result.layers.iter().map(|layer| sent(layer, "log_metadata")).sum())
}

/// Pages that the host sees.
pub fn user_pages(result: &RunResult) -> f64 {
    let course = &result.course;
    course.measured_host_pages as f64 / course.measured_drive_writes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::tests::with_session;

    #[test]
    fn amplifications_of_the_parts_make_that_of_the_whole() {
        let toml = r#"
            [device]
            capacity = "16 MiB"
            spare_factor = 0.2
            pages_per_block = 16
            [[log]]
            segment_size = "64 KiB"
            metadata = "f2fs"
            [workload]
            kind = "uniform"
            [measure]
            warm_up = 1.0
            drive_writes = 1.0
        "#;
        let stack = Stack { keys: vec!["log".to_owned(), "two".to_owned()], toml: toml.to_owned() };
        let runs = with_session(2, 1.0, |session| run_stacks(session, vec![stack]).unwrap());
        let run = &find(&runs, &["log"]).results[0];
        assert!((total(run) - above(run) * device(run)).abs() < 1e-9);
        let parts = 1.0 + copied_above(run) + metadata(run);
        assert!((above(run) - parts).abs() < 1e-9, "{} is not {parts}", above(run));
        assert!((total(run) - above(run) - copied_below(run)).abs() < 1e-9);
        assert_eq!(runs[0].over(&runs[0], total), Interval { mean: 1.0, half_width: 0.0 });
        assert_eq!(runs[0].minus(&runs[0], total).mean, 0.0);
        assert!(!runs[0].exceeds(&runs[0], total));
        let text = table(&["a", "b"], ("tcwa", total), &[("fswa", above)], &runs).to_csv("");
        assert!(text.contains("\na,b,tcwa,ci,fswa\nlog,two,"), "{text}");
    }
}
