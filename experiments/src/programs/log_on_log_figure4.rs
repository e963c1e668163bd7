//! Yang et al. (2014), Figure 4: total combined write amplification over the sizes of the segments.

use crate::Failure;
use crate::chart::{Chart, Series};
use crate::log_on_log::{AssumedValues, Case, Load, Setting, run_settings, size, traces};
use crate::session::Session;
use crate::statements::Statements;
use crate::table::{Fields, Table};

const UPPERS: [u32; 5] = [64, 128, 256, 512, 2048];
const LOWERS: [u32; 9] = [16, 32, 64, 128, 256, 512, 1024, 2048, 4096];

/// Interpretation of the capacity ratio in the figure.
struct Panel {
    name: &'static str,
    upper_spare: f64,
    /// Spare factor of the FTL, if it differs from the assumed spare factor.
    lower_spare: Option<f64>,
    trim: &'static str,
    /// Share of its segments that the log always keeps erased, and thus trimmed; 0 means the minimum.
    kept_erased: f64,
}

const fn panel(name: &'static str, upper_spare: f64) -> Panel {
    Panel { name, upper_spare, lower_spare: None, trim: "true", kept_erased: 0.0 }
}

/// The log's reserve is 10 % or 30 % of the capacity of the FTL. In the last three panels, the FTL learns of the
/// reserve in different ways. Each page is trimmed when it is invalidated; or the log keeps a fifth of its segments
/// erased; or the log takes 10 % of a smaller space, and the FTL has the rest.
const PANELS: [Panel; 5] = [
    panel("90", 0.1),
    panel("70", 0.3),
    Panel { trim: "{ unit = \"page\" }", ..panel("70_page", 0.3) },
    Panel { kept_erased: 0.2, ..panel("70_eager", 0.3) },
    Panel { lower_spare: Some(0.3), ..panel("70_below", 0.1) },
];

/// Number of panels that are also run with a trace.
const TRACE_PANELS: usize = 2;

/// Curve for one upper segment size in a panel.
struct Curve<'a> {
    load: &'static str,
    panel: &'static str,
    upper_kib: u32,
    cases: &'a [Case],
}

impl Curve<'_> {
    fn name(&self) -> String {
        format!("{} {}, upper {}", self.load, self.panel, size(self.upper_kib))
    }

    fn totals(&self) -> Vec<f64> {
        self.cases.iter().map(Case::total).collect()
    }

    fn at(&self, lower_kib: u32) -> Option<f64> {
        self.cases.iter().find(|case| case.setting.lower_kib == lower_kib).map(Case::total)
    }

    /// Returns the growth of TCWA from lower segments of this size to lower segments of twice the size.
    fn growth(&self, lower_kib: u32) -> Option<f64> {
        Some(self.at(2 * lower_kib)? - self.at(lower_kib)?)
    }

    /// Returns the largest lower segment size up to which the FTL copies less than a tenth of its incoming pages.
    fn onset(&self) -> u32 {
        let quiet = |case: &&Case| case.interval(|outcome| outcome.lower).mean < 1.1;
        self.cases.iter().take_while(quiet).last().map_or(0, |case| case.setting.lower_kib)
    }

    /// Returns the lower segment size at which the slope changes most.
    fn knee(&self) -> u32 {
        let totals = self.totals();
        let change = |at: usize| totals[at + 1] - 2.0 * totals[at] + totals[at - 1];
        let at = (1..totals.len() - 1).max_by(|a, b| change(*a).total_cmp(&change(*b))).unwrap_or(0);
        self.cases[at].setting.lower_kib
    }
}

fn settings(assumed: AssumedValues, traces: Vec<Load>) -> Vec<(&'static str, Setting)> {
    let mut settings = Vec::new();
    for (load, panels) in
        [(Load::Oltp, PANELS.len())].into_iter().chain(traces.into_iter().map(|load| (load, TRACE_PANELS)))
    {
        for panel in &PANELS[..panels] {
            for (upper_kib, lower_kib) in
                UPPERS.into_iter().flat_map(|upper| LOWERS.map(|lower| (upper, lower)))
            {
                let Panel { upper_spare, lower_spare, .. } = *panel;
                let (load, trim) = (load.clone(), panel.trim.to_owned());
                let mut setting = Setting {
                    upper_kib,
                    lower_kib,
                    upper_spare,
                    lower_spare: lower_spare.unwrap_or(assumed.ftl_spare),
                    trim,
                    load,
                    ..Setting::new(assumed)
                };
                if panel.kept_erased > 0.0 {
                    let erased = panel.kept_erased * f64::from(setting.ftl_mib() * 1024 / upper_kib);
                    setting.low_watermarks[0] = Some(erased as u32);
                }
                settings.push((panel.name, setting));
            }
        }
    }
    settings
}

pub fn run(session: &Session) -> Result<(), Failure> {
    let (panels, settings): (Vec<_>, Vec<_>) =
        settings(AssumedValues::from_session(session)?, traces(session)).into_iter().unzip();
    let cases = run_settings(session, settings)?;
    let mut curves: Vec<Curve> = Vec::new();
    for (at, cases) in cases.chunks(LOWERS.len()).enumerate() {
        let Setting { upper_kib, load, .. } = &cases[0].setting;
        curves.push(Curve {
            load: load.name(),
            panel: panels[at * LOWERS.len()],
            upper_kib: *upper_kib,
            cases,
        });
    }
    publish(session, &curves)?;
    for chunk in curves.chunks(UPPERS.len()) {
        draw(session, chunk)?;
    }
    check(&curves).publish(session)
}

