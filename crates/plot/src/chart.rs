//! Line and point charts as SVG.

use crate::Failure;
use crate::compact::compact;
use plotters::coord::Shift;
use plotters::prelude::*;

/// Point of a series with the half-width of its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Value on the x axis.
    pub x: f64,
    /// Value on the y axis.
    pub y: f64,
    /// Half-width of the confidence interval; drawn if finite and above 0.
    pub half_width: f64,
}

/// Points of one colour.
#[derive(Clone, Debug)]
pub struct Series {
    /// Name of the series in the legend.
    pub name: String,
    /// Points, in order.
    pub points: Vec<Point>,
    /// True if a line joins the points.
    pub has_line: bool,
}

/// Line or point chart.
#[derive(Clone, Copy, Debug)]
pub struct Chart<'a> {
    /// Title above the chart.
    pub title: &'a str,
    /// Label of the x axis.
    pub x: &'a str,
    /// Label of the y axis.
    pub y: &'a str,
}

const SIZE: (u32, u32) = (860, 520);

/// Width of the legend at the right of the chart.
const LEGEND_WIDTH: u32 = 200;

impl Chart<'_> {
    /// Draws the series with their intervals as SVG.
    ///
    /// # Errors
    ///
    /// Returns the errors of plotters.
    pub fn svg(&self, series: &[Series]) -> Result<String, Failure> {
        let mut svg = String::new();
        self.draw_on(SVGBackend::with_string(&mut svg, SIZE).into_drawing_area(), series)?;
        Ok(compact(&svg))
    }

    fn draw_on(&self, root: DrawingArea<SVGBackend, Shift>, series: &[Series]) -> Result<(), Failure> {
        let points = || series.iter().flat_map(|series| &series.points);
        let (left, right) = padded_range(points().map(|point| point.x));
        let (low, high) =
            padded_range(points().flat_map(|point| {
                [point.y - interval_half_width(point), point.y + interval_half_width(point)]
            }));
        root.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&root)
            .caption(self.title, ("sans-serif", 18))
            .margin(12)
            .margin_right(LEGEND_WIDTH + 12)
            .x_label_area_size(44)
            .y_label_area_size(60)
            .build_cartesian_2d(left..right, low..high)?;
        chart.configure_mesh().x_desc(self.x).y_desc(self.y).light_line_style(TRANSPARENT).draw()?;
        for (number, series) in series.iter().enumerate() {
            let colour = Palette99::pick(number).to_rgba();
            let at = |point: &Point| (point.x, point.y);
            if series.has_line {
                chart.draw_series(LineSeries::new(series.points.iter().map(at), colour))?;
            }
            let bar = |point: &Point| {
                let ends = [
                    (point.x, point.y - interval_half_width(point)),
                    (point.x, point.y + interval_half_width(point)),
                ];
                PathElement::new(ends, colour)
            };
            chart.draw_series(series.points.iter().map(bar))?;
            let dots = series.points.iter().map(|point| Circle::new(at(point), 3, colour.filled()));
            chart
                .draw_series(dots)?
                .label(&series.name)
                .legend(move |(x, y)| Circle::new((x + 8, y), 4, colour.filled()));
        }
        let legend_x = chart.plotting_area().dim_in_pixel().0 as i32 + 4;
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::Coordinate(legend_x, 0))
            .background_style(WHITE.mix(0.8))
            .border_style(BLACK.mix(0.3))
            .draw()?;
        root.present()?;
        Ok(())
    }
}

fn interval_half_width(point: &Point) -> f64 {
    drawable(point.half_width)
}

/// Returns the half-width to draw; 0 if it is not finite.
pub(crate) fn drawable(half_width: f64) -> f64 {
    if half_width.is_finite() { half_width } else { 0.0 }
}

/// Returns the range of the values with a margin, which is large enough for floating-point numbers to distinguish the
/// ticks.
fn padded_range(values: impl Iterator<Item = f64>) -> (f64, f64) {
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
    fn charts_of_one_point_and_empty_charts_are_drawn() {
        let points = [vec![], vec![(1.0, 31.38)], vec![(3.0, 0.0)], vec![(1.0, 1e9), (2.0, 1e9)]];
        for points in points {
            let chart = Chart { title: "title", x: "x", y: "y" };
            let points = points.into_iter().map(|(x, y)| Point { x, y, half_width: 0.0 }).collect();
            let svg = chart.svg(&[Series { name: "<one>".to_owned(), points, has_line: true }]).unwrap();
            assert!(svg.contains("&lt;one&gt;"));
        }
    }
}
