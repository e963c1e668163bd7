//! A drive that is watched: readings, few of them, and what was read before.

use crate::history::{History, Sample};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use wearwell_serve::{DeviceError, Reading, SharedDevice};

/// How old a reading is when another is taken for whoever asks.
const FRESH: Duration = Duration::from_millis(250);

/// How often the drive is read for its history at most, whoever asks or not.
const SAMPLE_EVERY: Duration = Duration::from_secs(1);

/// A drive, its last reading, and its history.
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
    /// Of which nothing was read.
    pub fn new(device: SharedDevice) -> Self {
        Watched(Arc::new(Inner { device, seen: Mutex::default() }))
    }

    /// A reading, a quarter of a second old at most.
    ///
    /// # Errors
    /// The device is served no more.
    pub fn read(&self) -> Result<Arc<Reading>, DeviceError> {
        let mut seen = self.seen();
        if let Some((at, last)) = &seen.last
            && at.elapsed() < FRESH
        {
            return Ok(last.clone());
        }
        // The device is let go before its counters become words. Others who ask wait for this reading.
        let status = self.0.device.with(|device| Ok(device.status()))?;
        let reading = Arc::new(status.read());
        seen.last = Some((Instant::now(), reading.clone()));
        Ok(reading)
    }

    /// What was read before, later than so many seconds after the device was opened.
    pub fn history(&self, after: f64) -> Vec<Sample> {
        let seen = self.seen();
        let later = |sample: &&Sample| sample.seconds > after;
        seen.history.samples().iter().filter(later).cloned().collect()
    }

    /// Reads the drive for its history, if it is time.
    pub fn sample(&self) {
        if self.seen().history.is_due(SAMPLE_EVERY) {
            // A device that has ended has had its history.
            let Ok(reading) = self.read() else { return };
            self.seen().history.add(&reading);
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
