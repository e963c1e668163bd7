//! Drives sized to fit a trace, and the life of a drive at a trace's own rate.

use crate::common::{scenario, try_run};
use std::collections::BTreeSet;
use std::path::PathBuf;
use wearwell_stack::scenario::AddressRule;
use wearwell_stack::{Fit, RunResult, Scenario, TraceExtent, resolve};

/// Pages of the traces below.
const PAGES: u64 = 300;

/// A trace in Wearwell's CSV format that writes each of [`PAGES`] pages several times, with addresses `gap` pages apart
/// and 1 ms between writes.
struct Trace {
    _folder: tempfile::TempDir,
    path: PathBuf,
    /// Written pages, with repetitions.
    written: Vec<u64>,
}

impl Trace {
    fn new(gap: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.csv");
        // The trace writes every page once, and then the first half of the pages repeatedly.
        let again = (0..10 * PAGES).map(|at| at * 7919 % (PAGES / 2));
        let written: Vec<u64> = (0..PAGES).chain(again).map(|page| page * gap).collect();
        let line = |(at, page): (usize, &u64)| format!("{},W,0,{},4096,0\n", at * 1_000_000, page * 4096);
        let lines: String = written.iter().enumerate().map(line).collect();
        std::fs::write(&path, format!("time_ns,op,volume,offset_bytes,length_bytes,hint\n{lines}")).unwrap();
        Trace { _folder: folder, path, written }
    }

    fn scenario(&self, device: &str, more: &str) -> Scenario {
        scenario(&format!(
            "[device]\n{device}\n[trace]\npath = \"{}\"\n{more}[measure]\nmax_warm_up = 8.0\ndrive_writes = 4.0\n",
            self.path.display()
        ))
    }

    fn run(&self, device: &str, more: &str) -> RunResult {
        try_run(&self.scenario(device, more)).unwrap_or_else(|error| panic!("{error}"))
    }
}

const SMALL: &str = "fit = true\npages_per_block = 8\nover_provisioning = 0.25\nendurance_cycles = 3000";

fn address_rule(result: &RunResult) -> AddressRule {
    result.scenario.trace.as_ref().unwrap().address
}

#[test]
fn drive_fits_touched_pages_and_sparse_addresses_are_compacted() {
    for (gap, rule) in [(1, AddressRule::Direct), (1000, AddressRule::Compact)] {
        let trace = Trace::new(gap);
        let touched: BTreeSet<u64> = trace.written.iter().copied().collect();
        let result = trace.run(SMALL, "");
        let extent =
            TraceExtent { touched_pages: touched.len() as u64, end_page: touched.last().unwrap() + 1 };
        assert_eq!(result.scenario.device.fit, Fit::Measured(extent));
        assert_eq!(u64::from(result.device.logical_pages), PAGES);
        assert_eq!(address_rule(&result), rule);
        assert!(result.write_amplification.is_some_and(|amplification| amplification > 1.0));
    }
}

#[test]
fn result_of_fitted_drive_repeats_from_its_scenario() {
    let trace = Trace::new(50);
    let first = trace.run(SMALL, "");
    let mut again = try_run(&first.scenario).unwrap();
    again.performance = first.performance;
    assert_eq!(again, first);
    assert_eq!(resolve(&trace.scenario(SMALL, "")).unwrap(), first.scenario);
}

#[test]
fn explicit_address_rule_is_kept() {
    let result = Trace::new(1000).run(SMALL, "address = \"wrap\"\n");
    assert_eq!((address_rule(&result), u64::from(result.device.logical_pages)), (AddressRule::Wrap, PAGES));
}

#[test]
fn layers_above_and_large_planes_enlarge_fitted_drive() {
    let trace = Trace::new(1000);
    let above = trace.run(SMALL, "[[log]]\nsegment_size = \"64 KiB\"\nspare_factor = 0.3\n");
    let [log, ftl] = &above.layers[..] else { panic!("two layers") };
    let fits = |pages: f64| (PAGES as f64..1.5 * PAGES as f64).contains(&pages);
    let of_log = f64::from(above.device.logical_pages) * (1.0 - log.over_provisioning.spare_factor);
    assert!(fits(of_log.round()), "{of_log}");
    assert!(ftl.mapped_share > 0.5);
    let preset = trace.run("fit = true\npreset = \"tlc\"", "");
    assert!(u64::from(preset.device.logical_pages) >= PAGES);
    assert!(preset.lifetime.is_none() || preset.lifetime.unwrap().years.is_some());
}

