//! Binary format of flash: spare areas, and each type of metadata page of an FTL.
//!
//! This is the format of the flash contents and not of a file: the code that stores flash outside the simulation
//! ([`FlashStorage`](crate::nand::FlashStorage)) chooses the locations of pages and spare areas. Numbers are little
//! endian. Each spare area contains the version of the format, a checksum of its page and one of itself. A page of an
//! FTL fills as many bytes as the FTL assumes; data that does not fit is in the note of its spare area.
//! docs/design/flash-image.md specifies the format byte by byte.

mod ftl_pages;
mod numbers;
mod packed;
mod spare;
#[cfg(test)]
mod tests;
mod validity;

pub use ftl_pages::{
    MapRecord, PageType, decode_checkpoint, decode_dedup_note, decode_node, decode_records,
    decode_translation, encode_checkpoint, encode_dedup_note, encode_node, encode_records,
    encode_translation,
};
pub use packed::{pack, unpack};
pub use spare::{DATA, ERASED, FormatError, SPARE_BYTES, SpareRecord, UNREADABLE, VERSION, crc};
pub use validity::{DecodedRun, ValidityCodec, ValidityNote};
