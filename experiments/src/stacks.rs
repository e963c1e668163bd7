//! Stacks of any kind, given as scenarios, and figures of their runs for tables.

use crate::Failure;
use crate::interval::Interval;
use crate::replicas::{run_each, scenario};
use crate::session::Session;
use crate::table::{Table, number};
use wearwell_stack::{LayerResult, RunResult};

/// A stack to run: the keys of its row in the table, and its scenario without a seed.
#[derive(Clone, Debug)]
pub struct Stack {
    /// First fields of the row.
    pub keys: Vec<String>,
    /// Scenario in TOML.
    pub toml: String,
}

/// A stack with its runs.
#[derive(Clone, Debug)]
pub struct StackRuns {
    /// First fields of the row.
    pub keys: Vec<String>,
    /// Results, one per seed.
    pub results: Vec<RunResult>,
}

/// Returns the last part of a scenario. It has a sequential fill with one drive write of uniform overwrites. The
/// warm-up lasts `length * warm_up` times three drive writes, and the measurement lasts `length` times one and a half
/// drive writes.
pub fn steady(length: f64, warm_up: f64) -> String {
    let (warm_up, measured) = (3.0 * warm_up * length, 1.5 * length);
    format!(
        "[precondition]\nrandom_overwrites = 1.0\n\
         [measure]\nwarm_up = {warm_up:?}\ndrive_writes = {measured:?}\nwindow = 0.5\n"
    )
}

/// Runs all stacks with the seeds 1, 2, …
pub fn run_stacks(session: &Session, stacks: Vec<Stack>) -> Result<Vec<StackRuns>, Failure> {
    let scenarios = stacks.iter().map(|stack| scenario(&stack.toml)).collect::<Result<Vec<_>, _>>()?;
    let results = run_each(session, &scenarios, "result", |result| Ok(result.clone()))?;
    Ok(stacks
        .into_iter()
        .zip(results)
        .map(|(stack, results)| StackRuns { keys: stack.keys, results })
        .collect())
}

impl StackRuns {
    /// Returns the mean of `field` over the runs, with its interval.
    pub fn interval(&self, field: impl Fn(&RunResult) -> f64) -> Interval {
        Interval::from_values(&self.results.iter().map(field).collect::<Vec<_>>())
    }

    /// Returns the mean of `field` over the runs.
    pub fn mean(&self, field: impl Fn(&RunResult) -> f64) -> f64 {
        self.interval(field).mean
    }

    /// Returns the ratio of `field` to its value in other runs, seed by seed.
    pub fn ratio_to(&self, other: &StackRuns, field: impl Fn(&RunResult) -> f64) -> Interval {
        let pairs = self.results.iter().zip(&other.results);
        Interval::from_values(&pairs.map(|(ours, theirs)| field(ours) / field(theirs)).collect::<Vec<_>>())
    }

    /// Returns the difference of `field` from its value in other runs, seed by seed.
    pub fn difference_to(&self, other: &StackRuns, field: impl Fn(&RunResult) -> f64) -> Interval {
        let pairs = self.results.iter().zip(&other.results);
        Interval::from_values(&pairs.map(|(ours, theirs)| field(ours) - field(theirs)).collect::<Vec<_>>())
    }

    /// True if `field` is larger than in other runs by more than the interval of the difference.
    pub fn exceeds(&self, other: &StackRuns, field: impl Fn(&RunResult) -> f64) -> bool {
        let more = self.difference_to(other, field);
        more.mean > more.half_width
    }

    /// Returns the keys as one name.
    pub fn name(&self) -> String {
        self.keys.join(", ")
    }

    /// True if these are the first keys of the stack.
    pub fn has_keys(&self, keys: &[&str]) -> bool {
        self.keys.iter().zip(keys).all(|(ours, theirs)| ours == theirs)
    }
}

/// Returns the runs with these keys.
pub fn find<'a>(runs: &'a [StackRuns], keys: &[&str]) -> &'a StackRuns {
    runs.iter().find(|runs| runs.has_keys(keys)).unwrap_or_else(|| panic!("no runs of {keys:?}"))
}

