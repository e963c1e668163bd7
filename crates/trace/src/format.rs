//! Definition of a trace format.

use super::decode::Decoder;
use super::encode::Encode;
use super::error::TraceError;
use super::options::{OptionSpec, Settings};

/// Factory of a reader with the given options.
pub type MakeDecoder = fn(&Settings) -> Box<dyn Decoder>;

/// Factory of a writer with the given options.
pub type MakeEncode = fn(&Settings) -> Box<dyn Encode>;

/// A trace format: its name, the meaning of its columns, its reader and its writer.
pub struct Format {
    /// Name of the format.
    pub name: &'static str,
    /// One line of help.
    pub help: &'static str,
    /// The columns or fields with their units and operation codes, and the treatment of missing information.
    pub columns: &'static str,
    /// Source of the format's description.
    pub source: &'static str,
    /// Usual file extensions, without extensions of compression.
    pub extensions: &'static [&'static str],
    /// The finest time step of the format, ns. Writing rounds times down to it.
    pub time_step_ns: u64,
    /// Options of reading and writing.
    pub options: &'static [OptionSpec],
    /// Returns true if the first bytes of a file can only be this format; `None` if nothing identifies the format.
    pub detect: Option<fn(&[u8]) -> bool>,
    /// Factory of a reader.
    pub read: MakeDecoder,
    /// Factory of a writer; `None` if the format can only be read.
    pub write: Option<MakeEncode>,
}

impl Format {
    /// Returns the format's options with the `given` values, and defaults for the other options.
    pub(crate) fn settings(&self, given: &[(String, String)]) -> Result<Settings, TraceError> {
        Settings::new(self.name, self.options, given)
    }
}

impl std::fmt::Debug for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Format").field("name", &self.name).finish_non_exhaustive()
    }
}
