//! Encoding of the records of blocks and of the sync record.

use wearwell_engine::flash_format::{FormatError, crc};

/// Bytes of a record.
pub const RECORD_BYTES: usize = 32;

const VERSION: u8 = 1;
const CRC_AT: usize = RECORD_BYTES - 4;
const BLOCK: [u8; 2] = *b"WB";
const SYNC: [u8; 2] = *b"WS";

/// State of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum BlockState {
    /// The block is usable; it is erased or has programmed pages.
    #[default]
    InUse = 1,
    /// The erase has begun, so no page can be read.
    Erasing = 2,
    /// The block is bad.
    Bad = 3,
}

/// Data of a block in addition to its pages. The record of a block that was never erased is all zeroes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockRecord {
    /// State of the block.
    pub state: BlockState,
    /// Erase count.
    pub erases: u32,
    /// Number of the last operation that changed the record.
    pub operation: u64,
}

fn with_checksum(mut bytes: [u8; RECORD_BYTES]) -> [u8; RECORD_BYTES] {
    let sum = crc(&bytes[..CRC_AT]);
    bytes[CRC_AT..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// Returns the bytes of a record after verification, or `None` if it was never written.
fn verify(bytes: &[u8; RECORD_BYTES], magic: [u8; 2]) -> Result<Option<[u8; RECORD_BYTES]>, FormatError> {
    if bytes.iter().all(|byte| *byte == 0) {
        return Ok(None);
    }
    if bytes[..2] != magic || crc(&bytes[..CRC_AT]).to_le_bytes() != bytes[CRC_AT..] {
        return Err(FormatError::new("the checksum of its record is another"));
    }
    if bytes[2] != VERSION {
        let problem = format!("its record is of version {}; this program knows version {VERSION}", bytes[2]);
        return Err(FormatError(problem));
    }
    Ok(Some(*bytes))
}

fn number(bytes: &[u8; RECORD_BYTES], at: usize) -> u64 {
    let mut number = [0; 8];
    number.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(number)
}

impl BlockRecord {
    /// Encodes the record.
    pub fn encode(&self) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        bytes[..2].copy_from_slice(&BLOCK);
        (bytes[2], bytes[3]) = (VERSION, self.state as u8);
        bytes[4..8].copy_from_slice(&self.erases.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.operation.to_le_bytes());
        with_checksum(bytes)
    }

    /// Decodes a record.
    ///
    /// # Errors
    /// Fails if the bytes are damaged or of another version.
    pub fn decode(bytes: &[u8; RECORD_BYTES]) -> Result<Self, FormatError> {
        let Some(bytes) = verify(bytes, BLOCK)? else { return Ok(BlockRecord::default()) };
        let state = match bytes[3] {
            1 => BlockState::InUse,
            2 => BlockState::Erasing,
            3 => BlockState::Bad,
            other => {
                return Err(FormatError(format!("its record names state {other}, which there is not")));
            }
        };
        let (low, operation) = (number(&bytes, 4), number(&bytes, 8));
        Ok(BlockRecord { state, erases: low as u32, operation })
    }
}

/// Record which says that all operations up to a given one are durable on the host machine. Of two records, the
/// greater one is newer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SyncRecord {
    /// Last durable operation.
    pub operation: u64,
    /// Durable part of the battery's file: its generation times 2^32, plus its number of records.
    pub battery: u64,
}

impl SyncRecord {
    /// Encodes the record.
    pub fn encode(&self) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        bytes[..2].copy_from_slice(&SYNC);
        bytes[2] = VERSION;
        bytes[8..16].copy_from_slice(&self.operation.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.battery.to_le_bytes());
        with_checksum(bytes)
    }

    /// Decodes a record.
    ///
    /// # Errors
    /// The errors of [`BlockRecord::decode`].
    pub fn decode(bytes: &[u8; RECORD_BYTES]) -> Result<Self, FormatError> {
        let Some(bytes) = verify(bytes, SYNC)? else { return Ok(SyncRecord::default()) };
        Ok(SyncRecord { operation: number(&bytes, 8), battery: number(&bytes, 16) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decode_returns_encoded_record_and_rejects_damage() {
        let record = BlockRecord { state: BlockState::Erasing, erases: 0x0102_0304, operation: 77 };
        let bytes = record.encode();
        assert_eq!(bytes[..9], [b'W', b'B', 1, 2, 4, 3, 2, 1, 77]);
        assert_eq!(BlockRecord::decode(&bytes), Ok(record));
        assert_eq!(BlockRecord::decode(&[0; RECORD_BYTES]), Ok(BlockRecord::default()));
        let sync = SyncRecord { operation: 5, battery: 1 << 32 | 7 };
        assert_eq!(SyncRecord::decode(&sync.encode()), Ok(sync));
        assert!(SyncRecord::decode(&bytes).is_err(), "a record of a block");
        for at in 0..RECORD_BYTES {
            let mut damaged = bytes;
            damaged[at] ^= 1;
            assert!(BlockRecord::decode(&damaged).is_err(), "byte {at}");
        }
    }
}
