//! Figure 9 of the CAGC paper on the drive of its Table I, on which cleaning begins when a fifth of the blocks is
//! erased. The share of the drive that a trace uses is varied, because the paper does not state it; the program finds
//! the share at which each trace's curve has the printed value.

use crate::Failure;
use crate::cagc::{
    AssumedValues, CAGC, Drive, INLINE, NONE, Pair, Scheme, TRACES, WATERMARK, dedup_pages_per_host,
    hashed_pages_per_host, mean_request_us, mean_write_us, sharing_ratio, write_p99_us,
};
use crate::chart::{Chart, Series};
use crate::interval::Interval;
use crate::session::Session;
use crate::stacks::{
    Column, StackRuns, copied_below, erases_per_thousand, run_stacks, table, total_amplification,
};
use crate::statements::Statements;
use crate::table::{Table, number};

/// Shares of the user space in use. Above 0.85, a fifth of the blocks cannot be kept erased.
const USED_SHARES: [f64; 12] = [0.50, 0.56, 0.60, 0.64, 0.68, 0.72, 0.75, 0.78, 0.80, 0.82, 0.83, 0.84];

const SCHEMES: [Scheme; 3] = [NONE, INLINE, CAGC];

/// Tolerance in percentage points at the crossing, which covers the error of interpolation and seeds.
const MAX_DISTANCE: f64 = 2.0;

/// Names of the modes: cleaning keeps the watermark of erased blocks, or only makes space for the host.
const KEPT: &str = "kept";
const NOT_KEPT: &str = "not kept";

pub fn run(session: &Session) -> Result<(), Failure> {
    let assumed = AssumedValues::from_session(session)?;
    let mut stacks = Vec::new();
    for used in USED_SHARES {
        for (trace, _) in TRACES {
            let counted = |scheme| Drive { timing: None, ..drive(&assumed, trace, scheme, used) };
            stacks.extend(
                SCHEMES.iter().map(|scheme| counted(scheme).stack(&[&name(used), KEPT], session.length)),
            );
            stacks.extend([NONE, CAGC].iter().map(|scheme| {
                let drive = Drive { keeps_watermark: false, ..counted(scheme) };
                drive.stack(&[&name(used), NOT_KEPT], session.length)
            }));
        }
    }
    let runs = run_stacks(session, stacks)?;
    publish(session, &runs)?;
    draw(session, &runs)?;
    run_at_crossings(session, &assumed, &runs)
}

fn drive(assumed: &AssumedValues, trace: &'static str, scheme: &Scheme, used: f64) -> Drive {
    Drive { used_share: used, watermark: WATERMARK, ..Drive::new(assumed, trace, scheme) }
}

fn name(used: f64) -> String {
    format!("{used:.3}")
}

fn publish(session: &Session, runs: &[StackRuns]) -> Result<(), Failure> {
    let columns: [Column; 5] = [
        ("moved_pages", copied_below),
        ("programs", total_amplification),
        ("saved_pages", dedup_pages_per_host),
        ("hashed_pages", hashed_pages_per_host),
        ("sharing_ratio", sharing_ratio),
    ];
    table(
        &["used", "watermark", "trace", "scheme"],
        ("erases_per_1000", erases_per_thousand),
        &columns,
        runs,
    )
    .write(session, "data")?;
    let mut savings = Table::new(&["used", "watermark", "scheme", "homes", "web_vm", "mail"]);
    for used in USED_SHARES {
        for (kept, scheme) in [(KEPT, "cagc"), (KEPT, "inline"), (NOT_KEPT, "cagc")] {
            let percents = TRACES.map(|(trace, _)| number(saving(runs, (used, kept), trace, scheme), 1));
            savings
                .push([name(used), kept.to_owned(), scheme.to_owned()].into_iter().chain(percents).collect());
        }
    }
    savings.publish(session, "savings")
}

/// Returns the erases that a scheme saves relative to no deduplication, in per cent.
fn saving(runs: &[StackRuns], (used_share, mode): (f64, &str), trace: &str, scheme: &str) -> f64 {
    Pair::find(runs, &[&name(used_share), mode], trace, scheme, "none").saved_percent(erases_per_thousand)
}

fn draw(session: &Session, runs: &[StackRuns]) -> Result<(), Failure> {
    let mut series = Vec::new();
    for (trace, paper) in TRACES {
        let point = |used: f64| {
            let Pair { ours, reference: base } =
                Pair::find(runs, &[&name(used), KEPT], trace, "cagc", "none");
            let ratio = ours.ratio_to(base, erases_per_thousand);
            (used, Interval { mean: 100.0 * (1.0 - ratio.mean), half_width: 100.0 * ratio.half_width })
        };
        series.push(Series { name: trace.to_owned(), points: USED_SHARES.map(point).into(), has_line: true });
        series
            .push(Series::line(format!("{trace}, the paper"), USED_SHARES.map(|used| (used, 100.0 * paper))));
    }
    let title = "Erases that CAGC saves, cleaning from a fifth of the blocks on";
    Chart { title, x: "share of the user space in use", y: "percent" }.draw(session, "plot", &series)
}

