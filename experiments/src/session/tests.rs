//! Tests of sessions, and helpers for tests of other modules.

use super::*;
use crate::journal::PointResult;
use crate::runner::reproduce::stops_all_items;

/// Observer that does nothing.
pub struct NullObserver;

impl ReproductionObserver for NullObserver {}

/// Calls `run` with a session in a temporary folder.
pub fn with_session<T>(runs: u64, length: f64, run: impl FnOnce(&Session) -> T) -> T {
    with_settings(toml::toml! { runs = (runs as i64) length = length }, |session, _| run(session))
}

/// Calls `run` with a session that has these settings, and with its folder.
pub fn with_settings<T>(settings: toml::Table, run: impl FnOnce(&Session, &Path) -> T) -> T {
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::open(&folder.path().join("points.jsonl")).unwrap();
    let assumptions = Assumptions::register();
    let session = Session::new(settings, folder.path(), "", &assumptions, &journal, &NullObserver).unwrap();
    run(&session, folder.path())
}

#[test]
fn points_are_computed_once_and_stored() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("points.jsonl");
    let calls = std::sync::atomic::AtomicU32::new(0);
    let compute = |key: &u32| {
        calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Ok(f64::from(*key) / 3.0)
    };
    let assumptions = Assumptions::register();
    for keys in [&[1, 2][..], &[1, 2, 5]] {
        let journal = Journal::open(&path).unwrap();
        let session =
            Session::new(toml::Table::new(), folder.path(), "", &assumptions, &journal, &NullObserver)
                .unwrap();
        let expected: Vec<f64> = keys.iter().map(|key| f64::from(*key) / 3.0).collect();
        assert_eq!(session.compute_each("third", keys, compute).unwrap(), expected);
        assert_eq!(
            session.external_core_seconds() > 0.0,
            keys.len() > 2,
            "the first two of the second sitting"
        );
    }
    assert_eq!(calls.into_inner(), 3);
}

#[test]
fn interruption_keeps_finished_points() {
    struct StopAfter(std::sync::atomic::AtomicU32);
    impl ReproductionObserver for StopAfter {
        fn flow(&self) -> ControlFlow<()> {
            match self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
                0 => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            }
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("points.jsonl");
    let (assumptions, journal) = (Assumptions::register(), Journal::open(&path).unwrap());
    let watch = StopAfter(0.into());
    let session =
        Session::new(toml::Table::new(), folder.path(), "", &assumptions, &journal, &watch).unwrap();
    let error = session.compute_each("same", &[7, 8, 9], |key: &u32| Ok(*key)).unwrap_err();
    assert!(error.is::<Interrupted>());
    drop(journal);
    let stored = std::fs::read_to_string(path).unwrap();
    assert_eq!(stored.lines().count(), 1, "{stored}");
}

#[test]
fn valid_settings_are_read_and_invalid_ones_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::open(&folder.path().join("points.jsonl")).unwrap();
    let assumptions = Assumptions::register();
    let new = |settings| {
        Session::new(settings, Path::new("."), "", &assumptions, &journal, &NullObserver)
            .map_err(|error| error.to_string())
    };
    let session = new(toml::toml! { swept = 12 largest = 14 }).unwrap();
    assert_eq!(session.settings::<Scale>().unwrap(), Scale { swept: 12, largest: 14 });
    assert!(session.settings::<Sampling>().unwrap_err().to_string().contains("unknown field"));
    assert!(new(toml::toml! { runs = 0 }).is_err());
    assert!(new(toml::toml! { length = "long" }).err().unwrap().contains("`length = \"long\"`"));
}

#[test]
fn error_of_a_point_is_returned_unchanged() {
    #[derive(Debug)]
    struct FailingExecutor;
    impl PointExecutor for FailingExecutor {
        fn answer(
            &self,
            _: &ProgramInputs,
            points: &[String],
            heed: &mut dyn FnMut(Option<PointOutcome>) -> ControlFlow<()>,
        ) -> Result<(), ExecutorLost> {
            let answer = PointResult { value: serde_json::json!(14), core_seconds: 2.5 };
            assert!(heed(Some((1, Ok(answer)))).is_continue());
            assert!(heed(Some((0, Err(format!("{} has no answer", points[0]))))).is_break());
            Ok(())
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("points.jsonl");
    let journal = Journal::open(&path).unwrap();
    let assumptions = Assumptions::register();
    let session =
        Session::new(toml::Table::new(), folder.path(), "", &assumptions, &journal, &NullObserver).unwrap();
    let session = session.with_executor(Some(&FailingExecutor), "none");
    let compute_locally = |_: &u32| -> Result<u32, Failure> { panic!("nothing is answered here") };
    let error = session.compute_each("double", &[6, 7], compute_locally).unwrap_err();
    assert_eq!(error.to_string(), "double 6 has no answer");
    assert!(!stops_all_items(&error));
    assert_eq!(session.external_core_seconds(), 2.5);
    let journal = Journal::open(&path).unwrap();
    assert!(journal.find("double 6").is_none());
    assert_eq!(journal.find("double 7").unwrap().value, 14);
}
