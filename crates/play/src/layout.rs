//! Positions of all parts of the picture, computed in one place for both the web page and files.

use crate::film::{Film, Panel, PanelContent};
use serde::Serialize;

/// Width of the picture in its units; a row of flash pages fills most of it.
const WIDTH: u32 = 1000;
const MARGIN: u32 = 20;
/// Height of the text at the top of a picture in a file.
pub const TEXT_HEIGHT: u32 = 64;
/// Height of the name of a panel.
const NAME_HEIGHT: u32 = 26;
/// Height of the number of a block.
const NUMBER_HEIGHT: u32 = 15;
/// Gap below a block.
const BLOCK_GAP: u32 = 8;
/// Width reserved for the names of lists.
pub const ROW_NAME_WIDTH: u32 = 130;

/// Positions of all parts of the picture.
#[derive(Clone, Debug, Serialize)]
pub struct Layout {
    /// Width of the picture.
    pub width: u32,
    /// Height of the picture.
    pub height: u32,
    /// Distance from one flash page to the next.
    pub pitch: u32,
    /// Positions of the panels.
    pub panels: Vec<PanelLayout>,
}

/// Position of a panel.
#[derive(Clone, Debug, Serialize)]
pub struct PanelLayout {
    /// Base line of the panel's name.
    pub name_y: u32,
    /// Rectangles of the panel's blocks.
    pub blocks: Vec<Rectangle>,
    /// Number of pages in a line of a block.
    pub columns: u32,
    /// Top edge of each list.
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
        let max_pages = film.panels.iter().map(pages).max().unwrap_or(0);
        let pitch = match max_pages {
            0..=400 => 40,
            401..=900 => 30,
            901..=1600 => 20,
            _ => 14,
        };
        let line = (WIDTH - 2 * MARGIN) / pitch;
        let mut y = TEXT_HEIGHT;
        let panels = film.panels.iter().map(|panel| place_panel(panel, line, pitch, &mut y)).collect();
        Layout { width: WIDTH, height: y + MARGIN / 2, pitch, panels }
    }
}

fn pages(panel: &Panel) -> u32 {
    match &panel.content {
        PanelContent::Blocks { blocks, pages_per_block, .. } => blocks * pages_per_block,
        PanelContent::Rows { .. } => 0,
    }
}

/// Places a panel below `y`.
fn place_panel(panel: &Panel, line: u32, pitch: u32, y: &mut u32) -> PanelLayout {
    let name_y = *y + NAME_HEIGHT - 8;
    *y += NAME_HEIGHT;
    let mut place = PanelLayout { name_y, blocks: Vec::new(), columns: line, rows: Vec::new(), row_cells: 0 };
    match &panel.content {
        PanelContent::Blocks { blocks, pages_per_block, .. } => {
            // This makes all lines of a block about equally long.
            let lines = pages_per_block.div_ceil(line);
            place.columns = pages_per_block.div_ceil(lines.max(1));
            let (w, h) = (place.columns * pitch, pages_per_block.div_ceil(place.columns) * pitch);
            let blocks_per_row = (line / place.columns).max(1);
            for block in 0..*blocks {
                let (x, line) = (MARGIN + block % blocks_per_row * w, block / blocks_per_row);
                place.blocks.push(Rectangle {
                    x,
                    y: *y + NUMBER_HEIGHT + line * (h + NUMBER_HEIGHT + BLOCK_GAP),
                    w,
                    h,
                });
            }
            *y += blocks.div_ceil(blocks_per_row) * (h + NUMBER_HEIGHT + BLOCK_GAP);
        }
        PanelContent::Rows { rows } => {
            place.row_cells = (WIDTH - 2 * MARGIN - ROW_NAME_WIDTH) / pitch;
            for _ in rows {
                place.rows.push(*y);
                *y += pitch + BLOCK_GAP;
            }
        }
    }
    *y += BLOCK_GAP;
    place
}
