//! Extensions of the CAGC paper: its scheme with other placements and victim policies, with a smaller index, and under
//! a log; and its benefit as hashing takes longer and fewer pages are equal.

use crate::Failure;
use crate::cagc::{
    Assumed, CAGC, Drive, INLINE, NONE, Pair, Scheme, TRACES, all_us, by_trace, dedup, hashed, saved,
    sharing, unevenness, write_us,
};
use crate::chart::{Chart, Series};
use crate::heat_map::HeatMap;
use crate::session::Session;
use crate::stacks::{
    Column, Runs, Stack, above, copied_above, copied_below, device, erases, find, run_stacks, table, total,
};
use crate::statements::Statements;
use crate::table::{Table, number};
use wearwell_stack::RunResult;

/// Share of the user space in use.
const DRIVES: [(&str, f64); 2] = [("80 %", 0.8), ("full", 1.0)];

const APART: &str = "{ kind = \"references\", cleaned_apart = true }";
const CAGC_KIND: &str = "kind = \"cagc\"";
const INLINE_KIND: &str = "kind = \"inline\"";

/// Schemes that are run with every victim policy of `CHOICES`.
const PLACED: [Scheme; 6] = [
    NONE,
    Scheme::new("none double", "kind = \"none\"", "\"double\""),
    INLINE,
    Scheme::new("inline double", INLINE_KIND, "\"double\""),
    CAGC,
    Scheme::new("cagc apart", CAGC_KIND, APART),
];

const CHOICES: [(&str, &str); 3] = [
    ("greedy", "\"greedy\""),
    ("d = 2", "{ policy = \"d_choices\", choices = 2 }"),
    ("d = 10", "{ policy = \"d_choices\", choices = 10 }"),
];

/// Schemes with fewer lookups and smaller indexes. The drive has about 30 thousand logical pages.
const INDEXED: [Scheme; 10] = [
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

/// Logs on the FTL, with segments of one block and of four. The FTL below has the same size in all cases.
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
    let assumed = Assumed::of(session)?;
    placed(session, &assumed, &mut statements)?;
    indexed(session, &assumed)?;
    under_a_log(session, &assumed, &mut statements)?;
    crossings(session, &assumed, &mut statements)?;
    statements.publish(session)
}

fn placed(session: &Session, assumed: &Assumed, statements: &mut Statements) -> Result<(), Failure> {
    let mut stacks = Vec::new();
    for (name, used) in DRIVES {
        for (policy, victim) in CHOICES {
            for (trace, _) in TRACES {
                let drive =
                    |scheme| Drive { used, victim: victim.to_owned(), ..Drive::new(assumed, trace, scheme) };
                stacks
                    .extend(PLACED.iter().map(|scheme| drive(scheme).stack(&[name, policy], session.length)));
            }
        }
    }
    let runs = run_stacks(session, stacks)?;
    let columns: [Column; 5] = [
        ("moved_pages", copied_below),
        ("saved_pages", saved),
        ("sharing_ratio", sharing),
        ("all_us", all_us),
        ("erases_max_over_mean", unevenness),
    ];
    table(&["used", "victim", "trace", "scheme"], ("erases_per_1000", erases), &columns, &runs)
        .write(session, "placed")?;
    let mut short = by_trace(&["used", "scheme", "victim"]);
    for (used, _) in DRIVES {
        for scheme in &PLACED {
            for (policy, _) in CHOICES {
                let of = |trace| find(&runs, &[used, policy, trace, scheme.name]).mean(erases);
                let erased = TRACES.map(|(trace, _)| number(of(trace), 2));
                short
                    .push([used, scheme.name, policy].map(str::to_owned).into_iter().chain(erased).collect());
            }
        }
    }
    short.publish(session, "placed_erases")?;
    let each = |ours: &str, base: &str| -> Vec<(String, bool)> {
        let places = DRIVES.iter().flat_map(|(used, _)| CHOICES.map(|(policy, _)| (*used, policy)));
        let tried = places.flat_map(|(used, policy)| {
            TRACES.map(|(trace, _)| {
                let pair = Pair::find(&runs, &[used, policy], trace, ours, base);
                (format!("{used} {policy}: {trace}"), pair.is_less(erases))
            })
        });
        tried.collect()
    };
    statements.check("moved pages apart as well: CAGC erases less", each("cagc apart", "cagc"));
    statements.check("… less than none with two frontiers", each("cagc apart", "none double"));
    statements
        .check("CAGC without that erases less than none with two frontiers", each("cagc", "none double"));
    Ok(())
}

