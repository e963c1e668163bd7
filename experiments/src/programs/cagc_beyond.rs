//! Extensions of the CAGC paper: its scheme with other placements and victim policies, with a smaller index, and
//! under a log; and its benefit when hashing takes longer and fewer pages are equal.

use crate::Failure;
use crate::cagc::{
    AssumedValues, CAGC, Drive, INLINE, NONE, Pair, Scheme, TRACES, by_trace, dedup, dedup_pages_per_host,
    hashed_pages_per_host, max_to_mean_erases, mean_request_us, mean_write_us, sharing_ratio,
};
use crate::chart::{Chart, Series};
use crate::heat_map::HeatMap;
use crate::session::Session;
use crate::stacks::{
    Column, Stack, StackRuns, copied_above, copied_below, erases_per_thousand, find, ftl_amplification,
    run_stacks, table, total_amplification, upper_amplification,
};
use crate::statements::Statements;
use crate::table::{Fields, Table, number};

/// Share of the user space in use.
const USED_SHARES: [(&str, f64); 2] = [("80 %", 0.8), ("full", 1.0)];

const SEPARATE_CLEANED: &str = "{ kind = \"references\", separate_cleaned = true }";
const CAGC_KIND: &str = "kind = \"cagc\"";
const INLINE_KIND: &str = "kind = \"inline\"";

/// Schemes that run with every victim policy in `VICTIMS`.
const PLACEMENT_SCHEMES: [Scheme; 6] = [
    NONE,
    Scheme::new("none double", "kind = \"none\"", "\"double\""),
    INLINE,
    Scheme::new("inline double", INLINE_KIND, "\"double\""),
    CAGC,
    Scheme::new("cagc apart", CAGC_KIND, SEPARATE_CLEANED),
];

const VICTIMS: [(&str, &str); 3] = [
    ("greedy", "\"greedy\""),
    ("d = 2", "{ policy = \"d_choices\", choices = 2 }"),
    ("d = 10", "{ policy = \"d_choices\", choices = 10 }"),
];

/// Schemes with fewer lookups and smaller indexes. The drive has about 30 thousand logical pages.
const INDEX_SCHEMES: [Scheme; 10] = [
    NONE,
    INLINE,
    Scheme::new("inline 4096 entries", "kind = \"inline\", index = { entries = 4096 }", "\"single\""),
    Scheme::new("inline 512 entries", "kind = \"inline\", index = { entries = 512 }", "\"single\""),
    Scheme::new("inline paged", "kind = \"inline\", index = { paged = { cached_pages = 16 } }", "\"single\""),
    Scheme::new("sampled", "kind = \"sampled\"", "\"single\""),
    Scheme::new("pre_hashed", "kind = \"pre_hashed\"", "\"single\""),
    CAGC,
    Scheme::new("cagc 4096 entries", "kind = \"cagc\", index = { entries = 4096 }", "\"references\""),
    Scheme::new("cagc 512 entries", "kind = \"cagc\", index = { entries = 512 }", "\"references\""),
];

/// Logs on the FTL, with segments of one block and of four blocks. The FTL below the log has the same size in all
/// cases.
const LOGS: [(&str, &str); 2] = [
    (
        "256 KiB",
        "[[log]]\nsegment_size = \"256 KiB\"\nplacement = \"double\"\nspare_factor = 0.1\nfree_blocks_low = 4",
    ),
    (
        "1 MiB",
        "[[log]]\nsegment_size = \"1 MiB\"\nplacement = \"double\"\nspare_factor = 0.1\nfree_blocks_low = 4",
    ),
];

const RATIOS: [f64; 8] = [0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9];
const HASHES_US: [f64; 8] = [0.0, 5.0, 14.0, 30.0, 50.0, 100.0, 200.0, 400.0];

pub fn run(session: &Session) -> Result<(), Failure> {
    let mut statements = Statements::default();
    let assumed = AssumedValues::from_session(session)?;
    run_placements(session, &assumed, &mut statements)?;
    run_indexes(session, &assumed)?;
    run_under_log(session, &assumed, &mut statements)?;
    run_crossings(session, &assumed, &mut statements)?;
    statements.publish(session)
}

