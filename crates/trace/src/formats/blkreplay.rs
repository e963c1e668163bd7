//! Load files of blkreplay.

use super::prelude::*;

const HEADER: &str = "start ; sector; length ; op ;  replay_delay=0 ; replay_duration=0";

/// `blkreplay`.
pub static FORMAT: Format = Format {
    name: "blkreplay",
    help: "blkreplay load: seconds, sectors, after free text and a line `start ; ...`",
    columns: "start[decimal s] ; sector[512 B] ; length[sectors] ; R|W[A|S|M] ; replay_delay ; replay_duration. Everything \
              before the line that begins with `start ;` is free text. No volumes.",
    source: "github.com/schoebel/blkreplay, documentation",
    extensions: &["load"],
    time_step_ns: 1,
    options: &[],
    detect: Some(|beginning| beginning.split(|&byte| byte == b'\n').any(is_header)),
    read: |_| Lines::boxed(Blkreplay { after_header: false }),
    write: Some(|_| Box::new(Blkreplay { after_header: true })),
};

struct Blkreplay {
    after_header: bool,
}

fn is_header(line: &[u8]) -> bool {
    let mut fields = Fields::separated_by(b';', line);
    fields.next() == Some(b"start") && fields.next() == Some(b"sector")
}

/// The files are made from blktrace's and keep the modifiers of its RWBS column, such as A for read-ahead.
fn op(text: &[u8]) -> Result<Op, Bad> {
    match text {
        [b'R', b'A' | b'S' | b'M', ..] | b"R" => Ok(Op::Read),
        [b'W', b'A' | b'S' | b'M', ..] | b"W" => Ok(Op::Write),
        other => Err(Bad::new("op", other, "R or W, with modifiers A, S or M")),
    }
}

impl LineFormat for Blkreplay {
    fn line(&mut self, line: &[u8], _: &mut Vec<Digest>) -> Result<Option<Request>, Bad> {
        if !self.after_header {
            self.after_header = is_header(line);
            return Ok(None);
        }
        let mut fields = Fields::separated_by(b';', line);
        let time_ns = fields.decimal("start", 9)?;
        let offset_bytes = fields.bytes("sector", SECTOR_BYTES)?;
        let length_bytes = fields.bytes("length", SECTOR_BYTES)?;
        let op = op(fields.text("op")?)?;
        Ok(Some(Request { time_ns, op, volume: 0, offset_bytes, length_bytes, hint: 0 }))
    }

    fn finish(&mut self) -> Result<(), Bad> {
        let missing =
            || Bad::new("(header)", b"", "a line `start ; sector; length ; op ; ...` before the requests");
        if self.after_header { Ok(()) } else { Err(missing()) }
    }
}

impl Encode for Blkreplay {
    fn begin(&mut self, out: &mut Vec<u8>) {
        put!(out, "{HEADER}\n");
    }

    fn request(&mut self, request: &Request, _: Content<'_>, out: &mut Vec<u8>) -> Result<(), Reason> {
        without_volume(request)?;
        let op = read_or_write(request.op, 'R', 'W')?;
        let (sector, sectors) = in_sectors(request)?;
        let (s, ns) = (request.time_ns / 1_000_000_000, request.time_ns % 1_000_000_000);
        put!(out, "{s:7}.{ns:09} ; {sector:12} ; {sectors:4} ; {op} ; 0.0 ; 0.0\n");
        Ok(())
    }
}
