//! GeckoFTL (SIGMOD 2016), section 5.3: what checkpoints cost, and whether the translation table costs as much as in FTLs with a
//! battery.

use crate::Failure;
use crate::log_on_log::number;
use crate::paged::{self, Measured};
use crate::session::Session;
use crate::statements::Statements;
use crate::table::Table;

/// Times that the logical pages are written at random before, and while, it is measured.
const WARM_UP: f64 = 1.0;
const MEASURED: f64 = 0.25;

/// What it is asked for.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Logarithm of the number of blocks to the base 2.
    log2_blocks: u32,
}

/// An FTL that is measured.
#[derive(Clone, Debug, serde::Serialize)]
struct Point {
    log2_blocks: u32,
    ftl: &'static str,
    checkpoints: bool,
    /// Whether before-images are looked for late and metadata is left to die by itself, as GeckoFTL does.
    like_gecko: bool,
}

impl Point {
    fn all(log2_blocks: u32) -> [Point; 6] {
        let of = |ftl, checkpoints, like_gecko| Point { log2_blocks, ftl, checkpoints, like_gecko };
        [
            of("gecko", true, true),
            of("gecko", false, true),
            of("dftl", false, true),
            of("mu_ftl", false, true),
            of("dftl", false, false),
            of("mu_ftl", false, false),
        ]
    }
}

fn measure(point: &Point) -> Result<Measured, Failure> {
    let blocks = 1 << point.log2_blocks;
    let mut settings = paged::settings(point.ftl, blocks)?;
    settings.config.checkpoints = point.checkpoints;
    if point.like_gecko {
        settings.config.eager = false;
        settings.config.cleans_metadata = false;
    }
    paged::run(&settings, blocks, WARM_UP, MEASURED)
}

pub fn run(session: &Session) -> Result<(), Failure> {
    let asked: Settings = session.settings()?;
    let points = Point::all(asked.log2_blocks);
    let measured = session.each("FTL with and without checkpoints", &points, measure)?;
    let mut table =
        Table::new(&["ftl", "checkpoints", "late_and_left_alone", "wa_user", "wa_translation", "wa_validity"]);
    for (point, measured) in points.iter().zip(&measured) {
        let head = [point.ftl.to_owned(), point.checkpoints.to_string(), point.like_gecko.to_string()];
        table.push(head.into_iter().chain(measured.amplification().map(|value| number(value, 4))).collect());
    }
    table.publish(session, "data")?;
    let all: Vec<f64> = measured.iter().map(|found| found.amplification().iter().sum()).collect();
    let translation: Vec<f64> = measured.iter().map(|found| found.amplification()[1]).collect();
    let mut statements = Statements::default();
    let case = |value: f64, beside: f64, holds: bool| (format!("{value:.4} beside {beside:.4}"), holds);
    statements.check(
        "checkpoints add less than 1 percent of all writes",
        [case(all[0], all[1], all[0] <= 1.01 * all[1])],
    );
    let alike = |others: [usize; 2], percent: f64| {
        let (own, translation) = (translation[0], &translation);
        others.map(move |at| {
            let other = translation[at];
            case(own, other, (own / other - 1.0).abs() <= percent / 100.0)
        })
    };
    statements.check(
        "the translation table costs as much as with a battery: within 2 percent if all look for before-images late and leave metadata alone",
        alike([2, 3], 2.0),
    );
    statements.check(
        "the translation table costs as much as with a battery: within 10 percent of DFTL and mu-FTL as published",
        alike([4, 5], 10.0),
    );
    statements.publish(session)
}
