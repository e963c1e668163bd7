use super::*;
use crate::executor::ExecutorError;
use serde_json::json;
use std::sync::atomic::AtomicUsize;

const TOML: &str = r#"
[device]
blocks_per_plane = 100
pages_per_block = 16
load = 0.8

[workload]
kind = "uniform"

[measure]
warm_up = 5.0
drive_writes = 5.0
"#;

struct Watcher {
    /// Number of runs after which the watcher interrupts.
    patience: usize,
    finished: AtomicUsize,
}

impl SweepObserver for Watcher {
    fn progress(&self, _: usize, _: &Progress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn begin(&self, _: usize) -> ControlFlow<()> {
        if self.finished.load(Ordering::SeqCst) < self.patience {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }

    fn finished(&self, _: usize, _: usize) {
        self.finished.fetch_add(1, Ordering::SeqCst);
    }
}

fn watcher(patience: usize) -> Watcher {
    Watcher { patience, finished: AtomicUsize::new(0) }
}

fn plan() -> Sweep {
    let base = Draft::from_toml(TOML, "base.toml").unwrap();
    let axes = [
        Axis::parse("device.spare_factor=0.1,0.2,0.3").unwrap(),
        Axis::parse("ftl.victim=greedy,fifo").unwrap(),
    ];
    Sweep::plan(&base, &axes, 2).unwrap()
}

fn results(options: &SweepOptions<'_>) -> Vec<PointResult> {
    let outcomes = plan().run(options, &watcher(usize::MAX)).unwrap();
    let mut results: Vec<_> = outcomes.into_iter().map(Result::unwrap).collect();
    results.iter_mut().for_each(|point| point.result.performance = Default::default());
    results
}

fn with_threads(threads: usize) -> SweepOptions<'static> {
    SweepOptions { threads: Some(threads), ..Default::default() }
}

#[test]
fn grid_is_complete_and_replicas_have_distinct_seeds() {
    let sweep = plan();
    let points = sweep.points();
    assert_eq!(points.len(), 12);
    assert_eq!(points[2].settings["ftl.victim"], json!("fifo"));
    assert_eq!(points[4].settings["device.spare_factor"], json!(0.2));
    assert_eq!(points[0].scenario.seed, 1);
    assert_ne!(points[1].scenario.seed, 1);
    assert!(points[1].scenario.seed < 1 << 53);
}

#[test]
fn number_of_threads_does_not_change_results() {
    assert_eq!(results(&with_threads(1)), results(&with_threads(2)));
}

/// Store in memory with limited capacity.
#[derive(Debug)]
struct Shelf {
    room: usize,
    runs: Mutex<Vec<RunResult>>,
}

fn shelf(room: usize) -> Shelf {
    Shelf { room, runs: Mutex::default() }
}

impl Store for Shelf {
    fn expect(&self, settings: &mut dyn Iterator<Item = &BTreeMap<String, Value>>) {
        for settings in settings {
            assert_eq!(settings.len(), 2);
        }
    }

    fn find(&self, wanted: &str) -> Option<RunResult> {
        let runs = self.runs.lock().unwrap();
        runs.iter().find(|result| identity(&result.scenario) == wanted).cloned()
    }

    fn keep(&self, point: &PointResult) -> Result<(), StoreError> {
        let mut runs = self.runs.lock().unwrap();
        if runs.len() == self.room {
            return Err(StoreError { place: "the shelf".into(), problem: "is full".into() });
        }
        runs.push(point.result.clone());
        Ok(())
    }

    fn flush(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

#[test]
fn interrupted_sweep_resumes() {
    let shelf = shelf(12);
    let options = SweepOptions { store: Some(&shelf), threads: Some(1), ..Default::default() };
    let stopped = plan().run(&options, &watcher(5)).unwrap_err();
    assert!(matches!(stopped, SweepError::Interrupted { finished: 5, points: 12 }), "{stopped}");
    assert_eq!(results(&options), results(&with_threads(2)));
    assert_eq!(shelf.runs.lock().unwrap().len(), 12);
    // All runs are in the store: none is started.
    plan().run(&options, &watcher(0)).unwrap();
}

#[test]
fn full_store_ends_the_sweep_and_keeps_finished_runs() {
    let shelf = shelf(3);
    let options = SweepOptions { store: Some(&shelf), threads: Some(2), ..Default::default() };
    let full = plan().run(&options, &watcher(99)).unwrap_err();
    assert_eq!(full.to_string(), "the shelf: is full; 3 of 12 runs were finished");
    assert_eq!(shelf.runs.lock().unwrap().len(), 3);
}

/// Executor that runs from last to first, and gives up after some runs.
#[derive(Debug)]
struct Backwards {
    strength: usize,
    /// True if it returns an error when it gives up.
    says_so: bool,
}

impl Executor for Backwards {
    fn execute(&self, jobs: &[Job<'_>], foreman: &dyn Foreman) -> Result<(), ExecutorError> {
        for job in jobs.iter().rev().take(self.strength) {
            let result = wearwell_stack::run(job.scenario, &mut |_: &Progress| ControlFlow::Continue(()));
            if foreman.done(job.number, result.map_err(|error| error.to_string())).is_break() {
                return Ok(());
            }
        }
        match self.says_so && self.strength < jobs.len() {
            true => Err(ExecutorError("its strength is gone".into())),
            false => Ok(()),
        }
    }
}

#[test]
fn executor_does_not_change_results() {
    let strong = Backwards { strength: 12, says_so: true };
    let options = SweepOptions { executor: Some(&strong), ..Default::default() };
    assert_eq!(results(&options), results(&with_threads(2)));
}

#[test]
fn failed_executor_leaves_finished_runs_in_the_store() {
    let shelf = shelf(12);
    for (says_so, left) in [(true, 12), (false, 7)] {
        let weak = Backwards { strength: 5, says_so };
        let options = SweepOptions { executor: Some(&weak), store: Some(&shelf), ..Default::default() };
        let lost = plan().run(&options, &watcher(99)).unwrap_err().to_string();
        let reason = if says_so { "its strength is gone" } else { "ended before they were all made" };
        let finished = 12 - left + 5;
        assert!(lost.contains(reason) && lost.contains(&format!("; {finished} of 12 runs")), "{lost}");
    }
    // Two runs remain.
    let options = SweepOptions { store: Some(&shelf), threads: Some(1), ..Default::default() };
    assert_eq!(results(&options), results(&with_threads(2)));
}

#[test]
fn impossible_grids_are_refused_before_anything_runs() {
    let base = Draft::from_toml(TOML, "base.toml").unwrap();
    let plan = |axes: &[&str], replicas| {
        let axes: Vec<_> = axes.iter().map(|axis| Axis::parse(axis).unwrap()).collect();
        Sweep::plan(&base, &axes, replicas).unwrap_err().to_string()
    };
    assert!(plan(&["device.load=0.5,1.5"], 1).starts_with("with device.load=1.5: device.load: "));
    assert!(plan(&["device.lode=0.5"], 1).contains("unknown field `lode`"));
    assert!(plan(&["seed=1", "seed=2"], 1).contains("varied twice"));
    assert!(plan(&["seed=1"], 0).contains("a sweep of 0 runs"));
}
