//! Section IV-C of the CAGC paper: its scheme under other victim policies, of which the paper has random, greedy and
//! cost-benefit; and the settings of the scheme: threshold, promotion, and rehashing of moved pages.

use crate::Failure;
use crate::cagc::{
    AssumedValues, CAGC, Drive, INLINE, NONE, Pair, Scheme, TRACES, by_trace, dedup, dedup_pages_per_host,
    hashed_pages_per_host, max_to_mean_erases, mean_request_us, sharing_ratio,
};
use crate::chart::{Chart, Series};
use crate::interval::Interval;
use crate::session::Session;
use crate::stacks::{
    Column, Stack, StackRuns, copied_below, erases_per_thousand, find, per_host, run_stacks, table,
    total_amplification,
};
use crate::statements::Statements;
use crate::table::number;
use wearwell_engine::victim::{VICTIMS, VictimConfig};
use wearwell_stack::RunResult;

/// Victim policies of the paper. Its random policy selects blocks "with invalid pages".
const PAPER_VICTIMS: [&str; 3] = ["random_not_full", "greedy", "cost_benefit"];

/// Share of the user space in use.
const USED_SHARES: [(&str, f64); 2] = [("80 %", 0.8), ("full", 1.0)];

const SCHEMES: [Scheme; 3] = [NONE, INLINE, CAGC];

/// Settings of CAGC; the first scheme has the default settings of the engine.
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
        policy.needs_foresight()
    };
    VICTIMS.iter().map(|policy| policy.name).filter(move |name| !foresees(name))
}

pub fn run(session: &Session) -> Result<(), Failure> {
    let assumed = AssumedValues::from_session(session)?;
    let policies = run_stacks(session, policies(&assumed, session.length))?;
    let settings = run_stacks(session, settings(&assumed, session.length))?;
    publish_policies(session, &policies)?;
    publish_settings(session, &settings)?;
    let mut statements = Statements::default();
    check_policies(&mut statements, &policies);
    check_settings(&mut statements, &settings);
    statements.publish(session)
}

fn policies(assumed: &AssumedValues, length: f64) -> Vec<Stack> {
    let mut stacks = Vec::new();
    for (name, used) in USED_SHARES {
        for policy in victims() {
            for (trace, _) in TRACES {
                stacks.extend(SCHEMES.iter().map(|scheme| {
                    let victim = format!("{policy:?}");
                    let drive = Drive {
                        used_share: used,
                        victim,
                        timing: None,
                        ..Drive::new(assumed, trace, scheme)
                    };
                    drive.stack(&[name, policy], length)
                }));
            }
        }
    }
    stacks
}

fn settings(assumed: &AssumedValues, length: f64) -> Vec<Stack> {
    let mut stacks = Vec::new();
    for (name, used) in USED_SHARES {
        for (trace, _) in TRACES {
            let drive = |scheme| Drive { used_share: used, ..Drive::new(assumed, trace, scheme) };
            stacks.extend(SETTINGS.iter().map(|scheme| drive(scheme).stack(&[name], length)));
        }
    }
    stacks
}

