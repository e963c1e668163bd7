//! GeckoFTL (SIGMOD 2016), section 5.3: cost of checkpoints, cost of the translation table compared with FTLs that
//! have a battery, and savings if metadata blocks are not cleaned.

use crate::Failure;
use crate::paged::{self, Measurement, PAGES_PER_BLOCK, WriteVolume};
use crate::session::Session;
use crate::statements::Statements;
use crate::table::{Table, number};

/// Settings of the program.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Base-2 logarithm of the number of blocks.
    log2_blocks: u32,
}

/// An FTL, with its differences from the published design.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
struct Variant {
    ftl: &'static str,
    checkpoints: bool,
    /// True if before-images are looked up late, as in GeckoFTL.
    #[serde(rename = "late")]
    late_lookup: bool,
    /// True if metadata blocks are cleaned.
    cleans_metadata: bool,
}

impl Variant {
    fn published(ftl: &'static str) -> Self {
        let is_gecko = ftl == "gecko";
        let late = !["dftl", "mu_ftl"].contains(&ftl);
        Variant { ftl, checkpoints: is_gecko, late_lookup: late, cleans_metadata: !is_gecko }
    }

    /// Returns the variant with the opposite choice of cleaning metadata blocks.
    fn with_opposite_metadata_cleaning(self) -> Self {
        Variant { cleans_metadata: !self.cleans_metadata, ..self }
    }

    fn all() -> Vec<Variant> {
        let published = paged::FTLS.map(Variant::published);
        let like_gecko =
            |ftl| Variant { late_lookup: true, cleans_metadata: false, ..Variant::published(ftl) };
        let mut kinds = published.to_vec();
        kinds.extend(published.map(Variant::with_opposite_metadata_cleaning));
        kinds.push(Variant { checkpoints: false, ..Variant::published("gecko") });
        kinds.extend(["dftl", "mu_ftl"].map(like_gecko));
        kinds
    }
}

/// A variant to measure.
#[derive(Clone, Debug, serde::Serialize)]
struct Point {
    log2_blocks: u32,
    #[serde(rename = "kind")]
    variant: Variant,
    run: WriteVolume,
}

fn measure(point: &Point) -> Result<Measurement, Failure> {
    let blocks = 1 << point.log2_blocks;
    let Variant { ftl, checkpoints, late_lookup: late, cleans_metadata } = point.variant;
    let mut settings = paged::settings(ftl, blocks)?;
    settings.config.checkpoints = checkpoints;
    settings.config.eager = !late;
    settings.config.cleans_metadata = cleans_metadata;
    paged::run_on(&settings, (blocks, PAGES_PER_BLOCK), point.run)
}

pub fn run(session: &Session) -> Result<(), Failure> {
    let settings: Settings = session.settings()?;
    let run = WriteVolume::of_figures(session)?;
    let kinds = Variant::all();
    let point = |kind: &Variant| Point { log2_blocks: settings.log2_blocks, variant: *kind, run };
    let points: Vec<Point> = kinds.iter().map(point).collect();
    let measured = session.compute_each("FTL with and without checkpoints", &points, measure)?;
    let columns =
        ["ftl", "checkpoints", "late", "cleans_metadata", "wa_user", "wa_translation", "wa_validity", "wa"];
    let mut table = Table::new(&columns);
    for (kind, measured) in kinds.iter().zip(&measured) {
        let Variant { ftl, checkpoints, late_lookup: late, cleans_metadata } = kind;
        let head = [ftl.to_string(), checkpoints.to_string(), late.to_string(), cleans_metadata.to_string()];
        let costs = measured.amplification();
        let costs = costs.into_iter().chain([costs.iter().sum()]).map(|value| number(value, 4));
        table.push(head.into_iter().chain(costs).collect());
    }
    table.publish(session, "data")?;
    check(&kinds, &measured).publish(session)
}

fn check(kinds: &[Variant], measured: &[Measurement]) -> Statements {
    let amplification_of = |kind: Variant| {
        let at = kinds.iter().position(|other| *other == kind).expect("all are measured");
        measured[at].amplification()
    };
    let total = |kind: Variant| amplification_of(kind).iter().sum::<f64>();
    let gecko = Variant::published("gecko");
    let case = |name: &str, value: f64, reference: f64, holds: bool| {
        (format!("{name}: {value:.4} compared with {reference:.4}"), holds)
    };
    let mut statements = Statements::default();
    let without = total(Variant { checkpoints: false, ..gecko });
    statements.check(
        "checkpoints add less than 1 percent of all writes",
        [case("gecko", total(gecko), without, total(gecko) <= 1.01 * without)],
    );
    let mut check_alike = |statement: &str, percent: f64, of_other: &dyn Fn(&'static str) -> Variant| {
        let cases = ["dftl", "mu_ftl"].map(|ftl| {
            let (gecko_cost, other) = (amplification_of(gecko)[1], amplification_of(of_other(ftl))[1]);
            case(ftl, gecko_cost, other, (gecko_cost / other - 1.0).abs() <= percent / 100.0)
        });
        statements.check(statement, cases);
    };
    check_alike(
        "the translation table costs as much as with a battery: within 2 percent if all look for before-images late and leave metadata alone",
        2.0,
        &|ftl| Variant { late_lookup: true, cleans_metadata: false, ..Variant::published(ftl) },
    );
    check_alike(
        "the translation table costs as much as with a battery: within 10 percent of DFTL and mu-FTL as published",
        10.0,
        &Variant::published,
    );
    statements.check(
        "cleaning blocks of metadata costs 2 percent of all writes at least",
        paged::FTLS.map(|ftl| {
            let published = Variant::published(ftl);
            let (one, other) = (total(published), total(published.with_opposite_metadata_cleaning()));
            let (cleaned, not_cleaned) = if published.cleans_metadata { (one, other) } else { (other, one) };
            case(ftl, cleaned, not_cleaned, cleaned >= 1.02 * not_cleaned)
        }),
    );
    statements
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_are_distinct_and_include_those_of_figure_13() {
        let kinds = Variant::all();
        for (at, kind) in kinds.iter().enumerate() {
            assert!(!kinds[..at].contains(kind), "{kind:?}");
        }
        for kind in paged::FTLS.map(Variant::published) {
            let config = paged::settings(kind.ftl, 1 << 12).unwrap().config;
            let published = (config.checkpoints, !config.eager, config.cleans_metadata);
            assert_eq!((kind.checkpoints, kind.late_lookup, kind.cleans_metadata), published, "{kind:?}");
        }
    }
}