fn indexed(session: &Session, assumed: &Assumed) -> Result<(), Failure> {
    let mut stacks = Vec::new();
    for (name, used) in DRIVES {
        for (trace, _) in TRACES {
            let drive = |scheme| Drive { used, ..Drive::new(assumed, trace, scheme) };
            stacks.extend(INDEXED.iter().map(|scheme| drive(scheme).stack(&[name], session.length)));
        }
    }
    let runs = run_stacks(session, stacks)?;
    let columns: [Column; 6] = [
        ("saved_pages", saved),
        ("hashed_pages", hashed),
        ("sharing_ratio", sharing),
        ("index_kib", |result| dedup(result).map_or(0.0, |dedup| dedup.index_bytes as f64 / 1024.0)),
        ("all_us", all_us),
        ("write_us", write_us),
    ];
    table(&["used", "trace", "scheme"], ("erases_per_1000", erases), &columns, &runs)
        .publish(session, "index")
}

fn under_a_log(session: &Session, assumed: &Assumed, statements: &mut Statements) -> Result<(), Failure> {
    let mut stacks = Vec::new();
    for (name, above) in LOGS {
        for (trace, _) in TRACES {
            let drive = |scheme| Drive { above, ..Drive::new(assumed, trace, scheme) };
            stacks.extend(
                [NONE, INLINE, CAGC].iter().map(|scheme| drive(scheme).stack(&[name], session.length)),
            );
        }
    }
    let runs = run_stacks(session, stacks)?;
    let columns: [Column; 7] = [
        ("tcwa", total),
        ("upper_wa", above),
        ("device_wa", device),
        ("copied_above", copied_above),
        ("copied_below", copied_below),
        ("sharing_ratio", sharing),
        ("all_us", all_us),
    ];
    table(&["segments", "trace", "scheme"], ("erases_per_1000", erases), &columns, &runs)
        .publish(session, "log")?;
    for (ours, base) in [("cagc", "none"), ("inline", "none"), ("inline", "cagc")] {
        let cases = LOGS.iter().flat_map(|(name, _)| {
            TRACES.map(|(trace, _)| {
                let pair = Pair::find(&runs, &[name], trace, ours, base);
                (format!("{name}: {trace}"), pair.is_less(erases))
            })
        });
        statements.check(&format!("under a log {ours} erases less than {base}"), cases);
    }
    Ok(())
}

/// Returns the keys of a drive, a share of equal pages and a hashing time.
fn keys(used: &str, ratio: f64, hash_us: f64) -> [String; 3] {
    [used.to_owned(), ratio.to_string(), hash_us.to_string()]
}

/// Mix of requests: that of Homes.
const MIX: &str = "homes";

fn crossings(session: &Session, assumed: &Assumed, statements: &mut Statements) -> Result<(), Failure> {
    let mut stacks: Vec<Stack> = Vec::new();
    for (name, used) in DRIVES {
        for ratio in RATIOS {
            let content = Some(format!("{{ dedup_ratio = {ratio:?} }}"));
            for hash_us in HASHES_US {
                // Without deduplication nothing is hashed, so a single hashing time is enough.
                let schemes = if hash_us == 0.0 { vec![NONE, INLINE, CAGC] } else { vec![INLINE, CAGC] };
                stacks.extend(schemes.iter().map(|scheme| {
                    let drive = Drive {
                        used,
                        hash_us: Some(hash_us),
                        content: content.clone(),
                        ..Drive::new(assumed, MIX, scheme)
                    };
                    drive.stack(&keys(name, ratio, hash_us).each_ref().map(String::as_str), session.length)
                }));
            }
        }
    }
    let runs = run_stacks(session, stacks)?;
    let columns: [Column; 4] = [
        ("write_us", write_us),
        ("all_us", all_us),
        ("moved_pages", copied_below),
        ("sharing_ratio", sharing),
    ];
    let head = ["used", "dedup_ratio", "hash_us", "mix", "scheme"];
    table(&head, ("erases_per_1000", erases), &columns, &runs).write(session, "crossings")?;
    for (used, _) in DRIVES {
        draw(session, &Map { used, runs: &runs })?;
    }
    publish_lines(session, &runs)?;
    let maps = || DRIVES.iter().map(|(used, _)| Map { used, runs: &runs });
    let erased = maps().flat_map(|map| {
        let less = move |ratio: f64| map.at(ratio, 0.0, "none").exceeds(map.at(ratio, 0.0, "cagc"), erases);
        RATIOS[1..].iter().map(move |ratio| (format!("{} {ratio}", map.used), less(*ratio)))
    });
    statements.check("CAGC erases less than none at each share of equal pages above 0", erased);
    let faster = maps().flat_map(|map| {
        let cases = RATIOS.iter().flat_map(|ratio| HASHES_US.map(|hash_us| (*ratio, hash_us)));
        cases.map(move |(ratio, hash_us)| {
            let (ours, base) = (map.at(ratio, hash_us, "cagc"), map.at(ratio, hash_us, "inline"));
            (format!("{} {ratio} {hash_us} us", map.used), base.exceeds(ours, write_us))
        })
    });
    statements.check("CAGC writes faster than inline", faster);
    Ok(())
}