fn run_placements(
    session: &Session,
    assumed: &AssumedValues,
    statements: &mut Statements,
) -> Result<(), Failure> {
    let mut stacks = Vec::new();
    for (name, used) in USED_SHARES {
        for (policy, victim) in VICTIMS {
            for (trace, _) in TRACES {
                let drive = |scheme| Drive {
                    used_share: used,
                    victim: victim.to_owned(),
                    ..Drive::new(assumed, trace, scheme)
                };
                stacks.extend(
                    PLACEMENT_SCHEMES
                        .iter()
                        .map(|scheme| drive(scheme).stack(&[name, policy], session.length)),
                );
            }
        }
    }
    let runs = run_stacks(session, stacks)?;
    let columns: [Column; 5] = [
        ("moved_pages", copied_below),
        ("saved_pages", dedup_pages_per_host),
        ("sharing_ratio", sharing_ratio),
        ("all_us", mean_request_us),
        ("erases_max_over_mean", max_to_mean_erases),
    ];
    table(&["used", "victim", "trace", "scheme"], ("erases_per_1000", erases_per_thousand), &columns, &runs)
        .write(session, "placed")?;
    let mut short = by_trace(&["used", "scheme", "victim"]);
    for (used, _) in USED_SHARES {
        for scheme in &PLACEMENT_SCHEMES {
            for (policy, _) in VICTIMS {
                let mean_erases =
                    |trace| find(&runs, &[used, policy, trace, scheme.name]).mean(erases_per_thousand);
                let erased = TRACES.map(|(trace, _)| number(mean_erases(trace), 2));
                short
                    .push([used, scheme.name, policy].map(str::to_owned).into_iter().chain(erased).collect());
            }
        }
    }
    short.publish(session, "placed_erases")?;
    let each = |ours: &str, base: &str| -> Vec<(String, bool)> {
        let cases = USED_SHARES.iter().flat_map(|(used, _)| VICTIMS.map(|(policy, _)| (*used, policy)));
        let results = cases.flat_map(|(used, policy)| {
            TRACES.map(|(trace, _)| {
                let pair = Pair::find(&runs, &[used, policy], trace, ours, base);
                (format!("{used} {policy}: {trace}"), pair.is_less(erases_per_thousand))
            })
        });
        results.collect()
    };
    statements.check("moved pages apart as well: CAGC erases less", each("cagc apart", "cagc"));
    statements.check("… less than none with two frontiers", each("cagc apart", "none double"));
    statements
        .check("CAGC without that erases less than none with two frontiers", each("cagc", "none double"));
    Ok(())
}

fn run_indexes(session: &Session, assumed: &AssumedValues) -> Result<(), Failure> {
    let mut stacks = Vec::new();
    for (name, used) in USED_SHARES {
        for (trace, _) in TRACES {
            let drive = |scheme| Drive { used_share: used, ..Drive::new(assumed, trace, scheme) };
            stacks.extend(INDEX_SCHEMES.iter().map(|scheme| drive(scheme).stack(&[name], session.length)));
        }
    }
    let runs = run_stacks(session, stacks)?;
    let columns: [Column; 6] = [
        ("saved_pages", dedup_pages_per_host),
        ("hashed_pages", hashed_pages_per_host),
        ("sharing_ratio", sharing_ratio),
        ("index_kib", |result| dedup(result).map_or(0.0, |dedup| dedup.index_bytes as f64 / 1024.0)),
        ("all_us", mean_request_us),
        ("write_us", mean_write_us),
    ];
    table(&["used", "trace", "scheme"], ("erases_per_1000", erases_per_thousand), &columns, &runs)
        .publish(session, "index")
}

fn run_under_log(
    session: &Session,
    assumed: &AssumedValues,
    statements: &mut Statements,
) -> Result<(), Failure> {
    let mut stacks = Vec::new();
    for (name, above) in LOGS {
        for (trace, _) in TRACES {
            let drive = |scheme| Drive { upper_layers: above, ..Drive::new(assumed, trace, scheme) };
            stacks.extend(
                [NONE, INLINE, CAGC].iter().map(|scheme| drive(scheme).stack(&[name], session.length)),
            );
        }
    }
    let runs = run_stacks(session, stacks)?;
    let columns: [Column; 7] = [
        ("tcwa", total_amplification),
        ("upper_wa", upper_amplification),
        ("device_wa", ftl_amplification),
        ("copied_above", copied_above),
        ("copied_below", copied_below),
        ("sharing_ratio", sharing_ratio),
        ("all_us", mean_request_us),
    ];
    table(&["segments", "trace", "scheme"], ("erases_per_1000", erases_per_thousand), &columns, &runs)
        .publish(session, "log")?;
    for (ours, base) in [("cagc", "none"), ("inline", "none"), ("inline", "cagc")] {
        let cases = LOGS.iter().flat_map(|(name, _)| {
            TRACES.map(|(trace, _)| {
                let pair = Pair::find(&runs, &[name], trace, ours, base);
                (format!("{name}: {trace}"), pair.is_less(erases_per_thousand))
            })
        });
        statements.check(&format!("under a log {ours} erases less than {base}"), cases);
    }
    Ok(())
}