/// With two tenants, each trace gets as many pages as it touches, by its tenant's share. The drive is at most one block
/// larger than necessary.
#[test]
fn trace_of_each_tenant_fits_its_partition() {
    let traces = [Trace::new(1), Trace::new(1000)];
    let tenant = |trace: &Trace, share: f64| {
        format!("[[tenant]]\nshare = {share}\ntrace = {{ path = \"{}\" }}\n", trace.path.display())
    };
    let measure = "[measure]\nwarm_up = 1.0\ndrive_writes = 2.0\n";
    let text = |device: &str, shares: [f64; 2]| {
        let tenants = tenant(&traces[0], shares[0]) + &tenant(&traces[1], shares[1]);
        format!("[device]\n{device}\n{tenants}{measure}")
    };
    for shares in [[0.5, 0.5], [0.8, 0.2], [0.1, 0.6]] {
        let first = scenario(&text(SMALL, shares));
        let result = try_run(&first).unwrap_or_else(|error| panic!("{error}"));
        let min_pages = shares.iter().map(|share| PAGES as f64 / share).fold(0.0, f64::max);
        let exported_pages = f64::from(result.device.logical_pages);
        // Partitions end at a boundary between blocks of 8 pages. If shares add up to 1, the last partition may end at
        // any page.
        let block = 8.0 / shares[0].min(shares[1]);
        assert!(
            (min_pages - block..min_pages + block).contains(&exported_pages),
            "{exported_pages} of {min_pages}"
        );
        let rules = result.scenario.tenant.iter().map(|tenant| tenant.trace.as_ref().unwrap().address);
        assert_eq!(rules.collect::<Vec<_>>(), [AddressRule::Direct, AddressRule::Compact]);
        let extent = TraceExtent { touched_pages: 2 * PAGES, end_page: (PAGES - 1) * 1000 + 1 };
        assert_eq!(result.scenario.device.fit, Fit::Measured(extent));
        let mut again = try_run(&result.scenario).unwrap();
        again.performance = result.performance;
        assert_eq!(again, result);
        // A drive that is smaller by more than a block of the smaller share does not hold the traces.
        let smaller_capacity = (exported_pages - 2.0 * block) as u64 * 4096;
        let less = format!("{SMALL}\ncapacity = {smaller_capacity}");
        let mut less = scenario(&text(&less.replace("fit = true\n", ""), shares));
        for (tenant, fitted) in less.tenant.iter_mut().zip(&result.scenario.tenant) {
            tenant.trace = fitted.trace.clone();
        }
        assert!(try_run(&less).is_err(), "{shares:?} {block} {exported_pages}");
    }
}

#[test]
fn tenant_trace_sets_drive_size_next_to_workload_tenant() {
    let trace = Trace::new(1);
    let result = try_run(&scenario(&format!(
        "[device]\n{SMALL}\n[[tenant]]\nshare = 0.5\nworkload = {{ kind = \"uniform\" }}\n[[tenant]]\nshare = 0.5\ntrace = {{ path = \"{}\" }}\n\
         [measure]\nwarm_up = 1.0\ndrive_writes = 2.0\n",
        trace.path.display()
    )));
    let exported_pages = u64::from(result.unwrap_or_else(|error| panic!("{error}")).device.logical_pages);
    assert!((2 * PAGES - 16..2 * PAGES + 16).contains(&exported_pages), "{exported_pages}");
}

#[test]
fn drive_that_cannot_be_fitted_is_refused_with_reason() {
    let trace = Trace::new(1);
    let error_of = |scenario: Scenario| try_run(&scenario).expect_err("must be refused").to_string();
    let found = error_of(trace.scenario(&format!("{SMALL}\ncapacity = \"4 MiB\""), ""));
    assert!(found.starts_with("device.capacity: stands beside `device.fit`"), "{found}");
    let without = scenario(&format!("[device]\n{SMALL}\n[workload]\nkind = \"uniform\"\n"));
    assert!(error_of(without).contains("the scenario has no `trace`"));
    let found = error_of(trace.scenario("fit = true\npages_per_block = 8", ""));
    assert!(found.contains("its size is open"), "{found}");
    std::fs::write(&trace.path, "time_ns,op,volume,offset_bytes,length_bytes,hint\n1,W,0,0\n").unwrap();
    assert!(error_of(trace.scenario(SMALL, "")).contains("line 2: column `length_bytes`"));
}

#[test]
fn lifetime_years_follow_from_trace_timestamps() {
    let trace = Trace::new(1);
    let result = trace.run(SMALL, "");
    let lifetime = result.lifetime.unwrap();
    let requests = trace.written.len() as f64;
    let seconds = (requests - 1.0) / 1000.0;
    let gb_per_day = requests * 4096.0 / seconds * 86_400.0 / 1e9;
    assert_eq!(lifetime.trace_seconds, Some(seconds));
    assert!((lifetime.trace_gb_per_day.unwrap() / gb_per_day - 1.0).abs() < 1e-12, "{lifetime:?}");
    let years = lifetime.tbw * 1000.0 / gb_per_day / 365.25;
    assert!((lifetime.years.unwrap() / years - 1.0).abs() < 1e-12, "{lifetime:?}");
    // Without times in the trace the result has no years.
    let text = std::fs::read_to_string(&trace.path).unwrap();
    let timeless: String = text
        .lines()
        .map(|line| match line.split_once(',') {
            Some((time, rest)) if time.parse::<u64>().is_ok() => format!("5,{rest}\n"),
            _ => format!("{line}\n"),
        })
        .collect();
    std::fs::write(&trace.path, timeless).unwrap();
    let same = trace.run(SMALL, "");
    assert_eq!(same.final_draw, result.final_draw);
    const TIMING: &str =
        "[timing]\nchannel_mb_per_s = 400\nread_us = 50\nprogram_us = 500\nerase_us = 3000\n";
    let has_warning = |arrivals: &str| {
        let warnings = trace.run(SMALL, &format!("{TIMING}{arrivals}")).warnings;
        warnings.iter().any(|warning| warning.starts_with("the trace has no times"))
    };
    assert!(has_warning("") && !has_warning("arrivals = \"closed\"\n"));
    let lifetime = same.lifetime.unwrap();
    assert_eq!((lifetime.years, lifetime.trace_gb_per_day, lifetime.trace_seconds), (None, None, None));
}
