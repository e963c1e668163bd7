//! Best division of a given spare space between two logs. It is predicted by the mean field of stacked logs, then
//! simulated, and predicted again by the corrected theory.

use crate::Failure;
use crate::chart::{Chart, Series};
use crate::interval::Interval;
use crate::session::Session;
use crate::stacks::{
    Stack, StackRuns, find, ftl_amplification, run_stacks, total_amplification, upper_amplification,
};
use crate::statements::Statements;
use crate::table::{Table, number};
use wearwell_theory::StackedLogs;

const LOWER_KIB: u32 = 256;
const PAGE_KIB: u32 = 4;
const SHOWN_MIB: u32 = 256;

/// Spare space of both logs together, as a share of the flash.
const TOTALS: [f64; 3] = [0.1, 0.2, 0.28];

/// Number of steps from all spare space in the lower log to all spare space in the upper log. The first and the last
/// setting leave one log almost no spare space, and are not run.
const STEPS: u32 = 10;

/// Numbers of upper segments per lower block.
const SEGMENTS_PER_BLOCK: [u32; 3] = [1, 4, 16];

/// Victim selections of the upper log: random selection, for which the prediction is exact; the selection of the
/// paper's drives; and selection by the fewest valid pages.
const UPPER_VICTIMS: [(&str, &str); 3] = [
    ("random", "{ policy = \"d_choices\", choices = 1 }"),
    ("d = 10", "{ policy = \"d_choices\", choices = 10 }"),
    ("greedy", "\"greedy\""),
];

/// Number of choices `d` of the lower log.
const LOWER_CHOICES: u32 = 10;

const LOADS: [(&str, &str); 2] =
    [("uniform", "kind = \"uniform\""), ("zipf", "kind = \"zipf\"\nexponent = 0.9\nscatter = true")];

/// Maximum error in per cent of a prediction that is meant to be exact.
const MAX_ERROR_PERCENT: f64 = 3.0;

/// Maximum excess cost, in per cent, of the predicted split over the best simulated split.
const MAX_REGRET_PERCENT: f64 = 2.0;

/// Version of the prediction. The first version was made before any simulation, and assumed that a log always finds
/// empty blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
enum TheoryVersion {
    First,
    Corrected,
}

impl TheoryVersion {
    /// Returns the prefix of the statements for this version.
    fn name(self) -> &'static str {
        match self {
            TheoryVersion::First => "as first predicted",
            TheoryVersion::Corrected => "as corrected",
        }
    }
}

fn shares() -> impl Iterator<Item = f64> + Clone {
    (1..STEPS).map(|step| f64::from(step) / f64::from(STEPS))
}

fn logs(total: f64, segments_per_block: u32, share_above: f64, choices_above: u32) -> StackedLogs {
    StackedLogs {
        pages_per_segment: LOWER_KIB / PAGE_KIB / segments_per_block,
        segments_per_block,
        spare_factor: total,
        share_above,
        choices: [choices_above, LOWER_CHOICES],
    }
}

/// Returns the first fields of a row.
fn keys(load: &str, victims: &str, total: f64, segments: u32, share: f64) -> Vec<String> {
    vec![load.to_owned(), victims.to_owned(), total.to_string(), segments.to_string(), format!("{share:.1}")]
}

fn stack(load: (&str, &str), victims: (&str, &str), logs: &StackedLogs, length: f64) -> Stack {
    let [above, below] = logs.spare_factors();
    let toml = format!(
        r#"
        [device]
        capacity = "{SHOWN_MIB} MiB"
        spare_factor = {below:?}
        pages_per_block = {}
        [ftl]
        victim = {{ policy = "d_choices", choices = {LOWER_CHOICES} }}
        placement = "single"
        [[log]]
        segment_size = "{} KiB"
        spare_factor = {above:?}
        victim = {}
        placement = "single"
        trim = true
        [workload]
        {}
        [precondition]
        random_overwrites = 1.0
        [measure]
        warm_up = {:?}
        drive_writes = {:?}
        window = 0.5
        "#,
        LOWER_KIB / PAGE_KIB,
        logs.pages_per_segment * PAGE_KIB,
        victims.1,
        load.1,
        6.0 * length,
        3.0 * length,
    );
    let keys = keys(load.0, victims.0, logs.spare_factor, logs.segments_per_block, logs.share_above);
    Stack { keys, toml }
}

/// Curve over the share of the upper log, with the parameters that are constant along it.
#[derive(Clone, Copy)]
struct Curve {
    load: (&'static str, &'static str),
    victims: (&'static str, &'static str),
    total: f64,
    segments: u32,
}

