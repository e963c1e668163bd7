//! Block traces: named formats, read as streams of requests.
//!
//! [`open`] reads any of [`FORMATS`], [`TraceWriter`] writes them, [`cut`] copies a part of a trace to
//! another trace, [`describe`] computes statistics. A format is one file in `formats/` and one line in the table.

mod cut;
mod decode;
mod decoded;
mod describe;
mod encode;
mod error;
mod fields;
mod format;
mod formats;
mod input;
mod interruptible_read;
mod options;
mod page_map;
mod page_size;
mod reader;
mod recorder;
mod records;
mod table;
mod text;
mod volumes;
mod writer;

pub use cut::{Cut, cut, cut_while};
pub use decode::{Decoder, MAX_TRANSFER_BYTES, Sink, SkippedLines};
pub use decoded::{CHUNK_REQUESTS, RESIDENT_BYTES, TraceCursor, TraceIdentity};
pub use describe::*;
pub use encode::{Encoder, RequestContent};
pub use error::{BadValue, TraceError, TracePosition};
pub use format::Format;
pub use formats::table::{ColumnGuess, TableGuess, guess_table};
pub use input::MAX_LINE_BYTES;
pub use interruptible_read::with_wait_callback;
pub use options::{OptionSpec, ReadOptions, Settings, TextOption, WriteOptions};
pub use page_map::PageMap;
pub use page_size::PageSize;
pub use reader::{TraceReader, guess_columns, open};
pub use recorder::Recorder;
pub use table::{DIGEST_FORMATS, FORMATS, detect_format, find_format};
use wearwell_base::request;
pub use wearwell_base::request::{Digest, Op, Request, RequestBatch, is_zero_digest, page_digest};
pub use writer::{TraceWriter, WriteSummary};
