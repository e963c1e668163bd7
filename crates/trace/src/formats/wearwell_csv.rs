//! Wearwell's own CSV format, which loses nothing.

use super::fiu::{parse_digest, write_digest};
use super::prelude::*;
use crate::input::MAX_LINE_BYTES;

const HEADER: &str = "time_ns,op,volume,offset_bytes,length_bytes,hint";

/// Prefix, in the name of the last column, of the number of bytes covered by each digest.
const DIGESTS: &str = ",digests_";

/// The `wearwell-csv` format.
pub static FORMAT: Format = Format {
    name: "wearwell-csv",
    help: "Wearwell's own CSV with header: nanoseconds, bytes, all operations, hints, digests",
    columns: "time_ns,op[R read, W write, T discard, F flush],volume,offset_bytes,length_bytes,hint[,digests_<bytes>: \
              hexadecimal digests of each so many bytes of content, joined by +].",
    source: "Wearwell",
    extensions: &["csv"],
    time_step_ns: 1,
    options: &[],
    detect: Some(|beginning| digest_bytes(first_line(beginning)).is_some()),
    read: |_| Lines::boxed(WearwellCsv::default()),
    write: Some(|_| Box::new(WearwellCsv::default())),
};

#[derive(Default)]
struct WearwellCsv {
    /// Content covered by each digest, bytes; `None` before the header.
    digest_bytes: Option<u32>,
}

/// Parses the part of a header about digests; `None` if the line is not a header of this format.
fn digest_bytes(header: &[u8]) -> Option<u32> {
    match header.trim_ascii().strip_prefix(HEADER.as_bytes())? {
        b"" => Some(0),
        digests => {
            let bytes = fields::parse_u64(digests.strip_prefix(DIGESTS.as_bytes())?)?;
            u32::try_from(bytes).ok().filter(|&bytes| bytes > 0)
        }
    }
}

impl LineFormat for WearwellCsv {
    fn line(&mut self, line: &[u8], digests: &mut Vec<Digest>) -> Result<Option<Request>, BadValue> {
        let Some(digest_bytes) = self.digest_bytes else {
            let header = digest_bytes(line);
            let expected = "time_ns,op,volume,offset_bytes,length_bytes,hint[,digests_<bytes>]";
            self.digest_bytes = Some(header.ok_or_else(|| BadValue::new("(header)", line, expected))?);
            return Ok(None);
        };
        let mut fields = Fields::commas(line);
        let time_ns = fields.u64("time_ns")?;
        let op = match fields.text("op")? {
            b"R" => Op::Read,
            b"W" => Op::Write,
            b"T" => Op::Trim,
            b"F" => Op::Flush,
            other => return Err(BadValue::new("op", other, "R, W, T or F")),
        };
        let volume = fields.u32("volume")?;
        let offset_bytes = fields.u64("offset_bytes")?;
        let length_bytes = fields.u64("length_bytes")?;
        let hint = fields.u32("hint")?;
        let hint = u16::try_from(hint).map_err(|_| {
            BadValue::new("hint", hint.to_string().as_bytes(), "a whole number from 0 to 65535")
        })?;
        if op == Op::Flush && (offset_bytes, length_bytes) != (0, 0) {
            return Err(BadValue::new("length_bytes", line, "offset and length 0 for a flush"));
        }
        if digest_bytes > 0 {
            let text = fields
                .next()
                .ok_or_else(|| BadValue::new("digests", b"", "a column, though it may be empty"))?;
            for digest in text.split(|&byte| byte == b'+').filter(|_| !text.is_empty()) {
                let expected = "32 hexadecimal digits, joined by +";
                digests.push(parse_digest(digest).ok_or_else(|| BadValue::new("digests", digest, expected))?);
            }
        }
        fields.end()?;
        Ok(Some(Request { time_ns, op, volume, offset_bytes, length_bytes, hint }))
    }

    fn digest_bytes(&self) -> u32 {
        self.digest_bytes.unwrap_or(0)
    }
}

impl WearwellCsv {
    /// Appends the header, once it is known if there are digests.
    fn write_header(&mut self, digest_bytes: u32, out: &mut Vec<u8>) {
        self.digest_bytes = Some(digest_bytes);
        out.extend_from_slice(HEADER.as_bytes());
        if digest_bytes > 0 {
            put!(out, "{DIGESTS}{digest_bytes}");
        }
        out.push(b'\n');
    }
}

impl Encoder for WearwellCsv {
    fn encode(
        &mut self,
        request: &Request,
        content: RequestContent<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Reason> {
        if self.digest_bytes.is_none() {
            self.write_header(content.digest_bytes, out);
        }
        if self.digest_bytes != Some(content.digest_bytes) {
            return Err("digests cover another number of bytes than in the first request".into());
        }
        let Request { time_ns, volume, offset_bytes, length_bytes, hint, .. } = request;
        let op = match request.op {
            Op::Read => 'R',
            Op::Write => 'W',
            Op::Trim => 'T',
            Op::Flush => 'F',
        };
        let before = out.len();
        put!(out, "{time_ns},{op},{volume},{offset_bytes},{length_bytes},{hint}");
        for (index, digest) in content.digests.iter().enumerate() {
            out.push(if index == 0 { b',' } else { b'+' });
            write_digest(digest, out);
        }
        if content.digest_bytes > 0 && content.digests.is_empty() {
            out.push(b',');
        }
        out.push(b'\n');
        if out.len() - before > MAX_LINE_BYTES {
            return Err("so many digests do not fit into a line".into());
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        if self.digest_bytes.is_none() {
            self.write_header(0, out);
        }
    }
}