fn curves() -> Vec<Curve> {
    let mut curves = Vec::new();
    for load in LOADS {
        for victims in UPPER_VICTIMS {
            for total in TOTALS {
                curves.extend(SEGMENTS_PER_BLOCK.map(|segments| Curve { load, victims, total, segments }));
            }
        }
    }
    curves
}

impl Curve {
    fn name(&self) -> String {
        let Curve { load, victims, total, segments } = self;
        format!("{}, {}, S = {total}, {segments} segments per block", load.0, victims.0)
    }

    /// Returns the lower and the upper estimate of the total amplification for an upper share. Greedy is approximated
    /// by 10 choices.
    fn predicted(&self, theory: TheoryVersion, share: f64) -> Result<[f64; 2], Failure> {
        let choices = if self.victims.0 == "random" { 1 } else { LOWER_CHOICES };
        let found = logs(self.total, self.segments, share, choices).amplification()?;
        let finds_empty_blocks = theory == TheoryVersion::First && self.segments == 1;
        Ok(if finds_empty_blocks { [found.upper; 2] } else { found.total() })
    }

    fn simulated<'a>(&self, runs: &'a [StackRuns], share: f64) -> &'a StackRuns {
        let keys = keys(self.load.0, self.victims.0, self.total, self.segments, share);
        find(runs, &keys.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Returns the share with the smallest value.
    fn best_share(&self, value: impl Fn(f64) -> Result<f64, Failure>) -> Result<f64, Failure> {
        let mut best = (f64::NAN, f64::INFINITY);
        for share in shares() {
            let found = value(share)?;
            if found < best.1 {
                best = (share, found);
            }
        }
        Ok(best.0)
    }

    fn is_uniform(&self) -> bool {
        self.load.0 == "uniform"
    }

    fn is_exact(&self) -> bool {
        self.is_uniform() && self.victims.0 == "random"
    }
}

pub fn run(session: &Session) -> Result<(), Failure> {
    let curves = curves();
    let stacks = curves.iter().flat_map(|curve| {
        shares().map(move |share| {
            stack(curve.load, curve.victims, &logs(curve.total, curve.segments, share, 1), session.length)
        })
    });
    let runs = run_stacks(session, stacks.collect())?;
    points(&curves, &runs)?.write(session, "data")?;
    splits(&curves, &runs)?.publish(session, "splits")?;
    draw(session, &curves, &runs)?;
    let mut statements = Statements::default();
    for theory in [TheoryVersion::First, TheoryVersion::Corrected] {
        check(&mut statements, theory, &curves, &runs)?;
    }
    statements.publish(session)
}

fn points(curves: &[Curve], runs: &[StackRuns]) -> Result<Table, Failure> {
    let mut table = Table::new(&[
        "load",
        "victims_above",
        "spare_factor",
        "segments_per_block",
        "share_above",
        "tcwa",
        "ci",
        "upper_wa",
        "lower_wa",
        "first_predicted_at_least",
        "first_predicted_at_most",
        "corrected_at_least",
        "corrected_at_most",
    ]);
    for curve in curves {
        for share in shares() {
            let runs = curve.simulated(runs, share);
            let interval = runs.interval(total_amplification);
            let mut values = vec![
                interval.mean,
                interval.half_width,
                runs.mean(upper_amplification),
                runs.mean(ftl_amplification),
            ];
            for theory in [TheoryVersion::First, TheoryVersion::Corrected] {
                let predicted =
                    if curve.is_uniform() { curve.predicted(theory, share)? } else { [f64::NAN; 2] };
                values.extend(predicted);
            }
            table.push(
                runs.keys.iter().cloned().chain(values.iter().map(|value| number(*value, 4))).collect(),
            );
        }
    }
    Ok(table)
}

/// Returns a table of the best predicted splits and the best simulated split, and of the excess cost of following a
/// prediction. The table also has the cost of logs with different block sizes, relative to logs with equal block sizes.
fn splits(curves: &[Curve], runs: &[StackRuns]) -> Result<Table, Failure> {
    let mut table = Table::new(&[
        "load",
        "victims_above",
        "spare_factor",
        "segments_per_block",
        "first_predicted_share",
        "corrected_share",
        "best_share",
        "best_tcwa",
        "first_regret_percent",
        "corrected_regret_percent",
        "half_each_percent",
        "price_of_not_matching_percent",
    ]);
    for curve in curves {
        let (first, best) = best_shares(TheoryVersion::First, curve, runs)?;
        let (corrected, _) = best_shares(TheoryVersion::Corrected, curve, runs)?;
        let mean_total = |curve: &Curve, share| curve.simulated(runs, share).mean(total_amplification);
        let matched = Curve { segments: 1, ..*curve };
        let matched_best = mean_total(&matched, best_shares(TheoryVersion::First, &matched, runs)?.1);
        let best_total = mean_total(curve, best);
        let more = |value: f64, than: f64| number(100.0 * (value / than - 1.0), 2);
        let mut row = keys(curve.load.0, curve.victims.0, curve.total, curve.segments, first);
        row.extend([format!("{corrected:.1}"), format!("{best:.1}")]);
        row.push(number(best_total, 4));
        row.extend([
            more(mean_total(curve, first), best_total),
            more(mean_total(curve, corrected), best_total),
            more(mean_total(curve, 0.5), best_total),
            more(best_total, matched_best),
        ]);
        table.push(row);
    }
    Ok(table)
}

