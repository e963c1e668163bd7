//! SYSTOR '17 traces of enterprise storage (LUNs of a virtual desktop infrastructure).

use super::prelude::*;

const HEADER: &[u8] = b"Timestamp,Response,IOType,LUN,Offset,Size";

/// The `systor17` format.
pub static FORMAT: Format = Format {
    name: "systor17",
    help: "SYSTOR '17 virtual desktops: CSV with header, decimal seconds, bytes",
    columns: "Timestamp[decimal s since 1970],Response[decimal s],R|W,LUN,Offset[bytes],Size[bytes]. The volume \
              is the LUN. Not sorted by time. Written with a response time of 0.",
    source: "SNIA IOTTA, SYSTOR '17; Lee et al., Understanding Storage Traffic Characteristics, SYSTOR 2017",
    extensions: &["csv"],
    time_step_ns: 1,
    options: &[],
    detect: Some(|beginning| first_line(beginning) == HEADER),
    read: |_| Lines::boxed(Systor17),
    write: Some(|_| Box::new(Systor17)),
};

struct Systor17;

impl LineFormat for Systor17 {
    fn line(&mut self, line: &[u8], _: &mut Vec<Digest>) -> Result<Option<Request>, BadValue> {
        // Concatenated files have the header in several places, and cut files may lack the header.
        if line == HEADER {
            return Ok(None);
        }
        let mut fields = Fields::commas(line);
        let time_ns = fields.decimal("Timestamp", 9)?;
        fields.skip("Response")?;
        let op = fields.read_or_write("IOType")?;
        let volume = fields.u32("LUN")?;
        let offset_bytes = fields.u64("Offset")?;
        let length_bytes = fields.u64("Size")?;
        fields.end()?;
        Ok(Some(Request { time_ns, op, volume, offset_bytes, length_bytes, hint: 0 }))
    }
}

impl Encoder for Systor17 {
    fn begin(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(HEADER);
        out.push(b'\n');
    }

    fn encode(&mut self, request: &Request, _: RequestContent<'_>, out: &mut Vec<u8>) -> Result<(), Reason> {
        let Request { time_ns, volume, offset_bytes, length_bytes, .. } = request;
        let op = read_or_write(request.op, 'R', 'W')?;
        let (s, ns) = (time_ns / 1_000_000_000, time_ns % 1_000_000_000);
        put!(out, "{s}.{ns:09},0.000000000,{op},{volume},{offset_bytes},{length_bytes}\n");
        Ok(())
    }
}
