//! Section IV-C of the CAGC paper: its scheme under other victim policies, of which the paper has random, greedy and
//! cost-benefit; and its own settings: threshold, promotion, and rehashing of moved pages.

use crate::Failure;
use crate::cagc::{
    Assumed, CAGC, Drive, INLINE, NONE, Pair, Scheme, TRACES, all_us, by_trace, dedup, hashed, saved,
    sharing, unevenness,
};
use crate::chart::{Chart, Series};
use crate::interval::Interval;
use crate::session::Session;
use crate::stacks::{Column, Runs, Stack, copied_below, erases, find, per_host, run_stacks, table, total};
use crate::statements::Statements;
use crate::table::number;
use wearwell_engine::victim::{VICTIMS, VictimConfig};
use wearwell_stack::RunResult;

/// Victim policies of the paper. Its random policy selects blocks "with invalid pages".
const OF_THE_PAPER: [&str; 3] = ["random_not_full", "greedy", "cost_benefit"];

/// Share of the user space in use.
const DRIVES: [(&str, f64); 2] = [("80 %", 0.8), ("full", 1.0)];

const POLICIES: [Scheme; 3] = [NONE, INLINE, CAGC];

/// Settings of CAGC; the first is the engine's default.
const SETTINGS: [Scheme; 8] = [
    Scheme::new("now; 1", "kind = \"cagc\"", "\"references\""),
    Scheme::new("now; 2", "kind = \"cagc\", threshold = 2", "{ kind = \"references\", threshold = 2 }"),
    Scheme::new("now; 3", "kind = \"cagc\", threshold = 3", "{ kind = \"references\", threshold = 3 }"),
    Scheme::new("when_moved; 1", "kind = \"cagc\", promotion = \"when_moved\"", "\"references\""),
    Scheme::new(
        "when_moved; 2",
        "kind = \"cagc\", promotion = \"when_moved\", threshold = 2",
        "{ kind = \"references\", threshold = 2 }",
    ),
    Scheme::new(
        "when_moved; 3",
        "kind = \"cagc\", promotion = \"when_moved\", threshold = 3",
        "{ kind = \"references\", threshold = 3 }",
    ),
    Scheme::new("no rehash", "kind = \"cagc\", rehash = false", "\"references\""),
    Scheme::new(
        "no rehash; when_moved; 1",
        "kind = \"cagc\", rehash = false, promotion = \"when_moved\"",
        "\"references\"",
    ),
];

/// Returns all victim policies that support deduplication: those that need no knowledge of future writes.
fn victims() -> impl Iterator<Item = &'static str> {
    let foresees = |name: &str| {
        let policy: VictimConfig = serde_json::from_value(name.into()).expect("it is of the table");
        policy.foresees()
    };
    VICTIMS.iter().map(|policy| policy.name).filter(move |name| !foresees(name))
}

pub fn run(session: &Session) -> Result<(), Failure> {
    let assumed = Assumed::of(session)?;
    let policies = run_stacks(session, policies(&assumed, session.length))?;
    let settings = run_stacks(session, settings(&assumed, session.length))?;
    publish_policies(session, &policies)?;
    publish_settings(session, &settings)?;
    let mut statements = Statements::default();
    check_policies(&mut statements, &policies);
    check_settings(&mut statements, &settings);
    statements.publish(session)
}

fn policies(assumed: &Assumed, length: f64) -> Vec<Stack> {
    let mut stacks = Vec::new();
    for (name, used) in DRIVES {
        for policy in victims() {
            for (trace, _) in TRACES {
                stacks.extend(POLICIES.iter().map(|scheme| {
                    let victim = format!("{policy:?}");
                    let drive = Drive { used, victim, timing: None, ..Drive::new(assumed, trace, scheme) };
                    drive.stack(&[name, policy], length)
                }));
            }
        }
    }
    stacks
}

fn settings(assumed: &Assumed, length: f64) -> Vec<Stack> {
    let mut stacks = Vec::new();
    for (name, used) in DRIVES {
        for (trace, _) in TRACES {
            let drive = |scheme| Drive { used, ..Drive::new(assumed, trace, scheme) };
            stacks.extend(SETTINGS.iter().map(|scheme| drive(scheme).stack(&[name], length)));
        }
    }
    stacks
}

