//! Placement by the true temperature of pages: an upper bound on the gain of any detector of hot data.

use super::classes::ClassStreams;
use super::{PageContext, Placement, PlacementContext, PlacementKind};
use crate::config::{ConfigError, Entry};
use crate::temperature::Temperature;
use crate::units::StreamId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the oracle.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// True if cleaned pages have their own streams, one per class.
    #[serde(default)]
    pub separate_cleaning: bool,
}

impl PlacementKind for Config {
    const ENTRY: Entry = Entry {
        name: "oracle",
        help: "one stream for each class of pages that the workload itself knows to be equally hot",
        source: "Desnoyers, ACM TOS 10(2), 2014 (separation of hot and cold data known beforehand)",
    };
    type Placement = Oracle;

    fn build(&self, context: PlacementContext<'_>) -> Result<Oracle, ConfigError> {
        let Some(temperature) = context.temperature else {
            return Err(ConfigError::new(
                "kind",
                "oracle needs a workload that knows how hot its pages are; in this one they are all alike, \
                 change with time, or are read from a trace",
            ));
        };
        let classes = usize::from(temperature.classes());
        let streams = ClassStreams::new(classes, self.separate_cleaning, "separate_cleaning")?;
        Ok(Oracle { streams, temperature })
    }
}

/// Placement by the workload's [`Temperature`].
///
/// A page's class never changes, so that trims need no handling and there is no state. The reported memory is 0,
/// because no device can have this knowledge, with a table of any size.
pub struct Oracle {
    streams: ClassStreams,
    temperature: Box<dyn Temperature>,
}

impl Placement for Oracle {
    fn streams(&self) -> u8 {
        self.streams.streams()
    }

    fn place(&mut self, context: &PageContext) -> StreamId {
        self.streams.stream(self.temperature.class_of(context.page), context.cause)
    }
}
