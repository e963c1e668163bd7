//! Heat maps: coloured cells with values, as SVG.

use crate::Failure;
use crate::compact::compact;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Number that determines the colour of a cell, and the text drawn on the cell.
pub type Cell = (f64, String);

/// Heat map; the first row is at the bottom.
#[derive(Clone, Debug)]
pub struct HeatMap<'a> {
    /// Title above the map.
    pub title: &'a str,
    /// Label of the x axis, and names of the columns.
    pub x: (&'a str, Vec<String>),
    /// Label of the y axis, and names of the rows.
    pub y: (&'a str, Vec<String>),
    /// Cells, one row after the other.
    pub cells: Vec<Cell>,
}

const CELL: (i32, i32) = (64, 36);
/// Minimum width of the space at the left of the map; long row names need more.
const LEFT: i32 = 90;
const CHAR_WIDTH: i32 = 7;
const TOP: i32 = 50;
const BOTTOM: i32 = 60;

impl HeatMap<'_> {
    /// Draws the map as SVG; low values are light and high values dark.
    ///
    /// # Errors
    ///
    /// Returns the errors of plotters.
    pub fn svg(&self) -> Result<String, Failure> {
        let mut svg = String::new();
        let (columns, rows) = (self.x.1.len() as i32, self.y.1.len() as i32);
        let (width, height) = (columns * CELL.0, rows * CELL.1);
        let size = ((self.left() + width + 20) as u32, (TOP + height + BOTTOM) as u32);
        self.draw_on(SVGBackend::with_string(&mut svg, size).into_drawing_area())?;
        Ok(compact(&svg))
    }

    /// Returns the width of the longest row name, in pixels.
    fn names_width(&self) -> i32 {
        CHAR_WIDTH * self.y.1.iter().map(String::len).max().unwrap_or(0) as i32
    }

    /// Returns the width of the space at the left of the map, in pixels.
    fn left(&self) -> i32 {
        LEFT.max(self.names_width() + 50)
    }

    fn draw_on(&self, root: DrawingArea<SVGBackend, Shift>) -> Result<(), Failure> {
        let (columns, rows) = (self.x.1.len() as i32, self.y.1.len() as i32);
        let (width, height) = (columns * CELL.0, rows * CELL.1);
        let (left, names) = (self.left(), self.names_width());
        root.fill(&WHITE)?;
        let style = |size: u32, colour: &RGBColor| {
            let centred = Pos::new(HPos::Center, VPos::Center);
            ("sans-serif", size).into_font().color(colour).pos(centred)
        };
        let write = |text: &str, size: u32, colour: &RGBColor, at: (i32, i32)| {
            root.draw(&Text::new(text.to_owned(), at, style(size, colour)))
        };
        let (low, high) = self
            .cells
            .iter()
            .fold((f64::MAX, f64::MIN), |(low, high), (value, _)| (low.min(*value), high.max(*value)));
        for (at, (value, text)) in self.cells.iter().enumerate() {
            let (column, row) = (at as i32 % columns, at as i32 / columns);
            let corner = (left + column * CELL.0, TOP + (rows - 1 - row) * CELL.1);
            let opposite = (corner.0 + CELL.0, corner.1 + CELL.1);
            let share = (value - low) / (high - low).max(1e-9);
            root.draw(&Rectangle::new([corner, opposite], colour(share).filled()))?;
            let ink = if share > 0.55 { &WHITE } else { &BLACK };
            write(text, 14, ink, (corner.0 + CELL.0 / 2, corner.1 + CELL.1 / 2))?;
        }
        for (column, name) in self.x.1.iter().enumerate() {
            write(name, 14, &BLACK, (left + column as i32 * CELL.0 + CELL.0 / 2, TOP + height + 16))?;
        }
        for (row, name) in self.y.1.iter().enumerate() {
            let middle = TOP + (rows - 1 - row as i32) * CELL.1 + CELL.1 / 2;
            write(name, 14, &BLACK, (left - names / 2 - 10, middle))?;
        }
        write(self.title, 18, &BLACK, (left + width / 2, 24))?;
        write(self.x.0, 15, &BLACK, (left + width / 2, TOP + height + 42))?;
        write(self.y.0, 15, &BLACK, (24, TOP + height / 2))?;
        root.present()?;
        Ok(())
    }
}

/// Returns a colour from near white to dark blue.
fn colour(share: f64) -> RGBColor {
    let interpolate = |from: f64, to: f64| (from + share * (to - from)).round() as u8;
    RGBColor(interpolate(240.0, 10.0), interpolate(245.0, 50.0), interpolate(252.0, 110.0))
}
