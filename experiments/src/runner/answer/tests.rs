use super::*;
use crate::journal::Journal;
use crate::manifest::{Manifest, all, find};
use crate::runner::reproduce::{Effort, Plan, Record, ends_all, folder_of, reproduce};
use crate::session::tests::Unwatched;
use crate::session::{Crew, Ended, Lost};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Executor in this process: exchanges only text, and returns the last point first.
#[derive(Debug, Default)]
struct Others {
    /// Number of points after which the executor is lost.
    lost_after: Option<usize>,
    asked: AtomicUsize,
    answered: AtomicUsize,
    earlier: Mutex<BTreeSet<usize>>,
}

impl Crew for Others {
    fn answer(
        &self,
        way: &Way,
        points: &[String],
        heed: &mut dyn FnMut(Option<Ended>) -> ControlFlow<()>,
    ) -> Result<(), Lost> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.earlier.lock().unwrap().insert(way.earlier.len());
        for (number, point) in points.iter().enumerate().rev() {
            if self.lost_after == Some(self.answered.fetch_add(1, Ordering::Relaxed)) {
                return Err(Lost("the scheduler is lost".to_owned()));
            }
            let asked = serde_json::to_string(&Asked { way: way.clone(), point: point.clone() }).unwrap();
            let answer = answer(&serde_json::from_str(&asked).unwrap(), &Unwatched).unwrap();
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
    crew: Option<&'a Others>,
) -> Plan<'a> {
    Plan {
        output,
        points: output,
        effort: Effort::Quick,
        settings: settings.parse().unwrap(),
        assumptions,
        again: false,
        traces: None,
        crew: crew.map(|crew| crew as &dyn Crew),
    }
}

/// Returns the outputs of an item, except its record.
fn left(manifests: &[Manifest], item: &str, plan: &Plan) -> Result<(Vec<(String, String)>, Record), Failure> {
    let found = find(manifests, item)?;
    let record = reproduce(manifests, found, plan, &Unwatched)?;
    let files = fs::read_dir(folder_of(plan.output, found))?.map(|entry| entry.unwrap().path());
    let text = |path: &Path| fs::read_to_string(path).unwrap();
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let mut files: Vec<_> = files.map(|path| (name(&path), text(&path))).collect();
    files.retain(|(name, _)| name != crate::runner::reproduce::RECORD);
    files.sort();
    Ok((files, record))
}

#[test]
fn executor_finds_the_same_results_with_dependent_points() {
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (manifests, assumptions) = (all().unwrap(), Assumptions::register());
    let mut most_earlier = 0;
    for (item, settings) in
        [("geckoftl/checkpoints", "log2_blocks = 9"), ("beyond/transient", "length = 0.02")]
    {
        let others = Others::default();
        let (files, record) =
            left(&manifests, item, &plan(here.path(), settings, &assumptions, None)).unwrap();
        let elsewhere = plan(there.path(), settings, &assumptions, Some(&others));
        let (theirs, record_of_theirs) = left(&manifests, item, &elsewhere).unwrap();
        assert!(files.len() > 1, "{item}");
        assert_eq!(files, theirs, "{item}");
        assert_eq!(record.claims, record_of_theirs.claims);
        assert!(others.answered.load(Ordering::Relaxed) > 1, "{item}");
        assert!(record_of_theirs.core_seconds > Some(0.0));
        most_earlier = most_earlier.max(others.earlier.lock().unwrap().last().copied().unwrap());
    }
    assert!(most_earlier > 0, "one of them asks more than once");
}

#[test]
fn points_before_a_lost_executor_are_kept_and_not_repeated() {
    let output = tempfile::tempdir().unwrap();
    let (manifests, assumptions) = (all().unwrap(), Assumptions::register());
    let (item, settings) = ("geckoftl/checkpoints", "log2_blocks = 9");
    let lost = Others { lost_after: Some(2), ..Others::default() };
    let ended =
        left(&manifests, item, &plan(output.path(), settings, &assumptions, Some(&lost))).unwrap_err();
    assert!(ends_all(&ended) && ended.is::<Lost>());
    let told = ended.to_string();
    assert!(
        told.starts_with("the scheduler is lost; 2 of ") && told.ends_with("finished and kept"),
        "{told}"
    );
    let all: usize = told.split_whitespace().nth(6).unwrap().parse().unwrap();
    let others = Others::default();
    left(&manifests, item, &plan(output.path(), settings, &assumptions, Some(&others))).unwrap();
    assert_eq!(others.answered.into_inner(), all - 2, "{told}");
    assert_eq!(others.asked.into_inner(), 1);
}

#[test]
fn local_program_does_not_use_the_executor() {
    struct Told(Mutex<Vec<String>>);
    impl Watch for Told {
        fn stays_here(&self, reason: &str) {
            self.0.lock().unwrap().push(reason.to_owned());
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::open(&folder.path().join("points.jsonl")).unwrap();
    let (assumptions, others, told) = (Assumptions::register(), Others::default(), Told(Mutex::default()));
    let session = Session::new(toml::Table::new(), folder.path(), "", &assumptions, &journal, &told).unwrap();
    let session = session.answered_by(Some(&others), "none");
    for _ in 0..2 {
        session.stays_here("it measures this machine");
    }
    assert_eq!(session.each("double", &[1, 2], |key: &u32| Ok(2 * key)).unwrap(), [2, 4]);
    assert_eq!(others.asked.into_inner(), 0);
    assert_eq!(told.0.into_inner().unwrap(), ["it measures this machine"]);
}

#[test]
fn unknown_points_are_refused() {
    let way = Way {
        program: "gecko_figure9".to_owned(),
        settings: "swept = 9\nlargest = 9".parse().unwrap(),
        assumptions: BTreeMap::new(),
        traces: None,
        earlier: Vec::new(),
    };
    let refused = |way: Way| {
        let asked = Asked { way, point: "nothing that it asks".to_owned() };
        answer(&asked, &Unwatched).unwrap_err().to_string()
    };
    assert!(refused(way.clone()).contains("it does not ask for nothing that it asks; are the traces"));
    assert!(
        refused(Way { program: "gecko".to_owned(), ..way.clone() }).contains("there is no program `gecko`")
    );
    let earlier = vec![vec![Value::Null; 2]];
    assert!(refused(Way { earlier, ..way.clone() }).contains("another number of points before"));
    assert!(refused(Way { settings: toml::Table::new(), ..way.clone() }).contains("settings: missing field"));
    let assumptions = BTreeMap::from([("paper/number".to_owned(), 1.0)]);
    assert!(refused(Way { assumptions, ..way.clone() }).contains("no assumption is called `paper/number`"));
    // This program only calculates and has no points.
    let calculates = Way { program: "gecko_table1".to_owned(), settings: toml::Table::new(), ..way };
    assert!(
        refused(calculates)
            .contains("gecko_table1 does not come to the point that is wanted: it asks for fewer")
    );
}
