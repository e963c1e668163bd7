//! Binary records written by the kernel's block tracer.

use super::blkparse::ACTION;
use super::prelude::*;
use crate::records::{RecordFormat, Records, u32_at, u64_at};
use crate::volumes::VolumeSet;

/// `0x656174` and the version, 7.
const MAGIC: u32 = 0x6561_7407;

/// Categories, in the upper half of a record's action.
mod category {
    pub const READ: u32 = 1 << 0;
    pub const WRITE: u32 = 1 << 1;
    pub const FLUSH: u32 = 1 << 2;
    pub const QUEUE: u32 = 1 << 4;
    pub const ISSUE: u32 = 1 << 6;
    pub const COMPLETE: u32 = 1 << 7;
    pub const FS: u32 = 1 << 8;
    pub const PASS_THROUGH: u32 = 1 << 9;
    pub const NOTIFY: u32 = 1 << 10;
    pub const DISCARD: u32 = 1 << 13;
    pub const DRIVER_DATA: u32 = 1 << 14;
}

/// Flag in the lower half of the action: the payload begins with a control group.
const CONTROL_GROUP: u32 = 1 << 8;

/// The `blktrace` format.
pub static FORMAT: Format = Format {
    name: "blktrace",
    help: "blktrace binary, per CPU or merged (blkparse -d): one kind of event (option action, default D)",
    columns: "records of 48 bytes, little-endian, and a payload: u32 magic 0x65617407, u32 sequence, u64 time[ns], \
              u64 sector[512 B], u32 bytes, u32 action, u32 pid, u32 device, u32 cpu, u16 error, u16 payload \
              length. Requests without bytes that carry the flush bit flush; pass-through commands, messages and \
              driver data are passed over. The volume is the device, major << 20 | minor. A per-CPU file holds \
              that CPU's part of the trace; blkparse -d merges them.",
    source: "Linux, include/uapi/linux/blktrace_api.h",
    extensions: &["blktrace", "bin"],
    time_step_ns: 1,
    options: &[ACTION],
    detect: Some(|beginning| beginning.len() >= Blktrace::BYTES && u32_at(beginning, 0) == MAGIC),
    read: |settings| Records::boxed(Blktrace::new(settings)),
    write: Some(|settings| Box::new(Blktrace::new(settings))),
};

struct Blktrace {
    /// Action number and category of the events that become requests.
    event: (u32, u32),
    devices: VolumeSet,
    sequence: u32,
}

impl Blktrace {
    fn new(settings: &Settings) -> Self {
        let event = match settings.get("action") {
            "Q" => (1, category::QUEUE),
            "I" => (12, category::QUEUE),
            "D" => (7, category::ISSUE),
            "C" => (8, category::COMPLETE),
            other => unreachable!("the option does not allow {other}"),
        };
        Blktrace { event, devices: VolumeSet::default(), sequence: 0 }
    }
}

fn op(categories: u32, bytes: u32) -> Option<Op> {
    use category::*;
    let has = |category| categories & category != 0;
    match bytes {
        0 => has(FLUSH).then_some(Op::Flush),
        _ if has(DISCARD) => Some(Op::Trim),
        _ if has(WRITE) => Some(Op::Write),
        _ => Some(Op::Read),
    }
}

impl RecordFormat for Blktrace {
    const BYTES: usize = 48;

    fn tail_bytes(&self, record: &[u8]) -> Result<usize, BadValue> {
        if u32_at(record, 0) != MAGIC {
            return Err(BadValue::new("magic", &record[..4], "07 t a e, a little-endian trace of version 7"));
        }
        Ok(usize::from(u16::from_le_bytes([record[46], record[47]])))
    }

    fn record(&mut self, record: &[u8]) -> Result<Option<Request>, BadValue> {
        let (bytes, action, device) = (u32_at(record, 24), u32_at(record, 28), u32_at(record, 36));
        let categories = action >> 16;
        let ignored = category::PASS_THROUGH | category::NOTIFY | category::DRIVER_DATA;
        let is_event = action & 0xffff & !CONTROL_GROUP == self.event.0 && categories & self.event.1 != 0;
        if !is_event || categories & ignored != 0 {
            return Ok(None);
        }
        let Some(op) = op(categories, bytes) else { return Ok(None) };
        self.devices.add(device);
        let (time_ns, sector) = (u64_at(record, 8), u64_at(record, 16));
        let (offset_bytes, length_bytes) = match op {
            Op::Flush => (0, 0),
            _ => (in_bytes(sector)?, u64::from(bytes)),
        };
        Ok(Some(Request { time_ns, op, volume: device, offset_bytes, length_bytes, hint: 0 }))
    }

