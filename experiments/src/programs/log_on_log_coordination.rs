//! Yang et al. (2014), sec. 4.5 and 5: a log and an FTL with coordinated and with independent cleaning.

use crate::Failure;
use crate::chart::{Chart, Series};
use crate::interval::Interval;
use crate::log_on_log::SkewedLoad;
use crate::session::Session;
use crate::stacks::{
    Column, Stack, StackRuns, copied_above, copied_below, ftl, ftl_amplification, per_host, run_stacks,
    steady, table, top, total_amplification, upper_amplification,
};
use crate::statements::Statements;
use wearwell_stack::RunResult;

const LOADS: [(&str, &str); 2] = [
    ("uniform", "kind = \"uniform\"\nrequest_pages = 2"),
    ("skewed", "kind = \"zipf\"\nexponent = ZIPF\nscatter = true\nrequest_pages = 2"),
];

/// Segment sizes of the log, over blocks of 256 KiB.
const UPPERS: [(&str, &str); 3] = [
    ("64 KiB", "segment_size = \"64 KiB\""),
    ("192 KiB", "segment_size = \"192 KiB\""),
    ("matched", "segment_blocks = 1"),
];

/// Modes of cleaning in the log: one victim at a time, or as many as free 2 MiB.
const CLEANINGS: [&str; 2] = ["victims", "bursts"];

const TRIMS: [&str; 2] = ["trim", "no trim"];

/// A coordination rule.
struct CoordinationRule {
    name: &'static str,
    /// Pool of the FTL that is larger than the default pool, if there is one; and true if cleaning is deferred.
    pool: Option<(u32, bool)>,
    /// Weight of the setting `completing`.
    weight: Option<f64>,
    /// Treatment of cleaned pages by an FTL that separates the log's streams.
    streams: Option<&'static str>,
}

const NO_COORDINATION: CoordinationRule =
    CoordinationRule { name: "nothing", pool: None, weight: None, streams: None };

const RULES: [CoordinationRule; 12] = [
    NO_COORDINATION,
    CoordinationRule { name: "raised to 32", pool: Some((32, false)), ..NO_COORDINATION },
    CoordinationRule { name: "waits from 32", pool: Some((32, true)), ..NO_COORDINATION },
    CoordinationRule { name: "raised to 96", pool: Some((96, false)), ..NO_COORDINATION },
    CoordinationRule { name: "waits from 96", pool: Some((96, true)), ..NO_COORDINATION },
    CoordinationRule { name: "completing 0", weight: Some(0.0), ..NO_COORDINATION },
    CoordinationRule { name: "completing 0.5", weight: Some(0.5), ..NO_COORDINATION },
    CoordinationRule { name: "completing 1", weight: Some(1.0), ..NO_COORDINATION },
    CoordinationRule { name: "completing 2", weight: Some(2.0), ..NO_COORDINATION },
    CoordinationRule { name: "streams kept", streams: Some("keep"), ..NO_COORDINATION },
    CoordinationRule { name: "streams apart", streams: Some("apart"), ..NO_COORDINATION },
    CoordinationRule { name: "all", pool: Some((32, true)), weight: Some(1.0), streams: Some("keep") },
];

/// Pools that are run both with and without deferred cleaning.
const DEFERRED_POOLS: [(&str, &str); 2] =
    [("raised to 32", "waits from 32"), ("raised to 96", "waits from 96")];

pub fn run(session: &Session) -> Result<(), Failure> {
    let (assumed, mut stacks) = (SkewedLoad::from_session(session)?, Vec::new());
    for load in LOADS {
        for upper in UPPERS {
            for cleaning in CLEANINGS {
                for trim in TRIMS {
                    let stack_of = |rule: &CoordinationRule| {
                        stack(&assumed, load, upper, cleaning, trim, rule, session.length)
                    };
                    stacks.extend(RULES.iter().map(stack_of));
                }
            }
        }
    }
    let runs = run_stacks(session, stacks)?;
    let groups: Vec<RuleRuns> = runs.chunks(RULES.len()).map(RuleRuns).collect();
    publish(session, &runs, &groups)?;
    let mut statements = Statements::default();
    check_deferred(&mut statements, &groups);
    check_other_rules(&mut statements, &groups);
    statements.publish(session)
}

