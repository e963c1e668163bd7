//! Text output of response times: totals, components, and cleaning over time.

use super::{count, grid, table_width};
use std::collections::BTreeMap;
use wearwell_engine::timing::{Bin, BusyTime, OutageTimes, RequestTimes, Timeline, TimingReport};

/// Maximum number of columns of the charts over time; neighbouring bins of the timeline are combined to fit.
const MAX_COURSE_COLUMNS: usize = 64;
/// Width of a row besides the chart: the title, the highest value, and the borders.
const ROW_OVERHEAD: usize = 40;

/// Returns throughput and utilisation as rows of figures.
pub fn figures(timing: &TimingReport) -> Vec<(&'static str, String)> {
    let mut rows = vec![
        (
            "Throughput",
            format!(
                "{} requests and {:.1} MB a second, over {}",
                count(timing.requests_per_s.round() as u64),
                timing.bytes_per_s / 1e6,
                duration(timing.elapsed_ns as f64)
            ),
        ),
        ("Dies busy", busy(&timing.dies, timing.elapsed_ns)),
        ("Channels busy", busy(&timing.channels, timing.elapsed_ns)),
    ];
    rows.extend(timing.outages.map(|outages| ("Out of service", outage_text(&outages))));
    rows
}

/// Describes the number and duration of outages by power cuts.
fn outage_text(outages: &OutageTimes) -> String {
    let recovery = duration(outages.mean_ns - outages.mean_off_ns);
    format!(
        "{} times, for {} on average ({recovery} of it recovery) and {} at most",
        count(outages.outages),
        duration(outages.mean_ns),
        duration(outages.max_ns as f64)
    )
}

/// Formats mean busy times over all units, by purpose.
fn busy(all: &[BusyTime], elapsed_ns: u64) -> String {
    let time = (all.len() as f64 * elapsed_ns as f64).max(1.0);
    let percent = |amount: fn(&BusyTime) -> u64| 100.0 * all.iter().map(amount).sum::<u64>() as f64 / time;
    let parts = [
        ("host", percent(|busy| busy.host_ns)),
        ("cleaning", percent(|busy| busy.cleaning_ns)),
        ("other", percent(|busy| busy.other_ns)),
        ("stepping back", percent(|busy| busy.suspend_ns)),
    ];
    let total: f64 = parts.iter().map(|(_, share)| share).sum();
    let parts = parts.iter().filter(|(_, share)| *share > 0.0);
    let parts: Vec<String> = parts.map(|(name, share)| format!("{name} {share:.1} %")).collect();
    if parts.is_empty() { "0 %".into() } else { format!("{total:.1} %: {}", parts.join(", ")) }
}

/// Returns the tables of response times and their components, and the charts over time.
pub fn tables(timing: &TimingReport) -> String {
    format!(
        "{}\n{}\n{}\n",
        responses(&timing.requests),
        component_table(&timing.requests),
        course(&timing.timeline, timing.elapsed_ns, timing.dies.len())
    )
}

fn responses(kinds: &BTreeMap<String, RequestTimes>) -> String {
    let percentiles = kinds.values().next().map_or(&[][..], |times| &times.percentiles);
    let mut head = vec!["response times".to_owned(), "requests".into(), "mean".into()];
    head.extend(percentiles.iter().map(|percentile| format!("p{}", percentile.percent)));
    head.push("longest".into());
    let rows = kinds.iter().flat_map(|(kind, times)| {
        let mut row = vec![kind.clone(), count(times.requests), duration(times.mean_ns)];
        row.extend(times.percentiles.iter().map(|percentile| duration(percentile.response_ns as f64)));
        row.push(duration(times.max_ns as f64));
        let mut shares = vec!["  share of cleaning".to_owned(), String::new(), cleaning_of_mean(times)];
        shares.extend(times.percentiles.iter().map(|percentile| percent(percentile.cleaning_share)));
        shares.push(String::new());
        [row, shares]
    });
    let right: Vec<usize> = (1..head.len()).collect();
    grid(&head.iter().map(String::as_str).collect::<Vec<_>>(), rows.collect(), &right)
}

fn cleaning_of_mean(times: &RequestTimes) -> String {
    let part = |name: &str| times.parts_ns.get(name).copied().unwrap_or(0.0);
    let cleaning = part("cleaning_ns")
        + part("queue_of_which_cleaning_ns")
        + part("buffer_of_which_cleaning_ns")
        + part("die_wait_of_which_cleaning_ns")
        + part("channel_wait_of_which_cleaning_ns");
    if times.mean_ns > 0.0 { percent(cleaning / times.mean_ns) } else { "–".into() }
}

