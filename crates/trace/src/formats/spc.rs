//! Storage Performance Council traces, in the form of the UMass repository.

use super::prelude::*;

/// The `spc` format.
pub static FORMAT: Format = Format {
    name: "spc",
    help: "SPC / UMass (Financial, WebSearch): application storage unit, block, bytes, R/W, seconds",
    columns: "ASU,LBA[blocks of 512 B],Size[bytes],R|W of either case,Timestamp[decimal s from the start]\
              [,optional fields, passed over]. The volume is the ASU.",
    source: "SPC Trace File Format Specification 1.0.1; UMass Trace Repository",
    extensions: &["spc"],
    time_step_ns: 1,
    options: &[OptionSpec {
        name: "block_bytes",
        help: "bytes per block of the LBA column",
        choices: &[],
        text: None,
        default: Some("512"),
    }],
    detect: None, // four numbers and a letter: other formats have the same columns in other units
    read: |settings| Lines::boxed(Spc { block_bytes: settings.number("block_bytes") }),
    write: Some(|settings| Box::new(Spc { block_bytes: settings.number("block_bytes") })),
};

struct Spc {
    block_bytes: u64,
}

impl LineFormat for Spc {
    fn line(&mut self, line: &[u8], _: &mut Vec<Digest>) -> Result<Option<Request>, BadValue> {
        let mut fields = Fields::commas(line);
        let volume = fields.u32("ASU")?;
        let offset_bytes = fields.bytes("LBA", self.block_bytes)?;
        let length_bytes = fields.u64("Size")?;
        let op = fields.read_or_write("Opcode")?;
        let time_ns = fields.decimal("Timestamp", 9)?;
        Ok(Some(Request { time_ns, op, volume, offset_bytes, length_bytes, hint: 0 }))
    }
}

impl Encoder for Spc {
    fn encode(&mut self, request: &Request, _: RequestContent<'_>, out: &mut Vec<u8>) -> Result<(), Reason> {
        let Request { time_ns, volume, offset_bytes, length_bytes, .. } = request;
        let op = read_or_write(request.op, 'R', 'W')?;
        if offset_bytes % self.block_bytes != 0 {
            return Err(format!("offset {offset_bytes} is no multiple of {} bytes", self.block_bytes).into());
        }
        let (block, s, ns) =
            (offset_bytes / self.block_bytes, time_ns / 1_000_000_000, time_ns % 1_000_000_000);
        put!(out, "{volume},{block},{length_bytes},{op},{s}.{ns:09}\n");
        Ok(())
    }
}
