//! State of `top`, and how keys change it.

use super::view::View;
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use wearwell_serve::RequestReading;

/// Maximum number of values of write amplification that the chart shows.
const MAX_POINTS: usize = 512;

/// Shortest and longest interval between two readings that the user can choose.
const INTERVALS: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(60));

/// Sort order of the table of writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// By layer, from the top of the stack to the flash.
    Stack,
    /// By pages written, descending.
    Pages,
    /// By pages written since the previous reading, descending.
    Recent,
}

impl Sort {
    /// Returns the name shown to the user.
    pub fn name(self) -> &'static str {
        match self {
            Sort::Stack => "stack",
            Sort::Pages => "pages",
            Sort::Recent => "lately",
        }
    }

    fn next(self) -> Self {
        match self {
            Sort::Stack => Sort::Pages,
            Sort::Pages => Sort::Recent,
            Sort::Recent => Sort::Stack,
        }
    }
}

/// State of `top`.
pub struct App {
    previous: Option<(Instant, View)>,
    current: Option<(Instant, View)>,
    amplifications: VecDeque<f64>,
    problem: Option<String>,
    sort: Sort,
    is_paused: bool,
    interval: Duration,
    has_ended: bool,
}

/// Row of the table of writes.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Name of the layer.
    pub layer: String,
    /// Cause of the writes.
    pub cause: String,
    /// Number of pages written.
    pub pages: u64,
    /// Pages written per host page; `None` without host writes.
    pub ratio: Option<f64>,
    /// Pages written per host page since the previous reading.
    pub recent: Option<f64>,
    /// Fraction of all writes of the layer.
    pub share: f64,
}

/// Recent rate of one kind of request.
#[derive(Clone, Debug, PartialEq)]
pub struct Rate {
    /// Kind of request.
    pub operation: String,
    /// Number of requests since the device was opened.
    pub total: u64,
    /// Requests per second.
    pub requests: f64,
    /// Bytes per second.
    pub bytes: f64,
    /// Statistics since the previous reading; if there were no requests since then, statistics of all requests.
    pub latest: RequestReading,
}

impl App {
    /// Creates the state before the first reading.
    pub fn new(interval: Duration) -> Self {
        App {
            previous: None,
            current: None,
            amplifications: VecDeque::new(),
            problem: None,
            sort: Sort::Stack,
            is_paused: false,
            interval: interval.clamp(INTERVALS.0, INTERVALS.1),
            has_ended: false,
        }
    }

    /// Adds a reading, or the error of a failed one; `at` is its time.
    pub fn add_reading(&mut self, at: Instant, read: Result<View, String>) {
        if self.is_paused {
            return;
        }
        match read {
            Ok(view) => {
                self.previous = self.current.take();
                self.current = Some((at, view));
                self.problem = None;
                if let Some(recent) = self.recent() {
                    self.amplifications.push_back(recent);
                    self.amplifications.drain(..self.amplifications.len().saturating_sub(MAX_POINTS));
                }
            }
            Err(problem) => self.problem = Some(problem),
        }
    }

    /// Handles a key; an unknown key has no effect.
    pub fn key(&mut self, key: char) {
        match key {
            'q' => self.has_ended = true,
            'p' | ' ' => self.is_paused = !self.is_paused,
            's' => self.sort = self.sort.next(),
            '+' => self.interval = (self.interval / 2).max(INTERVALS.0),
            '-' => self.interval = (self.interval * 2).min(INTERVALS.1),
            _ => {}
        }
    }

    /// True if the user has quit.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// True if the display is paused.
    pub fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// Returns the interval between two readings.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// Returns the sort order.
    pub fn sort(&self) -> Sort {
        self.sort
    }

    /// Returns the error of the last reading, if it failed.
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// Returns the last view.
    pub fn view(&self) -> Option<&View> {
        self.current.as_ref().map(|(_, view)| view)
    }

    /// Returns the number of seconds between the last two views, and both views.
    fn span(&self) -> Option<(f64, &View, &View)> {
        let ((before, old), (now, new)) = (self.previous.as_ref()?, self.current.as_ref()?);
        let seconds = now.duration_since(*before).as_secs_f64();
        (seconds > 0.0).then_some((seconds, old, new))
    }

    /// Returns the write amplification since the beginning.
    pub fn amplification(&self) -> Option<f64> {
        let view = self.view()?;
        ratio(view.programs, view.host_pages)
    }

    /// Returns the write amplification since the previous reading.
    pub fn recent(&self) -> Option<f64> {
        let (_, old, new) = self.span()?;
        ratio(new.programs.saturating_sub(old.programs), new.host_pages.saturating_sub(old.host_pages))
    }

    /// Returns the recent write amplification at each reading so far, oldest first.
    pub fn amplifications(&self) -> impl ExactSizeIterator<Item = f64> {
        self.amplifications.iter().copied()
    }

