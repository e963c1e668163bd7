//! Line and point charts as SVG.

use crate::Failure;
use plotters::coord::Shift;
use plotters::prelude::*;

/// A place on the x axis, and a value with the half-width of its interval, which is drawn where it is finite and above 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// On the x axis.
    pub x: f64,
    /// On the y axis.
    pub y: f64,
    /// Half-width of its interval.
    pub half_width: f64,
}

/// Points of one colour, joined by a line where `joined`.
#[derive(Clone, Debug)]
pub struct Series {
    /// What they are.
    pub name: String,
    /// The points, in their order.
    pub points: Vec<Point>,
    /// Whether a line joins them.
    pub joined: bool,
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
    /// The series with their intervals, as SVG.
    ///
    /// # Errors
    ///
    /// As of plotters.
    pub fn svg(&self, series: &[Series]) -> Result<String, Failure> {
        let mut svg = String::new();
        self.draw_on(SVGBackend::with_string(&mut svg, SIZE).into_drawing_area(), series)?;
        Ok(svg)
    }

    fn draw_on(&self, root: DrawingArea<SVGBackend, Shift>, series: &[Series]) -> Result<(), Failure> {
        let points = || series.iter().flat_map(|series| &series.points);
        let (left, right) = span(points().map(|point| point.x));
        let (low, high) = span(points().flat_map(|point| [point.y - reach(point), point.y + reach(point)]));
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
            let at = |point: &Point| (point.x, point.y);
            if series.joined {
                chart.draw_series(LineSeries::new(series.points.iter().map(at), colour))?;
            }
            let bar = |point: &Point| {
                let ends = [(point.x, point.y - reach(point)), (point.x, point.y + reach(point))];
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

fn reach(point: &Point) -> f64 {
    drawn(point.half_width)
}

/// The part of an interval that can be drawn.
pub(crate) fn drawn(half_width: f64) -> f64 {
    if half_width.is_finite() { half_width } else { 0.0 }
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
            let points = points.into_iter().map(|(x, y)| Point { x, y, half_width: 0.0 }).collect();
            let svg = chart.svg(&[Series { name: "<one>".to_owned(), points, joined: true }]).unwrap();
            assert!(svg.contains("&lt;one&gt;"));
        }
    }
}
