//! Drive under observation, with cached readings and a history.

use crate::history::{History, Sample};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use wearwell_serve::{DeviceError, Reading, SharedDevice};

/// Age up to which a reading is reused for further queries.
const MAX_AGE: Duration = Duration::from_millis(250);

/// Initial interval between the samples of the history.
const SAMPLE_INTERVAL: Duration = Duration::from_secs(1);

/// Drive with its last reading and its history.
#[derive(Clone)]
pub struct ObservedDrive(Arc<Inner>);

struct Inner {
    device: SharedDevice,
    cached: Mutex<CachedReadings>,
}

#[derive(Default)]
struct CachedReadings {
    last: Option<(Instant, Arc<Reading>)>,
    history: History,
}

impl ObservedDrive {
    /// Creates the state before the first reading.
    pub fn new(device: SharedDevice) -> Self {
        ObservedDrive(Arc::new(Inner { device, cached: Mutex::default() }))
    }

    /// Returns a reading that is at most a quarter of a second old.
    ///
    /// # Errors
    /// Fails if the device is no longer served.
    pub fn read(&self) -> Result<Arc<Reading>, DeviceError> {
        let mut cached = self.cached();
        if let Some((at, last)) = &cached.last
            && at.elapsed() < MAX_AGE
        {
            return Ok(last.clone());
        }
        // The device is released before the counters are converted. Concurrent callers wait for this reading.
        let status = self.0.device.with(|device| Ok(device.status()))?;
        let reading = Arc::new(status.read());
        cached.last = Some((Instant::now(), reading.clone()));
        Ok(reading)
    }

    /// Returns the samples that were taken later than `after` seconds after the device was opened.
    pub fn history(&self, after: f64) -> Vec<Sample> {
        let cached = self.cached();
        let later = |sample: &&Sample| sample.seconds > after;
        cached.history.samples().iter().filter(later).cloned().collect()
    }

    /// Adds a sample to the history if it is due.
    pub fn sample(&self) {
        if self.cached().history.is_due(SAMPLE_INTERVAL) {
            // Without the device, there are no further samples.
            let Ok(reading) = self.read() else { return };
            self.cached().history.add(&reading);
        }
    }

    fn cached(&self) -> MutexGuard<'_, CachedReadings> {
        self.0.cached.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
