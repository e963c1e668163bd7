//! Definition of a trace format.

use super::decode::Decoder;
use super::encode::Encoder;
use super::error::TraceError;
use super::options::{OptionSpec, Settings};

/// Factory of a reader with the given options.
pub type DecoderFactory = fn(&Settings) -> Box<dyn Decoder>;

/// Factory of a writer with the given options.
pub type EncoderFactory = fn(&Settings) -> Box<dyn Encoder>;

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
    pub read: DecoderFactory,
    /// Factory of a writer; `None` if the format can only be read.
    pub write: Option<EncoderFactory>,
}

impl Format {
    /// Returns the format's options: those in `values`, and defaults for the other options.
    pub(crate) fn settings(&self, values: &[(String, String)]) -> Result<Settings, TraceError> {
        Settings::new(self.name, self.options, values)
    }
}

impl std::fmt::Debug for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Format").field("name", &self.name).finish_non_exhaustive()
    }
}
