//! Yang et al. (2014), sec. 4.5 with Figures 6 and 7: a log on an FTL with and without TRIM.

use crate::Failure;
use crate::chart::{Chart, Series};
use crate::log_on_log::{AssumedValues, Case, Setting, run_settings};
use crate::session::Session;
use crate::small_log::{PAGES_PER_BLOCK, SmallLog};
use crate::statements::Statements;
use crate::table::{Fields, Table};

const LOWER_KIB: u32 = 256;
const UPPERS: [u32; 6] = [64, 128, 192, 256, 384, 1024];

/// Share of its segments that the log keeps erased: the minimum, or half of its reserve.
const KEPT_ERASED: [f64; 2] = [0.016, 0.1];

/// TRIM rules of the log. `BATCH` stands for the number of segments with the given size in MiB.
const RULES: [(&str, &str); 10] = [
    ("off", "false"),
    ("segment", "true"),
    ("page", "{ unit = \"page\" }"),
    ("delayed 1 MiB", "{ delay = \"1 MiB\" }"),
    ("delayed 4 MiB", "{ delay = \"4 MiB\" }"),
    ("delayed 64 MiB", "{ delay = \"64 MiB\" }"),
    ("batches of 1 MiB", "{ batch = BATCH1 }"),
    ("batches of 4 MiB", "{ batch = BATCH4 }"),
    ("aligned to 256 KiB", "{ align = \"256 KiB\" }"),
    ("aligned to 1 MiB", "{ align = \"1 MiB\" }"),
];

pub fn run(session: &Session) -> Result<(), Failure> {
    let mut statements = Statements::default();
    run_unit_scenarios(session, &mut statements)?;
    let (assumed, mut settings) = (AssumedValues::from_session(session)?, Vec::new());
    let spare = session.assumed_value("log_on_log/trim-spare")?;
    for kept_erased in KEPT_ERASED {
        for upper_kib in UPPERS {
            for (_, rule) in RULES {
                let batch = |mib: u32| (1024 * mib / upper_kib).max(1).to_string();
                let trim = rule.replace("BATCH1", &batch(1)).replace("BATCH4", &batch(4));
                let setting = Setting {
                    upper_kib,
                    lower_kib: LOWER_KIB,
                    upper_spare: spare,
                    trim,
                    ..Setting::new(assumed)
                };
                let erased = (kept_erased * f64::from(setting.ftl_mib() * 1024 / upper_kib)) as u32;
                settings.push(Setting { low_watermarks: [Some(erased), None], ..setting });
            }
        }
    }
    let cases = run_settings(session, settings)?;
    let groups: Vec<RuleCases> = cases
        .chunks(RULES.len())
        .enumerate()
        .map(|(at, cases)| RuleCases {
            kept_erased: KEPT_ERASED[at / UPPERS.len()],
            upper_kib: UPPERS[at % UPPERS.len()],
            cases,
        })
        .collect();
    publish(session, &groups)?;
    check(&mut statements, &groups);
    statements.publish(session)
}

/// Counts of the lower log for one order of the two cleanings.
struct CleaningOrder {
    name: &'static str,
    trim: bool,
    device_first: bool,
    /// Number of pages that the lower log copied in its first cleaning.
    copied: u64,
    /// Number of pages of the upper segment that both logs copied.
    copied_twice: u64,
    /// Number of invalid pages among those that the lower log copied.
    copied_invalid: u64,
    /// Number of lower blocks that are partly invalid at the end.
    partial_blocks: usize,
}

/// Repeats Figures 6 and 7 with blocks of eight pages and segments of four pages.
///
/// In the upper segment of pages 4 to 7, pages 4 and 6 are invalid for the upper log. The other half of its lower
/// block is already invalid, and all other blocks hold more valid pages. The upper log moves pages 5 and 7 to pages
/// 20 and 21, and trims the segment; three other writes trigger cleaning in the lower log. The two orders of these
/// steps are compared.
fn run_order(name: &'static str, trim: bool, device_first: bool) -> Result<CleaningOrder, Failure> {
    let mut log = SmallLog::new(7, 4 * PAGES_PER_BLOCK)?;
    log.write(0..4 * PAGES_PER_BLOCK)?;
    log.write([0, 1, 2, 3, 8, 9, 10, 16, 24, 25, 26, 8, 24, 25])?;
    let (mut twice, mut dead) = (0, 0);
    for device in [device_first, !device_first] {
        if device {
            log.write([9, 10, 26])?;
            dead = if device_first { log.copied_pages_of([4, 6]) } else { log.copied_pages_of(4..8) };
        } else {
            twice = log.copied_pages_of([5, 7]);
            log.write([20, 21])?;
            if trim {
                log.trim(4..8)?;
            }
        }
    }
    Ok(CleaningOrder {
        name,
        trim,
        device_first,
        copied: log.copied_pages(),
        copied_twice: twice,
        copied_invalid: dead,
        partial_blocks: log.partly_valid().len(),
    })
}