fn stack(
    assumed: &SkewedLoad,
    (load, workload): (&str, &str),
    (upper, segment): (&str, &str),
    cleaning: &str,
    trim: &str,
    rule: &CoordinationRule,
    length: f64,
) -> Stack {
    let burst = match (cleaning, upper) {
        ("victims", _) => 0,
        (_, "64 KiB") => 32,
        (_, "192 KiB") => 11,
        _ => 8,
    };
    let pool = match rule.pool {
        None => String::new(),
        Some((low, waits)) => {
            format!("free_blocks_low = {low}\n{}", if waits { "free_blocks_deferred = 3" } else { "" })
        }
    };
    let weight =
        rule.weight.map(|weight| format!("victim = {{ policy = \"completing\", weight = {weight:?} }}"));
    let hints = |cleaned| format!("{{ kind = \"host_hint\", streams = 2, cleaned = {cleaned:?} }}");
    let toml = format!(
        r#"
        [device]
        capacity = "512 MiB"
        spare_factor = 0.1
        pages_per_block = 64
        [ftl]
        placement = {placement}
        {pool}
        [[log]]
        {segment}
        placement = "double"
        trim = {trimmed}
        free_blocks_low = 3
        free_blocks_high = {high}
        {victim}
        [workload]
        {workload}
        {end}
        "#,
        placement = rule.streams.map_or("\"double\"".to_owned(), hints),
        trimmed = trim == "trim",
        high = 3 + burst,
        victim = weight.unwrap_or_default(),
        workload = assumed.workload(workload),
        end = steady(length, assumed.warm_up),
    );
    Stack { keys: [load, upper, cleaning, trim, rule.name].map(str::to_owned).to_vec(), toml }
}

/// Runs of all rules on one stack.
struct RuleRuns<'a>(&'a [StackRuns]);

impl RuleRuns<'_> {
    fn name(&self) -> String {
        self.0[0].keys[..4].join("; ")
    }

    fn rule(&self, name: &str) -> &StackRuns {
        let at = RULES.iter().position(|rule| rule.name == name).expect("a rule of the table");
        &self.0[at]
    }

    /// Returns the ratio of one rule to another.
    fn ratio(&self, rule: &str, other: &str, field: fn(&RunResult) -> f64) -> Interval {
        self.rule(rule).ratio_to(self.rule(other), field)
    }

    /// True if the value with rule `rule` is lower than with rule `other` by more than the confidence interval.
    fn is_lower(&self, rule: &str, other: &str, field: fn(&RunResult) -> f64) -> bool {
        self.rule(other).exceeds(self.rule(rule), field)
    }

    fn has(&self, key: &str) -> bool {
        self.0[0].keys.iter().any(|own| own == key)
    }
}

fn moved_by_both(result: &RunResult) -> f64 {
    per_host(result, top(result).moved_below_first_pages.unwrap_or(0))
}

fn moved_again(result: &RunResult) -> f64 {
    per_host(result, ftl(result).moved_again_pages.unwrap_or(0))
}

fn publish(session: &Session, runs: &[StackRuns], groups: &[RuleRuns]) -> Result<(), Failure> {
    let columns: [Column; 7] = [
        ("upper_wa", upper_amplification),
        ("device_wa", ftl_amplification),
        ("copied_above", copied_above),
        ("copied_below", copied_below),
        ("moved_by_both", moved_by_both),
        ("moved_again_below", moved_again),
        ("deferrals_per_1000", |result| 1000.0 * per_host(result, ftl(result).deferrals.unwrap_or(0))),
    ];
    let keys = ["load", "upper", "cleaning", "trim", "rule"];
    let out = "data";
    table(&keys, ("tcwa", total_amplification), &columns, runs).publish(session, out)?;
    for (load, _) in LOADS {
        let shown = groups.iter().filter(|group| group.has(load) && group.has("trim"));
        let series: Vec<Series> = shown
            .map(|group| Series {
                name: group.0[0].keys[1..3].join(", "),
                points: (0..)
                    .map(f64::from)
                    .zip(group.0.iter().map(|runs| runs.interval(total_amplification)))
                    .collect(),
                has_line: true,
            })
            .collect();
        let title = format!("TCWA by what is agreed on, {load} writes, with TRIM");
        let x = "nothing, pool raised to 32, waits, to 96, waits, completing 0, 0.5, 1, 2, streams kept, apart, all";
        let chart = Chart { title: &title, x, y: "TCWA" };
        chart.draw(session, load, &series)?;
    }
    Ok(())
}