fn publish_policies(session: &Session, runs: &[Runs]) -> Result<(), Failure> {
    let columns: [Column; 4] = [
        ("moved_pages", copied_below),
        ("programs", total),
        ("sharing_ratio", sharing),
        ("erases_max_over_mean", unevenness),
    ];
    let keys = ["used", "victim", "trace", "scheme"];
    table(&keys, ("erases_per_1000", erases), &columns, runs).write(session, "policies")?;
    let mut savings = by_trace(&["used", "victim", "saved_percent"]);
    for (used, _) in DRIVES {
        for policy in victims() {
            let against = [("against none", "none"), ("against greedy without", "greedy")];
            for (what, base) in against {
                let saved = TRACES.map(|(trace, _)| {
                    let ours = Pair::find(runs, &[used, policy], trace, "cagc", "none");
                    let base =
                        if base == "none" { ours.base } else { find(runs, &[used, "greedy", trace, "none"]) };
                    number(Pair { ours: ours.ours, base }.saved_percent(erases), 1)
                });
                savings.push([used, policy, what].map(str::to_owned).into_iter().chain(saved).collect());
            }
        }
    }
    savings.publish(session, "savings")?;
    let series: Vec<Series> = TRACES
        .iter()
        .map(|(trace, _)| {
            let saved = |policy: &str| {
                let Pair { ours, base } = Pair::find(runs, &["80 %", policy], trace, "cagc", "none");
                let ratio = ours.over(base, erases);
                Interval { mean: 100.0 * (1.0 - ratio.mean), half_width: 100.0 * ratio.half_width }
            };
            let points = (0..).map(f64::from).zip(victims().map(saved));
            Series { name: (*trace).to_owned(), points: points.collect(), joined: false }
        })
        .collect();
    let title = "Erases that CAGC saves against none under the same policy, 80 % used";
    let x = victims().enumerate().map(|(at, policy)| format!("{at} {policy}")).collect::<Vec<_>>();
    let chart = Chart { title, x: &x.join(", "), y: "percent" };
    chart.draw(session, "policies", &series)
}

fn publish_settings(session: &Session, runs: &[Runs]) -> Result<(), Failure> {
    let columns: [Column; 7] = [
        ("moved_pages", copied_below),
        ("saved_pages", saved),
        ("promoted_pages", |result| per_host(result, dedup(result).map_or(0, |dedup| dedup.promoted_pages))),
        ("hashed_pages", hashed),
        ("sharing_ratio", sharing),
        ("all_us", all_us),
        ("erases_max_over_mean", unevenness),
    ];
    let keys = ["used", "trace", "settings"];
    table(&keys, ("erases_per_1000", erases), &columns, runs).publish(session, "settings")
}

fn check_policies(statements: &mut Statements, runs: &[Runs]) {
    let each = |policies: &[&str], scheme: &str, base: &str| -> Vec<(String, bool)> {
        let cases = DRIVES.iter().flat_map(|(used, _)| policies.iter().map(move |policy| (*used, *policy)));
        let tried = cases.flat_map(|(used, policy)| {
            TRACES.map(|(trace, _)| {
                let pair = Pair::find(runs, &[used, policy], trace, scheme, base);
                (format!("{used} {policy}: {trace}"), pair.is_less(erases))
            })
        });
        tried.collect()
    };
    let others: Vec<&str> = victims().filter(|name| !OF_THE_PAPER.contains(name)).collect();
    statements.check(
        "CAGC erases less than none under random and greedy and cost-benefit",
        each(&OF_THE_PAPER, "cagc", "none"),
    );
    statements.check("ours: … and under all other policies", each(&others, "cagc", "none"));
    let all: Vec<&str> = victims().collect();
    statements.check("ours: inline erases less than CAGC", each(&all, "inline", "cagc"));
    let evenness = DRIVES.iter().flat_map(|(used, _)| {
        TRACES.map(|(trace, _)| {
            let of = |policy| find(runs, &[*used, policy, trace, "cagc"]);
            (format!("{used}: {trace}"), of("greedy").exceeds(of("cost_benefit"), unevenness))
        })
    });
    statements.check("greedy wears CAGC's drive less evenly than cost-benefit", evenness);
}

fn check_settings(statements: &mut Statements, runs: &[Runs]) {
    let each = |ours: &str, base: &str, field: fn(&RunResult) -> f64| -> Vec<(String, bool)> {
        let cases = DRIVES.iter().flat_map(|(used, _)| TRACES.map(|(trace, _)| (*used, trace)));
        let tried = cases.map(|(used, trace)| {
            let pair = Pair::find(runs, &[used], trace, ours, base);
            (format!("{used}: {trace}"), pair.is_less(field))
        });
        tried.collect()
    };
    for (ours, base) in [("when_moved; 1", "now; 1"), ("now; 2", "now; 1"), ("now; 3", "now; 1")] {
        statements.check(&format!("ours: {ours} erases less than {base}"), each(ours, base, erases));
    }
    let hashing = each("no rehash", "now; 1", all_us);
    statements.check("ours: not hashing moved pages again shortens responses", hashing);
}
