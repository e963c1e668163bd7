//! Classes that a page ascends with each host write and descends with each move by cleaning.

use super::classes::ClassStreams;
use super::{PageContext, Placement, PlacementContext, PlacementKind};
use crate::config::{ConfigError, Entry};
use crate::counters::Cause;
use crate::units::{Lpn, StreamId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the promotion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Classes, and thus streams, 1 or more.
    #[schemars(range(min = 1))]
    pub classes: u8,
}

impl Default for Config {
    fn default() -> Self {
        Config { classes: 6 }
    }
}

impl PlacementKind for Config {
    const ENTRY: Entry = Entry {
        name: "promotion",
        help: "one class up with each host write, one down each time a page is cleaned (DAC)",
        source: "Chiang, Lee and Chang, Software: Practice and Experience 29(3), 1999",
    };
    type Placement = Promotion;

    fn build(&self, context: PlacementContext<'_>) -> Result<Promotion, ConfigError> {
        Ok(Promotion {
            streams: ClassStreams::new(usize::from(self.classes), false, "classes")?,
            highest: self.classes.saturating_sub(1),
            levels: vec![UNWRITTEN; context.size.logical_pages as usize],
        })
    }
}

/// Level of a page without data.
const UNWRITTEN: u8 = u8::MAX;

/// Dynamic data clustering: a page begins in the lowest class; each host write promotes it by one class, and each move
/// by cleaning demotes it by one class. Stream 0 is the highest class.
///
/// The default of six classes is that of Wang et al. (FAST 2022, sec. 4.1), which compares it with SepBIT. The paper's
/// variant that promotes only early updates is not implemented. A trimmed page restarts in the lowest class.
pub struct Promotion {
    streams: ClassStreams,
    highest: u8,
    levels: Vec<u8>,
}

impl Placement for Promotion {
    fn streams(&self) -> u8 {
        self.streams.streams()
    }

    #[inline]
    fn place(&mut self, context: &PageContext) -> StreamId {
        let level = &mut self.levels[context.page.index()];
        *level = match (context.cause, *level) {
            (_, UNWRITTEN) => 0,
            (Cause::Host, level) => (level + 1).min(self.highest),
            (_, level) => level.saturating_sub(1),
        };
        self.streams.stream(self.highest - *level, context.cause)
    }

    fn trimmed(&mut self, page: Lpn) {
        self.levels[page.index()] = UNWRITTEN;
    }

    fn memory_bytes(&self) -> usize {
        // Number of bits for the class of a page, with one more value for a page without data.
        let bits = (u32::from(self.highest) + 2).next_power_of_two().trailing_zeros() as usize;
        (self.levels.len() * bits).div_ceil(8)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{cleaned, host, try_build};
    use super::*;
    use serde_json::json;

    #[test]
    fn writes_promote_and_cleaning_demotes_within_the_classes() {
        let mut placement = try_build(json!({"kind": "dac", "classes": 3}), 10).unwrap();
        let writes: Vec<u8> = (0..4).map(|now| placement.place(&host(1, now)).0).collect();
        assert_eq!(writes, [2, 1, 0, 0]);
        let moves: Vec<u8> = (0..3).map(|now| placement.place(&cleaned(1, now, 0)).0).collect();
        assert_eq!(moves, [1, 2, 2]);
        assert_eq!(placement.place(&host(1, 9)), StreamId(1));
        placement.trimmed(Lpn(1));
        assert_eq!(placement.place(&host(1, 9)), StreamId(2), "trimmed, it is new");
        assert_eq!(placement.place(&cleaned(2, 9, 0)), StreamId(2), "never seen before");
        // A page is in one of three classes or in none, which takes two bits; there are ten pages.
        assert_eq!((placement.streams(), placement.memory_bytes()), (3, 3));
    }

    #[test]
    fn zero_classes_are_refused() {
        assert_eq!(try_build(json!({"kind": "promotion", "classes": 0}), 10).err().unwrap().key, "classes");
    }
}
