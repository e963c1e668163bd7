//! Named figures of results.
//!
//! To add a figure, write a function that draws it from the JSON of a result, and that returns `None` if the result
//! has no data for it. Then add a line to [`FIGURES`].

use crate::{Bar, Bars, Chart, Failure, HeatMap, Point, ReferenceLine, Series};
use serde_json::Value;

/// Named figure.
pub struct Figure {
    /// Name of the figure.
    pub name: &'static str,
    /// Description of the figure, and the kind of result to which it applies.
    pub help: &'static str,
    /// Draws the figure as SVG; `None` if a result has no data for it.
    draw: fn(&Value) -> Result<Option<String>, Failure>,
}

/// All figures.
pub static FIGURES: &[Figure] = &[
    Figure { name: "course", help: "write amplification over time, of a run", draw: draw_course },
    Figure { name: "causes", help: "what reaches the flash by cause over time, of a run", draw: draw_causes },
    Figure { name: "erases", help: "how many blocks were erased how often, of a run", draw: draw_erases },
    Figure { name: "victims", help: "valid pages of victims, of a run", draw: draw_victims },
    Figure {
        name: "response-times",
        help: "percentiles of response times, of a timed run",
        draw: draw_response_times,
    },
    Figure {
        name: "points",
        help: "write amplification of all points with intervals, of a sweep",
        draw: draw_points,
    },
    Figure { name: "map", help: "write amplification over two axes, of a sweep", draw: draw_map },
    Figure {
        name: "limit",
        help: "write amplification of each placement and victim policy beside the limit, of a limit",
        draw: draw_limit,
    },
    Figure { name: "curve", help: "the path, scan or distribution of an answer of theory", draw: draw_curve },
];

/// Returns the names of all figures, for errors and help.
pub fn names() -> String {
    FIGURES.iter().map(|figure| figure.name).collect::<Vec<_>>().join(", ")
}

/// Returns the figure called `name`.
///
/// # Errors
///
/// Returns an error that lists all figures if the name is unknown.
pub fn named(name: &str) -> Result<&'static Figure, String> {
    let known = FIGURES.iter().find(|figure| figure.name == name);
    known.ok_or_else(|| format!("there is no figure `{name}`; there are {}", names()))
}

