//! Line and point charts of an item.

use crate::Failure;
use crate::interval::Interval;
use crate::session::Session;
use wearwell_plot::Point;

/// Points of the same colour.
#[derive(Clone, Debug)]
pub struct Series {
    /// Name of the series in the legend.
    pub name: String,
    /// Value on the x axis, and value on the y axis with its interval.
    pub points: Vec<(f64, Interval)>,
    /// True if a line joins the points.
    pub has_line: bool,
}

impl Series {
    /// Returns a line through exact values.
    pub fn line(name: String, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let exact = |(x, mean)| (x, Interval { mean, half_width: 0.0 });
        Series { name, points: points.into_iter().map(exact).collect(), has_line: true }
    }

    fn to_plot_series(&self) -> wearwell_plot::Series {
        let point =
            |(x, value): &(f64, Interval)| Point { x: *x, y: value.mean, half_width: value.half_width };
        wearwell_plot::Series {
            name: self.name.clone(),
            points: self.points.iter().map(point).collect(),
            has_line: self.has_line,
        }
    }
}

/// A chart.
#[derive(Clone, Copy, Debug)]
pub struct Chart<'a> {
    /// Title above the chart.
    pub title: &'a str,
    /// Label of the x axis.
    pub x: &'a str,
    /// Label of the y axis.
    pub y: &'a str,
}

impl Chart<'_> {
    /// Draws the series with their confidence intervals and writes the chart as a plot of the session's item.
    pub fn draw(&self, session: &Session, name: &str, series: &[Series]) -> Result<(), Failure> {
        let Chart { title, x, y } = *self;
        let series: Vec<_> = series.iter().map(Series::to_plot_series).collect();
        session.write_file(name, "svg", &wearwell_plot::Chart { title, x, y }.svg(&series)?)
    }
}
