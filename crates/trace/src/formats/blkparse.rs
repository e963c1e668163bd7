//! The default text output of blkparse.

use super::prelude::*;
use crate::volumes::{VolumeSet, device_numbers, device_volume};

/// Event that counts as the request; other events are skipped.
pub const ACTION: OptionSpec = OptionSpec {
    name: "action",
    help: "the event that counts as a request: Q queued, I inserted, D issued to the driver, C completed",
    choices: &["Q", "I", "D", "C"],
    text: None,
    default: Some("D"),
};

/// The `blkparse` format.
pub static FORMAT: Format = Format {
    name: "blkparse",
    help: "blkparse text: seconds, sectors, one kind of event (option action, default D)",
    columns: "major,minor cpu sequence time[decimal s] pid action RWBS sector[512 B] + sectors [process]. In RWBS, \
              W writes, R reads, D discards (not to be confused with action D); FN, FF and F without sectors \
              flush; a leading F before data and all modifiers are passed over, as are N, SCSI commands, and the \
              summary at the end. The volume is major << 20 | minor. Not always sorted by time.",
    source: "blktrace package, blkparse(1) and blkparse_fmt.c",
    extensions: &["blkparse", "txt"],
    time_step_ns: 1,
    options: &[ACTION],
    detect: Some(|beginning| {
        let mut lines = beginning.split(|&byte| byte == b'\n').filter(|line| !is_preamble(line));
        lines.next().is_some_and(|line| parse_event(line).is_ok())
    }),
    read: |settings| Lines::boxed(Blkparse::new(settings)),
    write: Some(|settings| Box::new(Blkparse::new(settings))),
};

struct Blkparse {
    action: u8,
    is_in_summary: bool,
    devices: VolumeSet,
    sequence: u64,
}

impl Blkparse {
    fn new(settings: &Settings) -> Self {
        let action = settings.get("action").as_bytes()[0];
        Blkparse { action, is_in_summary: false, devices: VolumeSet::default(), sequence: 0 }
    }
}

/// Columns of every event, and the remaining columns.
struct Event<'a> {
    volume: u32,
    time_ns: u64,
    action: &'a [u8],
    rwbs: &'a [u8],
    rest: Fields<'a>,
}

fn parse_event(line: &[u8]) -> Result<Event<'_>, BadValue> {
    let mut fields = Fields::blanks(line);
    let device = fields.text("major,minor")?;
    let mut numbers = Fields::commas(device);
    let (major, minor) = (numbers.u32("major,minor")?, numbers.u32("major,minor")?);
    let volume = device_volume(major, minor)
        .ok_or_else(|| BadValue::new("major,minor", device, "device numbers of at most 12 and 20 bits"))?;
    fields.u32("cpu")?;
    fields.u64("sequence")?;
    let time_ns = fields.decimal("time", 9)?;
    fields.u64("pid")?;
    let action = fields.text("action")?;
    if !action.iter().all(u8::is_ascii_alphabetic) {
        return Err(BadValue::new("action", action, "one or two letters"));
    }
    // Unplug events have no RWBS but a process name, and messages have text: both are ignored.
    let rwbs = fields.next().unwrap_or_default();
    Ok(Event { volume, time_ns, action, rwbs, rest: fields })
}

/// True for lines that blkparse may print before the first event.
fn is_preamble(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    line.is_empty() || line.starts_with(b"===") || line.starts_with(b"Input file ")
}

/// True if the summary begins here; no events follow it.
fn is_summary(line: &[u8]) -> bool {
    let after_cpu = line.strip_prefix(b"CPU").and_then(|rest| rest.first());
    after_cpu.is_some_and(u8::is_ascii_digit) || line.starts_with(b"Total (")
}

/// Returns the operation of an RWBS column; `Ok(None)` if the event moves no data and makes nothing durable.
fn op_of_rwbs(rwbs: &[u8], has_sectors: bool) -> Result<Option<Op>, BadValue> {
    let (preflush, kind) = match rwbs {
        [b'F', kind @ ..] => (true, kind.first()),
        kind => (false, kind.first()),
    };
    let op = match kind {
        Some(b'W') => Some(Op::Write),
        Some(b'R') => Some(Op::Read),
        Some(b'D') => Some(Op::Trim),
        Some(b'N') => None,
        Some(b'F' | b'S' | b'A' | b'M') | None if preflush => None,
        _ => {
            return Err(BadValue::new(
                "RWBS",
                rwbs,
                "letters of which the first, after an optional F, is R, W, D or N",
            ));
        }
    };
    Ok(match op {
        Some(op) if has_sectors => Some(op),
        _ if preflush && !has_sectors => Some(Op::Flush),
        _ => None,
    })
}

/// Returns first sector and number of sectors, in bytes, if the columns after RWBS are `sector + sectors`.
fn parse_extent(fields: &mut Fields<'_>) -> Result<Option<(u64, u64)>, BadValue> {
    let Some(sector) = fields.next() else { return Ok(None) };
    if fields.next() != Some(b"+") {
        return Ok(None);
    }
    let offset = fields::parse_u64(sector).and_then(|sector| sector.checked_mul(SECTOR_BYTES));
    let offset = offset
        .ok_or_else(|| BadValue::new("sector", sector, "a whole number that stays below 2^64 in bytes"))?;
    Ok(Some((offset, fields.bytes("sectors", SECTOR_BYTES)?)))
}

