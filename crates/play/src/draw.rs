//! Draws a step as SVG for files. The web page draws an equal picture from the same layout.

use crate::film::{Cell, Film, Panel, PanelContent};
use crate::layout::{Layout, PanelLayout, ROW_NAME_WIDTH, TEXT_HEIGHT};
use crate::state::{Page, PageStatus, PanelState, State};
use std::fmt::Write;

const GROUP_COLOURS: [&str; 8] =
    ["#9ccbe8", "#f5c38e", "#9adbc0", "#e5b6d3", "#ebdd8a", "#b9b5ea", "#bfd6a0", "#d9c2ae"];
const INK: &str = "#1b1f24";
const FAINT: &str = "#57606a";
const LINE: &str = "#d0d7de";
const INVALID_FILL: &str = "#e9ecef";
const VICTIM_STROKE: &str = "#a4262c";
/// Gap between the edge of a flash page and the coloured cell in it.
const INSET: f64 = 2.5;
/// Maximum number of characters in a line of text.
const MAX_LINE_CHARS: usize = 112;

/// Returns the picture of `state` with `text` above it.
pub fn svg(film: &Film, layout: &Layout, state: &State, text: &str) -> String {
    let (width, height) = (layout.width, layout.height);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\"><rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>"
    );
    for (at, line) in wrap_lines(text).iter().enumerate() {
        draw_text(&mut svg, (20.0, 26.0 + 20.0 * at as f64), "font-size=\"16\"", INK, line);
    }
    for ((panel, panel_layout), state) in film.panels.iter().zip(&layout.panels).zip(&state.panels) {
        let y = f64::from(panel_layout.name_y);
        draw_text(&mut svg, (20.0, y), "font-size=\"16\" font-weight=\"bold\"", INK, &panel.name);
        let right = f64::from(width) - 20.0;
        draw_text(&mut svg, (right, y), "font-size=\"13\" text-anchor=\"end\"", FAINT, &state.counts_text());
        self::draw_panel(&mut svg, panel, panel_layout, f64::from(layout.pitch), state);
    }
    svg + "</svg>"
}

fn draw_panel(svg: &mut String, panel: &Panel, layout: &PanelLayout, pitch: f64, state: &PanelState) {
    match &panel.content {
        PanelContent::Blocks { grouped, .. } => {
            for ((block, pages), rectangle) in (0..).zip(state.blocks()).zip(&layout.blocks) {
                let (x, y) = (f64::from(rectangle.x), f64::from(rectangle.y));
                let is_victim = state.victim == Some(block);
                let (name, ink) = match is_victim {
                    true => (format!("{block} being cleaned"), VICTIM_STROKE),
                    false => (block.to_string(), FAINT),
                };
                draw_text(svg, (x + 3.0, y - 3.0), "font-size=\"11\"", ink, &name);
                for (at, one) in (0..).zip(pages) {
                    let (column, line): (u32, u32) = (at % layout.columns, at / layout.columns);
                    let position = (x + f64::from(column) * pitch, y + f64::from(line) * pitch);
                    draw_page(svg, position, pitch, one, *grouped);
                }
                let (w, h) = (rectangle.w, rectangle.h);
                let (stroke, stroke_width) = if is_victim { (VICTIM_STROKE, 4.0) } else { (FAINT, 1.5) };
                let _ = write!(
                    svg,
                    "<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" rx=\"4\" fill=\"none\" stroke=\"{stroke}\" \
                     stroke-width=\"{stroke_width}\"/>"
                );
            }
        }
        PanelContent::Rows { rows } => {
            for ((name, &y), cells) in rows.iter().zip(&layout.rows).zip(&state.rows) {
                let y = f64::from(y);
                draw_text(svg, (20.0, y + pitch / 2.0 + 4.0), "font-size=\"13\"", FAINT, name);
                draw_row(svg, y, pitch, layout.row_cells as usize, cells);
            }
        }
    }
}

