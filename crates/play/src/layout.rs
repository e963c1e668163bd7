//! Positions of all parts of the picture, computed once for both the page and files.

use crate::film::{Film, Panel, Shows};
use serde::Serialize;

/// Width of the picture in its own units; a row of pages fills most of it.
const WIDTH: u32 = 1000;
const MARGIN: u32 = 20;
/// Height of the text at the top of a picture in a file, and of a panel's name.
pub const TEXT: u32 = 64;
const NAME: u32 = 26;
/// Height of a block's number, and the gap below a block.
const NUMBER: u32 = 15;
const GAP: u32 = 8;
/// Width reserved for the names of lists.
pub const ROW_NAME: u32 = 130;

/// Positions of all parts of the picture.
#[derive(Clone, Debug, Serialize)]
pub struct Layout {
    /// Width of the picture.
    pub width: u32,
    /// Height of the picture.
    pub height: u32,
    /// Distance from one page to the next.
    pub pitch: u32,
    /// Positions of the panels.
    pub panels: Vec<Place>,
}

/// Position of a panel.
#[derive(Clone, Debug, Serialize)]
pub struct Place {
    /// Base line of its name.
    pub name_y: u32,
    /// Rectangles of its blocks.
    pub blocks: Vec<Rectangle>,
    /// Pages per line of a block.
    pub columns: u32,
    /// Top of each list.
    pub rows: Vec<u32>,
    /// Maximum number of pages shown per list.
    pub row_cells: u32,
}

/// Rectangle of a block.
#[derive(Clone, Debug, Serialize)]
pub struct Rectangle {
    /// Left edge.
    pub x: u32,
    /// Top edge.
    pub y: u32,
    /// Width.
    pub w: u32,
    /// Height.
    pub h: u32,
}

impl Layout {
    /// Computes the layout of a film.
    pub fn of(film: &Film) -> Layout {
        let most = film.panels.iter().map(pages).max().unwrap_or(0);
        let pitch = match most {
            0..=400 => 40,
            401..=900 => 30,
            901..=1600 => 20,
            _ => 14,
        };
        let line = (WIDTH - 2 * MARGIN) / pitch;
        let mut y = TEXT;
        let panels = film.panels.iter().map(|panel| place(panel, line, pitch, &mut y)).collect();
        Layout { width: WIDTH, height: y + MARGIN / 2, pitch, panels }
    }
}

fn pages(panel: &Panel) -> u32 {
    match &panel.shows {
        Shows::Blocks { blocks, pages_per_block, .. } => blocks * pages_per_block,
        Shows::Rows { .. } => 0,
    }
}

/// Places a panel below `y`.
fn place(panel: &Panel, line: u32, pitch: u32, y: &mut u32) -> Place {
    let name_y = *y + NAME - 8;
    *y += NAME;
    let mut place = Place { name_y, blocks: Vec::new(), columns: line, rows: Vec::new(), row_cells: 0 };
    match &panel.shows {
        Shows::Blocks { blocks, pages_per_block, .. } => {
            // Balances the lengths of a block's lines.
            let lines = pages_per_block.div_ceil(line);
            place.columns = pages_per_block.div_ceil(lines.max(1));
            let (w, h) = (place.columns * pitch, pages_per_block.div_ceil(place.columns) * pitch);
            let beside = (line / place.columns).max(1);
            for block in 0..*blocks {
                let (x, line) = (MARGIN + block % beside * w, block / beside);
                place.blocks.push(Rectangle { x, y: *y + NUMBER + line * (h + NUMBER + GAP), w, h });
            }
            *y += blocks.div_ceil(beside) * (h + NUMBER + GAP);
        }
        Shows::Rows { rows } => {
            place.row_cells = (WIDTH - 2 * MARGIN - ROW_NAME) / pitch;
            for _ in rows {
                place.rows.push(*y);
                *y += pitch + GAP;
            }
        }
    }
    *y += GAP;
    place
}
