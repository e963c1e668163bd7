//! FIU (SyLab) traces of I/O deduplication: block requests with digests of their content.

use super::prelude::*;
use crate::volumes::{VolumeSet, device_numbers, device_volume};

/// Hexadecimal digits of an MD5.
const DIGEST_DIGITS: usize = 32;

/// The `fiu` format.
pub static FORMAT: Format = Format {
    name: "fiu",
    help: "FIU I/O deduplication (mail, web-vm): ns, sectors, one MD5 per 4096 bytes",
    columns: "timestamp[ns] pid process lba[512 B] size[sectors] W|R major minor md5, blank separated; the process \
              may hold blanks. The volume is major << 20 | minor. Written for pid 0.",
    source: "SNIA IOTTA trace 411, README; Koller and Rangaswami, I/O Deduplication, FAST 2010",
    extensions: &["blkparse"],
    time_step_ns: 1,
    options: &[],
    detect: Some(|beginning| detect(beginning, 4096)),
    read: |_| Lines::boxed(Fiu::new(4096)),
    write: Some(|_| Box::new(Fiu::new(4096))),
};

/// The `fiu-homes` format.
pub static HOMES: Format = Format {
    name: "fiu-homes",
    help: "FIU I/O deduplication (homes): as fiu, but one MD5 per 512 bytes, run together",
    columns: "timestamp[ns] pid process lba[512 B] size[sectors] W|R major minor md5s, blank separated; the process \
              may hold blanks; eight MD5s of 32 digits for 4096 bytes. The volume is major << 20 | minor. Written \
              for pid 0.",
    detect: Some(|beginning| detect(beginning, 512)),
    read: |_| Lines::boxed(Fiu::new(512)),
    write: Some(|_| Box::new(Fiu::new(512))),
    ..FORMAT
};

fn detect(beginning: &[u8], digest_bytes: u32) -> bool {
    let mut format = Fiu::new(digest_bytes);
    // A request of one sector has one digest in both granularities, so such a line decides nothing.
    let request = format.line(first_line(beginning), &mut Vec::new());
    matches!(request, Ok(Some(request)) if request.length_bytes > SECTOR_BYTES)
}

struct Fiu {
    digest_bytes: u32,
    devices: VolumeSet,
}

impl Fiu {
    fn new(digest_bytes: u32) -> Self {
        Fiu { digest_bytes, devices: VolumeSet::default() }
    }

    fn digests(&self, text: &[u8], length_bytes: u64, digests: &mut Vec<Digest>) -> Result<(), BadValue> {
        let expected = length_bytes.div_ceil(u64::from(self.digest_bytes));
        if !text.len().is_multiple_of(DIGEST_DIGITS) || (text.len() / DIGEST_DIGITS) as u64 != expected {
            return Err(BadValue::new(
                "md5",
                text,
                match self.digest_bytes {
                    512 => "32 hexadecimal digits for each 512 bytes",
                    _ => "32 hexadecimal digits for each 4096 bytes",
                },
            ));
        }
        for digits in text.chunks_exact(DIGEST_DIGITS) {
            let digest = parse_digest(digits);
            digests.push(digest.ok_or_else(|| BadValue::new("md5", digits, "hexadecimal digits"))?);
        }
        Ok(())
    }
}

/// Parses a digest of 32 hexadecimal digits.
pub fn parse_digest(digits: &[u8]) -> Option<Digest> {
    let mut digest = Digest::default();
    if digits.len() != DIGEST_DIGITS {
        return None;
    }
    for (byte, pair) in digest.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = fields::hex_digit(pair[0])? << 4 | fields::hex_digit(pair[1])?;
    }
    Some(digest)
}

/// Appends a digest as 32 hexadecimal digits.
pub fn write_digest(digest: &Digest, out: &mut Vec<u8>) {
    digest.iter().for_each(|byte| put!(out, "{byte:02x}"));
}

/// Splits a line around the process name: the text to the left and to the right of it.
fn split_around_process(line: &[u8]) -> Option<(&[u8], &[u8])> {
    const COLUMNS_LEFT: usize = 2;
    const COLUMNS_RIGHT: usize = 6;
    let is_blank = |byte: &u8| byte.is_ascii_whitespace();
    let line = line.trim_ascii();
    let (mut left, mut right) = (0, line.len());
    for _ in 0..COLUMNS_LEFT {
        left += line[left..].iter().position(is_blank)?;
        left += line[left..].iter().position(|byte| !is_blank(byte))?;
    }
    for _ in 0..COLUMNS_RIGHT {
        right = line[..right].trim_ascii_end().iter().rposition(is_blank)?;
    }
    (left < right).then(|| (&line[..left], &line[right..]))
}

impl LineFormat for Fiu {
    fn line(&mut self, line: &[u8], digests: &mut Vec<Digest>) -> Result<Option<Request>, BadValue> {
        let parts = split_around_process(line);
        let (left, right) = parts.ok_or_else(|| BadValue::new("(line)", line, "nine columns"))?;
        let mut fields = Fields::blanks(left);
        let time_ns = fields.u64("timestamp")?;
        fields.u64("pid")?;
        let mut fields = Fields::blanks(right);
        let offset_bytes = fields.bytes("lba", SECTOR_BYTES)?;
        let length_bytes = fields.bytes("size", SECTOR_BYTES)?;
        let op = fields.read_or_write("op")?;
        let (major, minor) = (fields.u32("major")?, fields.u32("minor")?);
        self.digests(fields.text("md5")?, length_bytes, digests)?;
        let volume = device_volume(major, minor)
            .ok_or_else(|| BadValue::new("major", line, "device numbers of at most 12 and 20 bits"))?;
        self.devices.add(volume);
        Ok(Some(Request { time_ns, op, volume, offset_bytes, length_bytes, hint: 0 }))
    }

    fn digest_bytes(&self) -> u32 {
        self.digest_bytes
    }

    fn volume_names(&self) -> Vec<(u32, String)> {
        self.devices.device_names()
    }
}

impl Encoder for Fiu {
    fn encode(
        &mut self,
        request: &Request,
        content: RequestContent<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Reason> {
        let op = read_or_write(request.op, 'R', 'W')?;
        let (sector, sectors) = in_sectors(request)?;
        let expected = request.length_bytes.div_ceil(u64::from(self.digest_bytes));
        if content.digest_bytes != self.digest_bytes || content.digests.len() as u64 != expected {
            return Err(format!("the format wants a digest for each {} bytes", self.digest_bytes).into());
        }
        let (major, minor) = device_numbers(request.volume);
        put!(out, "{} 0 wearwell {sector} {sectors} {op} {major} {minor} ", request.time_ns);
        content.digests.iter().for_each(|digest| write_digest(digest, out));
        out.push(b'\n');
        Ok(())
    }
}