/// Runs of a drive over shares of equal pages and hashing times.
#[derive(Clone, Copy)]
struct Map<'a> {
    used: &'a str,
    runs: &'a [Runs],
}

impl<'a> Map<'a> {
    fn at(&self, ratio: f64, hash_us: f64, scheme: &str) -> &'a Runs {
        let hash_us = if scheme == "none" { 0.0 } else { hash_us };
        let keys = keys(self.used, ratio, hash_us);
        find(self.runs, &[&keys[0], &keys[1], &keys[2], MIX, scheme])
    }

    /// Returns the hashing time at which writes take equally long under both schemes, by linear interpolation; `None`
    /// if `ours` is slower at all times, infinite if it never is.
    fn crossing(&self, ratio: f64, ours: &str, base: &str) -> Option<f64> {
        let gap = |hash_us: f64| {
            let of = |scheme| self.at(ratio, hash_us, scheme).mean(write_us);
            of(ours) - of(base)
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

fn draw(session: &Session, map: &Map) -> Result<(), Failure> {
    let name = if map.used == "full" { "full" } else { "80" };
    for scheme in ["inline", "cagc"] {
        let ratio_of = |ratio: f64, hash_us: f64| {
            map.at(ratio, hash_us, scheme).mean(write_us) / map.at(ratio, 0.0, "none").mean(write_us)
        };
        let cells = HASHES_US.iter().flat_map(|hash_us| RATIOS.map(|ratio| ratio_of(ratio, *hash_us)));
        let heat = HeatMap {
            title: &format!("Mean write response, {scheme} over none, {} used", map.used),
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
    let series = PAIRS.map(line);
    let drawn: Vec<Series> = series.into_iter().filter(|series| !series.points.is_empty()).collect();
    let title = format!("Time to hash up to which the first writes faster, {} used", map.used);
    let chart = Chart { title: &title, x: "share of equal pages", y: "hash, us" };
    chart.draw(session, &format!("crossings_{name}"), &drawn)
}

const PAIRS: [(&str, &str); 3] = [("inline", "none"), ("cagc", "none"), ("inline", "cagc")];

/// Writes the crossing lines, and the figures that do not depend on the hashing time.
fn publish_lines(session: &Session, runs: &[Runs]) -> Result<(), Failure> {
    let mut lines = Table::new(&[
        "used",
        "dedup_ratio",
        "inline_none_us",
        "cagc_none_us",
        "inline_cagc_us",
        "none_erases_per_1000",
        "inline_erases_per_1000",
        "cagc_erases_per_1000",
    ]);
    for (used, _) in DRIVES {
        let map = Map { used, runs };
        for ratio in RATIOS {
            let crossing = |(ours, base): (&str, &str)| match map.crossing(ratio, ours, base) {
                None => "never".to_owned(),
                Some(hash_us) if hash_us.is_infinite() => format!("above {}", HASHES_US[HASHES_US.len() - 1]),
                Some(hash_us) => number(hash_us, 0),
            };
            let erased: fn(&RunResult) -> f64 = erases;
            let of = |scheme| number(map.at(ratio, 0.0, scheme).mean(erased), 2);
            let mut row = vec![used.to_owned(), ratio.to_string()];
            row.extend(PAIRS.map(crossing));
            row.extend(["none", "inline", "cagc"].map(of));
            lines.push(row);
        }
    }
    lines.publish(session, "lines")
}
