//! Horizontal bars with names, intervals and vertical reference lines, as SVG.

use crate::Failure;
use crate::chart::drawable;
use crate::compact::compact;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Horizontal bar.
#[derive(Clone, Debug)]
pub struct Bar {
    /// Label at the left of the bar.
    pub name: String,
    /// Value at which the bar ends.
    pub value: f64,
    /// Half-width of the confidence interval; drawn if finite and above 0.
    pub half_width: f64,
}

/// Vertical reference line across all bars.
#[derive(Clone, Debug)]
pub struct ReferenceLine {
    /// Label of the line.
    pub name: String,
    /// Value at which the line is drawn.
    pub value: f64,
}

/// Bar chart; the first bar is on top.
#[derive(Clone, Debug)]
pub struct Bars<'a> {
    /// Title above the bars.
    pub title: &'a str,
    /// Label of the axis.
    pub x: &'a str,
    /// Value at which the axis starts; no bar ends below it.
    pub from: f64,
    /// Bars, from top to bottom.
    pub bars: Vec<Bar>,
    /// Reference lines.
    pub reference_lines: Vec<ReferenceLine>,
}

const ROW_HEIGHT: i32 = 20;
const WIDTH: i32 = 520;
const CHAR_WIDTH: i32 = 7;
const TOP: i32 = 50;
/// Height of a reference line's label above the bars.
const LINE_LABEL_HEIGHT: i32 = 18;
const BOTTOM: i32 = 50;
/// Width of the values at the right of the bars.
const VALUE_WIDTH: i32 = 70;

impl Bars<'_> {
    /// Draws the bars as SVG.
    ///
    /// # Errors
    ///
    /// Returns the errors of plotters.
    pub fn svg(&self) -> Result<String, Failure> {
        let mut svg = String::new();
        let size = (self.left() + WIDTH + VALUE_WIDTH, self.top() + self.height() + BOTTOM);
        let size = (size.0 as u32, size.1 as u32);
        self.draw_on(SVGBackend::with_string(&mut svg, size).into_drawing_area())?;
        Ok(compact(&svg))
    }

    fn left(&self) -> i32 {
        20 + CHAR_WIDTH * self.bars.iter().map(|bar| bar.name.chars().count()).max().unwrap_or(0) as i32
    }

    fn top(&self) -> i32 {
        TOP + LINE_LABEL_HEIGHT * self.reference_lines.len() as i32
    }

    fn height(&self) -> i32 {
        ROW_HEIGHT * self.bars.len() as i32
    }

    /// Returns the end of the axis, with a margin.
    fn axis_end(&self) -> f64 {
        let ends = self.bars.iter().map(|bar| bar.value + interval_end(bar));
        let ends = ends.chain(self.reference_lines.iter().map(|level| level.value));
        let end = ends.fold(self.from, f64::max);
        self.from + ((end - self.from) * 1.02).max(1e-6)
    }

    fn draw_on(&self, root: DrawingArea<SVGBackend, Shift>) -> Result<(), Failure> {
        let (left, top, end) = (self.left(), self.top(), self.axis_end());
        let at = |value: f64| left + (f64::from(WIDTH) * (value - self.from) / (end - self.from)) as i32;
        root.fill(&WHITE)?;
        let write = |text: &str, size: u32, at: (i32, i32), across: HPos| {
            let style = ("sans-serif", size).into_font().color(&BLACK).pos(Pos::new(across, VPos::Center));
            root.draw(&Text::new(text.to_owned(), at, style))
        };
        for (row, bar) in self.bars.iter().enumerate() {
            let middle = top + ROW_HEIGHT * row as i32 + ROW_HEIGHT / 2;
            let ends = [(left, middle - ROW_HEIGHT / 3), (at(bar.value), middle + ROW_HEIGHT / 3)];
            root.draw(&Rectangle::new(ends, Palette99::pick(0).mix(0.5).filled()))?;
            let interval = [bar.value - interval_end(bar), bar.value + interval_end(bar)]
                .map(|value| (at(value), middle));
            root.draw(&PathElement::new(interval, BLACK))?;
            write(&bar.name, 13, (left - 8, middle), HPos::Right)?;
            write(
                &format!("{:.3}", bar.value),
                12,
                (at(bar.value + interval_end(bar)) + 6, middle),
                HPos::Left,
            )?;
        }
        for (number, level) in self.reference_lines.iter().enumerate() {
            let (x, y) = (at(level.value), TOP + LINE_LABEL_HEIGHT * number as i32);
            let colour = Palette99::pick(number + 1);
            root.draw(&PathElement::new([(x, y), (x, top + self.height())], colour.stroke_width(2)))?;
            write(&format!("{}: {:.3}", level.name, level.value), 13, (x + 6, y), HPos::Left)?;
        }
        let bottom = top + self.height();
        root.draw(&PathElement::new([(left, bottom), (left + WIDTH, bottom)], BLACK))?;
        for (value, across) in [(self.from, HPos::Left), (end, HPos::Right)] {
            write(&format!("{value:.2}"), 12, (at(value), bottom + 12), across)?;
        }
        write(self.title, 18, (left + WIDTH / 2, 20), HPos::Center)?;
        write(self.x, 15, (left + WIDTH / 2, bottom + 30), HPos::Center)?;
        root.present()?;
        Ok(())
    }
}

fn interval_end(bar: &Bar) -> f64 {
    drawable(bar.half_width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_of_zero_length_and_empty_charts_are_drawn() {
        for values in [vec![], vec![1.0], vec![1.0, 4.5]] {
            let bar = |value| Bar { name: "<one>".to_owned(), value, half_width: f64::NAN };
            let bars = values.iter().copied().map(bar).collect();
            let levels = vec![ReferenceLine { name: "least".to_owned(), value: 1.0 }];
            let svg =
                Bars { title: "title", x: "x", from: 1.0, bars, reference_lines: levels }.svg().unwrap();
            assert_eq!(svg.matches("&lt;one&gt;").count(), values.len());
            assert!(svg.contains("least: 1.000"));
        }
    }
}
