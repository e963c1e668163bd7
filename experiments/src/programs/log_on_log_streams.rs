//! Yang et al. (2014), sec. 4.2, 4.4 and Table 1: `m` streams of a log on `n` streams of the FTL, without metadata.

use crate::Failure;
use crate::chart::{Chart, Series};
use crate::log_on_log::{AssumedValues, Case, Load, Outcome, Setting, run_settings, size};
use crate::session::Session;
use crate::statements::{Statements, is_falling, is_rising};
use crate::table::{Fields, Table};

const LOWER_KIB: u32 = 256;
const UPPERS: [u32; 3] = [64, 256, 1024];
const LOADS: [Load; 2] = [Load::Oltp, Load::Uniform];

/// Families of placements of the log, from few to many streams.
const FAMILIES: [(&str, [(u32, &str); 4]); 2] = [
    (
        "age_classes",
        [
            (1, "\"single\""),
            (2, "\"double\""),
            (4, "{ kind = \"age_classes\", age_bounds = [] }"),
            (6, "\"age_classes\""),
        ],
    ),
    (
        "write_count",
        [
            (1, "\"single\""),
            (2, "{ kind = \"write_count\", thresholds = [4] }"),
            (4, "{ kind = \"write_count\", thresholds = [2, 4, 8] }"),
            (6, "{ kind = \"write_count\", thresholds = [1, 2, 4, 8, 12] }"),
        ],
    ),
];

/// Placements of the FTL; the last two follow the streams of the log, of which there are two and six.
const LOWERS: [(&str, &str); 4] = [
    ("1", "\"single\""),
    ("1 and cleaning", "\"double\""),
    ("2 by stream", "{ kind = \"host_hint\", streams = 2 }"),
    ("6 by stream", "{ kind = \"host_hint\", streams = 6 }"),
];

/// Results for a load, a family, an upper segment size and an FTL, over the number of streams.
struct Curve<'a> {
    load: &'static str,
    family: &'static str,
    upper_kib: u32,
    lower: &'static str,
    cases: &'a [Case],
}

impl Curve<'_> {
    fn name(&self) -> String {
        format!("{} {}, upper {}, lower {}", self.load, self.family, size(self.upper_kib), self.lower)
    }

    fn over_streams(&self, field: fn(&Outcome) -> f64) -> Vec<f64> {
        self.cases.iter().map(|case| case.interval(field).mean).collect()
    }
}

pub fn run(session: &Session) -> Result<(), Failure> {
    let assumed = AssumedValues::from_session(session)?;
    let upper_spare = session.assumed_value("log_on_log/log-spare")?;
    let pool = session.assumed_value("log_on_log/streams-pool")? as u32;
    let (mut settings, mut places) = (Vec::new(), Vec::new());
    for load in LOADS {
        for (family, placements) in FAMILIES {
            for upper_kib in UPPERS {
                for (lower, lower_placement) in LOWERS {
                    places.push((load.name(), family, upper_kib, lower));
                    settings.extend(placements.map(|(_, placement)| Setting {
                        upper_kib,
                        lower_kib: LOWER_KIB,
                        upper_spare,
                        placements: [placement, lower_placement].map(str::to_owned),
                        low_watermarks: [Some(pool); 2],
                        load: load.clone(),
                        ..Setting::new(assumed)
                    }));
                }
            }
        }
    }
    let cases = run_settings(session, settings)?;
    let mut curves: Vec<Curve> = Vec::new();
    for ((load, family, upper_kib, lower), cases) in places.into_iter().zip(cases.chunks(4)) {
        curves.push(Curve { load, family, upper_kib, lower, cases });
    }
    publish(session, &curves)?;
    check(&curves).publish(session)
}