fn publish_policies(session: &Session, runs: &[StackRuns]) -> Result<(), Failure> {
    let columns: [Column; 4] = [
        ("moved_pages", copied_below),
        ("programs", total_amplification),
        ("sharing_ratio", sharing_ratio),
        ("erases_max_over_mean", max_to_mean_erases),
    ];
    let keys = ["used", "victim", "trace", "scheme"];
    table(&keys, ("erases_per_1000", erases_per_thousand), &columns, runs).write(session, "policies")?;
    let mut savings = by_trace(&["used", "victim", "saved_percent"]);
    for (used, _) in USED_SHARES {
        for policy in victims() {
            let references = [("against none", "none"), ("against greedy without", "greedy")];
            for (what, base) in references {
                let saved = TRACES.map(|(trace, _)| {
                    let ours = Pair::find(runs, &[used, policy], trace, "cagc", "none");
                    let base = if base == "none" {
                        ours.reference
                    } else {
                        find(runs, &[used, "greedy", trace, "none"])
                    };
                    number(Pair { ours: ours.ours, reference: base }.saved_percent(erases_per_thousand), 1)
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
                let Pair { ours, reference: base } =
                    Pair::find(runs, &["80 %", policy], trace, "cagc", "none");
                let ratio = ours.ratio_to(base, erases_per_thousand);
                Interval { mean: 100.0 * (1.0 - ratio.mean), half_width: 100.0 * ratio.half_width }
            };
            let points = (0..).map(f64::from).zip(victims().map(saved));
            Series { name: (*trace).to_owned(), points: points.collect(), has_line: false }
        })
        .collect();
    let title = "Erases that CAGC saves against none under the same policy, 80 % used";
    let x = victims().enumerate().map(|(at, policy)| format!("{at} {policy}")).collect::<Vec<_>>();
    let chart = Chart { title, x: &x.join(", "), y: "percent" };
    chart.draw(session, "policies", &series)
}

fn publish_settings(session: &Session, runs: &[StackRuns]) -> Result<(), Failure> {
    let columns: [Column; 7] = [
        ("moved_pages", copied_below),
        ("saved_pages", dedup_pages_per_host),
        ("promoted_pages", |result| per_host(result, dedup(result).map_or(0, |dedup| dedup.promoted_pages))),
        ("hashed_pages", hashed_pages_per_host),
        ("sharing_ratio", sharing_ratio),
        ("all_us", mean_request_us),
        ("erases_max_over_mean", max_to_mean_erases),
    ];
    let keys = ["used", "trace", "settings"];
    table(&keys, ("erases_per_1000", erases_per_thousand), &columns, runs).publish(session, "settings")
}

fn check_policies(statements: &mut Statements, runs: &[StackRuns]) {
    let each = |policies: &[&str], scheme: &str, base: &str| -> Vec<(String, bool)> {
        let cases =
            USED_SHARES.iter().flat_map(|(used, _)| policies.iter().map(move |policy| (*used, *policy)));
        let results = cases.flat_map(|(used, policy)| {
            TRACES.map(|(trace, _)| {
                let pair = Pair::find(runs, &[used, policy], trace, scheme, base);
                (format!("{used} {policy}: {trace}"), pair.is_less(erases_per_thousand))
            })
        });
        results.collect()
    };
    let other_victims: Vec<&str> = victims().filter(|name| !PAPER_VICTIMS.contains(name)).collect();
    statements.check(
        "CAGC erases less than none under random and greedy and cost-benefit",
        each(&PAPER_VICTIMS, "cagc", "none"),
    );
    statements.check("ours: … and under all other policies", each(&other_victims, "cagc", "none"));
    let all: Vec<&str> = victims().collect();
    statements.check("ours: inline erases less than CAGC", each(&all, "inline", "cagc"));
    let evenness = USED_SHARES.iter().flat_map(|(used, _)| {
        TRACES.map(|(trace, _)| {
            let runs_of = |policy| find(runs, &[*used, policy, trace, "cagc"]);
            (
                format!("{used}: {trace}"),
                runs_of("greedy").exceeds(runs_of("cost_benefit"), max_to_mean_erases),
            )
        })
    });
    statements.check("greedy wears CAGC's drive less evenly than cost-benefit", evenness);
}

fn check_settings(statements: &mut Statements, runs: &[StackRuns]) {
    let each = |ours: &str, base: &str, field: fn(&RunResult) -> f64| -> Vec<(String, bool)> {
        let cases = USED_SHARES.iter().flat_map(|(used, _)| TRACES.map(|(trace, _)| (*used, trace)));
        let results = cases.map(|(used, trace)| {
            let pair = Pair::find(runs, &[used], trace, ours, base);
            (format!("{used}: {trace}"), pair.is_less(field))
        });
        results.collect()
    };
    for (ours, base) in [("when_moved; 1", "now; 1"), ("now; 2", "now; 1"), ("now; 3", "now; 1")] {
        statements
            .check(&format!("ours: {ours} erases less than {base}"), each(ours, base, erases_per_thousand));
    }
    let hashing = each("no rehash", "now; 1", mean_request_us);
    statements.check("ours: not hashing moved pages again shortens responses", hashing);
}
