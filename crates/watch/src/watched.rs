//! Drive under observation: cached readings and a history.

use crate::history::{History, Sample};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use wearwell_serve::{DeviceError, Reading, SharedDevice};

/// Age up to which a reading is reused for queries.
const FRESH: Duration = Duration::from_millis(250);

/// Initial interval of the history's samples.
const SAMPLE_EVERY: Duration = Duration::from_secs(1);

/// Drive with its last reading and its history.
#[derive(Clone)]
pub struct Watched(Arc<Inner>);

struct Inner {
    device: SharedDevice,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    last: Option<(Instant, Arc<Reading>)>,
    history: History,
}

impl Watched {
    /// Creates the state before the first reading.
    pub fn new(device: SharedDevice) -> Self {
        Watched(Arc::new(Inner { device, seen: Mutex::default() }))
    }

    /// Returns a reading that is at most a quarter of a second old.
    ///
    /// # Errors
    /// Fails if the device is no longer served.
    pub fn read(&self) -> Result<Arc<Reading>, DeviceError> {
        let mut seen = self.seen();
        if let Some((at, last)) = &seen.last
            && at.elapsed() < FRESH
        {
            return Ok(last.clone());
        }
        // The device is released before the counters are converted. Concurrent callers wait for this reading.
        let status = self.0.device.with(|device| Ok(device.status()))?;
        let reading = Arc::new(status.read());
        seen.last = Some((Instant::now(), reading.clone()));
        Ok(reading)
    }

    /// Returns the samples taken later than `after` seconds since the device was opened.
    pub fn history(&self, after: f64) -> Vec<Sample> {
        let seen = self.seen();
        let later = |sample: &&Sample| sample.seconds > after;
        seen.history.samples().iter().filter(later).cloned().collect()
    }

    /// Adds a sample to the history if it is due.
    pub fn sample(&self) {
        if self.seen().history.is_due(SAMPLE_EVERY) {
            // The history ends with the device.
            let Ok(reading) = self.read() else { return };
            self.seen().history.add(&reading);
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
