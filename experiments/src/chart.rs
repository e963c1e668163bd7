//! Line and point charts as SVG.

use crate::Failure;
use crate::interval::Interval;
use crate::session::Session;
use plotters::coord::Shift;
use plotters::prelude::*;

/// Points of one colour, joined by a line where `joined`.
#[derive(Clone, Debug)]
pub struct Series {
    /// What they are.
    pub name: String,
    /// Place on the x axis, and value with its interval.
    pub points: Vec<(f64, Interval)>,
    /// Whether a line joins them.
    pub joined: bool,
}

impl Series {
    /// A line through values that are exact.
    pub fn line(name: String, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let exact = |(x, mean)| (x, Interval { mean, half_width: 0.0 });
        Series { name, points: points.into_iter().map(exact).collect(), joined: true }
    }
}

/// One chart.
#[derive(Clone, Copy, Debug)]
pub struct Chart<'a> {
    /// Above it.
    pub title: &'a str,
    /// Under the x axis.
    pub x: &'a str,
    /// Beside the y axis.
    pub y: &'a str,
}

const SIZE: (u32, u32) = (860, 520);

/// Width of the legend, beside the chart so that it hides nothing.
const LEGEND: u32 = 200;

impl Chart<'_> {
    /// Draws the series with their confidence intervals and writes the chart as a plot of the session's item.
    pub fn draw(&self, session: &Session, name: &str, series: &[Series]) -> Result<(), Failure> {
        let mut svg = String::new();
        self.draw_on(SVGBackend::with_string(&mut svg, SIZE).into_drawing_area(), series)?;
        session.leave(name, "svg", &svg)
    }

    fn draw_on(&self, root: DrawingArea<SVGBackend, Shift>, series: &[Series]) -> Result<(), Failure> {
        let points = || series.iter().flat_map(|series| &series.points);
        let (left, right) = span(points().map(|point| point.0));
        let ends = points().flat_map(|(_, value)| [value.mean - reach(value), value.mean + reach(value)]);
        let (low, high) = span(ends);
        root.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&root)
            .caption(self.title, ("sans-serif", 18))
            .margin(12)
            .margin_right(LEGEND + 12)
            .x_label_area_size(44)
            .y_label_area_size(60)
            .build_cartesian_2d(left..right, low..high)?;
        chart.configure_mesh().x_desc(self.x).y_desc(self.y).light_line_style(WHITE).draw()?;
        for (number, series) in series.iter().enumerate() {
            let colour = Palette99::pick(number).to_rgba();
            let at = |(x, value): &(f64, Interval)| (*x, value.mean);
            if series.joined {
                chart.draw_series(LineSeries::new(series.points.iter().map(at), colour))?;
            }
            let bar = |(x, value): &(f64, Interval)| {
                let ends = [(*x, value.mean - reach(value)), (*x, value.mean + reach(value))];
                PathElement::new(ends, colour)
            };
            chart.draw_series(series.points.iter().map(bar))?;
            let dots = series.points.iter().map(|point| Circle::new(at(point), 3, colour.filled()));
            chart
                .draw_series(dots)?
                .label(&series.name)
                .legend(move |(x, y)| Circle::new((x + 8, y), 4, colour.filled()));
        }
        let beside = chart.plotting_area().dim_in_pixel().0 as i32 + 4;
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::Coordinate(beside, 0))
            .background_style(WHITE.mix(0.8))
            .border_style(BLACK.mix(0.3))
            .draw()?;
        root.present()?;
        Ok(())
    }
}

/// The part of an interval that can be drawn.
fn reach(value: &Interval) -> f64 {
    if value.half_width.is_finite() { value.half_width } else { 0.0 }
}

/// The least and the greatest value, with a margin: no axis is so short that floating point cannot tell its marks apart.
fn span(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) =
        values.fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)));
    if low > high {
        return (0.0, 1.0);
    }
    let margin = (0.05 * (high - low)).max(1e-6 * high.abs()).max(1e-9);
    (low - margin, high + margin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_of_one_point_and_of_none_are_drawn() {
        let points = [vec![], vec![(1.0, 31.38)], vec![(3.0, 0.0)], vec![(1.0, 1e9), (2.0, 1e9)]];
        for points in points {
            let chart = Chart { title: "title", x: "x", y: "y" };
            let series = Series::line("one".to_owned(), points);
            let mut svg = String::new();
            let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
            chart.draw_on(root, &[series]).unwrap();
            assert!(svg.contains("one"));
        }
    }
}