/// A column of a table: the name of the column, and a function that extracts the value of the column from a run.
pub type Column = (&'static str, fn(&RunResult) -> f64);

/// Returns a table of runs: their keys, the main column with its interval, then the means of the other columns.
pub fn table(keys: &[&'static str], main_column: Column, columns: &[Column], runs: &[StackRuns]) -> Table {
    let names = columns.iter().map(|(name, _)| *name);
    let head: Vec<&'static str> = keys.iter().copied().chain([main_column.0, "ci"]).chain(names).collect();
    let mut table = Table::new(&head);
    for runs in runs {
        let first = runs.interval(main_column.1);
        let values = columns.iter().map(|(_, field)| runs.mean(field));
        let values = [first.mean, first.half_width].into_iter().chain(values).map(|value| number(value, 4));
        table.push(runs.keys.iter().cloned().chain(values).collect());
    }
    table
}

/// Returns the ratio of pages to host pages.
pub fn per_host(result: &RunResult, pages: u64) -> f64 {
    pages as f64 / result.phases.measured_host_pages as f64
}

/// Returns the total combined write amplification, even if nothing was cleaned.
pub fn total_amplification(result: &RunResult) -> f64 {
    per_host(result, result.nand.programs)
}

/// Returns the number of erases per thousand host pages.
pub fn erases_per_thousand(result: &RunResult) -> f64 {
    1000.0 * per_host(result, result.nand.erases)
}

/// Returns the topmost layer.
pub fn top(result: &RunResult) -> &LayerResult {
    &result.layers[0]
}

/// Returns the FTL.
pub fn ftl(result: &RunResult) -> &LayerResult {
    result.layers.last().expect("a stack has an FTL")
}

/// Returns the number of pages that a layer wrote to the layer below for one cause.
pub fn written_for(layer: &LayerResult, cause: &str) -> u64 {
    layer.outgoing.get(cause).and_then(|amounts| amounts.get("write")).copied().unwrap_or(0)
}

/// Returns the number of pages that a layer wrote to the layer below.
pub fn written(layer: &LayerResult) -> u64 {
    layer.outgoing.values().filter_map(|amounts| amounts.get("write")).sum()
}

/// Returns the FSWA: the number of pages that the layers above the FTL wrote to the FTL, per host page; 1 without such
/// layers.
pub fn upper_amplification(result: &RunResult) -> f64 {
    per_host(result, ftl(result).incoming["write"])
}

/// Returns the write amplification of only the FTL.
pub fn ftl_amplification(result: &RunResult) -> f64 {
    result.nand.programs as f64 / ftl(result).incoming["write"] as f64
}

/// Returns the number of pages that the FTL copied, per host page.
pub fn copied_below(result: &RunResult) -> f64 {
    per_host(result, written_for(ftl(result), "cleaning"))
}

/// Returns the number of pages that the layers above the FTL copied, per host page.
pub fn copied_above(result: &RunResult) -> f64 {
    let logs = &result.layers[..result.layers.len() - 1];
    per_host(result, logs.iter().map(|log| written_for(log, "cleaning")).sum())
}

/// Returns the number of metadata pages that all layers wrote, per host page.
pub fn metadata(result: &RunResult) -> f64 {
    per_host(result, result.layers.iter().map(|layer| written_for(layer, "log_metadata")).sum())
}

/// Returns the number of pages that the host can use.
pub fn user_pages(result: &RunResult) -> f64 {
    let course = &result.phases;
    course.measured_host_pages as f64 / course.measured_drive_writes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::tests::with_session;

    #[test]
    fn amplifications_of_the_layers_multiply_to_the_total() {
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
        assert!((total_amplification(run) - upper_amplification(run) * ftl_amplification(run)).abs() < 1e-9);
        let parts = 1.0 + copied_above(run) + metadata(run);
        assert!(
            (upper_amplification(run) - parts).abs() < 1e-9,
            "{} is not {parts}",
            upper_amplification(run)
        );
        assert!((total_amplification(run) - upper_amplification(run) - copied_below(run)).abs() < 1e-9);
        assert_eq!(runs[0].ratio_to(&runs[0], total_amplification), Interval { mean: 1.0, half_width: 0.0 });
        assert_eq!(runs[0].difference_to(&runs[0], total_amplification).mean, 0.0);
        assert!(!runs[0].exceeds(&runs[0], total_amplification));
        let text = table(&["a", "b"], ("tcwa", total_amplification), &[("fswa", upper_amplification)], &runs)
            .to_csv("");
        assert!(text.contains("\na,b,tcwa,ci,fswa\nlog,two,"), "{text}");
    }
}
