//! fio's I/O logs, versions 2 and 3.

use super::prelude::*;
use crate::volumes::VolumeNames;

/// Waits below this are ignored by fio, us.
const MIN_WAIT_US: u64 = 100;

/// Prefix of volume names: volume n is called `volume<n>` in logs that are written, and recognised in logs that are
/// read.
const VOLUME_PREFIX: &str = "volume";

/// The `fio-iolog-v2` format.
pub static V2: Format = Format {
    name: "fio-iolog-v2",
    help: "fio version 2 iolog: bytes, no timestamps, only waits",
    columns: "file action offset[bytes] length[bytes], or file add|open|close. read, write, trim; sync, datasync and \
              sync_file_range flush; `file wait us 0` lets the clock go on, where waits below 100 us do not count \
              (fio drops them). Files are numbered in the order of their appearance, but a file called volume<n> \
              is volume n if that is free. Written times are those at which the clock of waits stands: up to \
              100 us early, never going back.",
    source: "fio HOWTO, Trace file format v2",
    extensions: &["log", "iolog", "fio"],
    time_step_ns: MIN_WAIT_US * 1000,
    options: &[],
    detect: Some(|beginning| first_line(beginning) == Version::V2.header()),
    read: |_| Lines::boxed(Fio::new(Version::V2)),
    write: Some(|_| Box::new(Fio::new(Version::V2))),
};

/// The `fio-iolog-v3` format.
pub static V3: Format = Format {
    name: "fio-iolog-v3",
    help: "fio version 3 iolog (fio 3.31 and later): microseconds, bytes",
    columns: "timestamp[us from the start] file action [offset[bytes] length[bytes]], with the actions and volumes of \
              version 2 but without wait.",
    source: "fio HOWTO, Trace file format v3; the unit from fio's iolog.c",
    time_step_ns: 1000,
    detect: Some(|beginning| first_line(beginning) == Version::V3.header()),
    read: |_| Lines::boxed(Fio::new(Version::V3)),
    write: Some(|_| Box::new(Fio::new(Version::V3))),
    ..V2
};

#[derive(Clone, Copy, PartialEq)]
enum Version {
    V2,
    V3,
}

impl Version {
    fn header(self) -> &'static [u8] {
        match self {
            Version::V2 => b"fio version 2 iolog",
            Version::V3 => b"fio version 3 iolog",
        }
    }
}

struct Fio {
    version: Version,
    has_header: bool,
    files: VolumeNames,
    /// Sum of the waits so far, us; used for version 2.
    clock_us: u64,
    /// Volumes that have been added and opened in the written log.
    opened_volumes: Vec<u32>,
}

impl Fio {
    fn new(version: Version) -> Self {
        Fio {
            version,
            has_header: false,
            files: VolumeNames::default(),
            clock_us: 0,
            opened_volumes: Vec::new(),
        }
    }

    fn volume(&mut self, file: &[u8]) -> u32 {
        let number = file.strip_prefix(VOLUME_PREFIX.as_bytes()).and_then(fields::parse_u64);
        self.files.number(file, number.and_then(|number| u32::try_from(number).ok()))
    }

    fn wait(&mut self, fields: &mut Fields<'_>) -> Result<(), BadValue> {
        let wait_us = fields.u64("offset")?;
        if wait_us >= MIN_WAIT_US {
            let clock_us = self.clock_us.checked_add(wait_us).filter(|us| us.checked_mul(1000).is_some());
            self.clock_us = clock_us.ok_or_else(|| {
                BadValue::new(
                    "offset",
                    wait_us.to_string().as_bytes(),
                    "waits that add up to less than 2^64 ns",
                )
            })?;
        }
        Ok(())
    }

    /// Appends the beginning of a line.
    fn write_line_start(&self, time_ns: u64, volume: u32, out: &mut Vec<u8>) {
        if self.version == Version::V3 {
            put!(out, "{} ", time_ns / 1000);
        }
        put!(out, "{VOLUME_PREFIX}{volume} ");
    }
}

impl LineFormat for Fio {
    fn line(&mut self, line: &[u8], _: &mut Vec<Digest>) -> Result<Option<Request>, BadValue> {
        if !self.has_header {
            self.has_header = line.trim_ascii() == self.version.header();
            return match (self.has_header, self.version) {
                (true, _) => Ok(None),
                (_, Version::V2) => Err(BadValue::new("(header)", line, "fio version 2 iolog")),
                (_, Version::V3) => Err(BadValue::new("(header)", line, "fio version 3 iolog")),
            };
        }
        let mut fields = Fields::blanks(line);
        let time_ns = match self.version {
            Version::V2 => self.clock_us * 1000,
            Version::V3 => fields.time("timestamp", 1000)?,
        };
        let file = fields.text("file")?;
        let action = fields.text("action")?;
        let op = match action {
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"trim" => Op::Trim,
            b"sync" | b"datasync" | b"sync_file_range" => Op::Flush,
            b"wait" if self.version == Version::V2 => return self.wait(&mut fields).map(|()| None),
            b"add" | b"open" | b"close" => {
                self.volume(file);
                return Ok(None);
            }
            _ => {
                return Err(BadValue::new(
                    "action",
                    action,
                    "read, write, trim, sync, datasync, add, open or close",
                ));
            }
        };
        let (offset_bytes, length_bytes) = match op {
            Op::Flush => (0, 0),
            _ => (fields.u64("offset")?, fields.u64("length")?),
        };
        let volume = self.volume(file);
        Ok(Some(Request { time_ns, op, volume, offset_bytes, length_bytes, hint: 0 }))
    }

    fn volume_names(&self) -> Vec<(u32, String)> {
        self.files.names()
    }
}

impl Encoder for Fio {
    fn begin(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.version.header());
        out.push(b'\n');
    }

    fn encode(&mut self, request: &Request, _: RequestContent<'_>, out: &mut Vec<u8>) -> Result<(), Reason> {
        let Request { time_ns, volume, offset_bytes, length_bytes, .. } = *request;
        if !self.opened_volumes.contains(&volume) {
            self.opened_volumes.push(volume);
            for action in ["add", "open"] {
                self.write_line_start(time_ns, volume, out);
                put!(out, "{action}\n");
            }
        }
        let wait_us = (time_ns / 1000).saturating_sub(self.clock_us);
        if self.version == Version::V2 && wait_us >= MIN_WAIT_US {
            put!(out, "{VOLUME_PREFIX}{volume} wait {wait_us} 0\n");
        }
        if wait_us >= MIN_WAIT_US {
            self.clock_us += wait_us;
        }
        let action = match request.op {
            Op::Read => "read",
            Op::Write => "write",
            Op::Trim => "trim",
            Op::Flush => "sync",
        };
        self.write_line_start(time_ns, volume, out);
        put!(out, "{action} {offset_bytes} {length_bytes}\n");
        Ok(())
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        for &volume in &self.opened_volumes {
            self.write_line_start(self.clock_us * 1000, volume, out);
            put!(out, "close\n");
        }
    }
}
