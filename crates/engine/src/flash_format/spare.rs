//! The spare area of a page.

use super::numbers::{Reader, Writer};
use crate::counters::Cause;
use crate::nand::{METADATA_NOTE_BYTES, MetadataNote, Spare};
use crate::units::{Lpn, StreamId};

/// Bytes of a spare area.
pub const SPARE_BYTES: usize = 128;

/// Version of the format of spare areas and of the pages that they describe.
pub const VERSION: u8 = 1;

/// Type of a page that was not programmed since its block's last erase: its spare area is all zeroes.
pub const ERASED: u8 = 0;
/// Type of a user page.
pub const DATA: u8 = 1;
/// Type of a page that is neither erased nor readable, because of a planned power cut or a failed program.
pub const UNREADABLE: u8 = 255;

/// Position of the checksum of the spare area, which covers all bytes before it.
const CRC_AT: usize = SPARE_BYTES - 4;
const MAGIC: [u8; 2] = *b"WF";
const GROUP_CONTINUES: u8 = 1;

/// Description of an error in the format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FormatError(pub String);

impl FormatError {
    /// Creates an error with this message.
    pub fn new(problem: impl Into<String>) -> Self {
        FormatError(problem.into())
    }
}

/// Returns the checksum of pages and spare areas: CRC-32 as in Ethernet.
pub fn crc(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

/// Content of the spare area of a programmed page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpareRecord {
    /// The data for the FTL.
    pub spare: Spare,
    /// Number that the FTL attached to the block when this page was written.
    pub note: u64,
    /// Identifier of the page's content, by which the content is recognised after a move; 0 for metadata pages of the
    /// FTL.
    pub content_id: u64,
    /// Number of the operation that programmed the page, among all operations of this flash.
    pub operation: u64,
    /// Checksum of the page's bytes.
    pub page_crc: u32,
    /// Type of the page, and the FTL's additional note about it.
    pub ftl_note: MetadataNote,
}

impl SpareRecord {
    /// Encodes the spare area.
    pub fn encode(&self) -> [u8; SPARE_BYTES] {
        let mut bytes = [0; SPARE_BYTES];
        let Spare { owner, sequence, stream, cause, group_continues: group_goes_on } = self.spare;
        let mut writer = Writer(&mut bytes);
        writer.put(MAGIC);
        writer.put([VERSION, self.ftl_note.class]);
        writer.put([cause as u8, if group_goes_on { GROUP_CONTINUES } else { 0 }, stream.0, 0]);
        writer.u32(owner.0);
        writer.u32(self.page_crc);
        [sequence, self.note, self.content_id, self.operation]
            .into_iter()
            .for_each(|number| writer.u64(number));
        writer.put::<METADATA_NOTE_BYTES>(self.ftl_note.bytes);
        append_crc(bytes)
    }

    /// Decodes a spare area; `None` for an erased page.
    ///
    /// # Errors
    /// Fails for bytes of another format or version, or damaged bytes.
    pub fn decode(bytes: &[u8; SPARE_BYTES]) -> Result<Option<Self>, FormatError> {
        if bytes.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let (covered, sum) = bytes.split_at(CRC_AT);
        let mut reader = Reader(covered);
        if reader.take() != MAGIC {
            return Err(FormatError::new("its spare area has no magic number"));
        }
        if crc(covered).to_le_bytes() != sum {
            return Err(FormatError::new("the checksum of its spare area is another"));
        }
        let [version, class] = reader.take();
        if version != VERSION {
            return Err(FormatError(format!(
                "its spare area is of version {version}; this program knows version {VERSION}"
            )));
        }
        let [cause, flags, stream, _] = reader.take();
        let Some(&cause) = Cause::ALL.get(usize::from(cause)) else {
            return Err(FormatError(format!("its spare area names cause {cause}, which there is not")));
        };
        let (owner, page_crc) = (Lpn(reader.u32()), reader.u32());
        let [sequence, note, name, operation] = std::array::from_fn(|_| reader.u64());
        let spare = Spare {
            owner,
            sequence,
            stream: StreamId(stream),
            cause,
            group_continues: flags & GROUP_CONTINUES != 0,
        };
        let ftl_note = MetadataNote { class, bytes: reader.take() };
        Ok(Some(SpareRecord { spare, note, content_id: name, operation, page_crc, ftl_note }))
    }

    /// Returns the spare area of a page that operation `operation` left neither erased nor readable.
    pub fn unreadable(operation: u64) -> Self {
        let spare = Spare {
            owner: Lpn(0),
            sequence: 0,
            stream: StreamId(0),
            cause: Cause::Host,
            group_continues: false,
        };
        SpareRecord {
            spare,
            note: 0,
            content_id: 0,
            operation,
            page_crc: 0,
            ftl_note: MetadataNote::new(UNREADABLE),
        }
    }
}

/// Appends the checksum to the bytes.
fn append_crc(mut bytes: [u8; SPARE_BYTES]) -> [u8; SPARE_BYTES] {
    let sum = crc(&bytes[..CRC_AT]);
    bytes[CRC_AT..].copy_from_slice(&sum.to_le_bytes());
    bytes
}
