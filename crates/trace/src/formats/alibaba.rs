//! Alibaba Cloud block traces of 2020.

use super::prelude::*;

/// The `alibaba` format.
pub static FORMAT: Format = Format {
    name: "alibaba",
    help: "Alibaba block traces 2020: CSV without header, bytes, microseconds",
    columns: "device_id,R|W,offset[bytes],length[bytes],timestamp[us since 1970]. The volume is the device.",
    source: "github.com/alibaba/block-traces; Li et al., IISWC 2020",
    extensions: &["csv"],
    time_step_ns: 1000,
    options: &[],
    detect: None, // four numbers and a letter: other formats have the same columns in other units
    read: |_| Lines::boxed(Alibaba),
    write: Some(|_| Box::new(Alibaba)),
};

struct Alibaba;

impl LineFormat for Alibaba {
    fn line(&mut self, line: &[u8], _: &mut Vec<Digest>) -> Result<Option<Request>, BadValue> {
        let mut fields = Fields::commas(line);
        let volume = fields.u32("device_id")?;
        let op = fields.read_or_write("opcode")?;
        let offset_bytes = fields.u64("offset")?;
        let length_bytes = fields.u64("length")?;
        let time_ns = fields.time("timestamp", 1000)?;
        fields.end()?;
        Ok(Some(Request { time_ns, op, volume, offset_bytes, length_bytes, hint: 0 }))
    }
}

impl Encoder for Alibaba {
    fn encode(&mut self, request: &Request, _: RequestContent<'_>, out: &mut Vec<u8>) -> Result<(), Reason> {
        let Request { time_ns, volume, offset_bytes, length_bytes, .. } = request;
        let op = read_or_write(request.op, 'R', 'W')?;
        put!(out, "{volume},{op},{offset_bytes},{length_bytes},{}\n", time_ns / 1000);
        Ok(())
    }
}