/// Returns the mean components of the response time: a row for each that occurs, a column for each kind of request.
fn component_table(kinds: &BTreeMap<String, RequestTimes>) -> String {
    let parts = [
        ("queue", "queue_ns"),
        ("  behind cleaning", "queue_of_which_cleaning_ns"),
        ("buffer", "buffer_ns"),
        ("  behind cleaning", "buffer_of_which_cleaning_ns"),
        ("controller", "controller_ns"),
        ("link", "link_ns"),
        ("power off, recovery", "outage_ns"),
        ("flush", "flush_ns"),
        ("hash queue", "hash_wait_ns"),
        ("hash", "hash_ns"),
        ("cleaning", "cleaning_ns"),
        ("die", "die_wait_ns"),
        ("  behind cleaning", "die_wait_of_which_cleaning_ns"),
        ("channel", "channel_wait_ns"),
        ("  behind cleaning", "channel_wait_of_which_cleaning_ns"),
        ("transfer", "transfer_ns"),
        ("flash", "flash_ns"),
        ("stepping back", "suspend_ns"),
    ];
    let of = |times: &RequestTimes, key: &str| times.parts_ns.get(key).copied().unwrap_or(0.0);
    let occurs = |key: &str| kinds.values().any(|times| of(times, key) > 0.0);
    let parts: Vec<_> = parts.into_iter().filter(|(_, key)| occurs(key)).collect();
    let head: Vec<&str> = ["mean time for"].into_iter().chain(kinds.keys().map(String::as_str)).collect();
    let rows = parts.iter().map(|(title, key)| {
        let times = kinds.values().map(|times| duration(of(times, key)));
        [(*title).to_owned()].into_iter().chain(times).collect()
    });
    let right: Vec<usize> = (1..head.len()).collect();
    grid(&head, rows.collect(), &right)
}

/// Returns the chart of the longest responses and of cleaning over time.
fn course(timeline: &Timeline, elapsed_ns: u64, dies: usize) -> String {
    let reached = (elapsed_ns.div_ceil(timeline.bin_ns.max(1)) as usize).clamp(1, timeline.bins.len());
    let max_columns = usize::from(table_width()).saturating_sub(ROW_OVERHEAD).clamp(8, MAX_COURSE_COLUMNS);
    let width = reached.div_ceil(max_columns);
    let columns: Vec<_> = timeline.bins[..reached].chunks(width).collect();
    let per_column =
        |value: &dyn Fn(&[Bin]) -> f64| columns.iter().map(|bins| value(bins)).collect::<Vec<f64>>();
    let longest = per_column(&|bins| bins.iter().map(|bin| bin.response_max_ns).max().unwrap_or(0) as f64);
    let mean = per_column(&|bins| {
        let requests: u64 = bins.iter().map(|bin| bin.requests).sum();
        bins.iter().map(|bin| bin.response_sum_ns as f64).sum::<f64>() / requests.max(1) as f64
    });
    let cleaning = per_column(&|bins| {
        let time = (bins.len() * dies) as f64 * timeline.bin_ns as f64;
        100.0 * bins.iter().map(|bin| bin.cleaning_busy_ns as f64).sum::<f64>() / time.max(1.0)
    });
    let highest = |values: &[f64]| values.iter().fold(0.0, |high: f64, &value| high.max(value));
    let row = |name: &str, values: &[f64], top: f64, shown: String| {
        vec![name.to_owned(), bars(values, top), format!("up to {shown}")]
    };
    let (long, usual, clean) = (highest(&longest), highest(&mean), highest(&cleaning));
    let scale = format!("each column {}", duration((width as u64 * timeline.bin_ns) as f64));
    grid(
        &["course", &scale, ""],
        vec![
            row("longest response", &longest, long, duration(long)),
            row("mean response", &mean, usual, duration(usual)),
            row("dies cleaning", &cleaning, 100.0, format!("{clean:.1} %")),
        ],
        &[],
    )
}

/// Draws each value as a bar of height 0 to 8.
fn bars(values: &[f64], top: f64) -> String {
    const HEIGHTS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let height =
        |value: &f64| if top > 0.0 { (value / top * 8.0).ceil().clamp(0.0, 8.0) as usize } else { 0 };
    values.iter().map(|value| HEIGHTS[height(value)]).collect()
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// Formats a duration with about three digits, in a suitable unit.
pub fn duration(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 1e3 => return format!("{ns:.0} ns"),
        ns if ns < 1e6 => (ns / 1e3, "µs"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    match value {
        value if value >= 100.0 => format!("{value:.0} {unit}"),
        value if value >= 10.0 => format!("{value:.1} {unit}"),
        value => format!("{value:.2} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_suitable_unit() {
        let shown: Vec<_> = [0.0, 640.0, 12_345.0, 999_000.0, 1.5e6, 2.5e9, 1.2e11].map(duration).to_vec();
        assert_eq!(shown, ["0 ns", "640 ns", "12.3 µs", "999 µs", "1.50 ms", "2.50 s", "120 s"]);
    }

    #[test]
    fn bars_reach_the_top_and_show_small_values() {
        assert_eq!(bars(&[0.0, 0.1, 4.0, 8.0, 9.0], 8.0), " ▁▄██");
        assert_eq!(bars(&[1.0], 0.0), " ");
    }
}
