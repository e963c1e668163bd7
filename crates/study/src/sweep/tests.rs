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

struct InterruptingObserver {
    /// Number of runs after which the observer interrupts the sweep.
    max_runs: usize,
    finished: AtomicUsize,
}

impl SweepObserver for InterruptingObserver {
    fn progress(&self, _: usize, _: &Progress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn begin(&self, _: usize) -> ControlFlow<()> {
        if self.finished.load(Ordering::SeqCst) < self.max_runs {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }

    fn finished(&self, _: usize, _: usize) {
        self.finished.fetch_add(1, Ordering::SeqCst);
    }
}

fn interrupt_after(max_runs: usize) -> InterruptingObserver {
    InterruptingObserver { max_runs, finished: AtomicUsize::new(0) }
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
    let outcomes = plan().run(options, &interrupt_after(usize::MAX)).unwrap();
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
fn thread_count_does_not_change_results() {
    assert_eq!(results(&with_threads(1)), results(&with_threads(2)));
}

/// Store in memory with limited capacity.
#[derive(Debug)]
struct MemoryStore {
    capacity: usize,
    runs: Mutex<Vec<RunResult>>,
}

fn memory_store(capacity: usize) -> MemoryStore {
    MemoryStore { capacity, runs: Mutex::default() }
}

impl Store for MemoryStore {
    fn declare_settings(&self, settings: &mut dyn Iterator<Item = &BTreeMap<String, Value>>) {
        for settings in settings {
            assert_eq!(settings.len(), 2);
        }
    }

    fn find(&self, wanted_identity: &str) -> Option<RunResult> {
        let runs = self.runs.lock().unwrap();
        runs.iter().find(|result| identity(&result.scenario) == wanted_identity).cloned()
    }

    fn put(&self, point: &PointResult) -> Result<(), StoreError> {
        let mut runs = self.runs.lock().unwrap();
        if runs.len() == self.capacity {
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
    let store = memory_store(12);
    let options = SweepOptions { store: Some(&store), threads: Some(1), ..Default::default() };
    let stopped = plan().run(&options, &interrupt_after(5)).unwrap_err();
    assert!(matches!(stopped, SweepError::Interrupted { finished: 5, points: 12 }), "{stopped}");
    assert_eq!(results(&options), results(&with_threads(2)));
    assert_eq!(store.runs.lock().unwrap().len(), 12);
    // All runs are in the store: none is started.
    plan().run(&options, &interrupt_after(0)).unwrap();
}

#[test]
fn full_store_ends_sweep_and_keeps_finished_runs() {
    let store = memory_store(3);
    let options = SweepOptions { store: Some(&store), threads: Some(2), ..Default::default() };
    let full = plan().run(&options, &interrupt_after(99)).unwrap_err();
    assert_eq!(full.to_string(), "the shelf: is full; 3 of 12 runs were finished");
    assert_eq!(store.runs.lock().unwrap().len(), 3);
}

/// Executor that runs from last to first, and gives up after some runs.
#[derive(Debug)]
struct ReverseExecutor {
    max_runs: usize,
    /// True if the executor returns an error when it gives up.
    returns_error: bool,
}

impl Executor for ReverseExecutor {
    fn execute(&self, jobs: &[Job<'_>], listener: &dyn RunListener) -> Result<(), ExecutorError> {
        for job in jobs.iter().rev().take(self.max_runs) {
            let result = wearwell_stack::run(job.scenario, &mut |_: &Progress| ControlFlow::Continue(()));
            if listener.done(job.number, result.map_err(|error| error.to_string())).is_break() {
                return Ok(());
            }
        }
        match self.returns_error && self.max_runs < jobs.len() {
            true => Err(ExecutorError("its strength is gone".into())),
            false => Ok(()),
        }
    }
}

#[test]
fn executor_does_not_change_results() {
    let executor = ReverseExecutor { max_runs: 12, returns_error: true };
    let options = SweepOptions { executor: Some(&executor), ..Default::default() };
    assert_eq!(results(&options), results(&with_threads(2)));
}

#[test]
fn failed_executor_leaves_finished_runs_in_the_store() {
    let store = memory_store(12);
    for (returns_error, remaining) in [(true, 12), (false, 7)] {
        let executor = ReverseExecutor { max_runs: 5, returns_error };
        let options = SweepOptions { executor: Some(&executor), store: Some(&store), ..Default::default() };
        let problem = plan().run(&options, &interrupt_after(99)).unwrap_err().to_string();
        let reason = if returns_error { "its strength is gone" } else { "ended before they were all made" };
        let finished = 12 - remaining + 5;
        assert!(
            problem.contains(reason) && problem.contains(&format!("; {finished} of 12 runs")),
            "{problem}"
        );
    }
    // Two runs remain to be executed.
    let options = SweepOptions { store: Some(&store), threads: Some(1), ..Default::default() };
    assert_eq!(results(&options), results(&with_threads(2)));
}

#[test]
fn impossible_grid_is_refused_before_any_run() {
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
