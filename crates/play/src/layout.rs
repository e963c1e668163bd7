//! Where everything is in the picture: worked out once, for the page and for files alike.

use crate::film::{Film, Panel, Shows};
use serde::Serialize;

/// Width of the picture in its own units; a line of pages fills most of it.
const WIDTH: u32 = 1000;
const MARGIN: u32 = 20;
/// Height of what is said at the top of a picture in a file, and of a panel's name.
pub const TEXT: u32 = 64;
const NAME: u32 = 26;
/// Height of a block's number, and the gap below a block.
const NUMBER: u32 = 15;
const GAP: u32 = 8;
/// Room for the names of lists.
pub const ROW_NAME: u32 = 130;

/// Where everything is.
#[derive(Clone, Debug, Serialize)]
pub struct Layout {
    /// Width of the picture.
    pub width: u32,
    /// Its height.
    pub height: u32,
    /// From one page to the next.
    pub pitch: u32,
    /// The panels.
    pub panels: Vec<Place>,
}

/// Where a panel is.
#[derive(Clone, Debug, Serialize)]
pub struct Place {
    /// The base line of its name.
    pub name_y: u32,
    /// Its blocks.
    pub blocks: Vec<Rectangle>,
    /// Pages in a line of a block.
    pub columns: u32,
    /// The top of each list.
    pub rows: Vec<u32>,
    /// Pages of a list that are shown.
    pub row_cells: u32,
}

/// Where a block is.
#[derive(Clone, Debug, Serialize)]
pub struct Rectangle {
    /// Its left side.
    pub x: u32,
    /// Its top.
    pub y: u32,
    /// Its width.
    pub w: u32,
    /// Its height.
    pub h: u32,
}

impl Layout {
    /// Of a film.
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

/// Puts a panel below `y`.
fn place(panel: &Panel, line: u32, pitch: u32, y: &mut u32) -> Place {
    let name_y = *y + NAME - 8;
    *y += NAME;
    let mut place = Place { name_y, blocks: Vec::new(), columns: line, rows: Vec::new(), row_cells: 0 };
    match &panel.shows {
        Shows::Blocks { blocks, pages_per_block, .. } => {
            // Lines of a block are about as long as each other.
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
