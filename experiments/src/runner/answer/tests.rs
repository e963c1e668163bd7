use super::*;
use crate::journal::Journal;
use crate::manifest::{Manifest, find, read_all};
use crate::runner::reproduce::{Effort, Plan, Record, folder_of, reproduce, stops_all_items};
use crate::session::tests::NullObserver;
use crate::session::{ExecutorLost, PointExecutor, PointOutcome};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Executor in this process, which exchanges only text and returns the last point first.
#[derive(Debug, Default)]
struct LoopbackExecutor {
    /// Number of points after which the executor is lost.
    lost_after: Option<usize>,
    requested: AtomicUsize,
    computed: AtomicUsize,
    earlier: Mutex<BTreeSet<usize>>,
}

impl PointExecutor for LoopbackExecutor {
    fn answer(
        &self,
        way: &ProgramInputs,
        points: &[String],
        heed: &mut dyn FnMut(Option<PointOutcome>) -> ControlFlow<()>,
    ) -> Result<(), ExecutorLost> {
        self.requested.fetch_add(1, Ordering::Relaxed);
        self.earlier.lock().unwrap().insert(way.earlier_results.len());
        for (number, point) in points.iter().enumerate().rev() {
            if self.lost_after == Some(self.computed.fetch_add(1, Ordering::Relaxed)) {
                return Err(ExecutorLost("the scheduler is lost".to_owned()));
            }
            let request =
                serde_json::to_string(&PointRequest { inputs: way.clone(), point: point.clone() }).unwrap();
            let answer = compute_point(&serde_json::from_str(&request).unwrap(), &NullObserver).unwrap();
            let answer = answer.map(|answer| {
                serde_json::from_str(&serde_json::to_string(&answer).unwrap())
                    .expect("an answer is plain data")
            });
            if heed(None).is_break() || heed(Some((number, answer))).is_break() {
                return Ok(());
            }
        }
        Ok(())
    }
}

fn plan<'a>(
    output: &'a Path,
    settings: &str,
    assumptions: &'a Assumptions,
    crew: Option<&'a LoopbackExecutor>,
) -> Plan<'a> {
    Plan {
        output,
        points_folder: output,
        effort: Effort::Quick,
        settings: settings.parse().unwrap(),
        assumptions,
        rerun: false,
        traces: None,
        executor: crew.map(|crew| crew as &dyn PointExecutor),
    }
}

/// Returns the outputs of an item, except its record.
fn outputs_of(
    manifests: &[Manifest],
    item: &str,
    plan: &Plan,
) -> Result<(Vec<(String, String)>, Record), Failure> {
    let found = find(manifests, item)?;
    let record = reproduce(manifests, found, plan, &NullObserver)?;
    let files = fs::read_dir(folder_of(plan.output, found))?.map(|entry| entry.unwrap().path());
    let text = |path: &Path| fs::read_to_string(path).unwrap();
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let mut files: Vec<_> = files.map(|path| (name(&path), text(&path))).collect();
    files.retain(|(name, _)| name != crate::runner::reproduce::RECORD);
    files.sort();
    Ok((files, record))
}

#[test]
fn executor_gives_same_results_for_dependent_points() {
    let (local_output, remote_output) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (manifests, assumptions) = (read_all().unwrap(), Assumptions::register());
    let mut max_earlier = 0;
    for (item, settings) in
        [("geckoftl/checkpoints", "log2_blocks = 9"), ("beyond/transient", "length = 0.02")]
    {
        let others = LoopbackExecutor::default();
        let (files, record) =
            outputs_of(&manifests, item, &plan(local_output.path(), settings, &assumptions, None)).unwrap();
        let remote_plan = plan(remote_output.path(), settings, &assumptions, Some(&others));
        let (remote_files, remote_record) = outputs_of(&manifests, item, &remote_plan).unwrap();
        assert!(files.len() > 1, "{item}");
        assert_eq!(files, remote_files, "{item}");
        assert_eq!(record.claims, remote_record.claims);
        assert!(others.computed.load(Ordering::Relaxed) > 1, "{item}");
        assert!(remote_record.core_seconds > Some(0.0));
        max_earlier = max_earlier.max(others.earlier.lock().unwrap().last().copied().unwrap());
    }
    assert!(max_earlier > 0, "one of them asks more than once");
}

