//! What a trace format is.

use super::decode::Decoder;
use super::encode::Encode;
use super::error::TraceError;
use super::options::{OptionSpec, Settings};

/// Makes a reader with the given options.
pub type MakeDecoder = fn(&Settings) -> Box<dyn Decoder>;

/// Makes a writer with the given options.
pub type MakeEncode = fn(&Settings) -> Box<dyn Encode>;

/// A trace format: what it is called, what its columns mean, how it is read and written.
pub struct Format {
    /// The name it is asked for by.
    pub name: &'static str,
    /// One line of help.
    pub help: &'static str,
    /// The columns or fields with their units and operation codes, and what is done about its gaps.
    pub columns: &'static str,
    /// Where the format is described.
    pub source: &'static str,
    /// Usual file extensions, without those of compression.
    pub extensions: &'static [&'static str],
    /// The finest time step it can hold, ns. Writing rounds times down to it.
    pub time_step_ns: u64,
    /// Options of reading and writing.
    pub options: &'static [OptionSpec],
    /// Whether the first bytes of a file can only be this format; `None` where nothing could show it.
    pub detect: Option<fn(&[u8]) -> bool>,
    /// Makes a reader.
    pub read: MakeDecoder,
    /// Makes a writer; `None` where the format can only be read.
    pub write: Option<MakeEncode>,
}

impl Format {
    /// The format's options with the values `given`, and the defaults of those that are not.
    pub(crate) fn settings(&self, given: &[(String, String)]) -> Result<Settings, TraceError> {
        Settings::new(self.name, self.options, given)
    }
}

impl std::fmt::Debug for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Format").field("name", &self.name).finish_non_exhaustive()
    }
}