fn publish(session: &Session, curves: &[Curve]) -> Result<(), Failure> {
    let (mut table, mut knees) = (Table::default(), Table::default());
    for curve in curves {
        let key = || {
            Fields::default()
                .text("load", curve.load)
                .text("panel", curve.panel)
                .text("upper_kib", curve.upper_kib)
        };
        for case in curve.cases {
            let total = case.interval(|outcome| outcome.total);
            table.add(
                key()
                    .text("lower_kib", case.setting.lower_kib)
                    .number("tcwa", total.mean, 4)
                    .number("ci", total.half_width, 4)
                    .number("upper_wa", case.interval(|outcome| outcome.upper).mean, 4)
                    .number("lower_wa", case.interval(|outcome| outcome.lower).mean, 4)
                    .number("scatter_blocks", case.scatter(), 4)
                    .number("moved_by_both", case.interval(|outcome| outcome.moved_by_both).mean, 4)
                    .number("moved_again", case.interval(|outcome| outcome.moved_again).mean, 4),
            );
        }
        let best =
            curve.cases.iter().min_by(|a, b| a.total().total_cmp(&b.total())).expect("a curve has cases");
        knees.add(
            key()
                .text("knee_lower_kib", curve.knee())
                .text("quiet_up_to_kib", curve.onset())
                .text("best_lower_kib", best.setting.lower_kib)
                .number("tcwa_at_best", best.total(), 4)
                .number("upper_wa", best.interval(|outcome| outcome.upper).mean, 4),
        );
    }
    table.write(session, "data")?;
    knees.publish(session, "knees")
}

fn check(curves: &[Curve]) -> Statements {
    let mut statements = Statements::default();
    let at_upper = |holds: &dyn Fn(&Curve) -> Option<bool>| -> Vec<(String, bool)> {
        curves.iter().filter_map(|curve| Some((curve.name(), holds(curve)?))).collect()
    };
    statements.check(
        "the largest change of slope is where the lower segment outgrows the upper one",
        at_upper(&|curve| Some(curve.knee() == curve.upper_kib)),
    );
    statements.check(
        "TCWA grows more from lower = upper to 2 x upper than on the doubling before",
        at_upper(&|curve| Some(curve.growth(curve.upper_kib)? > curve.growth(curve.upper_kib / 2)?)),
    );
    let up_to = |curve: &Curve| {
        let small = curve.cases.iter().filter(|case| case.setting.lower_kib <= curve.upper_kib);
        Some(small.into_iter().all(|case| case.interval(|outcome| outcome.lower).mean < 1.001))
    };
    statements.check("the lower WA is 1 where lower <= upper", at_upper(&up_to));
    let panel_curve = |curve: &Curve, panel: &str| {
        curves.iter().find(|other| {
            other.panel == panel && other.load == curve.load && other.upper_kib == curve.upper_kib
        })
    };
    for panel in ["70", "70_page", "70_eager", "70_below"] {
        let pairs: Vec<(&Curve, &Curve)> = curves
            .iter()
            .filter(|curve| curve.panel == "90")
            .filter_map(|curve| Some((curve, panel_curve(curve, panel)?)))
            .collect();
        let knees = pairs.iter().map(|(curve, other)| (curve.name(), other.knee() > curve.knee()));
        statements.check(&format!("the knee is at a larger lower segment in panel {panel}"), knees);
        let onsets = pairs.iter().map(|(curve, other)| (curve.name(), other.onset() > curve.onset()));
        statements.check(&format!("the FTL is quiet up to a larger segment in panel {panel}"), onsets);
    }
    let smaller_lower_is_best = |curve: &Curve| {
        let totals = curve.totals();
        Some(totals[1..].iter().any(|total| *total < totals[0] * 0.999))
    };
    statements.check(
        "smaller is not always better: the smallest lower segment is not the best",
        at_upper(&smaller_lower_is_best),
    );
    let panels = curves.chunks(UPPERS.len()).flat_map(|panel| {
        LOWERS.into_iter().filter_map(move |lower| {
            let first = panel[0].at(lower)?;
            let better = panel[1..].iter().any(|curve| curve.at(lower).is_some_and(|total| total < first));
            Some((format!("{} {}, lower {}", panel[0].load, panel[0].panel, size(lower)), better))
        })
    });
    statements.check("smaller is not always better: the smallest upper segment is not the best", panels);
    statements
}

fn draw(session: &Session, curves: &[Curve]) -> Result<(), Failure> {
    let series: Vec<Series> = curves
        .iter()
        .map(|curve| {
            let x_of = |case: &Case| f64::from(case.setting.lower_kib).log2();
            let points = curve.cases.iter().map(|case| (x_of(case), case.interval(|outcome| outcome.total)));
            let name = format!("upper segment {}", size(curve.upper_kib));
            Series { name, points: points.collect(), has_line: true }
        })
        .collect();
    let (load, panel) = (curves[0].load, curves[0].panel);
    let title = format!("TCWA, {load}, upper/lower capacity ratio {}", panel.replace('_', ", "));
    let chart = Chart { title: &title, x: "log2 of the lower segment in KiB", y: "TCWA" };
    chart.draw(session, &format!("{load}_{panel}"), &series)
}