fn draw_row(svg: &mut String, y: f64, pitch: f64, max_cells: usize, cells: &[Cell]) {
    let fitting = if cells.len() > max_cells { max_cells - 1 } else { cells.len() };
    let x = |column: usize| 20.0 + f64::from(ROW_NAME_WIDTH) + column as f64 * pitch;
    for (column, cell) in cells[..fitting].iter().enumerate() {
        let one = Page { status: PageStatus::Valid, cell: cell.clone(), ..Page::default() };
        draw_page(svg, (x(column), y), pitch, &one, true);
    }
    if fitting < cells.len() {
        let more = format!("+{}", cells.len() - fitting);
        draw_text(svg, (x(fitting) + 4.0, y + pitch / 2.0 + 4.0), "font-size=\"11\"", FAINT, &more);
    }
}

fn draw_page(svg: &mut String, (x, y): (f64, f64), pitch: f64, page: &Page, grouped: bool) {
    let (side, left, top) = (pitch - 2.0 * INSET, x + INSET, y + INSET);
    let group = if grouped { page.cell.group } else { u32::from(page.cell.cause) };
    let (fill, opacity) = match page.status {
        PageStatus::Free => ("#ffffff", 1.0),
        PageStatus::Invalid => (INVALID_FILL, 1.0),
        PageStatus::Valid => {
            (GROUP_COLOURS[group as usize % GROUP_COLOURS.len()], if page.stale { 0.45 } else { 1.0 })
        }
    };
    let (stroke, stroke_width) = if page.is_new { (INK, 3.0) } else { (LINE, 1.0) };
    let _ = write!(
        svg,
        "<rect x=\"{left}\" y=\"{top}\" width=\"{side}\" height=\"{side}\" rx=\"3\" fill=\"{fill}\" fill-opacity=\"{opacity}\" \
         stroke=\"{stroke}\" stroke-width=\"{stroke_width}\"/>"
    );
    let mut stroke = |(y1, y2): (f64, f64), colour: &str, dash: &str| {
        let (x1, x2) = (left + 2.0, left + side - 2.0);
        let _ = write!(
            svg,
            "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" stroke=\"{colour}\" stroke-width=\"1.4\" \
             stroke-dasharray=\"{dash}\"/>"
        );
    };
    let (high, low) = (top + 2.0, top + side - 2.0);
    match page.status {
        PageStatus::Invalid => stroke((low, high), FAINT, "none"),
        PageStatus::Valid if page.stale => stroke((high, low), INK, "3 3"),
        _ => {}
    }
    if page.status == PageStatus::Valid && page.cell.cause != 0 && grouped {
        let (right, corner) = (left + side, side / 3.2);
        let _ = write!(svg, "<path d=\"M{right} {top} v{corner} l-{corner} -{corner} z\" fill=\"{INK}\"/>");
    }
    if !page.cell.label.is_empty() && page.status != PageStatus::Free {
        let letters = page.cell.label.chars().count().max(1) as f64;
        let size = (pitch * 0.42).min((pitch - 6.0) * 1.75 / letters);
        let ink = if page.status == PageStatus::Invalid { FAINT } else { INK };
        let style = format!("font-size=\"{size:.1}\" text-anchor=\"middle\"");
        draw_text(svg, (x + pitch / 2.0, y + pitch / 2.0 + size * 0.36), &style, ink, &page.cell.label);
    }
}

fn draw_text(svg: &mut String, (x, y): (f64, f64), style: &str, colour: &str, text: &str) {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let _ = write!(svg, "<text x=\"{x}\" y=\"{y}\" fill=\"{colour}\" {style}>{text}</text>");
}

/// Splits text between words into lines, and drops the lines that do not fit.
fn wrap_lines(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is one");
        if !line.is_empty() && line.chars().count() + word.chars().count() >= MAX_LINE_CHARS {
            lines.push(word.to_owned());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    let max_lines = (TEXT_HEIGHT as usize - 24) / 20;
    if lines.len() > max_lines {
        lines.truncate(max_lines);
        lines.last_mut().expect("room for one").push('…');
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_cut_to_the_available_lines() {
        assert_eq!(wrap_lines("a b"), ["a b"]);
        let long = "word ".repeat(200);
        let cut = wrap_lines(&long);
        assert_eq!(cut.len(), 2);
        assert!(cut[1].ends_with('…') && cut.iter().all(|line| line.chars().count() <= MAX_LINE_CHARS + 1));
    }
}
