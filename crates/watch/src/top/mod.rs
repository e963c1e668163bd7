//! Live terminal view of a drive, or of another source of writes to flash.

mod app;
mod draw;
mod view;

pub use view::{View, Wear, Writes};

use app::App;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Maximum delay before a key is handled.
const KEY_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Function that takes a reading.
pub type ReadView = Box<dyn FnMut() -> Result<View, String> + Send>;

/// Time of a reading, and the reading or its error.
type TimedReading = (Instant, Result<View, String>);

/// Shows the results of `read` in the terminal of this process, until the user quits or `should_continue` returns
/// false.
///
/// A separate thread calls `read`, so that keys are handled even while `read` is slow.
///
/// # Errors
/// Fails if the terminal cannot be drawn on.
pub fn show(read: ReadView, interval: Duration, should_continue: impl Fn() -> bool) -> io::Result<()> {
    let mut app = App::new(interval);
    let (request, requests) = channel();
    let (results, readings) = channel();
    // The thread ends after the reading in progress, when the channels are closed.
    std::thread::Builder::new()
        .name("top".into())
        .spawn(move || serve_readings(read, &requests, &results))?;
    let mut terminal = ratatui::try_init()?;
    let shown = run_loop(&mut terminal, &mut app, (&request, &readings), should_continue);
    ratatui::try_restore()?;
    shown
}

/// Takes a reading for each message from `requests`.
fn serve_readings(mut read: ReadView, requests: &Receiver<()>, results: &Sender<TimedReading>) {
    while requests.recv().is_ok() {
        let view = read();
        if results.send((Instant::now(), view)).is_err() {
            return;
        }
    }
}

fn run_loop(
    terminal: &mut ratatui::DefaultTerminal,
    app: &mut App,
    (request, readings): (&Sender<()>, &Receiver<TimedReading>),
    should_continue: impl Fn() -> bool,
) -> io::Result<()> {
    let (mut requested_at, mut is_waiting) = (None::<Instant>, false);
    while should_continue() && !app.has_ended() {
        if !is_waiting && requested_at.is_none_or(|requested_at| requested_at.elapsed() >= app.interval()) {
            requested_at = Some(Instant::now());
            is_waiting = request.send(()).is_ok();
        }
        terminal.draw(|frame| draw::draw(frame, app))?;
        match readings.recv_timeout(Duration::ZERO) {
            Ok((at, view)) => {
                is_waiting = false;
                app.add_reading(at, view);
                continue;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
        if event::poll(KEY_POLL_INTERVAL)?
            && let Event::Key(key) = event::read()?
            && key.kind == KeyEventKind::Press
        {
            match key.code {
                KeyCode::Esc => app.key('q'),
                KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => app.key('q'),
                KeyCode::Char(key) => app.key(key),
                _ => {}
            }
        }
    }
    Ok(())
}

/// Returns the screen as text, `columns` characters wide, for callers without a terminal. It shows the change between
/// two readings, which are taken `interval` apart.
///
/// # Errors
/// Fails if a reading fails.
pub fn screen_as_text(
    mut read: ReadView,
    interval: Duration,
    columns: u16,
    lines: u16,
) -> Result<String, String> {
    let mut app = App::new(interval);
    app.add_reading(Instant::now(), Ok(read()?));
    std::thread::sleep(interval);
    app.add_reading(Instant::now(), Ok(read()?));
    Ok(render(&app, columns, lines))
}

/// Renders the screen as text.
fn render(app: &App, columns: u16, lines: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(columns, lines)).expect("memory never fails");
    terminal.draw(|frame| draw::draw(frame, app)).expect("memory never fails");
    let buffer = terminal.backend().buffer();
    let rows = buffer.content.chunks(usize::from(columns.max(1)));
    rows.map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>().trim_end().to_owned() + "\n")
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wearwell_serve::RequestReading;

    fn view(host: u64) -> View {
        let writes =
            |layer: &str, cause: &str, pages| Writes { layer: layer.into(), cause: cause.into(), pages };
        let written = RequestReading {
            requests: host,
            bytes: host * 4096,
            latencies_ns: vec![(12_300, host)],
            ..RequestReading::default()
        };
        View {
            title: "my drive".into(),
            writes: vec![
                writes("fs", "host", host),
                writes("fs", "cleaning", host / 2),
                writes("ftl", "host", host * 3 / 2),
                writes("ftl", "cleaning", host),
            ],
            host_pages: host,
            page_bytes: 4096,
            programs: host * 5 / 2,
            erases: host / 64,
            free: vec![("fs".into(), 5), ("ftl".into(), 17)],
            wear: Some(Wear {
                min: 1,
                mean: 12.5,
                max: 24,
                endurance: Some(3000),
                map: (0..500).map(|at| f64::from(at % 25)).collect(),
            }),
            requests: [("write".to_owned(), written)].into(),
            facts: vec![("bad blocks".into(), "0".into())],
            failure: None,
        }
    }

    fn screen(columns: u16, lines: u16) -> String {
        let (mut app, at) = (App::new(Duration::from_secs(1)), Instant::now());
        app.add_reading(at, Ok(view(1000)));
        app.add_reading(at + Duration::from_secs(1), Ok(view(3000)));
        render(&app, columns, lines)
    }

    #[test]
    fn screen_of_80_columns_and_24_lines_shows_everything() {
        let text = screen(80, 24);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.len() == 24 && lines.iter().all(|line| line.chars().count() <= 80), "{text}");
        for word in [
            "my drive",
            "amplification 2.500",
            "lately 2.500",
            "host 8.2MB/s",
            "flash 20.5MB/s",
            "free of ftl: 17",
            "1 to 24, mean 12.5",
            "erases: 31/s, 46 in all",
            "12.3us",
            "2.0k",
            "wear over the drive",
            "█",
            "amplification lately",
            "q quit",
            "worn out after 3000",
        ] {
            assert!(text.contains(word), "{word} in\n{text}");
        }
        let cleaning = lines.iter().find(|line| line.contains("ftl") && line.contains("cleaning")).unwrap();
        assert!(
            cleaning.contains("3.0k") && cleaning.contains("1.000") && cleaning.contains("40 %"),
            "{cleaning}"
        );
    }

    #[test]
    fn drawing_on_any_terminal_size_succeeds() {
        for (columns, lines) in [(1, 1), (20, 5), (80, 8), (40, 24), (300, 100), (0, 0)] {
            assert!(screen(columns, lines).lines().count() <= usize::from(lines));
        }
        let nothing = App::new(Duration::from_secs(1));
        assert!(render(&nothing, 80, 24).contains("nothing was read yet"));
    }
}