    fn volume_names(&self) -> Vec<(u32, String)> {
        self.devices.device_names()
    }
}

fn in_bytes(sector: u64) -> Result<u64, BadValue> {
    let bytes = sector.checked_mul(SECTOR_BYTES);
    bytes.ok_or_else(|| BadValue::new("sector", sector.to_string().as_bytes(), "less than 2^55"))
}

impl Encoder for Blktrace {
    fn encode(&mut self, request: &Request, _: RequestContent<'_>, out: &mut Vec<u8>) -> Result<(), Reason> {
        use category::*;
        let (sector, _) = in_sectors(request)?;
        let bytes = u32::try_from(request.length_bytes).map_err(|_| "the format ends at 2^32 - 1 bytes")?;
        let kind = match request.op {
            Op::Read => READ,
            Op::Write => WRITE,
            Op::Trim => WRITE | DISCARD,
            Op::Flush => READ | FLUSH, // as in the kernel: no write bit, no bytes
        };
        let action = (kind | FS | self.event.1) << 16 | self.event.0;
        self.sequence = self.sequence.wrapping_add(1);
        out.extend_from_slice(&MAGIC.to_le_bytes());
        out.extend_from_slice(&self.sequence.to_le_bytes());
        out.extend_from_slice(&request.time_ns.to_le_bytes());
        out.extend_from_slice(&sector.to_le_bytes());
        let (pid, cpu, error_and_payload) = (0, 0, 0);
        for number in [bytes, action, pid, request.volume, cpu, error_and_payload] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(action: &str) -> Blktrace {
        let given = [("action".to_owned(), action.to_owned())];
        Blktrace::new(&FORMAT.settings(&given).unwrap())
    }

    /// Returns a record of `bytes` bytes at sector 16 with the given action.
    fn record(action: u32, bytes: u32) -> Vec<u8> {
        let mut record = vec![0; Blktrace::BYTES];
        record[..4].copy_from_slice(&MAGIC.to_le_bytes());
        record[16] = 16;
        record[24..28].copy_from_slice(&bytes.to_le_bytes());
        record[28..32].copy_from_slice(&action.to_le_bytes());
        record
    }

    #[test]
    fn actions_and_categories_are_distinguished() {
        use category::*;
        let op = |categories: u32, action: u32, bytes| {
            let request = reader("D").record(&record(categories << 16 | action, bytes)).unwrap();
            request.map(|request| request.op)
        };
        assert_eq!(op(ISSUE | FS | WRITE, 7, 4096), Some(Op::Write));
        assert_eq!(op(ISSUE | FS | WRITE, 7 | CONTROL_GROUP, 4096), Some(Op::Write));
        assert_eq!(op(ISSUE | FS | READ, 7, 4096), Some(Op::Read));
        assert_eq!(op(ISSUE | FS | WRITE | DISCARD, 7, 4096), Some(Op::Trim));
        assert_eq!(op(ISSUE | FS | WRITE | FLUSH, 7, 4096), Some(Op::Write));
        assert_eq!(op(ISSUE | FS | READ | FLUSH, 7, 0), Some(Op::Flush));
        assert_eq!(op(ISSUE | FS | READ, 7, 0), None);
        assert_eq!(op(ISSUE | PASS_THROUGH | READ, 7, 36), None);
        assert_eq!(op(COMPLETE | FS | WRITE, 8, 4096), None);
        assert_eq!(op(QUEUE | FS | WRITE, 1, 4096), None);
        assert_eq!(op(NOTIFY, 7, 16), None);
    }

    #[test]
    fn unknown_magic_is_refused() {
        let mut big_endian = record(0, 0);
        big_endian[..4].copy_from_slice(&MAGIC.to_be_bytes());
        assert_eq!(reader("D").tail_bytes(&big_endian).unwrap_err().column, "magic");
    }
}
