//! Layout of `top`, designed for 80 columns and 24 lines and adapted to other sizes.

use super::app::{App, Line as Written};
use super::view::{View, Wear};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph, Row, Sparkline, Table};

/// Colours of causes, as on the HTML pages, chosen by Okabe and Ito so that people with colour blindness can
/// distinguish them.
const COLOURS: [(&str, Color); 7] = [
    ("host", Color::Rgb(86, 180, 233)),
    ("cleaning", Color::Rgb(230, 159, 0)),
    ("translation", Color::Rgb(43, 199, 154)),
    ("validity", Color::Rgb(228, 156, 195)),
    ("log_metadata", Color::Rgb(240, 228, 66)),
    ("wear_levelling", Color::Rgb(127, 168, 217)),
    ("dedup", Color::Rgb(200, 200, 200)),
];

/// Characters of the wear map, from least to most worn.
const SHADES: [char; 5] = ['·', '░', '▒', '▓', '█'];

/// Width in characters of the bar for a fraction.
const BAR: usize = 12;

/// Draws the whole screen.
pub fn draw(frame: &mut Frame<'_>, app: &App) {
    let lines = app.lines();
    let table = (lines.len() as u16 + 3).clamp(5, 11);
    let [head, sums, writes, middle, below, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(table),
        Constraint::Length(7),
        Constraint::Min(0),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(Paragraph::new(title(app)).reversed(), head);
    frame.render_widget(keys(app), foot);
    let Some(view) = app.view() else { return };
    frame.render_widget(summary(app, view), sums);
    frame.render_widget(written(app, &lines), writes);
    let [left, right] = Layout::horizontal([Constraint::Min(46), Constraint::Length(33)]).areas(middle);
    frame.render_widget(requests(app), left);
    frame.render_widget(blocks(app, view), right);
    let [left, right] = Layout::horizontal([Constraint::Min(46), Constraint::Length(33)]).areas(below);
    wear(frame, left, view);
    amplification_chart(frame, right, app);
}

fn title(app: &App) -> Line<'static> {
    let name = app.view().map_or("nothing was read yet", |view| &view.title);
    let mut spans = vec![Span::from(format!(" wearwell top   {name}"))];
    if app.is_paused() {
        spans.push("   [paused]".bold());
    }
    if let Some(died) = app.view().and_then(|view| view.failure.as_ref()) {
        spans.push(format!("   DIED: {died}").bold());
    }
    if let Some(problem) = app.problem() {
        spans.push(format!("   {problem}").bold());
    }
    Line::from(spans)
}

fn keys(app: &App) -> Paragraph<'static> {
    let interval = app.interval().as_secs_f64();
    let text = format!(" q quit   p pause   s sort: {}   + - every {interval} s", app.sort().name());
    Paragraph::new(text).dim()
}

fn summary(app: &App, view: &View) -> Paragraph<'static> {
    let number = |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:.3}"));
    let bytes = |count: fn(&View) -> u64| {
        app.rate(count).map_or("-".into(), |pages| format!("{}B/s", short(pages * view.page_bytes as f64)))
    };
    Paragraph::new(Line::from(vec![
        " write amplification ".into(),
        number(app.amplification()).bold(),
        "  lately ".into(),
        number(app.recent()).bold(),
        format!("   host {}", bytes(|view| view.host_pages)).into(),
        format!("  flash {}", bytes(|view| view.programs)).into(),
    ]))
}

fn written(app: &App, lines: &[Written]) -> Table<'static> {
    let number = |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:>8.3}"));
    let row = |line: &Written| {
        let colour = COLOURS
            .iter()
            .find(|(cause, _)| *cause == line.cause)
            .map_or(Color::Reset, |(_, colour)| *colour);
        let bar = "█".repeat((line.share * BAR as f64).round() as usize);
        Row::new([
            Line::from(line.layer.clone()),
            Line::from(line.cause.clone().fg(colour)),
            Line::from(short(line.pages as f64)).right_aligned(),
            Line::from(number(line.ratio)).right_aligned(),
            Line::from(number(line.recent)).right_aligned(),
            Line::from(vec![
                format!("{bar:<BAR$}").fg(colour),
                format!(" {:>3.0} %", 100.0 * line.share).into(),
            ]),
        ])
    };
    let widths = [12, 15, 8, 9, 9, 19].map(Constraint::Length);
    let head = ["layer", "because of", "   pages", " per page", "   lately", "share of the layer"];
    let title = format!(" writes below, by layer and cause: {} ", app.sort().name());
    Table::new(lines.iter().map(row), widths)
        .header(Row::new(head).bold())
        .block(Block::bordered().title(title))
}

