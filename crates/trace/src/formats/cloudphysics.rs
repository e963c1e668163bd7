//! CloudPhysics virtual disk traces in their CSV form.

use super::prelude::*;

const HEADER: &[u8] = b"version,time,op,size,lbn";

/// The `cloudphysics` format.
pub static FORMAT: Format = Format {
    name: "cloudphysics",
    help: "CloudPhysics virtual disks: CSV with header, SCSI operation codes, microseconds",
    columns: "version,time[us],op[SCSI code, hex],size[bytes],lbn[512 B]. Codes 08 28 88 a8 read, 0a 2a 8a aa \
              write, 42 discards, 35 and 91 flush. No volumes. Written as version 1.",
    source: "github.com/1a1a11a/PyMimircache, data; Waldspurger et al., FAST 2015",
    extensions: &["csv"],
    time_step_ns: 1000,
    options: &[],
    detect: Some(|beginning| first_line(beginning) == HEADER),
    read: |_| Lines::boxed(CloudPhysics),
    write: Some(|_| Box::new(CloudPhysics)),
};

struct CloudPhysics;

impl LineFormat for CloudPhysics {
    fn line(&mut self, line: &[u8], _: &mut Vec<Digest>) -> Result<Option<Request>, BadValue> {
        if line == HEADER {
            return Ok(None);
        }
        let mut fields = Fields::commas(line);
        fields.u64("version")?;
        let time_ns = fields.time("time", 1000)?;
        let code = fields.text("op")?;
        let op = scsi_op(code).ok_or_else(|| {
            BadValue::new(
                "op",
                code,
                "a SCSI code of a read (08 28 88 a8), write (0a 2a 8a aa), unmap (42) or flush (35 91)",
            )
        })?;
        let length_bytes = fields.u64("size")?;
        let offset_bytes = fields.bytes("lbn", SECTOR_BYTES)?;
        fields.end()?;
        if op == Op::Flush {
            return Ok(Some(Request { time_ns, op, volume: 0, offset_bytes: 0, length_bytes: 0, hint: 0 }));
        }
        Ok(Some(Request { time_ns, op, volume: 0, offset_bytes, length_bytes, hint: 0 }))
    }
}

fn scsi_op(code: &[u8]) -> Option<Op> {
    match fields::parse_hexadecimal(code)? {
        0x08 | 0x28 | 0x88 | 0xa8 => Some(Op::Read),
        0x0a | 0x2a | 0x8a | 0xaa => Some(Op::Write),
        0x42 => Some(Op::Trim),
        0x35 | 0x91 => Some(Op::Flush),
        _ => None,
    }
}

impl Encoder for CloudPhysics {
    fn begin(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(HEADER);
        out.push(b'\n');
    }

    fn encode(&mut self, request: &Request, _: RequestContent<'_>, out: &mut Vec<u8>) -> Result<(), Reason> {
        require_no_volume(request)?;
        if !request.offset_bytes.is_multiple_of(SECTOR_BYTES) {
            return Err(format!("offset {} is no multiple of 512 bytes", request.offset_bytes).into());
        }
        let code = match request.op {
            Op::Read => "28",
            Op::Write => "2a",
            Op::Trim => "42",
            Op::Flush => "35",
        };
        let (us, sector) = (request.time_ns / 1000, request.offset_bytes / SECTOR_BYTES);
        put!(out, "1,{us},{code},{},{sector}\n", request.length_bytes);
        Ok(())
    }
}