impl LineFormat for Blkparse {
    fn line(&mut self, line: &[u8], _: &mut Vec<Digest>) -> Result<Option<Request>, BadValue> {
        self.is_in_summary |= is_summary(line);
        if self.is_in_summary || is_preamble(line) {
            return Ok(None);
        }
        let mut event = parse_event(line)?;
        if event.action != [self.action] {
            return Ok(None);
        }
        let extent = parse_extent(&mut event.rest)?.filter(|&(_, length)| length > 0);
        let Some(op) = op_of_rwbs(event.rwbs, extent.is_some())? else { return Ok(None) };
        self.devices.add(event.volume);
        let (offset_bytes, length_bytes) = extent.unwrap_or_default();
        let Event { time_ns, volume, .. } = event;
        Ok(Some(Request { time_ns, op, volume, offset_bytes, length_bytes, hint: 0 }))
    }

    fn volume_names(&self) -> Vec<(u32, String)> {
        self.devices.device_names()
    }
}

impl Encoder for Blkparse {
    fn encode(&mut self, request: &Request, _: RequestContent<'_>, out: &mut Vec<u8>) -> Result<(), Reason> {
        let (major, minor) = device_numbers(request.volume);
        let (s, ns) = (request.time_ns / 1_000_000_000, request.time_ns % 1_000_000_000);
        let action = char::from(self.action);
        let (sector, sectors) = in_sectors(request)?;
        self.sequence += 1;
        put!(out, "{major:3},{minor:<3} 0 {:8} {s:5}.{ns:09}     0  {action} ", self.sequence);
        let rwbs = match request.op {
            Op::Read => "R",
            Op::Write => "W",
            Op::Trim => "D",
            Op::Flush => "FN",
        };
        let process = if self.action == b'C' { "0" } else { "wearwell" };
        match request.op {
            Op::Flush => put!(out, "{rwbs:>3} [{process}]\n"),
            _ => put!(out, "{rwbs:>3} {sector} + {sectors} [{process}]\n"),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(action: &str, line: &str) -> Result<Option<(Op, u64, u64)>, BadValue> {
        let given = [("action".to_owned(), action.to_owned())];
        let mut format = Blkparse::new(&FORMAT.settings(&given).unwrap());
        let request = format.line(line.as_bytes(), &mut Vec::new())?;
        Ok(request.map(|request| (request.op, request.offset_bytes, request.length_bytes)))
    }

    fn read_issued(rwbs_and_rest: &str) -> Option<(Op, u64, u64)> {
        read("D", &format!("  8,16   3        5     0.000026421  3645  D {rwbs_and_rest}")).unwrap()
    }

    #[test]
    fn rwbs_letters_map_to_operations() {
        assert_eq!(read_issued("  R 16 + 8 [java]"), Some((Op::Read, 8192, 4096)));
        assert_eq!(read_issued(" RA 16 + 8 [java]"), Some((Op::Read, 8192, 4096)));
        assert_eq!(read_issued("WSM 16 + 8 [a b]"), Some((Op::Write, 8192, 4096)));
        assert_eq!(read_issued("  D 16 + 8 [fstrim]"), Some((Op::Trim, 8192, 4096)));
        assert_eq!(read_issued("DE 16 + 8 [blkdiscard]"), Some((Op::Trim, 8192, 4096)));
        assert_eq!(read_issued("FWFS 16 + 8 [jbd2]"), Some((Op::Write, 8192, 4096)));
        for flush in ["FN [kworker]", "FF [kworker]", "F [kworker]", "FWS [jbd2]", "FWS 0 + 0 [jbd2]"] {
            assert_eq!(read_issued(flush), Some((Op::Flush, 0, 0)), "{flush}");
        }
        for event in ["N 0 + 0 [x]", "N [x]", "N 16 + 8 [x]", "R 36 (12 01 00 00 24 00 ..) [udevd]"] {
            assert_eq!(read_issued(event), None, "{event}");
        }
    }

    #[test]
    fn only_events_of_the_configured_action_are_read() {
        let line = "  8,16   3        7     0.001795683  3557  C   R 4938888 + 256 [0]";
        assert_eq!(read("D", line), Ok(None));
        assert_eq!(read("C", line), Ok(Some((Op::Read, 4_938_888 * 512, 131_072))));
        assert_eq!(read("Q", "  8,0 1 9 0.1 42 m   N cfq workload slice:300"), Ok(None));
        assert_eq!(read("Q", "  8,0 1 9 0.1 42 UT  N [kworker/1:1] 1"), Ok(None));
    }

    #[test]
    fn malformed_lines_are_refused_with_their_column() {
        let bad = |line| read("D", line).unwrap_err().column;
        assert_eq!(bad("hello"), "major,minor");
        assert_eq!(bad("9999,0 0 1 0.1 5 D R 1 + 1 [x]"), "major,minor");
        assert_eq!(bad("8,0 0 1 1e3 5 D R 1 + 1 [x]"), "time");
        assert_eq!(bad("8,0 0 1 0.1 5 D ZA 1 + 1 [x]"), "RWBS");
        assert_eq!(bad("8,0 0 1 0.1 5 D R 99999999999999999999 + 1 [x]"), "sector");
    }
}
