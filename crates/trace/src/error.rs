//! Errors of traces, with messages that help a person to find and fix the problem.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

/// Longest part of a bad value that a message repeats, bytes.
const MAX_SHOWN_BYTES: usize = 48;

/// Any failure of reading, writing or converting a trace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// Error of the operating system.
    #[error("{}: {source}", path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The compressed stream is damaged or ends early.
    #[error("{}: the {compression} stream is damaged or cut short: {source}", path.display())]
    Compressed {
        /// Path of the file.
        path: PathBuf,
        /// `gzip`, `xz` or `zstd`.
        compression: &'static str,
        /// Error of the decompressor.
        source: std::io::Error,
    },
    /// The file is empty.
    #[error("{}: the file is empty", path.display())]
    Empty {
        /// Path of the file.
        path: PathBuf,
    },
    /// No format has the requested name.
    #[error("there is no trace format `{name}`; the formats are {choices}")]
    UnknownFormat {
        /// Requested name.
        name: String,
        /// All formats, separated by commas.
        choices: String,
    },
    /// The content does not identify the format.
    #[error(
        "{}: the format cannot be told from the content, because several formats look alike and differ in \
         units or operation codes; name one of {choices}{hint}; {table}",
        path.display()
    )]
    FormatNeeded {
        /// Path of the file.
        path: PathBuf,
        /// All formats, separated by commas.
        choices: String,
        /// Formats that use the file's extension, as a further sentence, or empty.
        hint: String,
        /// The column option for reading the file as a table, or advice for finding its columns.
        table: String,
    },
    /// The format does not have the requested option.
    #[error("the trace format `{format}` has no option `{option}`; {choices}")]
    UnknownOption {
        /// Name of the format.
        format: &'static str,
        /// Name of the requested option.
        option: String,
        /// Options of the format, as a sentence.
        choices: String,
    },
    /// Invalid value of an option, or a missing option that is required.
    #[error("option `{option}` of the trace format `{format}`: {problem}; {expected}")]
    BadOption {
        /// Name of the format.
        format: &'static str,
        /// Name of the option.
        option: &'static str,
        /// Description of the problem.
        problem: String,
        /// Allowed values.
        expected: String,
    },
    /// A value in the trace that the format does not allow.
    #[error("{}, {position}: {value}", path.display())]
    BadValue {
        /// Path of the file.
        path: PathBuf,
        /// Position in the file.
        position: TracePosition,
        /// Description of the bad value.
        value: BadValue,
    },
    /// The format can only be read.
    #[error("traces cannot be written in the format `{format}`; writable formats are {choices}")]
    NotWritable {
        /// Name of the format.
        format: &'static str,
        /// Writable formats, separated by commas.
        choices: String,
    },
    /// The format cannot hold this request.
    #[error("{}: request {request} cannot be written in the format `{format}`: {reason}", path.display())]
    Inexpressible {
        /// Path of the file that is written.
        path: PathBuf,
        /// Name of the format.
        format: &'static str,
        /// The request's number, from 1, among those given to the writer.
        request: u64,
        /// Reason of the refusal.
        reason: String,
    },
}

impl TraceError {
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        TraceError::Io { path: path.to_owned(), source }
    }
}

/// A position in a trace, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TracePosition {
    /// A line of a text format.
    Line(u64),
    /// A record of a binary format.
    Record(u64),
}

impl fmt::Display for TracePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TracePosition::Line(number) => write!(f, "line {number}"),
            TracePosition::Record(number) => write!(f, "record {number}"),
        }
    }
}

/// A value that its column does not allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadValue {
    /// Name of the column or field.
    pub column: Cow<'static, str>,
    /// The value found, escaped and shortened; empty for a missing value.
    pub found: String,
    /// Description of the allowed values.
    pub expected: Cow<'static, str>,
}

impl BadValue {
    /// Returns the error for the value `found` in `column`, where `expected` was expected.
    #[cold]
    pub fn new(
        column: impl Into<Cow<'static, str>>,
        found: &[u8],
        expected: impl Into<Cow<'static, str>>,
    ) -> Self {
        let mut shown = found[..found.len().min(MAX_SHOWN_BYTES)].escape_ascii().to_string();
        if found.len() > MAX_SHOWN_BYTES {
            shown.push_str("...");
        }
        BadValue { column: column.into(), found: shown, expected: expected.into() }
    }
}

impl fmt::Display for BadValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BadValue { column, found, expected } = self;
        match found.as_str() {
            "" => write!(f, "column `{column}` is missing or empty, expected {expected}"),
            _ => write!(f, "column `{column}` is `{found}`, expected {expected}"),
        }
    }
}