    /// Returns the increase of a counter per second.
    pub fn rate(&self, count: fn(&View) -> u64) -> Option<f64> {
        let (seconds, old, new) = self.span()?;
        Some(count(new).saturating_sub(count(old)) as f64 / seconds)
    }

    /// Returns the rows of the table of writes, in the chosen order.
    pub fn lines(&self) -> Vec<Line> {
        let Some(view) = self.view() else { return Vec::new() };
        let span = self.span();
        let line = |writes: &super::view::Writes| {
            let same =
                |other: &&super::view::Writes| (&other.layer, &other.cause) == (&writes.layer, &writes.cause);
            let recent = span.and_then(|(_, old, new)| {
                let before = old.writes.iter().find(same).map_or(0, |old| old.pages);
                ratio(writes.pages.saturating_sub(before), new.host_pages.saturating_sub(old.host_pages))
            });
            let of_layer = view.writes.iter().filter(|other| other.layer == writes.layer);
            let all: u64 = of_layer.map(|other| other.pages).sum();
            Line {
                layer: writes.layer.clone(),
                cause: writes.cause.clone(),
                pages: writes.pages,
                ratio: ratio(writes.pages, view.host_pages),
                recent,
                share: ratio(writes.pages, all).unwrap_or(0.0),
            }
        };
        let mut lines: Vec<Line> = view.writes.iter().map(line).collect();
        match self.sort {
            Sort::Stack => {}
            Sort::Pages => lines.sort_by_key(|line| std::cmp::Reverse(line.pages)),
            Sort::Recent => lines.sort_by(|one, other| {
                let key = |line: &Line| line.recent.unwrap_or(0.0);
                key(other).total_cmp(&key(one))
            }),
        }
        lines
    }

    /// Returns the recent rates of all kinds of requests.
    pub fn rates(&self) -> Vec<Rate> {
        let Some(view) = self.view() else { return Vec::new() };
        let span = self.span();
        let rate_of = |(operation, now): (&String, &RequestReading)| {
            let since = span.map(|(seconds, old, _)| {
                let before = old.requests.get(operation).cloned().unwrap_or_default();
                (seconds, now.since(&before))
            });
            let (requests, bytes) = since.as_ref().map_or((0.0, 0.0), |(seconds, since)| {
                (since.requests as f64 / seconds, since.bytes as f64 / seconds)
            });
            let latest = since.map(|(_, since)| since).filter(|since| since.requests > 0);
            Rate {
                operation: operation.clone(),
                total: now.requests,
                requests,
                bytes,
                latest: latest.unwrap_or_else(|| now.clone()),
            }
        };
        view.requests.iter().map(rate_of).collect()
    }
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::top::view::Writes;

    fn view(host: u64, cleaning: u64) -> View {
        let writes = |cause: &str, pages| Writes { layer: "ftl".into(), cause: cause.into(), pages };
        View {
            writes: vec![writes("host", host), writes("cleaning", cleaning)],
            host_pages: host,
            programs: host + cleaning,
            ..View::default()
        }
    }

    #[test]
    fn recent_is_difference_of_last_two_readings() {
        let (mut app, at) = (App::new(Duration::from_secs(1)), Instant::now());
        app.add_reading(at, Ok(view(100, 50)));
        assert_eq!((app.amplification(), app.recent()), (Some(1.5), None));
        app.add_reading(at + Duration::from_secs(2), Ok(view(200, 350)));
        assert_eq!((app.amplification(), app.recent()), (Some(2.75), Some(4.0)));
        assert_eq!(app.rate(|view| view.host_pages), Some(50.0));
        let lines = app.lines();
        assert_eq!((lines[1].ratio, lines[1].recent), (Some(1.75), Some(3.0)));
        assert_eq!(app.amplifications().collect::<Vec<_>>(), [4.0]);
        // In this case, there were no writes since the previous reading.
        app.add_reading(at + Duration::from_secs(3), Ok(view(200, 350)));
        assert_eq!(app.recent(), None);
    }

    #[test]
    fn keys_change_sort_order_pause_and_quit() {
        let (mut app, at) = (App::new(Duration::from_secs(1)), Instant::now());
        app.add_reading(at, Ok(view(100, 300)));
        app.key('s');
        assert_eq!(app.lines()[0].cause, "cleaning");
        app.key('p');
        app.add_reading(at, Ok(view(1000, 0)));
        assert_eq!(app.view().unwrap().host_pages, 100, "it stands still");
        app.key('p');
        app.add_reading(at, Err("gone".into()));
        assert_eq!((app.problem(), app.view().unwrap().host_pages), (Some("gone"), 100));
        app.key('-');
        assert_eq!(app.interval(), Duration::from_secs(2));
        app.key('x');
        assert!(!app.has_ended());
        app.key('q');
        assert!(app.has_ended());
    }
}
