//! Yang et al. (2014), Figure 3: effect of deleting one upper segment on the lower log.

use crate::Failure;
use crate::chart::{Chart, Series};
use crate::log_on_log::{AssumedValues, Case, Load, Setting, run_settings};
use crate::session::Session;
use crate::small_log::{PAGES_PER_BLOCK, SmallLog};
use crate::statements::Statements;
use crate::table::{Fields, Table};

const LOWER_KIB: u32 = 256;

/// Ratios of upper to lower segment size, each with true if one size divides the other.
const RATIOS: [(f64, bool); 7] =
    [(0.25, true), (0.5, true), (1.0, true), (2.0, true), (4.0, true), (0.75, false), (1.5, false)];

/// Offsets in pages between the upper segment of the unit scenario and the boundary of a lower segment.
const OFFSETS: [u32; 4] = [0, 2, 4, 6];

const LOADS: [Load; 2] = [Load::Oltp, Load::Uniform];

const PLACEMENTS: [&str; 2] = ["single", "double"];

pub fn run(session: &Session) -> Result<(), Failure> {
    let mut statements = Statements::default();
    run_unit_scenario(session, &mut statements)?;
    let (assumed, mut settings) = (AssumedValues::from_session(session)?, Vec::new());
    let upper_spare = session.assumed_value("log_on_log/log-spare")?;
    for load in LOADS {
        for placement in PLACEMENTS {
            settings.extend(RATIOS.map(|(ratio, _)| Setting {
                upper_kib: (ratio * f64::from(LOWER_KIB)) as u32,
                lower_kib: LOWER_KIB,
                upper_spare,
                placements: ["single", placement].map(|name| format!("{name:?}")),
                load: load.clone(),
                ..Setting::new(assumed)
            }));
        }
    }
    let cases = run_settings(session, settings)?;
    let curves: Vec<Curve> = cases
        .chunks(RATIOS.len())
        .enumerate()
        .map(|(at, cases)| Curve {
            name: format!("{}, lower {}", cases[0].setting.load.name(), PLACEMENTS[at % 2]),
            cases,
        })
        .collect();
    publish(session, &curves)?;
    check(&mut statements, &curves);
    statements.publish(session)
}

/// Repeats the scenario of the figure: eight blocks are filled in order, and the third upper segment of eight pages
/// is deleted.
fn run_unit_scenario(session: &Session, statements: &mut Statements) -> Result<(), Failure> {
    let mut table =
        Table::new(&["offset_pages", "lower_segments_hit", "partly_valid_segments", "valid_pages_left"]);
    let mut outcomes = Vec::new();
    for offset in OFFSETS {
        let mut log = SmallLog::new(12, 8 * PAGES_PER_BLOCK)?;
        log.write(0..8 * PAGES_PER_BLOCK)?;
        let first = 2 * PAGES_PER_BLOCK + offset;
        log.trim(first..first + PAGES_PER_BLOCK)?;
        let valid_pages = log.partly_valid();
        let pages = valid_pages.iter().map(u32::to_string).collect::<Vec<_>>().join(" + ");
        table.push(vec![
            offset.to_string(),
            log.trim_touched_blocks().to_string(),
            valid_pages.len().to_string(),
            pages,
        ]);
        outcomes.push((offset, valid_pages));
    }
    table.publish(session, "unit")?;
    let half = PAGES_PER_BLOCK / 2;
    let outcomes_at = |offset: u32| outcomes.iter().filter(move |(at, _)| *at == offset);
    let halves = outcomes_at(half).map(|(_, left)| ("half a segment off".to_owned(), *left == [half, half]));
    statements.check("deleting one upper segment leaves two lower segments half valid", halves);
    let none = outcomes_at(0).map(|(_, left)| ("aligned".to_owned(), left.is_empty()));
    statements.check("it leaves none where they match", none);
    Ok(())
}

/// Results for all ratios under a load, with a placement of the lower log.
struct Curve<'a> {
    name: String,
    cases: &'a [Case],
}

impl Curve<'_> {
    fn at(&self, ratio: f64) -> &Case {
        let at = RATIOS.iter().position(|(other, _)| *other == ratio).expect("a ratio of the table");
        &self.cases[at]
    }

    fn lower(&self, ratio: f64) -> f64 {
        self.at(ratio).interval(|outcome| outcome.lower).mean
    }
}

fn publish(session: &Session, curves: &[Curve]) -> Result<(), Failure> {
    let mut table = Table::default();
    let mut series = Vec::new();
    for curve in curves {
        let (load, placement) = curve.name.split_once(", lower ").expect("both are in the name");
        for ((ratio, _), case) in RATIOS.iter().zip(curve.cases) {
            let total = case.interval(|outcome| outcome.total);
            table.add(
                Fields::default()
                    .text("load", load)
                    .text("lower", placement)
                    .text("upper_over_lower", ratio)
                    .number("scatter_blocks", case.scatter(), 4)
                    .number("upper_wa", case.interval(|outcome| outcome.upper).mean, 4)
                    .number("lower_wa", curve.lower(*ratio), 4)
                    .number("tcwa", total.mean, 4)
                    .number("ci", total.half_width, 4)
                    .number("run_pages", case.interval(|outcome| outcome.run_pages).mean, 1),
            );
        }
        for (kind, divides) in [("", true), (", not aligned", false)] {
            let cases = RATIOS.iter().zip(curve.cases).filter(|((_, other), _)| *other == divides);
            let points = cases
                .map(|((ratio, _), case)| (ratio.log2(), case.interval(|outcome| outcome.lower)))
                .collect();
            series.push(Series { name: format!("{}{kind}", curve.name), points, has_line: divides });
        }
    }
    table.publish(session, "data")?;
    let title = "Lower write amplification over the ratio of the segments";
    let chart = Chart { title, x: "log2 of upper over lower segment size", y: "lower write amplification" };
    chart.draw(session, "plot", &series)
}

fn check(statements: &mut Statements, curves: &[Curve]) {
    let cases = |ratios: &[f64], holds: &dyn Fn(&Curve, f64) -> bool| -> Vec<(String, bool)> {
        let pairs = curves.iter().flat_map(|curve| ratios.iter().map(move |ratio| (curve, *ratio)));
        pairs.map(|(curve, ratio)| (format!("{}, {ratio}", curve.name), holds(curve, ratio))).collect()
    };
    let cases_of_integer_ratio = cases(&[1.0, 2.0, 4.0], &|curve, ratio| curve.at(ratio).scatter() == ratio);
    statements.check(
        "aligned and not smaller: a deleted segment empties whole lower segments and touches no other",
        cases_of_integer_ratio,
    );
    let nothing = cases(&[1.0, 2.0, 4.0], &|curve, ratio| curve.lower(ratio) < 1.001);
    statements.check("aligned and not smaller: the lower log copies nothing", nothing);
    let min_scatter = |ratio: f64| f64::max(ratio.ceil(), 1.0);
    let spread = cases(&[0.75, 1.5], &|curve, ratio| curve.at(ratio).scatter() > min_scatter(ratio));
    statements.check("not aligned: a deleted segment spreads over more lower segments than it needs", spread);
    let higher = cases(&[0.25, 0.5, 0.75, 1.5], &|curve, ratio| curve.lower(ratio) > 1.1 * curve.lower(1.0));
    statements.check("partial invalidation results in higher WA in the lower log", higher);
    let matching =
        cases(&[0.25, 0.5, 0.75, 1.5], &|curve, ratio| curve.at(ratio).total() > curve.at(1.0).total());
    statements.check("matching sizes mitigate: TCWA is lower with equal segments", matching);
}