/// Returns the keys for a drive, a share of equal pages and a hashing time.
fn keys(used: &str, ratio: f64, hash_us: f64) -> [String; 3] {
    [used.to_owned(), ratio.to_string(), hash_us.to_string()]
}

/// Trace from which the mix of requests is taken.
const REQUEST_MIX: &str = "homes";

fn run_crossings(
    session: &Session,
    assumed: &AssumedValues,
    statements: &mut Statements,
) -> Result<(), Failure> {
    let mut stacks: Vec<Stack> = Vec::new();
    for (name, used) in USED_SHARES {
        for ratio in RATIOS {
            let content = Some(format!("{{ dedup_ratio = {ratio:?} }}"));
            for hash_us in HASHES_US {
                // Without deduplication, no page is hashed, so a single hashing time is enough.
                let schemes = if hash_us == 0.0 { vec![NONE, INLINE, CAGC] } else { vec![INLINE, CAGC] };
                stacks.extend(schemes.iter().map(|scheme| {
                    let drive = Drive {
                        used_share: used,
                        hash_us: Some(hash_us),
                        content: content.clone(),
                        ..Drive::new(assumed, REQUEST_MIX, scheme)
                    };
                    drive.stack(&keys(name, ratio, hash_us).each_ref().map(String::as_str), session.length)
                }));
            }
        }
    }
    let runs = run_stacks(session, stacks)?;
    let columns: [Column; 4] = [
        ("write_us", mean_write_us),
        ("all_us", mean_request_us),
        ("moved_pages", copied_below),
        ("sharing_ratio", sharing_ratio),
    ];
    let head = ["used", "dedup_ratio", "hash_us", "mix", "scheme"];
    table(&head, ("erases_per_1000", erases_per_thousand), &columns, &runs).write(session, "crossings")?;
    for (used, _) in USED_SHARES {
        draw(session, &CrossingMap { used_share: used, runs: &runs })?;
    }
    publish_lines(session, &runs)?;
    let maps = || USED_SHARES.iter().map(|(used, _)| CrossingMap { used_share: used, runs: &runs });
    let erased = maps().flat_map(|map| {
        let less = move |ratio: f64| {
            map.at(ratio, 0.0, "none").exceeds(map.at(ratio, 0.0, "cagc"), erases_per_thousand)
        };
        RATIOS[1..].iter().map(move |ratio| (format!("{} {ratio}", map.used_share), less(*ratio)))
    });
    statements.check("CAGC erases less than none at each share of equal pages above 0", erased);
    let faster = maps().flat_map(|map| {
        let cases = RATIOS.iter().flat_map(|ratio| HASHES_US.map(|hash_us| (*ratio, hash_us)));
        cases.map(move |(ratio, hash_us)| {
            let (ours, base) = (map.at(ratio, hash_us, "cagc"), map.at(ratio, hash_us, "inline"));
            (format!("{} {ratio} {hash_us} us", map.used_share), base.exceeds(ours, mean_write_us))
        })
    });
    statements.check("CAGC writes faster than inline", faster);
    Ok(())
}

/// Runs of a drive with several shares of equal pages and hashing times.
#[derive(Clone, Copy)]
struct CrossingMap<'a> {
    used_share: &'a str,
    runs: &'a [StackRuns],
}