fn run_unit_scenarios(session: &Session, statements: &mut Statements) -> Result<(), Failure> {
    let orders = [
        run_order("Figure 6 without TRIM, device first", false, true)?,
        run_order("Figure 6 without TRIM, file system first", false, false)?,
        run_order("Figure 7 with TRIM, device first", true, true)?,
        run_order("Figure 7 with TRIM, file system first", true, false)?,
    ];
    let mut table = Table::default();
    for order in &orders {
        table.add(
            Fields::default()
                .text("scenario", order.name.replace(',', ";"))
                .text("copied_below", order.copied)
                .text("of_them_dead_above", order.copied_invalid)
                .text("copied_by_both", order.copied_twice)
                .text("partly_valid_blocks", order.partial_blocks),
        );
    }
    table.publish(session, "unit")?;
    let each = |wanted: &dyn Fn(&CleaningOrder) -> bool,
                holds: &dyn Fn(&CleaningOrder) -> bool|
     -> Vec<(String, bool)> {
        orders
            .iter()
            .filter(|order| wanted(order))
            .map(|order| (order.name.to_owned(), holds(order)))
            .collect()
    };
    let cases = each(&|order| !order.trim, &|order| order.copied_invalid > 0);
    statements.check("unit: without TRIM the lower log copies pages that are dead above", cases);
    let twice = each(&|order| order.device_first, &|order| order.copied_twice == 2);
    statements.check("unit: if the device cleans first valid pages are copied by both", twice);
    let holes = [("Figure 7".to_owned(), orders[2].partial_blocks > orders[0].partial_blocks)];
    statements
        .check("unit: a trim after the device has cleaned leaves one more lower segment partly valid", holes);
    let postponed = each(&|order| order.trim && !order.device_first, &|order| order.copied == 0);
    statements.check("unit: with TRIM and the lower cleaning postponed nothing is copied below", postponed);
    Ok(())
}

/// Results of the rules on one variant of the stack.
struct RuleCases<'a> {
    kept_erased: f64,
    upper_kib: u32,
    cases: &'a [Case],
}

impl RuleCases<'_> {
    fn name(&self) -> String {
        format!("upper {} KiB, {} % erased", self.upper_kib, 100.0 * self.kept_erased)
    }

    fn case(&self, rule: &str) -> &Case {
        &self.cases[RULES.iter().position(|(name, _)| *name == rule).expect("a rule of the table")]
    }

    fn total(&self, rule: &str) -> f64 {
        self.case(rule).total()
    }
}

fn publish(session: &Session, groups: &[RuleCases]) -> Result<(), Failure> {
    let mut table = Table::default();
    let mut series = Vec::new();
    for group in groups {
        let mut points = Vec::new();
        for (at, ((rule, _), case)) in RULES.iter().zip(group.cases).enumerate() {
            let total = case.interval(|outcome| outcome.total);
            let mean = |field: fn(&crate::log_on_log::Outcome) -> f64| case.interval(field).mean;
            table.add(
                Fields::default()
                    .text("kept_erased", group.kept_erased)
                    .text("upper_kib", group.upper_kib)
                    .text("trim", rule)
                    .number("tcwa", total.mean, 4)
                    .number("ci", total.half_width, 4)
                    .number("upper_wa", mean(|outcome| outcome.upper), 4)
                    .number("lower_wa", mean(|outcome| outcome.lower), 4)
                    .number("copied_below", mean(|outcome| outcome.lower_copies), 4)
                    .number("copied_by_both", mean(|outcome| outcome.moved_by_both), 4)
                    .number("copied_again_below", mean(|outcome| outcome.moved_again), 4)
                    .number("sequential_share", mean(|outcome| outcome.sequential), 4)
                    .number("scatter_blocks", case.scatter(), 4)
                    .number("trims_lost", mean(|outcome| outcome.lost_trim_share), 4),
            );
            points.push((at as f64, total));
        }
        series.push(Series { name: group.name(), points, has_line: true });
    }
    table.publish(session, "data")?;
    let title = "TCWA by TRIM rule, lower segment 256 KiB";
    let x = "off, segment, page, delayed 1, 4, 64 MiB, batches of 1, 4 MiB, aligned 256 KiB, 1 MiB";
    Chart { title, x, y: "TCWA" }.draw(session, "plot", &series)
}

fn check(statements: &mut Statements, groups: &[RuleCases]) {
    let each = |holds: &dyn Fn(&RuleCases) -> bool| -> Vec<(String, bool)> {
        groups.iter().map(|group| (group.name(), holds(group))).collect()
    };
    statements.check(
        "without TRIM the lower log copies more: TCWA off above that with segments trimmed",
        each(&|group| group.total("off") > group.total("segment")),
    );
    statements.check(
        "TRIM is critical: off costs 10 % or more",
        each(&|group| group.total("off") > 1.1 * group.total("segment")),
    );
    statements.check(
        "even with TRIM the lower log fragments: it copies pages with segments trimmed",
        each(&|group| group.case("segment").interval(|outcome| outcome.lower_copies).mean > 0.001),
    );
    statements.check(
        "valid pages are copied by both layers with segments trimmed",
        each(&|group| group.case("segment").interval(|outcome| outcome.moved_by_both).mean > 0.001),
    );
    statements.check(
        "the same view of validity is best: pages trimmed as they die give the least TCWA of all",
        each(&|group| RULES.iter().all(|(rule, _)| group.total("page") <= 1.005 * group.total(rule))),
    );
    statements.check(
        "ours: a longer delay costs more",
        each(&|group| {
            group.total("delayed 1 MiB") <= group.total("delayed 4 MiB")
                && group.total("delayed 4 MiB") <= group.total("delayed 64 MiB")
        }),
    );
}