/// Returns the share in use at which CAGC saves `printed` per cent, by interpolation between neighbouring shares.
fn crossing(runs: &[StackRuns], mode: &str, trace: &str, printed: f64) -> Option<f64> {
    let points = USED_SHARES.map(|used| (used, saving(runs, (used, mode), trace, "cagc")));
    let around = points.windows(2).find(|pair| (pair[0].1 <= printed) != (pair[1].1 <= printed))?;
    let [(from, low), (to, high)] = [around[0], around[1]];
    Some(from + (to - from) * (printed - low) / (high - low))
}

/// Returns the shares in use at which each trace's curve has the printed value, to three decimals.
fn shares_at_crossings(runs: &[StackRuns], mode: &str) -> [Option<f64>; 3] {
    TRACES.map(|(trace, paper)| {
        let share = crossing(runs, mode, trace, 100.0 * paper);
        share.map(|share| (share * 1000.0).round() / 1000.0)
    })
}

/// Columns of the table of crossings.
const CROSSING_COLUMNS: [&str; 11] = [
    "trace",
    "printed",
    "used",
    "used_if_not_kept",
    "saved_percent",
    "moved_less_percent",
    "faster_percent",
    "writes_p99_less_percent",
    "inline_saved_percent",
    "inline_faster_than_cagc_percent",
    "baseline_write_amplification",
];

/// Runs the drives at the crossings with timing. The printed savings result by construction; all other values are
/// predictions.
fn run_at_crossings(session: &Session, assumed: &AssumedValues, runs: &[StackRuns]) -> Result<(), Failure> {
    let [crossings, not_kept] = [KEPT, NOT_KEPT].map(|mode| shares_at_crossings(runs, mode));
    let mut stacks = Vec::new();
    for ((trace, _), share) in TRACES.iter().zip(crossings) {
        let Some(share) = share else { continue };
        stacks.extend(
            SCHEMES
                .iter()
                .map(|scheme| drive(assumed, trace, scheme, share).stack(&[&name(share)], session.length)),
        );
    }
    let timed = run_stacks(session, stacks)?;
    let mut crossed = Table::new(&CROSSING_COLUMNS);
    let mut statements = Statements::default();
    let (mut erased, mut moved, mut faster, mut inline) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (((trace, paper), share), share_not_kept) in TRACES.iter().zip(crossings).zip(not_kept) {
        let case = (*trace).to_owned();
        let Some(share) = share else {
            erased.push((case, false));
            continue;
        };
        let at = [name(share)];
        let keys = [at[0].as_str()];
        let cagc = Pair::find(&timed, &keys, trace, "cagc", "none");
        let looked_first = Pair::find(&timed, &keys, trace, "inline", "cagc");
        let inline_saves =
            Pair::find(&timed, &keys, trace, "inline", "none").saved_percent(erases_per_thousand);
        let row = [
            100.0 * paper,
            share,
            share_not_kept.unwrap_or(f64::NAN),
            cagc.saved_percent(erases_per_thousand),
            cagc.saved_percent(copied_below),
            cagc.saved_percent(mean_request_us),
            cagc.saved_percent(write_p99_us),
            inline_saves,
            looked_first.saved_percent(mean_request_us),
            cagc.reference.mean(total_amplification),
        ];
        crossed.push(std::iter::once(case.clone()).chain(row.map(|value| number(value, 3))).collect());
        erased.push((
            case.clone(),
            (cagc.saved_percent(erases_per_thousand) - 100.0 * paper).abs() <= MAX_DISTANCE,
        ));
        moved.push((case.clone(), cagc.is_less(copied_below)));
        faster.push((case.clone(), cagc.is_less(mean_request_us) && cagc.is_less(mean_write_us)));
        inline.push((case, looked_first.is_less(mean_request_us)));
    }
    let other_shares = USED_SHARES.map(|used| {
        let is_near = |(trace, paper): &(&str, f64)| {
            (saving(runs, (used, KEPT), trace, "cagc") - 100.0 * paper).abs() <= 5.0
        };
        (name(used), TRACES.iter().all(is_near))
    });
    statements.check("CAGC erases as many blocks fewer as printed at some share of the drive in use", erased);
    statements.check("CAGC moves fewer pages there", moved);
    statements.check("CAGC shortens responses there", faster);
    statements.check("ours: inline answers faster than CAGC there", inline);
    statements.check("ours: one share in use gives all three printed numbers within 5 points", other_shares);
    crossed.publish(session, "crossings")?;
    statements.publish(session)
}
