//! How flash looks in bytes: what is in a spare area, and in each kind of page that an FTL writes for itself.
//!
//! The format is one of the flash, not of a file: whoever keeps flash outside of the simulation
//! ([`Backing`](crate::nand::Backing)) decides where pages and spare areas lie. Numbers are little endian. Each spare area has the
//! version of the format, a checksum of its page and one of itself; a page of an FTL's own fills the page as the FTL reckons with,
//! and what does not fit in it is in the note of its spare area. docs/design/flash-image.md has it byte by byte.

mod numbers;
mod own;
mod packed;
mod spare;
#[cfg(test)]
mod tests;
mod validity;

pub use own::{
    Class, MapRecord, decode_checkpoint, decode_node, decode_records, decode_stored, decode_translation,
    encode_checkpoint, encode_node, encode_records, encode_stored, encode_translation,
};
pub use packed::{pack, unpack};
pub use spare::{DATA, ERASED, FormatError, SPARE_BYTES, SPOILT, SpareRecord, VERSION, crc};
pub use validity::{DecodedRun, ValidityCodec, ValidityNote};
