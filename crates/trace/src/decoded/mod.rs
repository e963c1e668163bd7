//! Decoded traces: requests parsed once per process and replayed many times.
//!
//! [`TraceCursor`] reads a trace pass after pass. A separate thread decodes a regular file into compact chunks, which
//! all cursors of the process share. A trace whose chunks exceed [`RESIDENT_BYTES`] is decoded again in each pass, by a
//! thread that stays a few chunks ahead. Pipes are read in the calling thread.

mod chunk;
mod column;
mod cursor;
mod identity;
mod pass_reader;
mod shared;

pub use cursor::TraceCursor;
pub use identity::TraceIdentity;
pub use shared::RESIDENT_BYTES;

/// Requests of one chunk.
pub const CHUNK_REQUESTS: usize = 1024;

#[cfg(test)]
mod tests;