fn requests(app: &App) -> Table<'static> {
    let rows = app.rates().into_iter().map(|rate| {
        let within = |percent| rate.latest.percentile_ns(percent).map_or("-".into(), duration);
        let cells = [
            short(rate.requests),
            short(rate.bytes),
            within(50.0),
            within(99.0),
            within(100.0),
            short(rate.total as f64),
        ];
        let cells = cells.map(|cell| Line::from(cell).right_aligned());
        Row::new([Line::from(rate.operation.clone())].into_iter().chain(cells))
    });
    let widths = [5, 5, 5, 6, 6, 6, 5].map(Constraint::Length);
    let head =
        ["", "/s", "B/s", "50 %", "99 %", "most", "all"].map(|title| Line::from(title).right_aligned());
    Table::new(rows, widths)
        .header(Row::new(head).bold())
        .block(Block::bordered().title(" requests, and how long they take "))
}

fn blocks(app: &App, view: &View) -> Paragraph<'static> {
    let mut lines: Vec<Line<'_>> =
        view.free.iter().map(|(layer, blocks)| Line::from(format!("free of {layer}: {blocks}"))).collect();
    if let Some(erases) = app.rate(|view| view.erases) {
        lines.push(Line::from(format!("erases: {}/s, {} in all", short(erases), short(view.erases as f64))));
    }
    if let Some(wear) = &view.wear {
        let mean = format!("mean {:.1}", wear.mean);
        lines.push(Line::from(format!("a block: {} to {}, {mean}", wear.min, wear.max)));
        if let Some(cycles) = wear.endurance {
            lines.push(Line::from(format!("worn out after {cycles} erases")));
        }
    }
    lines.extend(view.facts.iter().map(|(name, value)| Line::from(format!("{name}: {value}"))));
    Paragraph::new(lines).block(Block::bordered().title(" blocks "))
}

/// Draws the wear map, row by row, in the order of the blocks.
fn wear(frame: &mut Frame<'_>, area: Rect, view: &View) {
    let Some(Wear { map, .. }) = view.wear.as_ref().filter(|wear| !wear.map.is_empty()) else { return };
    let block = Block::bordered();
    let inner = block.inner(area);
    let cells = usize::from(inner.width) * usize::from(inner.height);
    if cells == 0 {
        return;
    }
    let in_cell = map.len().div_ceil(cells);
    let mean = |group: &[f64]| group.iter().sum::<f64>() / group.len() as f64;
    let values: Vec<f64> = map.chunks(in_cell).map(mean).collect();
    let (min, max) = values
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(least, most), &value| (least.min(value), most.max(value)));
    let step = (max - min).max(1.0) / SHADES.len() as f64;
    let shade = |value: &f64| SHADES[(((value - min) / step) as usize).min(SHADES.len() - 1)];
    let text: Vec<char> = values.iter().map(shade).collect();
    let rows = text.chunks(usize::from(inner.width)).map(|row| Line::from(row.iter().collect::<String>()));
    let title = format!(
        " wear over the drive: {} {min:.0} to {} {max:.0} erases ",
        SHADES[0],
        SHADES[SHADES.len() - 1]
    );
    frame.render_widget(Paragraph::new(rows.collect::<Vec<_>>()).block(block.title(title)), area);
}

fn amplification_chart(frame: &mut Frame<'_>, area: Rect, app: &App) {
    let block = Block::bordered().title(" amplification lately ");
    let width = usize::from(block.inner(area).width);
    let values = app.amplifications();
    let left_out = values.len().saturating_sub(width);
    let data: Vec<u64> = values.skip(left_out).map(|value| (value * 1000.0) as u64).collect();
    frame.render_widget(
        Sparkline::default().data(data).style(Style::new().fg(COLOURS[1].1)).block(block),
        area,
    );
}

/// Formats a number with up to three significant digits, and a letter for the power of 1,000.
fn short(value: f64) -> String {
    const LETTERS: [&str; 6] = ["", "k", "M", "G", "T", "P"];
    let (mut value, mut at) = (value, 0);
    while value >= 999.5 && at + 1 < LETTERS.len() {
        value /= 1000.0;
        at += 1;
    }
    let digits = if at == 0 && value.fract() == 0.0 || value >= 99.95 { 0 } else { 1 };
    format!("{value:.digits$}{}", LETTERS[at])
}

fn duration(ns: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    let unit = UNITS.into_iter().find(|(size, _)| ns >= *size);
    unit.map_or_else(
        || format!("{ns}ns"),
        |(size, unit)| {
            let value = ns as f64 / size as f64;
            if value >= 99.95 { format!("{value:.0}{unit}") } else { format!("{value:.1}{unit}") }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_a_unit() {
        let shown = [0.0, 7.0, 7.25, 999.0, 1000.0, 12_345.0, 999_960.0, 3.2e9].map(short);
        assert_eq!(shown, ["0", "7", "7.2", "999", "1.0k", "12.3k", "1.0M", "3.2G"]);
        assert_eq!([900, 12_340, 123_400, 5_000_000_000].map(duration), ["900ns", "12.3us", "123us", "5.0s"]);
    }
}