impl Figure {
    /// Draws the figure of a command's JSON output as SVG.
    ///
    /// # Errors
    ///
    /// Returns an error if the result has no data for the figure; the error lists the figures for which it has data.
    pub fn svg(&self, result: &Value) -> Result<String, Failure> {
        if let Some(svg) = (self.draw)(result)? {
            return Ok(svg);
        }
        let has = |other: &&Figure| matches!((other.draw)(result), Ok(Some(_)));
        let with_data: Vec<&str> = FIGURES.iter().filter(has).map(|other| other.name).collect();
        let with_data = if with_data.is_empty() { "none".to_owned() } else { with_data.join(", ") };
        Err(format!("there is nothing in it for the figure `{}`; it has data for {with_data}", self.name)
            .into())
    }
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64().filter(|value| value.is_finite())
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Returns points without intervals; omits points without a value.
fn points_without_intervals(points: impl Iterator<Item = (Option<f64>, Option<f64>)>) -> Vec<Point> {
    points.filter_map(|(x, y)| Some(Point { x: x?, y: y?, half_width: 0.0 })).collect()
}

fn chart(title: &str, x: &str, y: &str, series: Vec<Series>) -> Result<Option<String>, Failure> {
    let series: Vec<Series> = series.into_iter().filter(|series| !series.points.is_empty()).collect();
    if series.is_empty() { Ok(None) } else { Chart { title, x, y }.svg(&series).map(Some) }
}

fn line_series(name: &str, points: Vec<Point>) -> Series {
    Series { name: name.to_owned(), points, has_line: true }
}

/// Returns the drive writes completed at the end of each window.
fn drive_writes(run: &Value) -> Vec<Option<f64>> {
    let pages = number(&run["device"]["logical_pages"]);
    let at = |window: &Value| Some(number(&window["host_pages"])? / pages?);
    list(&run["windows"]).iter().map(at).collect()
}

fn draw_course(run: &Value) -> Result<Option<String>, Failure> {
    let windows = list(&run["windows"]);
    let values = windows.iter().map(|window| number(&window["write_amplification"]));
    let at = drive_writes(run);
    let ends = [at.first(), at.last()].map(|end| end.copied().flatten());
    let level = |name: &str, value: &Value| {
        line_series(name, points_without_intervals(ends.into_iter().map(|x| (x, number(value)))))
    };
    let mut series = vec![line_series("simulated", points_without_intervals(at.iter().copied().zip(values)))];
    if !series[0].points.is_empty() {
        series.push(level("mean", &run["write_amplification"]));
        series.push(level("theory", &run["theory"]["write_amplification"]));
    }
    chart("Write amplification over time", "drive writes", "write amplification", series)
}

fn draw_causes(run: &Value) -> Result<Option<String>, Failure> {
    let at = drive_writes(run);
    let host: Vec<Option<f64>> =
        list(&run["windows"]).iter().map(|window| number(&window["window_host_pages"])).collect();
    let flash = list(&run["layers"]).last().map_or(&Value::Null, |layer| &layer["name"]);
    let of_flash = list(&run["causes"]).iter().filter(|series| series["layer"] == *flash);
    let series = of_flash.map(|series| {
        let pages = list(&series["pages"]).iter().map(number).zip(&host);
        let shares = pages.map(|(pages, host)| Some(pages? / (*host)?));
        line_series(
            series["cause"].as_str().unwrap_or_default(),
            points_without_intervals(at.iter().copied().zip(shares)),
        )
    });
    let series = series.collect();
    chart("What reaches the flash, by cause", "drive writes", "pages a page of the host", series)
}

fn draw_erases(run: &Value) -> Result<Option<String>, Failure> {
    let histogram = &run["wear"]["histogram"];
    let (first, width) = (number(&histogram["first"]), number(&histogram["width"]));
    let blocks = list(&histogram["blocks"]).iter().enumerate();
    let points =
        points_without_intervals(blocks.map(|(at, blocks)| {
            (Some(first.unwrap_or(0.0) + at as f64 * width.unwrap_or(1.0)), number(blocks))
        }));
    chart("Erases of the blocks", "erases", "blocks", vec![line_series("blocks", points)])
}

fn draw_victims(run: &Value) -> Result<Option<String>, Failure> {
    let series = list(&run["layers"]).iter().map(|layer| {
        let all = number(&layer["victims"]).filter(|all| *all > 0.0);
        let counts = list(&layer["victim_valid_pages"]).iter().enumerate();
        let points = points_without_intervals(counts.map(|(at, count)| {
            (Some(at as f64), number(count).zip(all).map(|(count, all)| 100.0 * count / all))
        }));
        line_series(layer["name"].as_str().unwrap_or_default(), points)
    });
    chart("Valid pages of victims", "valid pages", "% of the victims", series.collect())
}

fn draw_response_times(run: &Value) -> Result<Option<String>, Failure> {
    let Some(requests) = run["timing"]["requests"].as_object() else { return Ok(None) };
    let series = requests.iter().filter(|(_, request)| number(&request["requests"]) > Some(0.0)).map(
        |(kind, request)| {
            let of = |one: &Value| {
                let nines = number(&one["percent"]).map(|percent| -(1.0 - percent / 100.0).max(1e-9).log10());
                (nines, number(&one["response_ns"]).map(|ns| (ns / 1e3).max(1e-3).log10()))
            };
            line_series(kind, points_without_intervals(list(&request["percentiles"]).iter().map(of)))
        },
    );
    let (x, y) = ("nines: -log10 of the share that is slower", "log10 of the response time, µs");
    chart("Response times", x, y, series.collect())
}

/// Returns the varied columns of a sweep's table: as the sweep names them, or guessed if there is only a list of
/// rows.
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

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns the distinct values of a column: numbers in ascending order, other values in the order of appearance.
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

fn draw_points(value: &Value) -> Result<Option<String>, Failure> {
    let Some(rows) = sweep(value) else { return Ok(None) };
    let axes = axes(value, rows);
    let is_numeric = |key: &&String| rows.iter().all(|row| row[key.as_str()].is_number());
    let along = axes.iter().filter(is_numeric).max_by_key(|key| distinct(rows, key).len()).or(axes.first());
    let Some(along) = along else { return Ok(None) };
    let axis_values = distinct(rows, along);
    let x = |row: &Value| {
        number(&row[along.as_str()]).or_else(|| {
            axis_values.iter().position(|axis_value| *axis_value == row[along.as_str()]).map(|at| at as f64)
        })
    };
    let mut series: Vec<Series> = Vec::new();
    for row in rows {
        let other_axes = axes.iter().filter(|key| *key != along);
        let name = other_axes
            .map(|key| format!("{key}={}", text_of(&row[key.as_str()])))
            .collect::<Vec<_>>()
            .join(" ");
        let name = if name.is_empty() { "write amplification".to_owned() } else { name };
        let half_width = number(&row["write_amplification_ci95"]).unwrap_or(0.0);
        let Some((x, y)) = x(row).zip(number(&row["write_amplification"])) else { continue };
        match series.iter_mut().find(|series| series.name == name) {
            Some(series) => series.points.push(Point { x, y, half_width }),
            None => series.push(Series { name, points: vec![Point { x, y, half_width }], has_line: true }),
        }
    }
    let has_names = axis_values.iter().any(|axis_value| !axis_value.is_number());
    let x_name = match has_names {
        true => format!(
            "{along}: {}",
            axis_values
                .iter()
                .enumerate()
                .map(|(at, axis_value)| format!("{at} {}", text_of(axis_value)))
                .collect::<Vec<_>>()
                .join(", ")
        ),
        false => along.clone(),
    };
    series.iter_mut().for_each(|series| {
        series.has_line = !has_names;
        series.points.sort_by(|one, other| one.x.total_cmp(&other.x));
    });
    chart("Write amplification, with 95 % intervals", &x_name, "write amplification", series)
}

fn draw_map(value: &Value) -> Result<Option<String>, Failure> {
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
    let of = |values: &[Value]| values.iter().map(text_of).collect();
    let map = HeatMap { title: "Write amplification", x: (across, of(&columns)), y: (up, of(&lines)), cells };
    map.svg().map(Some)
}

fn draw_limit(value: &Value) -> Result<Option<String>, Failure> {
    let Some(lower_bound) = number(&value["lower_bound"]) else { return Ok(None) };
    let bar = |row: &Value| {
        let name = [&row["placement"], &row["victim"]].map(text_of).join(", ");
        let half_width = number(&row["write_amplification_ci95"]).unwrap_or(0.0);
        Some(Bar { name, value: number(&row["write_amplification"])?, half_width })
    };
    let mut bars: Vec<Bar> = list(&value["rows"]).iter().filter_map(bar).collect();
    if bars.is_empty() {
        return Ok(None);
    }
    bars.sort_by(|one, other| one.value.total_cmp(&other.value));
    let best = &value["offline"];
    let best = number(&best["write_amplification"]).map(|value| ReferenceLine {
        name: format!("knowing the future ({}, {})", text_of(&best["placement"]), text_of(&best["victim"])),
        value,
    });
    let bound = ReferenceLine { name: "nothing gets below".to_owned(), value: lower_bound };
    let levels = best.into_iter().chain([bound]).collect();
    Bars {
        title: "How far from the limit",
        x: "write amplification",
        from: 1.0,
        bars,
        reference_lines: levels,
    }
    .svg()
    .map(Some)
}

fn draw_curve(answer: &Value) -> Result<Option<String>, Failure> {
    if answer["mode"] != "theory" {
        return Ok(None);
    }
    let amplification = "write amplification";
    let path = list(&answer["path"]);
    if !path.is_empty() {
        let column = |key: &str| {
            points_without_intervals(
                path.iter().map(|point| (number(&point["drive_writes"]), number(&point[key]))),
            )
        };
        let series = vec![
            line_series("theory", column("write_amplification")),
            line_series("simulated", column("simulated")),
        ];
        return chart("The way to the steady state", "drive writes", amplification, series);
    }
    let indexed = |name: &str, first: f64| {
        let values = list(&answer[name]).iter().enumerate();
        points_without_intervals(values.map(|(at, value)| (Some(at as f64 + first), number(value))))
    };
    let scan = indexed("scan", 1.0);
    if !scan.is_empty() {
        return chart(
            "Write amplification by choices",
            "choices",
            amplification,
            vec![line_series(amplification, scan)],
        );
    }
    let series = vec![
        line_series("blocks", indexed("valid_pages", 0.0)),
        line_series("victims", indexed("victim_valid_pages", 0.0)),
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
    fn limit_has_sorted_rows_and_both_reference_lines() {
        let row = |victim: &str, found: Value| json!({ "placement": "double", "victim": victim, "write_amplification": found });
        let rows = [row("greedy", json!(3.5)), row("fifo", json!(null)), row("random", json!(2.5))];
        let best =
            json!({ "placement": "death_windows", "victim": "foresight", "write_amplification": 1.25 });
        let limit = json!({ "lower_bound": 1.125, "offline": best, "rows": rows });
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
