//! Power switch for crash tests, shared by all simulated devices of a machine, and the effect of a power cut on
//! their content.

use rand::RngCore;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use wearwell_base::seed::random_below;

/// Power source of a simulated machine; clones are handles of the same power source.
///
/// Every store, write-back and fence of the NVRAM and every write, trim and flush of the SSD is an event. Events of
/// all devices are counted together, so a cut happens at one moment for all devices. After the cut, no event changes
/// the devices. Code that still runs sees its stores and writes and does not notice the cut.
#[derive(Clone, Debug)]
pub struct PowerSource(Arc<State>);

#[derive(Debug)]
struct State {
    events: AtomicU64,
    points: AtomicU64,
    /// Number of events that take effect.
    limit: AtomicU64,
}

impl PowerSource {
    /// Returns a power source that stays on until it is cut.
    pub fn new() -> Self {
        PowerSource(Arc::new(State {
            events: AtomicU64::new(0),
            points: AtomicU64::new(0),
            limit: AtomicU64::new(u64::MAX),
        }))
    }

    /// Cuts the power after `event` events have taken effect, counted since [`PowerSource::new`].
    pub fn cut_at(&self, event: u64) {
        self.0.limit.store(event, SeqCst);
    }

    /// Cuts the power now.
    pub fn cut(&self) {
        self.cut_at(self.events());
    }

    /// True if the power is off.
    pub fn is_off(&self) -> bool {
        self.0.events.load(SeqCst) >= self.0.limit.load(SeqCst)
    }

    /// Returns the number of events that took effect.
    pub fn events(&self) -> u64 {
        self.0.events.load(SeqCst).min(self.0.limit.load(SeqCst))
    }

    /// Returns the number of fences and flushes among the events, which are the only points at which data becomes
    /// durable.
    pub fn persistence_points(&self) -> u64 {
        self.0.points.load(SeqCst)
    }

    /// Counts an event; returns true if the event takes effect.
    pub(crate) fn event(&self) -> bool {
        self.0.events.fetch_add(1, SeqCst) < self.0.limit.load(SeqCst)
    }

    /// Counts a fence or flush; returns true if it takes effect.
    pub(crate) fn persistence_point(&self) -> bool {
        let on = self.event();
        self.0.points.fetch_add(u64::from(on), SeqCst);
        on
    }
}

impl Default for PowerSource {
    fn default() -> Self {
        PowerSource::new()
    }
}

/// Effect of one crash on the units (lines or blocks) of a device.
pub(crate) struct CrashEffect<'a, R> {
    random: &'a mut R,
    /// Of 8 units that are not mixed, the number that keep their latest content; the other units revert.
    latest_in_8: u64,
    /// Of 8 units, the number that get an older version or a mixture of versions.
    mixed_in_8: u64,
}

impl<'a, R: RngCore> CrashEffect<'a, R> {
    /// Chooses the odds of one crash at random. With even odds for each of hundreds of units, no crash would ever
    /// lose, or keep, exactly one unit.
    pub(crate) fn new(random: &'a mut R) -> Self {
        let kept_in_8 = [0, 1, 4, 7, 8][random_below(random, 5) as usize];
        let odd_in_8 = [0, 1, 4][random_below(random, 3) as usize];
        CrashEffect { random, latest_in_8: kept_in_8, mixed_in_8: odd_in_8 }
    }

    /// Turns `unit`, which holds the last durable content, into its content after the crash. `versions` lists the
    /// contents that the unit has had since then. Aligned parts of `grain` bytes are never torn.
    pub(crate) fn apply<V: AsRef<[u8]>>(&mut self, unit: &mut [u8], versions: &[V], grain: usize) {
        if random_below(self.random, 8) >= self.mixed_in_8 {
            if random_below(self.random, 8) < self.latest_in_8 {
                unit.copy_from_slice(versions.last().expect("it was changed").as_ref());
            }
            return;
        }
        let torn = random_below(self.random, 2) == 0;
        let part_bytes = if torn { grain } else { unit.len() };
        for (at, part) in unit.chunks_mut(part_bytes).enumerate() {
            // The index one past the last version selects the durable content.
            if let Some(version) = versions.get(random_below(self.random, versions.len() as u64 + 1) as usize)
            {
                part.copy_from_slice(&version.as_ref()[at * part_bytes..][..part_bytes]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::PowerSource;

    #[test]
    fn events_before_cut_take_effect_later_ones_do_not() {
        let power = PowerSource::new();
        let other = power.clone();
        power.cut_at(3);
        let took_effect: Vec<bool> =
            [power.event(), other.persistence_point(), power.event(), other.persistence_point()].into();
        assert_eq!(took_effect, [true, true, true, false]);
        assert!(power.is_off() && other.is_off());
        assert_eq!((power.events(), power.persistence_points()), (3, 1));
    }

    #[test]
    fn cut_at_last_event_turns_power_off_at_once() {
        let power = PowerSource::new();
        power.cut_at(1);
        assert!(!power.is_off());
        assert!(power.event());
        assert!(power.is_off());
        let power = PowerSource::new();
        assert!(power.event());
        power.cut();
        assert!(power.is_off() && !power.event());
        assert_eq!(power.events(), 1);
    }
}
