//! DiskSim's ASCII traces.

use super::prelude::*;

/// Bit of the flags that marks a read.
const READ_FLAG: u64 = 1;

/// The `disksim` format.
pub static FORMAT: Format = Format {
    name: "disksim",
    help: "DiskSim ASCII: decimal milliseconds, sectors, hexadecimal flags",
    columns: "arrival[decimal ms] devno blkno[512 B] bcount[sectors] flags[hex, bit 0 set is a read], blank \
              separated. The volume is the device.",
    source: "DiskSim 4.0 Reference Manual, Bucy et al., CMU-PDL-08-101",
    extensions: &["trace", "ascii"],
    time_step_ns: 1,
    options: &[],
    detect: None, // five numbers, as in other formats
    read: |_| Lines::boxed(DiskSim),
    write: Some(|_| Box::new(DiskSim)),
};

struct DiskSim;

impl LineFormat for DiskSim {
    fn line(&mut self, line: &[u8], _: &mut Vec<Digest>) -> Result<Option<Request>, BadValue> {
        let mut fields = Fields::blanks(line);
        let time_ns = fields.decimal("arrival", 6)?;
        let volume = fields.u32("devno")?;
        let offset_bytes = fields.bytes("blkno", SECTOR_BYTES)?;
        let length_bytes = fields.bytes("bcount", SECTOR_BYTES)?;
        let flags = fields.text("flags")?;
        let bits = fields::parse_hexadecimal(flags)
            .ok_or_else(|| BadValue::new("flags", flags, "a hexadecimal number"))?;
        fields.end()?;
        let op = if bits & READ_FLAG != 0 { Op::Read } else { Op::Write };
        Ok(Some(Request { time_ns, op, volume, offset_bytes, length_bytes, hint: 0 }))
    }
}

impl Encoder for DiskSim {
    fn encode(&mut self, request: &Request, _: RequestContent<'_>, out: &mut Vec<u8>) -> Result<(), Reason> {
        let flags = read_or_write(request.op, 1, 0)?;
        let (sector, sectors) = in_sectors(request)?;
        let (ms, ns) = (request.time_ns / 1_000_000, request.time_ns % 1_000_000);
        put!(out, "{ms}.{ns:06} {} {sector} {sectors} {flags}\n", request.volume);
        Ok(())
    }
}