impl<'a> CrossingMap<'a> {
    fn at(&self, ratio: f64, hash_us: f64, scheme: &str) -> &'a StackRuns {
        let hash_us = if scheme == "none" { 0.0 } else { hash_us };
        let keys = keys(self.used_share, ratio, hash_us);
        find(self.runs, &[&keys[0], &keys[1], &keys[2], REQUEST_MIX, scheme])
    }

    /// Returns the hashing time at which writes take equally long under both schemes, by linear interpolation. Returns
    /// `None` if `ours` is slower at all hashing times, and infinity if `ours` is slower at no hashing time.
    fn crossing(&self, ratio: f64, ours: &str, base: &str) -> Option<f64> {
        let gap = |hash_us: f64| {
            let mean_us = |scheme| self.at(ratio, hash_us, scheme).mean(mean_write_us);
            mean_us(ours) - mean_us(base)
        };
        if gap(HASHES_US[0]) >= 0.0 {
            return None;
        }
        let step = HASHES_US.windows(2).find(|pair| gap(pair[1]) >= 0.0);
        Some(step.map_or(f64::INFINITY, |pair| {
            let (low, high) = (gap(pair[0]), gap(pair[1]));
            pair[0] + (pair[1] - pair[0]) * low / (low - high)
        }))
    }
}

fn draw(session: &Session, map: &CrossingMap) -> Result<(), Failure> {
    let name = if map.used_share == "full" { "full" } else { "80" };
    for scheme in ["inline", "cagc"] {
        let ratio_of = |ratio: f64, hash_us: f64| {
            map.at(ratio, hash_us, scheme).mean(mean_write_us)
                / map.at(ratio, 0.0, "none").mean(mean_write_us)
        };
        let cells = HASHES_US.iter().flat_map(|hash_us| RATIOS.map(|ratio| ratio_of(ratio, *hash_us)));
        let heat = HeatMap {
            title: &format!("Mean write response, {scheme} over none, {} used", map.used_share),
            x: ("share of equal pages", RATIOS.map(|ratio| ratio.to_string()).into()),
            y: ("hash, us", HASHES_US.map(|hash_us| hash_us.to_string()).into()),
            cells: cells.map(|ratio| (ratio.min(2.0), format!("{ratio:.2}"))).collect(),
        };
        crate::heat_map::draw(&heat, session, &format!("write_{scheme}_{name}"))?;
    }
    let line = |(ours, base): (&str, &str)| {
        let points = RATIOS.iter().filter_map(|ratio| Some((*ratio, map.crossing(*ratio, ours, base)?)));
        Series::line(format!("{ours} = {base}"), points.filter(|(_, hash_us)| hash_us.is_finite()))
    };
    let series = SCHEME_PAIRS.map(line);
    let drawn: Vec<Series> = series.into_iter().filter(|series| !series.points.is_empty()).collect();
    let title = format!("Time to hash up to which the first writes faster, {} used", map.used_share);
    let chart = Chart { title: &title, x: "share of equal pages", y: "hash, us" };
    chart.draw(session, &format!("crossings_{name}"), &drawn)
}

const SCHEME_PAIRS: [(&str, &str); 3] = [("inline", "none"), ("cagc", "none"), ("inline", "cagc")];

/// Writes the crossing lines, and the figures that do not depend on the hashing time.
fn publish_lines(session: &Session, runs: &[StackRuns]) -> Result<(), Failure> {
    let mut lines = Table::default();
    for (used, _) in USED_SHARES {
        let map = CrossingMap { used_share: used, runs };
        for ratio in RATIOS {
            let crossing = |(ours, base): (&str, &str)| match map.crossing(ratio, ours, base) {
                None => "never".to_owned(),
                Some(hash_us) if hash_us.is_infinite() => format!("above {}", HASHES_US[HASHES_US.len() - 1]),
                Some(hash_us) => number(hash_us, 0),
            };
            let erases = |scheme| map.at(ratio, 0.0, scheme).mean(erases_per_thousand);
            let [inline_none, cagc_none, inline_cagc] = SCHEME_PAIRS.map(crossing);
            lines.add(
                Fields::default()
                    .text("used", used)
                    .text("dedup_ratio", ratio)
                    .text("inline_none_us", inline_none)
                    .text("cagc_none_us", cagc_none)
                    .text("inline_cagc_us", inline_cagc)
                    .number("none_erases_per_1000", erases("none"), 2)
                    .number("inline_erases_per_1000", erases("inline"), 2)
                    .number("cagc_erases_per_1000", erases("cagc"), 2),
            );
        }
    }
    lines.publish(session, "lines")
}