#[test]
fn points_before_executor_loss_are_kept_and_not_recomputed() {
    let output = tempfile::tempdir().unwrap();
    let (manifests, assumptions) = (read_all().unwrap(), Assumptions::register());
    let (item, settings) = ("geckoftl/checkpoints", "log2_blocks = 9");
    let lost = LoopbackExecutor { lost_after: Some(2), ..LoopbackExecutor::default() };
    let ended =
        outputs_of(&manifests, item, &plan(output.path(), settings, &assumptions, Some(&lost))).unwrap_err();
    assert!(stops_all_items(&ended) && ended.is::<ExecutorLost>());
    let message = ended.to_string();
    assert!(
        message.starts_with("the scheduler is lost; 2 of ") && message.ends_with("finished and kept"),
        "{message}"
    );
    let total: usize = message.split_whitespace().nth(6).unwrap().parse().unwrap();
    let others = LoopbackExecutor::default();
    outputs_of(&manifests, item, &plan(output.path(), settings, &assumptions, Some(&others))).unwrap();
    assert_eq!(others.computed.into_inner(), total - 2, "{message}");
    assert_eq!(others.requested.into_inner(), 1);
}

#[test]
fn local_program_does_not_use_the_executor() {
    struct ReasonLog(Mutex<Vec<String>>);
    impl ReproductionObserver for ReasonLog {
        fn computed_locally(&self, reason: &str) {
            self.0.lock().unwrap().push(reason.to_owned());
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::open(&folder.path().join("points.jsonl")).unwrap();
    let (assumptions, executor, reasons) =
        (Assumptions::register(), LoopbackExecutor::default(), ReasonLog(Mutex::default()));
    let session =
        Session::new(toml::Table::new(), folder.path(), "", &assumptions, &journal, &reasons).unwrap();
    let session = session.with_executor(Some(&executor), "none");
    for _ in 0..2 {
        session.require_local("it measures this machine");
    }
    assert_eq!(session.compute_each("double", &[1, 2], |key: &u32| Ok(2 * key)).unwrap(), [2, 4]);
    assert_eq!(executor.requested.into_inner(), 0);
    assert_eq!(reasons.0.into_inner().unwrap(), ["it measures this machine"]);
}

#[test]
fn unknown_points_are_refused() {
    let way = ProgramInputs {
        program: "gecko_figure9".to_owned(),
        settings: "swept = 9\nlargest = 9".parse().unwrap(),
        assumptions: BTreeMap::new(),
        traces: None,
        earlier_results: Vec::new(),
    };
    let error_of = |way: ProgramInputs| {
        let request = PointRequest { inputs: way, point: "nothing that it asks".to_owned() };
        compute_point(&request, &NullObserver).unwrap_err().to_string()
    };
    assert!(error_of(way.clone()).contains("it does not ask for nothing that it asks; are the traces"));
    assert!(
        error_of(ProgramInputs { program: "gecko".to_owned(), ..way.clone() })
            .contains("there is no program `gecko`")
    );
    let earlier = vec![vec![Value::Null; 2]];
    assert!(
        error_of(ProgramInputs { earlier_results: earlier, ..way.clone() })
            .contains("another number of points before")
    );
    assert!(
        error_of(ProgramInputs { settings: toml::Table::new(), ..way.clone() })
            .contains("settings: missing field")
    );
    let assumptions = BTreeMap::from([("paper/number".to_owned(), 1.0)]);
    assert!(
        error_of(ProgramInputs { assumptions, ..way.clone() })
            .contains("no assumption is called `paper/number`")
    );
    // This program only calculates, so it has no points.
    let calculates =
        ProgramInputs { program: "gecko_table1".to_owned(), settings: toml::Table::new(), ..way };
    assert!(
        error_of(calculates)
            .contains("gecko_table1 does not come to the point that is wanted: it asks for fewer")
    );
}
