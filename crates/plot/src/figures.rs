//! Named figures of results.
//!
//! To add a figure, write a function that draws it from the JSON of a result, or returns `None` without data, and add
//! its line in [`FIGURES`].

use crate::{Bar, Bars, Chart, Failure, HeatMap, Level, Point, Series};
use serde_json::Value;

/// Named figure.
pub struct Figure {
    /// Name of the figure.
    pub name: &'static str,
    /// Content of the figure, and the kind of result.
    pub help: &'static str,
    /// Draws the figure as SVG; `None` if a result has no data for it.
    draw: fn(&Value) -> Result<Option<String>, Failure>,
}

/// All figures.
pub static FIGURES: &[Figure] = &[
    Figure { name: "course", help: "write amplification over time, of a run", draw: course },
    Figure { name: "causes", help: "what reaches the flash by cause over time, of a run", draw: causes },
    Figure { name: "erases", help: "how many blocks were erased how often, of a run", draw: erases },
    Figure { name: "victims", help: "valid pages of victims, of a run", draw: victims },
    Figure {
        name: "response-times",
        help: "percentiles of response times, of a timed run",
        draw: response_times,
    },
    Figure {
        name: "points",
        help: "write amplification of all points with intervals, of a sweep",
        draw: points,
    },
    Figure { name: "map", help: "write amplification over two axes, of a sweep", draw: map },
    Figure {
        name: "limit",
        help: "write amplification of each placement and victim policy beside the limit, of a limit",
        draw: limit,
    },
    Figure { name: "curve", help: "the path, scan or distribution of an answer of theory", draw: curve },
];

/// Returns the names of all figures, for errors and help.
pub fn names() -> String {
    FIGURES.iter().map(|figure| figure.name).collect::<Vec<_>>().join(", ")
}

/// Returns the figure called `name`.
///
/// # Errors
///
/// Returns an error that lists all figures.
pub fn named(name: &str) -> Result<&'static Figure, String> {
    let known = FIGURES.iter().find(|figure| figure.name == name);
    known.ok_or_else(|| format!("there is no figure `{name}`; there are {}", names()))
}