fn publish(session: &Session, curves: &[Curve]) -> Result<(), Failure> {
    let mut table = Table::default();
    let mut series = Vec::new();
    for curve in curves {
        let streams = FAMILIES[0].1.map(|(streams, _)| streams);
        for (streams, case) in streams.into_iter().zip(curve.cases) {
            let mean = |field: fn(&Outcome) -> f64| case.interval(field).mean;
            table.add(
                Fields::default()
                    .text("load", curve.load)
                    .text("family", curve.family)
                    .text("upper_kib", curve.upper_kib)
                    .text("lower", curve.lower)
                    .text("upper_streams", streams)
                    .number("upper_wa", mean(|outcome| outcome.upper), 4)
                    .number("device_wa", mean(|outcome| outcome.lower), 4)
                    .number("device_ci", case.interval(|outcome| outcome.lower).half_width, 4)
                    .number("tcwa", mean(|outcome| outcome.total), 4)
                    .number("sequential_share", mean(|outcome| outcome.sequential), 4)
                    .number("sequential_in_8_streams", mean(|outcome| outcome.stream_sequential), 4)
                    .number("scatter_blocks", case.scatter(), 4)
                    .number("spilled_share", mean(|outcome| outcome.spilled), 4),
            );
        }
        if curve.load == "oltp" && curve.family == "age_classes" && curve.upper_kib >= LOWER_KIB {
            let name = format!("upper {}, lower {}", size(curve.upper_kib), curve.lower);
            let points = streams.into_iter().zip(curve.cases);
            let points =
                points.map(|(streams, case)| (f64::from(streams), case.interval(|outcome| outcome.lower)));
            series.push(Series { name, points: points.collect(), has_line: true });
        }
    }
    table.publish(session, "data")?;
    let title = "Device write amplification over the log's streams, oltp, age_classes";
    let chart = Chart { title, x: "streams of the log", y: "device write amplification" };
    chart.draw(session, "plot", &series)
}

fn check(curves: &[Curve]) -> Statements {
    let mut statements = Statements::default();
    let each = |wanted: &dyn Fn(&Curve) -> bool, holds: &dyn Fn(&Curve) -> bool| -> Vec<(String, bool)> {
        curves.iter().filter(|curve| wanted(curve)).map(|curve| (curve.name(), holds(curve))).collect()
    };
    let all = |_: &Curve| true;
    let ignores_streams = |curve: &Curve| curve.lower.starts_with('1');
    let device = |curve: &Curve| curve.over_streams(|outcome| outcome.lower);
    statements.check(
        "6 upper streams cause a higher device WA than 2 on one lower stream",
        each(&ignores_streams, &|curve| device(curve)[3] > device(curve)[1]),
    );
    let copies = |curve: &Curve| curve.over_streams(|outcome| outcome.lower_copies);
    statements.check(
        "6 upper streams cause more pages copied by the device than 2 at equal host writes",
        each(&ignores_streams, &|curve| copies(curve)[3] > copies(curve)[1]),
    );
    let total = |curve: &Curve| curve.over_streams(|outcome| outcome.total);
    statements.check(
        "ours: 6 upper streams cause a higher TCWA than 2 on one lower stream",
        each(&ignores_streams, &|curve| total(curve)[3] > total(curve)[1]),
    );
    let sequential = |curve: &Curve| curve.over_streams(|outcome| outcome.sequential);
    statements.check(
        "what arrives is less sequential with each step to more upper streams",
        each(&ignores_streams, &|curve| is_falling(sequential(curve))),
    );
    let scatter = |curve: &Curve| curve.over_streams(|outcome| outcome.scatter.unwrap_or(f64::NAN));
    statements.check(
        "invalidation scatters over more lower segments with each step to more upper streams",
        each(&ignores_streams, &|curve| is_rising(scatter(curve))),
    );
    statements.check(
        "matching or larger segments do not overcome it: the device copies pages with 2 or more upper streams",
        each(&|curve| ignores_streams(curve) && curve.upper_kib >= LOWER_KIB, &|curve| {
            device(curve)[1..].iter().all(|amplification| *amplification > 1.01)
        }),
    );
    let pairs = curves.chunks(LOWERS.len()).flat_map(|lowers| {
        let at = |lower: usize| device(&lowers[lower])[3];
        let fewer_per_lower = is_falling([at(0), at(2), at(3)]);
        [(lowers[0].name(), fewer_per_lower)]
    });
    statements.check("6 upper streams: device WA falls with m/n from 6/1 over 6/2 to 6/6", pairs);
    statements.check(
        "ours: as many lower streams as upper ones undo it where segments match or are larger: device WA below 1.01",
        each(&|curve| all(curve) && curve.lower.starts_with('6') && curve.upper_kib >= LOWER_KIB, &|curve| {
            device(curve).iter().all(|amplification| *amplification < 1.01)
        }),
    );
    statements
}
