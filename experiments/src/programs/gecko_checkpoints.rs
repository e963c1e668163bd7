//! GeckoFTL (SIGMOD 2016), section 5.3: cost of checkpoints, cost of the translation table compared with FTLs that have
//! a battery, and savings by not cleaning metadata blocks.

use crate::Failure;
use crate::paged::{self, Measured, PAGES_PER_BLOCK, Run};
use crate::session::Session;
use crate::statements::Statements;
use crate::table::{Table, number};

/// Settings of the program.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Logarithm of the number of blocks to the base 2.
    log2_blocks: u32,
}

/// An FTL with its deviations from the published design.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
struct Kind {
    ftl: &'static str,
    checkpoints: bool,
    /// True if before-images are looked up late, as in GeckoFTL.
    late: bool,
    /// True if metadata blocks are cleaned.
    cleans_metadata: bool,
}

impl Kind {
    fn published(ftl: &'static str) -> Self {
        let is_gecko = ftl == "gecko";
        let late = !["dftl", "mu_ftl"].contains(&ftl);
        Kind { ftl, checkpoints: is_gecko, late, cleans_metadata: !is_gecko }
    }

    /// Returns the kind with the opposite choice of cleaning metadata blocks.
    fn otherwise(self) -> Self {
        Kind { cleans_metadata: !self.cleans_metadata, ..self }
    }

    fn all() -> Vec<Kind> {
        let published = paged::FTLS.map(Kind::published);
        let like_gecko = |ftl| Kind { late: true, cleans_metadata: false, ..Kind::published(ftl) };
        let mut kinds = published.to_vec();
        kinds.extend(published.map(Kind::otherwise));
        kinds.push(Kind { checkpoints: false, ..Kind::published("gecko") });
        kinds.extend(["dftl", "mu_ftl"].map(like_gecko));
        kinds
    }
}

/// A measured kind.
#[derive(Clone, Debug, serde::Serialize)]
struct Point {
    log2_blocks: u32,
    kind: Kind,
    run: Run,
}

fn measure(point: &Point) -> Result<Measured, Failure> {
    let blocks = 1 << point.log2_blocks;
    let Kind { ftl, checkpoints, late, cleans_metadata } = point.kind;
    let mut settings = paged::settings(ftl, blocks)?;
    settings.config.checkpoints = checkpoints;
    settings.config.eager = !late;
    settings.config.cleans_metadata = cleans_metadata;
    paged::run_on(&settings, (blocks, PAGES_PER_BLOCK), point.run)
}

pub fn run(session: &Session) -> Result<(), Failure> {
    let asked: Settings = session.settings()?;
    let run = Run::of_figures(session)?;
    let kinds = Kind::all();
    let point = |kind: &Kind| Point { log2_blocks: asked.log2_blocks, kind: *kind, run };
    let points: Vec<Point> = kinds.iter().map(point).collect();
    let measured = session.each("FTL with and without checkpoints", &points, measure)?;
    let columns =
        ["ftl", "checkpoints", "late", "cleans_metadata", "wa_user", "wa_translation", "wa_validity", "wa"];
    let mut table = Table::new(&columns);
    for (kind, measured) in kinds.iter().zip(&measured) {
        let Kind { ftl, checkpoints, late, cleans_metadata } = kind;
        let head = [ftl.to_string(), checkpoints.to_string(), late.to_string(), cleans_metadata.to_string()];
        let costs = measured.amplification();
        let costs = costs.into_iter().chain([costs.iter().sum()]).map(|value| number(value, 4));
        table.push(head.into_iter().chain(costs).collect());
    }
    table.publish(session, "data")?;
    check(&kinds, &measured).publish(session)
}

fn check(kinds: &[Kind], measured: &[Measured]) -> Statements {
    let of = |kind: Kind| {
        let at = kinds.iter().position(|other| *other == kind).expect("all are measured");
        measured[at].amplification()
    };
    let total = |kind: Kind| of(kind).iter().sum::<f64>();
    let gecko = Kind::published("gecko");
    let case = |what: &str, value: f64, beside: f64, holds: bool| {
        (format!("{what}: {value:.4} beside {beside:.4}"), holds)
    };
    let mut statements = Statements::default();
    let without = total(Kind { checkpoints: false, ..gecko });
    statements.check(
        "checkpoints add less than 1 percent of all writes",
        [case("gecko", total(gecko), without, total(gecko) <= 1.01 * without)],
    );
    let mut alike = |statement: &str, percent: f64, of_other: &dyn Fn(&'static str) -> Kind| {
        let others = ["dftl", "mu_ftl"].map(|ftl| {
            let (own, other) = (of(gecko)[1], of(of_other(ftl))[1]);
            case(ftl, own, other, (own / other - 1.0).abs() <= percent / 100.0)
        });
        statements.check(statement, others);
    };
    alike(
        "the translation table costs as much as with a battery: within 2 percent if all look for before-images late and leave metadata alone",
        2.0,
        &|ftl| Kind { late: true, cleans_metadata: false, ..Kind::published(ftl) },
    );
    alike(
        "the translation table costs as much as with a battery: within 10 percent of DFTL and mu-FTL as published",
        10.0,
        &Kind::published,
    );
    statements.check(
        "cleaning blocks of metadata costs 2 percent of all writes at least",
        paged::FTLS.map(|ftl| {
            let published = Kind::published(ftl);
            let (one, other) = (total(published), total(published.otherwise()));
            let (cleaned, left) = if published.cleans_metadata { (one, other) } else { (other, one) };
            case(ftl, cleaned, left, cleaned >= 1.02 * left)
        }),
    );
    statements
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_kind_is_measured_twice_and_published_ones_are_those_of_figure_13() {
        let kinds = Kind::all();
        for (at, kind) in kinds.iter().enumerate() {
            assert!(!kinds[..at].contains(kind), "{kind:?}");
        }
        for kind in paged::FTLS.map(Kind::published) {
            let config = paged::settings(kind.ftl, 1 << 12).unwrap().config;
            let published = (config.checkpoints, !config.eager, config.cleans_metadata);
            assert_eq!((kind.checkpoints, kind.late, kind.cleans_metadata), published, "{kind:?}");
        }
    }
}