/// Returns the share of the upper log with the best prediction, by the upper estimate of the lower log's copies; and
/// the share that is best in the simulation.
fn best_shares(theory: TheoryVersion, curve: &Curve, runs: &[StackRuns]) -> Result<(f64, f64), Failure> {
    let predicted = curve.best_share(|share| Ok(curve.predicted(theory, share)?[1]))?;
    Ok((predicted, curve.best_share(|share| Ok(curve.simulated(runs, share).mean(total_amplification)))?))
}

fn draw(session: &Session, curves: &[Curve], runs: &[StackRuns]) -> Result<(), Failure> {
    for (victims, _) in UPPER_VICTIMS {
        let mut series = Vec::new();
        let shown = |curve: &&Curve| curve.is_uniform() && curve.victims.0 == victims && curve.total == 0.2;
        for curve in curves.iter().filter(shown) {
            let name = format!("{} segments a block", curve.segments);
            let points: Vec<(f64, Interval)> = shares()
                .map(|share| (share, curve.simulated(runs, share).interval(total_amplification)))
                .collect();
            series.push(Series { name: name.clone(), points, has_line: false });
            let line =
                shares().map(|share| Ok((share, curve.predicted(TheoryVersion::Corrected, share)?[1])));
            let line: Vec<(f64, f64)> = line.collect::<Result<_, Failure>>()?;
            series.push(Series::line(format!("{name}, at most"), line));
        }
        let title = format!("Total write amplification over the split: {victims} above, S = 0.2");
        let chart = Chart { title: &title, x: "share of the spare space above", y: "TCWA" };
        chart.draw(session, &victims.replace(" = ", "_"), &series)?;
    }
    Ok(())
}

fn check(
    statements: &mut Statements,
    theory: TheoryVersion,
    curves: &[Curve],
    runs: &[StackRuns],
) -> Result<(), Failure> {
    let (mut exact, mut between, mut followed, mut matched, mut above) =
        (vec![], vec![], vec![], vec![], vec![]);
    let mut most_above = Vec::new();
    for curve in curves {
        let (predicted, best) = best_shares(theory, curve, runs)?;
        let regret = curve.simulated(runs, predicted).mean(total_amplification)
            / curve.simulated(runs, best).mean(total_amplification)
            - 1.0;
        let case =
            (format!("{}: {:.1} %", curve.name(), 100.0 * regret), 100.0 * regret <= MAX_REGRET_PERCENT);
        if curve.segments == 1 {
            most_above.push((curve.name(), Some(best) == shares().last()));
            matched.push(case);
        } else {
            followed.push(case);
            let name = format!("{}: {best:.1} instead of {predicted:.1}", curve.name());
            above.push((name, best >= predicted - 1.5 / f64::from(STEPS)));
        }
        for share in shares().filter(|_| curve.is_uniform()) {
            let simulated = curve.simulated(runs, share).interval(total_amplification);
            let [least, most] = curve.predicted(theory, share)?;
            let name = format!(
                "{}, {share:.1}: {:.3} instead of {least:.3} to {most:.3}",
                curve.name(),
                simulated.mean
            );
            let slack = simulated.half_width + MAX_ERROR_PERCENT / 100.0 * most;
            if curve.is_exact() {
                exact.push((name, (simulated.mean - most).abs() <= slack));
            } else {
                between.push((name, simulated.mean >= least - slack && simulated.mean <= most + slack));
            }
        }
    }
    let mut say = |text: &str, cases: Vec<(String, bool)>| {
        statements.check(&format!("{}: {text}", theory.name()), cases);
    };
    say("random victims above and uniform writes: TCWA is as predicted within 3 %", exact);
    say("better victims above: TCWA lies between the bounds give or take 3 %", between);
    if theory == TheoryVersion::First {
        say("matched segments: as much spare space above as was tried is best", most_above);
    }
    say("matched segments: the predicted split costs at most 2 % more than the best", matched);
    say("smaller segments: the predicted split costs at most 2 % more than the best", followed);
    say("smaller segments: no less of it belongs above than predicted by more than a step", above);
    Ok(())
}
