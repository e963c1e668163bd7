//! Yang et al. (2014), sec. 5: the rules for the sizes of segments and for TRIM, over the ratio of the capacities.

use crate::Failure;
use crate::chart::{Chart, Series};
use crate::log_on_log::{AssumedValues, Case, Setting, run_settings, size};
use crate::session::Session;
use crate::statements::{Statements, is_rising};
use crate::table::{Fields, Table};

const RATIOS: [f64; 6] = [0.95, 0.9, 0.8, 0.7, 0.6, 0.5];
const UPPERS: [u32; 5] = [64, 128, 256, 512, 1024];
const LOWERS: [u32; 2] = [256, 1024];

/// Share of its reserve that the log keeps erased: the minimum, or half.
const RESERVE_MODES: [(&str, f64); 2] = [("lazy", 0.0), ("eager", 0.5)];

const TRIMS: [(&str, &str); 2] = [("on", "true"), ("off", "false")];

/// Results of the upper segment sizes on one stack.
struct Row<'a> {
    reserve_mode: &'static str,
    trim: &'static str,
    ratio: f64,
    lower_kib: u32,
    cases: &'a [Case],
}

impl Row<'_> {
    fn name(&self) -> String {
        format!("{}, lower {}, ratio {}", self.reserve_mode, size(self.lower_kib), self.ratio)
    }

    fn total(&self, upper_kib: u32) -> f64 {
        let at = UPPERS.iter().position(|other| *other == upper_kib).expect("a size of the table");
        self.cases[at].total()
    }

    /// Returns the TCWA for those upper segment sizes that `selects` accepts.
    fn totals(&self, selects: impl Fn(u32) -> bool) -> impl Iterator<Item = f64> {
        UPPERS.into_iter().filter(move |upper| selects(*upper)).map(|upper| self.total(upper))
    }

    fn best(&self) -> u32 {
        let by_total = |a: &u32, b: &u32| self.total(*a).total_cmp(&self.total(*b));
        UPPERS.into_iter().min_by(by_total).expect("there are sizes")
    }
}

pub fn run(session: &Session) -> Result<(), Failure> {
    let assumed = AssumedValues::from_session(session)?;
    let (mut settings, mut keys) = (Vec::new(), Vec::new());
    for (reserve_mode, share) in RESERVE_MODES {
        for (trim, rule) in TRIMS {
            for lower_kib in LOWERS {
                for ratio in RATIOS {
                    keys.push((reserve_mode, trim, ratio, lower_kib));
                    let setting_of = |upper_kib| setting(assumed, upper_kib, lower_kib, ratio, share, rule);
                    settings.extend(UPPERS.map(setting_of));
                }
            }
        }
    }
    let cases = run_settings(session, settings)?;
    let mut rows: Vec<Row> = Vec::new();
    for ((reserve_mode, trim, ratio, lower_kib), cases) in keys.into_iter().zip(cases.chunks(UPPERS.len())) {
        rows.push(Row { reserve_mode, trim, ratio, lower_kib, cases });
    }
    publish(session, &rows)?;
    check(&rows).publish(session)
}

fn setting(
    assumed: AssumedValues,
    upper_kib: u32,
    lower_kib: u32,
    ratio: f64,
    share: f64,
    trim: &str,
) -> Setting {
    let upper_spare = 1.0 - ratio;
    let setting =
        Setting { upper_kib, lower_kib, upper_spare, trim: trim.to_owned(), ..Setting::new(assumed) };
    let erased = (share * upper_spare * f64::from(setting.ftl_mib() * 1024 / upper_kib)) as u32;
    let pools = [Some(erased).filter(|kept| *kept > 2), None];
    Setting { low_watermarks: pools, ..setting }
}

fn publish(session: &Session, rows: &[Row]) -> Result<(), Failure> {
    let (mut table, mut best) = (Table::default(), Table::default());
    for row in rows {
        let key = || {
            Fields::default()
                .text("reading", row.reserve_mode)
                .text("trim", row.trim)
                .text("lower_kib", row.lower_kib)
                .text("ratio", row.ratio)
        };
        for case in row.cases {
            let total = case.interval(|outcome| outcome.total);
            table.add(
                key()
                    .text("upper_kib", case.setting.upper_kib)
                    .number("upper_wa", case.interval(|outcome| outcome.upper).mean, 4)
                    .number("lower_wa", case.interval(|outcome| outcome.lower).mean, 4)
                    .number("tcwa", total.mean, 4)
                    .number("ci", total.half_width, 4),
            );
        }
        let found = row.best();
        best.add(key().text("best_upper_kib", found).number("tcwa_at_best", row.total(found), 4));
    }
    table.write(session, "data")?;
    best.publish(session, "best")?;
    for (reserve_mode, _) in RESERVE_MODES {
        draw(session, reserve_mode, rows)?;
    }
    Ok(())
}

