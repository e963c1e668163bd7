//! libCacheSim's oracleGeneral records.

use super::prelude::*;
use crate::records::{RecordFormat, Records, u32_at, u64_at};

/// Nanoseconds in a second.
const SECOND_NS: u64 = 1_000_000_000;

/// The `oracle-general` format.
pub static FORMAT: Format = Format {
    name: "oracle-general",
    help: "libCacheSim oracleGeneral binary: the operation is lost and has to be given (option op)",
    columns: "records of 24 bytes, little-endian: u32 time[s], u64 object, u32 size[bytes], i64 next access. Reads and \
              writes are not told apart: option op makes all requests one of them. The offset is the object times \
              option page_bytes. No volumes. Written with -1, never, as next access, which is no oracle.",
    source: "github.com/1a1a11a/libCacheSim, oracleGeneralBin.h",
    extensions: &["bin", "oracleGeneral"],
    time_step_ns: SECOND_NS,
    options: &[
        OptionSpec {
            name: "op",
            help: "what all requests are, since the format does not say",
            choices: &["read", "write"],
            text: None,
            default: None,
        },
        OptionSpec {
            name: "page_bytes",
            help: "bytes from one object number to the next",
            choices: &[],
            text: None,
            default: Some("4096"),
        },
    ],
    detect: None, // nothing marks the records
    read: |settings| Records::boxed(OracleGeneral::new(settings)),
    write: Some(|settings| Box::new(OracleGeneral::new(settings))),
};

struct OracleGeneral {
    op: Op,
    page_bytes: u64,
}

impl OracleGeneral {
    fn new(settings: &Settings) -> Self {
        let op = if settings.get("op") == "read" { Op::Read } else { Op::Write };
        OracleGeneral { op, page_bytes: settings.number("page_bytes") }
    }
}

impl RecordFormat for OracleGeneral {
    const BYTES: usize = 24;

    fn tail_bytes(&self, _: &[u8]) -> Result<usize, BadValue> {
        Ok(0)
    }

    fn record(&mut self, record: &[u8]) -> Result<Option<Request>, BadValue> {
        let object = u64_at(record, 4);
        let offset_bytes = object.checked_mul(self.page_bytes).ok_or_else(|| {
            let expected = "object times page_bytes below 2^64; hashed object numbers are no addresses";
            BadValue::new("object", object.to_string().as_bytes(), expected)
        })?;
        Ok(Some(Request {
            time_ns: u64::from(u32_at(record, 0)) * SECOND_NS,
            op: self.op,
            volume: 0,
            offset_bytes,
            length_bytes: u64::from(u32_at(record, 12)),
            hint: 0,
        }))
    }
}

impl Encoder for OracleGeneral {
    fn encode(&mut self, request: &Request, _: RequestContent<'_>, out: &mut Vec<u8>) -> Result<(), Reason> {
        require_no_volume(request)?;
        if request.op != self.op {
            return Err(format!("the format holds one operation, and this is no {:?}", self.op).into());
        }
        let time = u32::try_from(request.time_ns / SECOND_NS).map_err(|_| "the time is beyond 2^32 s")?;
        let size = u32::try_from(request.length_bytes).map_err(|_| "the format ends at 2^32 - 1 bytes")?;
        if !request.offset_bytes.is_multiple_of(self.page_bytes) {
            let (offset, page) = (request.offset_bytes, self.page_bytes);
            return Err(format!("offset {offset} is no multiple of page_bytes, {page}").into());
        }
        out.extend_from_slice(&time.to_le_bytes());
        out.extend_from_slice(&(request.offset_bytes / self.page_bytes).to_le_bytes());
        out.extend_from_slice(&size.to_le_bytes());
        out.extend_from_slice(&(-1i64).to_le_bytes());
        Ok(())
    }
}
