use super::*;
use serde_json::json;
use std::io::Write;
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
    /// Runs after which it interrupts.
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
fn the_grid_is_complete_and_replicas_have_their_own_seeds() {
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
fn the_number_of_threads_changes_nothing() {
    assert_eq!(results(&with_threads(1)), results(&with_threads(2)));
}

#[test]
fn an_interrupted_sweep_goes_on_where_it_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("points.jsonl");
    let options = SweepOptions { journal: Some(&path), threads: Some(1), ..Default::default() };
    let stopped = plan().run(&options, &watcher(5)).unwrap_err();
    assert!(matches!(stopped, SweepError::Interrupted { finished: 5, points: 12 }), "{stopped}");
    // The machine went down in the midst of a line.
    std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"settings\":{\"dev").unwrap();
    assert_eq!(results(&options), results(&with_threads(2)));
    assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 12);
    // Everything is known now: no run is begun.
    plan().run(&options, &watcher(0)).unwrap();
}

#[test]
fn the_journal_spares_what_is_not_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("notes.txt");
    for text in ["my notes", "{\"a\": 1}\n", "{\"settings\":{}}\n"] {
        std::fs::write(&path, text).unwrap();
        let options = SweepOptions { journal: Some(&path), ..Default::default() };
        assert!(matches!(plan().run(&options, &watcher(9)), Err(SweepError::Journal { .. })));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
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