fn check_deferred(statements: &mut Statements, groups: &[RuleRuns]) {
    let each = |key: &str, holds: &dyn Fn(&RuleRuns, (&str, &str)) -> bool| -> Vec<(String, bool)> {
        let pairs = groups
            .iter()
            .filter(|group| group.has(key))
            .flat_map(|group| DEFERRED_POOLS.map(|pair| (group, pair)));
        pairs.map(|(group, pair)| (format!("{}; {}", group.name(), pair.1), holds(group, pair))).collect()
    };
    for trim in TRIMS {
        let paper =
            format!("postponing the lower cleaning while the upper log cleans reduces device WA ({trim})");
        statements.check(
            &paper,
            each(trim, &|group, (_, waits)| group.is_lower(waits, "nothing", ftl_amplification)),
        );
    }
    for cleaning in CLEANINGS {
        let same_pool_statement =
            format!("… against the same pool that does not wait (with and without trim {cleaning})");
        statements.check(
            &same_pool_statement,
            each(cleaning, &|group, (raised, waits)| group.is_lower(waits, raised, ftl_amplification)),
        );
        let copied_statement = format!("… and fewer pages are copied by both ({cleaning})");
        let fewer = each(cleaning, &|group, (raised, waits)| group.is_lower(waits, raised, moved_by_both));
        statements.check(&copied_statement, fewer);
    }
    let tcwa =
        |group: &RuleRuns, (_, waits): (&str, &str)| group.is_lower(waits, "nothing", total_amplification);
    statements.check("postponing lowers TCWA below that of nothing (trim)", each("trim", &tcwa));
    let lowers_device_amplification =
        |group: &RuleRuns, (raised, _): (&str, &str)| group.is_lower("nothing", raised, ftl_amplification);
    statements.check(
        "ours: the raised pool alone costs device WA (trim)",
        each("trim", &lowers_device_amplification),
    );
}

fn check_other_rules(statements: &mut Statements, groups: &[RuleRuns]) {
    let each = |keys: [&str; 2], holds: &dyn Fn(&RuleRuns) -> bool| -> Vec<(String, bool)> {
        let selected = groups.iter().filter(|group| keys.iter().all(|key| key.is_empty() || group.has(key)));
        selected.map(|group| (group.name(), holds(group))).collect()
    };
    let twice = |group: &RuleRuns| {
        let nothing = group.rule("nothing");
        nothing.mean(moved_by_both) > 0.01 && nothing.mean(moved_again) > 0.01
    };
    statements
        .check("data is moved by both layers and again below with nothing agreed on", each(["", ""], &twice));
    for (upper, _) in UPPERS {
        let weights = |group: &RuleRuns| {
            ["completing 0.5", "completing 1", "completing 2"]
                .iter()
                .any(|rule| group.is_lower(rule, "completing 0", total_amplification))
        };
        let statement = format!("ours: some weight of completing lowers TCWA below weight 0 ({upper}; trim)");
        statements.check(&statement, each([upper, "trim"], &weights));
        let streams = |group: &RuleRuns| group.is_lower("streams kept", "nothing", ftl_amplification);
        let statement = format!("ours: streams handed down and kept lower device WA ({upper})");
        statements.check(&statement, each([upper, ""], &streams));
    }
    let best = |group: &RuleRuns| {
        RULES.iter().all(|rule| group.ratio("all", rule.name, total_amplification).mean <= 1.005)
    };
    statements
        .check("ours: all together gives the least TCWA (within 0.5 %; trim)", each(["trim", ""], &best));
    let all = |group: &RuleRuns| group.is_lower("all", "nothing", total_amplification);
    statements.check("ours: all together lowers TCWA below that of nothing (trim)", each(["trim", ""], &all));
    let pairs = groups.iter().filter(|group| group.has("trim")).map(|with| {
        let keys: Vec<&str> = with.0[0].keys.iter().map(String::as_str).collect();
        let same = |other: &&RuleRuns| other.0[0].has_keys(&[keys[0], keys[1], keys[2], "no trim"]);
        let without = groups.iter().find(same).expect("each also runs without TRIM");
        (with.name(), without.0[0].exceeds(&with.0[0], ftl_amplification))
    });
    statements.check("TRIM reduces device WA with nothing agreed on", pairs.collect::<Vec<_>>());
}