/// Draws TCWA over the capacity ratio with lower segments of 256 KiB and TRIM.
fn draw(session: &Session, reserve_mode: &str, rows: &[Row]) -> Result<(), Failure> {
    let shown = || {
        rows.iter()
            .filter(|row| row.reserve_mode == reserve_mode && row.trim == "on" && row.lower_kib == LOWERS[0])
    };
    let series: Vec<Series> = UPPERS
        .into_iter()
        .map(|upper| {
            let name = format!("upper segment {}", size(upper));
            Series::line(name, shown().map(|row| (row.ratio, row.total(upper))))
        })
        .collect();
    let title =
        format!("TCWA over the capacity ratio, {reserve_mode} log, lower segment {}", size(LOWERS[0]));
    let chart = Chart { title: &title, x: "upper/lower capacity ratio", y: "TCWA" };
    chart.draw(session, reserve_mode, &series)
}

fn check(rows: &[Row]) -> Statements {
    let mut statements = Statements::default();
    let each = |wanted: &dyn Fn(&Row) -> bool, holds: &dyn Fn(&Row) -> bool| -> Vec<(String, bool)> {
        let trimmed = rows.iter().filter(|row| row.trim == "on" && wanted(row));
        trimmed.map(|row| (row.name(), holds(row))).collect()
    };
    let upper_rises = each(&|_| true, &|row| {
        is_rising(row.cases.iter().map(|case| case.interval(|outcome| outcome.upper).mean))
    });
    statements.check("a smaller upper segment gives a smaller FSWA", upper_rises);
    let smaller_wins = |row: &Row| {
        let small = row.totals(|upper| upper < row.lower_kib).fold(f64::MAX, f64::min);
        small < row.totals(|upper| upper >= row.lower_kib).fold(f64::MAX, f64::min)
    };
    statements.check(
        "lower capacity ratio (70 % or less): an upper segment smaller than the lower one gives the least TCWA",
        each(&|row| row.ratio <= 0.7, &smaller_wins),
    );
    let steps = rows.windows(2).filter(|pair| pair[0].trim == "on" && pair[0].ratio > pair[1].ratio);
    let never_larger = steps.map(|pair| (pair[1].name(), pair[1].best() <= pair[0].best()));
    statements.check("the best upper segment never grows as the ratio falls by a step", never_larger);
    let close = |row: &Row| row.ratio >= 0.9;
    let all_larger = |row: &Row| {
        let large = row.totals(|upper| upper >= row.lower_kib).fold(f64::MIN, f64::max);
        large < row.totals(|upper| upper < row.lower_kib).fold(f64::MAX, f64::min)
    };
    statements.check(
        "capacities close (90 % or more): every upper >= lower gives a smaller TCWA than every upper < lower",
        each(&close, &all_larger),
    );
    statements.check(
        "capacities close: the best upper segment is at least the lower one's size",
        each(&close, &|row| row.best() >= row.lower_kib),
    );
    statements.check(
        "ours: the same at 80 % or less",
        each(&|row| row.ratio <= 0.8, &|row| row.best() >= row.lower_kib),
    );
    check_trim(rows, &mut statements);
    statements
}

fn check_trim(rows: &[Row], statements: &mut Statements) {
    let pairs = || {
        rows.iter().filter(|row| row.trim == "on").flat_map(|on| {
            let same = |off: &&Row| {
                off.trim == "off"
                    && (off.reserve_mode, off.lower_kib, off.ratio)
                        == (on.reserve_mode, on.lower_kib, on.ratio)
            };
            let off = rows.iter().find(same).expect("each stack runs with and without TRIM");
            UPPERS.into_iter().map(move |upper| (on, upper, off.total(upper) / on.total(upper)))
        })
    };
    for (side, smaller) in [("upper < lower", true), ("upper >= lower", false)] {
        for (reserve_mode, _) in RESERVE_MODES {
            let cases = pairs()
                .filter(|(row, upper, _)| {
                    row.reserve_mode == reserve_mode && (*upper < row.lower_kib) == smaller
                })
                .map(|(row, upper, cost)| (format!("{}, upper {}", row.name(), size(upper)), cost > 1.05));
            let statement = format!("TRIM is critical: off costs more than 5 % ({reserve_mode} {side})");
            statements.check(&statement, cases.collect::<Vec<_>>());
        }
    }
}
