//! Load files of blkreplay.

use super::prelude::*;

const HEADER: &str = "start ; sector; length ; op ;  replay_delay=0 ; replay_duration=0";

/// The `blkreplay` format.
pub static FORMAT: Format = Format {
    name: "blkreplay",
    help: "blkreplay load: seconds, sectors, after free text and a line `start ; ...`",
    columns: "start[decimal s] ; sector[512 B] ; length[sectors] ; R|W[A|S|M] ; replay_delay ; replay_duration. Everything \
              before the line that begins with `start ;` is free text; so is everything from a line of that text that \
              occurs again to the next `start ;`. No volumes.",
    source: "github.com/schoebel/blkreplay, documentation",
    extensions: &["load"],
    time_step_ns: 1,
    options: &[],
    detect: Some(|beginning| beginning.split(|&byte| byte == b'\n').any(is_header)),
    read: |_| Lines::boxed(Blkreplay::default()),
    write: Some(|_| Box::new(Blkreplay::default())),
};

/// Longest text before the requests that is remembered, bytes.
const MAX_HEAD_BYTES: usize = 64 << 10;

#[derive(Default)]
struct Blkreplay {
    is_after_header: bool,
    /// Lines of text before the requests.
    head: Vec<Vec<u8>>,
    head_bytes: usize,
}

fn is_header(line: &[u8]) -> bool {
    let mut fields = Fields::separated_by(b';', line);
    fields.next() == Some(b"start") && fields.next() == Some(b"sector")
}

/// Parses an operation. The files are converted from blktrace files and keep the modifiers of blktrace's RWBS column,
/// such as A for read-ahead.
fn parse_op(text: &[u8]) -> Result<Op, BadValue> {
    match text {
        [b'R', b'A' | b'S' | b'M', ..] | b"R" => Ok(Op::Read),
        [b'W', b'A' | b'S' | b'M', ..] | b"W" => Ok(Op::Write),
        other => Err(BadValue::new("op", other, "R or W, with modifiers A, S or M")),
    }
}

fn parse_request(line: &[u8]) -> Result<Request, BadValue> {
    let mut fields = Fields::separated_by(b';', line);
    let time_ns = fields.decimal("start", 9)?;
    let offset_bytes = fields.bytes("sector", SECTOR_BYTES)?;
    let length_bytes = fields.bytes("length", SECTOR_BYTES)?;
    let op = parse_op(fields.text("op")?)?;
    Ok(Request { time_ns, op, volume: 0, offset_bytes, length_bytes, hint: 0 })
}

impl Blkreplay {
    /// Handles a line before the requests.
    fn read_head(&mut self, line: &[u8]) {
        self.is_after_header = is_header(line);
        if !self.is_after_header && self.head_bytes + line.len() <= MAX_HEAD_BYTES {
            self.head_bytes += line.len();
            self.head.push(line.to_vec());
        }
    }

    /// True if the text of the head begins again at `line`. Some published files contain the head twice, and so do
    /// concatenated loads.
    #[cold]
    fn is_repeated_head(&mut self, line: &[u8]) -> bool {
        if is_header(line) {
            return true;
        }
        let is_head_line = self.head.iter().any(|head_line| head_line == line);
        self.is_after_header = !is_head_line;
        is_head_line
    }
}

impl LineFormat for Blkreplay {
    fn line(&mut self, line: &[u8], _: &mut Vec<Digest>) -> Result<Option<Request>, BadValue> {
        if !self.is_after_header {
            self.read_head(line);
            return Ok(None);
        }
        match parse_request(line) {
            Err(_) if self.is_repeated_head(line) => Ok(None),
            request => request.map(Some),
        }
    }

    fn finish(&mut self) -> Result<(), BadValue> {
        let missing = || {
            BadValue::new("(header)", b"", "a line `start ; sector; length ; op ; ...` before the requests")
        };
        if self.is_after_header { Ok(()) } else { Err(missing()) }
    }
}

impl Encoder for Blkreplay {
    fn begin(&mut self, out: &mut Vec<u8>) {
        put!(out, "{HEADER}\n");
    }

    fn encode(&mut self, request: &Request, _: RequestContent<'_>, out: &mut Vec<u8>) -> Result<(), Reason> {
        require_no_volume(request)?;
        let op = read_or_write(request.op, 'R', 'W')?;
        let (sector, sectors) = in_sectors(request)?;
        let (s, ns) = (request.time_ns / 1_000_000_000, request.time_ns % 1_000_000_000);
        put!(out, "{s:7}.{ns:09} ; {sector:12} ; {sectors:4} ; {op} ; 0.0 ; 0.0\n");
        Ok(())
    }
}