impl Figure {
    /// Draws the figure of a command's JSON output as SVG.
    ///
    /// # Errors
    ///
    /// Returns an error without data for it, which lists the figures that have data.
    pub fn svg(&self, result: &Value) -> Result<String, Failure> {
        if let Some(svg) = (self.draw)(result)? {
            return Ok(svg);
        }
        let has = |other: &&Figure| matches!((other.draw)(result), Ok(Some(_)));
        let others: Vec<&str> = FIGURES.iter().filter(has).map(|other| other.name).collect();
        let others = if others.is_empty() { "none".to_owned() } else { others.join(", ") };
        Err(format!("there is nothing in it for the figure `{}`; it has data for {others}", self.name).into())
    }
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64().filter(|value| value.is_finite())
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Returns points without intervals; omits those without a value.
fn exact(points: impl Iterator<Item = (Option<f64>, Option<f64>)>) -> Vec<Point> {
    points.filter_map(|(x, y)| Some(Point { x: x?, y: y?, half_width: 0.0 })).collect()
}

fn chart(title: &str, x: &str, y: &str, series: Vec<Series>) -> Result<Option<String>, Failure> {
    let series: Vec<Series> = series.into_iter().filter(|series| !series.points.is_empty()).collect();
    if series.is_empty() { Ok(None) } else { Chart { title, x, y }.svg(&series).map(Some) }
}

fn joined(name: &str, points: Vec<Point>) -> Series {
    Series { name: name.to_owned(), points, joined: true }
}

/// Returns the drive writes at the end of each window.
fn drive_writes(run: &Value) -> Vec<Option<f64>> {
    let pages = number(&run["device"]["logical_pages"]);
    let at = |window: &Value| Some(number(&window["host_pages"])? / pages?);
    list(&run["windows"]).iter().map(at).collect()
}

fn course(run: &Value) -> Result<Option<String>, Failure> {
    let windows = list(&run["windows"]);
    let values = windows.iter().map(|window| number(&window["write_amplification"]));
    let at = drive_writes(run);
    let ends = [at.first(), at.last()].map(|end| end.copied().flatten());
    let level = |name: &str, value: &Value| joined(name, exact(ends.into_iter().map(|x| (x, number(value)))));
    let mut series = vec![joined("simulated", exact(at.iter().copied().zip(values)))];
    if !series[0].points.is_empty() {
        series.push(level("mean", &run["write_amplification"]));
        series.push(level("theory", &run["theory"]["write_amplification"]));
    }
    chart("Write amplification over time", "drive writes", "write amplification", series)
}

fn causes(run: &Value) -> Result<Option<String>, Failure> {
    let at = drive_writes(run);
    let host: Vec<Option<f64>> =
        list(&run["windows"]).iter().map(|window| number(&window["window_host_pages"])).collect();
    let flash = list(&run["layers"]).last().map_or(&Value::Null, |layer| &layer["name"]);
    let of_flash = list(&run["causes"]).iter().filter(|series| series["layer"] == *flash);
    let series = of_flash.map(|series| {
        let pages = list(&series["pages"]).iter().map(number).zip(&host);
        let shares = pages.map(|(pages, host)| Some(pages? / (*host)?));
        joined(series["cause"].as_str().unwrap_or_default(), exact(at.iter().copied().zip(shares)))
    });
    let series = series.collect();
    chart("What reaches the flash, by cause", "drive writes", "pages a page of the host", series)
}

fn erases(run: &Value) -> Result<Option<String>, Failure> {
    let histogram = &run["wear"]["histogram"];
    let (first, width) = (number(&histogram["first"]), number(&histogram["width"]));
    let blocks = list(&histogram["blocks"]).iter().enumerate();
    let points =
        exact(blocks.map(|(at, blocks)| {
            (Some(first.unwrap_or(0.0) + at as f64 * width.unwrap_or(1.0)), number(blocks))
        }));
    chart("Erases of the blocks", "erases", "blocks", vec![joined("blocks", points)])
}

fn victims(run: &Value) -> Result<Option<String>, Failure> {
    let series = list(&run["layers"]).iter().map(|layer| {
        let all = number(&layer["victims"]).filter(|all| *all > 0.0);
        let counts = list(&layer["victim_valid_pages"]).iter().enumerate();
        let points = exact(counts.map(|(at, count)| {
            (Some(at as f64), number(count).zip(all).map(|(count, all)| 100.0 * count / all))
        }));
        joined(layer["name"].as_str().unwrap_or_default(), points)
    });
    chart("Valid pages of victims", "valid pages", "% of the victims", series.collect())
}

fn response_times(run: &Value) -> Result<Option<String>, Failure> {
    let Some(requests) = run["timing"]["requests"].as_object() else { return Ok(None) };
    let series = requests.iter().filter(|(_, request)| number(&request["requests"]) > Some(0.0)).map(
        |(kind, request)| {
            let of = |one: &Value| {
                let beyond =
                    number(&one["percent"]).map(|percent| -(1.0 - percent / 100.0).max(1e-9).log10());
                (beyond, number(&one["response_ns"]).map(|ns| (ns / 1e3).max(1e-3).log10()))
            };
            joined(kind, exact(list(&request["percentiles"]).iter().map(of)))
        },
    );
    let (x, y) = ("nines: -log10 of the share that is slower", "log10 of the response time, µs");
    chart("Response times", x, y, series.collect())
}

/// Returns the varied columns of a sweep's table: as named, or guessed for a bare list of rows.
fn axes(value: &Value, rows: &[Value]) -> Vec<String> {
    let maps: Vec<_> = rows.iter().filter_map(Value::as_object).collect();
    let is_varied = |key: &String| rows.iter().any(|row| row[key.as_str()] != rows[0][key.as_str()]);
    let named = value["axes"].as_array();
    let named = named.map(|axes| axes.iter().filter_map(|axis| axis.as_str().map(str::to_owned)).collect());
    named.unwrap_or_else(|| wearwell_report::axes(&maps)).into_iter().filter(is_varied).collect()
}

fn sweep(value: &Value) -> Option<&[Value]> {
    let rows = value.as_array().or_else(|| value["rows"].as_array())?;
    rows.first()?.get("replicas").map(|_| rows.as_slice())
}

fn said(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns the distinct values of a column; numbers in ascending order, other values in order of appearance.
fn distinct(rows: &[Value], key: &str) -> Vec<Value> {
    let mut found: Vec<Value> = Vec::new();
    for row in rows {
        if !found.contains(&row[key]) {
            found.push(row[key].clone());
        }
    }
    if found.iter().all(Value::is_number) {
        found.sort_by(|one, other| {
            one.as_f64().partial_cmp(&other.as_f64()).expect("numbers of JSON are finite")
        });
    }
    found
}

fn points(value: &Value) -> Result<Option<String>, Failure> {
    let Some(rows) = sweep(value) else { return Ok(None) };
    let axes = axes(value, rows);
    let is_numeric = |key: &&String| rows.iter().all(|row| row[key.as_str()].is_number());
    let along = axes.iter().filter(is_numeric).max_by_key(|key| distinct(rows, key).len()).or(axes.first());
    let Some(along) = along else { return Ok(None) };
    let places = distinct(rows, along);
    let x = |row: &Value| {
        number(&row[along.as_str()])
            .or_else(|| places.iter().position(|place| *place == row[along.as_str()]).map(|at| at as f64))
    };
    let mut series: Vec<Series> = Vec::new();
    for row in rows {
        let others = axes.iter().filter(|key| *key != along);
        let name =
            others.map(|key| format!("{key}={}", said(&row[key.as_str()]))).collect::<Vec<_>>().join(" ");
        let name = if name.is_empty() { "write amplification".to_owned() } else { name };
        let half_width = number(&row["write_amplification_ci95"]).unwrap_or(0.0);
        let Some((x, y)) = x(row).zip(number(&row["write_amplification"])) else { continue };
        match series.iter_mut().find(|series| series.name == name) {
            Some(series) => series.points.push(Point { x, y, half_width }),
            None => series.push(Series { name, points: vec![Point { x, y, half_width }], joined: true }),
        }
    }
    let words = places.iter().any(|place| !place.is_number());
    let x_name = match words {
        true => format!(
            "{along}: {}",
            places
                .iter()
                .enumerate()
                .map(|(at, place)| format!("{at} {}", said(place)))
                .collect::<Vec<_>>()
                .join(", ")
        ),
        false => along.clone(),
    };
    series.iter_mut().for_each(|series| {
        series.joined = !words;
        series.points.sort_by(|one, other| one.x.total_cmp(&other.x));
    });
    chart("Write amplification, with 95 % intervals", &x_name, "write amplification", series)
}

fn map(value: &Value) -> Result<Option<String>, Failure> {
    let Some(rows) = sweep(value) else { return Ok(None) };
    let axes = axes(value, rows);
    let [up, across] = &axes[..] else { return Ok(None) };
    let (columns, lines) = (distinct(rows, across), distinct(rows, up));
    let mut cells = Vec::new();
    for line in &lines {
        for column in &columns {
            let row = rows.iter().find(|row| row[up.as_str()] == *line && row[across.as_str()] == *column);
            let Some(found) = row.and_then(|row| number(&row["write_amplification"])) else {
                return Ok(None);
            };
            cells.push((found, format!("{found:.3}")));
        }
    }
    let of = |values: &[Value]| values.iter().map(said).collect();
    let map = HeatMap { title: "Write amplification", x: (across, of(&columns)), y: (up, of(&lines)), cells };
    map.svg().map(Some)
}

fn limit(value: &Value) -> Result<Option<String>, Failure> {
    let Some(lower_bound) = number(&value["lower_bound"]) else { return Ok(None) };
    let bar = |row: &Value| {
        let name = [&row["placement"], &row["victim"]].map(said).join(", ");
        let half_width = number(&row["write_amplification_ci95"]).unwrap_or(0.0);
        Some(Bar { name, value: number(&row["write_amplification"])?, half_width })
    };
    let mut bars: Vec<Bar> = list(&value["rows"]).iter().filter_map(bar).collect();
    if bars.is_empty() {
        return Ok(None);
    }
    bars.sort_by(|one, other| one.value.total_cmp(&other.value));
    let best = &value["foreseeing"];
    let best = number(&best["write_amplification"]).map(|value| Level {
        name: format!("knowing the future ({}, {})", said(&best["placement"]), said(&best["victim"])),
        value,
    });
    let bound = Level { name: "nothing gets below".to_owned(), value: lower_bound };
    let levels = best.into_iter().chain([bound]).collect();
    Bars { title: "How far from the limit", x: "write amplification", from: 1.0, bars, levels }
        .svg()
        .map(Some)
}

fn curve(answer: &Value) -> Result<Option<String>, Failure> {
    if answer["mode"] != "theory" {
        return Ok(None);
    }
    let amplification = "write amplification";
    let path = list(&answer["path"]);
    if !path.is_empty() {
        let of =
            |key: &str| exact(path.iter().map(|point| (number(&point["drive_writes"]), number(&point[key]))));
        let series = vec![joined("theory", of("write_amplification")), joined("simulated", of("simulated"))];
        return chart("The way to the steady state", "drive writes", amplification, series);
    }
    let counted = |name: &str, first: f64| {
        let values = list(&answer[name]).iter().enumerate();
        exact(values.map(|(at, value)| (Some(at as f64 + first), number(value))))
    };
    let scan = counted("scan", 1.0);
    if !scan.is_empty() {
        return chart(
            "Write amplification by choices",
            "choices",
            amplification,
            vec![joined(amplification, scan)],
        );
    }
    let series = vec![
        joined("blocks", counted("valid_pages", 0.0)),
        joined("victims", counted("victim_valid_pages", 0.0)),
    ];
    chart("Valid pages", "valid pages", "share", series)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rows() -> Value {
        let row = |victim: &str, load: f64| json!({ "replicas": 2, "ftl.victim": victim, "device.load": load, "write_amplification": 1.0 + load, "write_amplification_ci95": 0.1 });
        json!([row("</text>&", 0.7), row("</text>&", 0.8), row("fifo", 0.7), row("fifo", 0.8)])
    }

    #[test]
    fn figure_names_are_unique_and_unknown_names_list_them() {
        for (at, figure) in FIGURES.iter().enumerate() {
            assert!(FIGURES[..at].iter().all(|other| other.name != figure.name));
            assert_eq!(named(figure.name).unwrap().help, figure.help);
        }
        assert!(named("curse").err().unwrap().contains("course"));
    }

    #[test]
    fn sweep_has_points_and_a_map_with_escaped_text() {
        for (name, expected) in [("points", "ftl.victim=fifo"), ("map", "1.800")] {
            let svg = named(name).unwrap().svg(&rows()).unwrap();
            assert!(svg.contains(expected) && svg.contains("&lt;/text&gt;&amp;"), "{svg}");
            assert_eq!(svg.matches("</svg>").count(), 1);
        }
    }

    #[test]
    fn limit_has_sorted_rows_and_both_levels() {
        let row = |victim: &str, found: Value| json!({ "placement": "double", "victim": victim, "write_amplification": found });
        let rows = [row("greedy", json!(3.5)), row("fifo", json!(null)), row("random", json!(2.5))];
        let best =
            json!({ "placement": "death_windows", "victim": "foresight", "write_amplification": 1.25 });
        let limit = json!({ "lower_bound": 1.125, "foreseeing": best, "rows": rows });
        let svg = named("limit").unwrap().svg(&limit).unwrap();
        let at = |text: &str| svg.find(text).unwrap_or_else(|| panic!("{text} in {svg}"));
        assert!(at("double, random") < at("double, greedy") && !svg.contains("fifo"));
        assert!(svg.contains("death_windows, foresight): 1.250") && svg.contains("below: 1.125"));
    }

    #[test]
    fn figure_without_data_lists_figures_with_data() {
        let problem = named("course").unwrap().svg(&rows()).unwrap_err().to_string();
        assert!(problem.contains("points, map"), "{problem}");
        let problem = named("map").unwrap().svg(&json!({})).unwrap_err().to_string();
        assert!(problem.contains("data for none"), "{problem}");
    }
}
