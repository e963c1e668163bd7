//! Volume numbers for traces that identify volumes by names or device numbers.

use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};

/// Bits of the minor number in a device number, as in the kernel's `dev_t`.
const MINOR_BITS: u32 = 20;

/// Returns the volume number of the block device `major:minor`, `major << 20 | minor`; `None` beyond 12 and 20 bits.
#[inline]
pub fn device_volume(major: u32, minor: u32) -> Option<u32> {
    (major < 1 << (32 - MINOR_BITS) && minor < 1 << MINOR_BITS).then_some(major << MINOR_BITS | minor)
}

/// Returns major and minor number of a volume that stands for a block device.
pub fn device_numbers(volume: u32) -> (u32, u32) {
    (volume >> MINOR_BITS, volume & ((1 << MINOR_BITS) - 1))
}

/// Volumes that occurred in a trace.
#[derive(Default)]
pub struct VolumeSet {
    volumes: HashSet<u32, FixedState>,
    last: Option<u32>,
}

impl VolumeSet {
    /// Adds `volume`.
    #[inline]
    pub fn add(&mut self, volume: u32) {
        if self.last != Some(volume) {
            self.last = Some(volume);
            self.volumes.insert(volume);
        }
    }

    /// Returns the numbers of the volumes, in order, with the name that `name` returns for each.
    pub fn names(&self, name: impl Fn(u32) -> String) -> Vec<(u32, String)> {
        let mut volumes: Vec<_> = self.volumes.iter().copied().collect();
        volumes.sort_unstable();
        volumes.into_iter().map(|volume| (volume, name(volume))).collect()
    }

    /// Returns the numbers of the volumes, in order, with their names as block devices, `major,minor`.
    pub fn device_names(&self) -> Vec<(u32, String)> {
        self.names(|volume| {
            let (major, minor) = device_numbers(volume);
            format!("{major},{minor}")
        })
    }
}

/// Numbers for named volumes of a trace.
#[derive(Default)]
pub struct VolumeNames {
    numbers: HashMap<Vec<u8>, u32, FixedState>,
    used_numbers: HashSet<u32, FixedState>,
    next_free: u32,
    last: (Vec<u8>, u32),
}

impl VolumeNames {
    /// Returns the number of the volume `name`: its existing number, else `preferred` if that is free, else the lowest
    /// free number.
    #[inline]
    pub fn number(&mut self, name: &[u8], preferred: Option<u32>) -> u32 {
        if self.last.0 == name && !name.is_empty() {
            return self.last.1;
        }
        let number = match self.numbers.get(name) {
            Some(&number) => number,
            None => self.assign(name, preferred),
        };
        self.last.0.clear();
        self.last.0.extend_from_slice(name);
        self.last.1 = number;
        number
    }

    fn assign(&mut self, name: &[u8], preferred: Option<u32>) -> u32 {
        while self.used_numbers.contains(&self.next_free) {
            self.next_free += 1;
        }
        let number = preferred.filter(|number| !self.used_numbers.contains(number)).unwrap_or(self.next_free);
        self.used_numbers.insert(number);
        self.numbers.insert(name.to_owned(), number);
        number
    }

    /// Returns all numbers with their names, in order.
    pub fn names(&self) -> Vec<(u32, String)> {
        let escaped = |(name, &number): (&Vec<u8>, &u32)| (number, name.escape_ascii().to_string());
        let mut names: Vec<_> = self.numbers.iter().map(escaped).collect();
        names.sort_unstable();
        names
    }
}
