//! Writers of the demonstration: clients that write to the drive over NBD.

use crate::exit::Failure;
use crate::interrupt::interrupted;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use wearwell_base::seed::{Seed, random_below};
use wearwell_serve::nbd::Client;

/// Bytes of a random write.
const RANDOM_WRITE_BYTES: u64 = 4096;
/// Bytes of a sequential write.
const SEQUENTIAL_WRITE_BYTES: u64 = 256 << 10;
/// Number of random writes between two flushes.
const WRITES_PER_FLUSH: u64 = 64;
/// Number of times that random writes overwrite the drive.
const OVERWRITES: u64 = 2;
/// Interval between checks whether a program has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A part of the demonstration.
pub struct DemoPart {
    /// Description of the part.
    pub name: &'static str,
    /// Arguments of the fio job for this part, if fio can run it; the address is appended.
    fio: Option<&'static [&'static str]>,
    built_in: fn(&mut Client, &mut dyn FnMut() -> bool) -> io::Result<()>,
}

/// All parts, in the order in which they run.
pub const PARTS: &[DemoPart] = &[
    DemoPart {
        name: "fill, 256 KiB at a time",
        fio: Some(&["--name=fill", "--rw=write", "--bs=256k", "--size=100%"]),
        built_in: fill,
    },
    DemoPart {
        name: "random overwrites of 4 KiB",
        fio: Some(&[
            "--name=random",
            "--rw=randwrite",
            "--bs=4k",
            "--size=100%",
            "--loops=2",
            "--norandommap",
            "--iodepth=16",
            "--fsync=64",
        ]),
        built_in: overwrite,
    },
    DemoPart { name: "a log and sorted tables", fio: None, built_in: log_and_tables },
];

impl DemoPart {
    /// Runs the part on the drive at `socket`, for at most `max_duration`: with fio if requested and possible,
    /// otherwise with the built-in client. Returns the name of the client.
    pub fn run(
        &self,
        socket: &Path,
        uses_fio: bool,
        max_duration: Duration,
    ) -> Result<&'static str, Failure> {
        if let Some(job) = self.fio.filter(|_| uses_fio) {
            return fio(job, socket, max_duration).map(|()| "fio");
        }
        let end = Instant::now() + max_duration;
        let failed = |error| Failure::run(format!("{}: {error}", self.name));
        let mut client = Client::connect(socket).map_err(failed)?;
        let mut keep_going = || !interrupted() && Instant::now() < end;
        (self.built_in)(&mut client, &mut keep_going).map_err(failed)?;
        if interrupted() { Err(Failure::Interrupted) } else { Ok("a client of our own") }
    }
}

/// True if fio is installed and supports NBD.
pub fn has_fio() -> bool {
    let probe = Command::new("fio").arg("--enghelp=nbd").stdout(Stdio::null()).stderr(Stdio::null()).status();
    probe.is_ok_and(|status| status.success())
}

fn fio(job: &[&str], socket: &Path, max_duration: Duration) -> Result<(), Failure> {
    let mut command = Command::new("fio");
    // fio leaves files in its working directory, so it runs in the folder of the socket.
    command.current_dir(socket.parent().unwrap_or(Path::new(".")));
    command.args(job).arg("--ioengine=nbd").arg(format!("--uri=nbd+unix:///?socket={}", socket.display()));
    command.arg(format!("--runtime={}", max_duration.as_secs().max(1))).arg("--output-format=terse");
    let spawned = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut child = spawned.map_err(|error| Failure::run(format!("fio: {error}")))?;
    loop {
        let ended = child.try_wait().map_err(|error| Failure::run(format!("fio: {error}")))?;
        if ended.is_some() {
            break;
        }
        if interrupted() {
            // The process may have ended by itself in the meantime.
            let _ = child.kill();
            let _ = child.wait();
            return Err(Failure::Interrupted);
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    let done = child.wait_with_output().map_err(|error| Failure::run(format!("fio: {error}")))?;
    if done.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&done.stderr);
    Err(Failure::run(format!(
        "fio ended with {}: {}; `--client own` does without it",
        done.status,
        message.trim()
    )))
}

/// Returns pseudorandom bytes, which do not compress, like real data.
fn bytes(count: u64, seed: u64) -> Vec<u8> {
    let mut bytes = vec![0; count as usize];
    rand_fill(&mut bytes, seed);
    bytes
}

fn rand_fill(bytes: &mut [u8], seed: u64) {
    let mut random = Seed(seed).random();
    for word in bytes.chunks_mut(8) {
        let drawn = random_below(&mut random, u64::MAX).to_le_bytes();
        word.copy_from_slice(&drawn[..word.len()]);
    }
}

fn fill(client: &mut Client, keep_going: &mut dyn FnMut() -> bool) -> io::Result<()> {
    let (size, data) = (client.bytes(), bytes(SEQUENTIAL_WRITE_BYTES, 1));
    let mut at = 0;
    while at < size && keep_going() {
        let length = SEQUENTIAL_WRITE_BYTES.min(size - at);
        client.write(at, &data[..length as usize])?;
        at += length;
    }
    client.flush()
}

fn overwrite(client: &mut Client, keep_going: &mut dyn FnMut() -> bool) -> io::Result<()> {
    let (blocks, mut data) = (client.bytes() / RANDOM_WRITE_BYTES, bytes(RANDOM_WRITE_BYTES, 2));
    let mut random = Seed(3).random();
    for at in 0..OVERWRITES * blocks {
        if !keep_going() {
            break;
        }
        data[..8].copy_from_slice(&at.to_le_bytes());
        client.write(random_below(&mut random, blocks) * RANDOM_WRITE_BYTES, &data)?;
        if at % WRITES_PER_FLUSH == WRITES_PER_FLUSH - 1 {
            client.flush()?;
        }
    }
    client.flush()
}

/// Writes like a key-value store on raw flash. Each batch of records is appended to a log and made durable. When the
/// log is full, its sorted table is written at once. When there are enough tables, all are read, written as one larger
/// run, and discarded. The log has an eighth of the drive, tables have three quarters; the space of merged tables is
/// trimmed.
fn log_and_tables(client: &mut Client, keep_going: &mut dyn FnMut() -> bool) -> io::Result<()> {
    /// Size of a batch of records in bytes.
    const BATCH: u64 = 8 << 10;
    /// Number of tables that are merged together.
    const MERGED_TABLES: u64 = 4;
    let size = client.bytes() / SEQUENTIAL_WRITE_BYTES * SEQUENTIAL_WRITE_BYTES;
    let log = size / 8 / SEQUENTIAL_WRITE_BYTES * SEQUENTIAL_WRITE_BYTES;
    let table = log;
    let (mut data, mut read) = (bytes(SEQUENTIAL_WRITE_BYTES, 4), vec![0; SEQUENTIAL_WRITE_BYTES as usize]);
    let table_slots = (size - log) / table;
    let new_slots = table_slots.min(MERGED_TABLES + 1).saturating_sub(1).max(1);
    let copy = |client: &mut Client, from: Option<u64>, to: u64, data: &mut [u8], read: &mut [u8]| {
        for at in (0..table).step_by(SEQUENTIAL_WRITE_BYTES as usize) {
            if let Some(from) = from {
                client.read(from + at, read)?;
            }
            data[..8].copy_from_slice(&(to + at).to_le_bytes());
            client.write(to + at, data)?;
        }
        client.flush()
    };
    let slot_offset = |number: u64| log + number * table;
    for number in 0..OVERWRITES * size / log {
        for at in (0..log).step_by(BATCH as usize) {
            if !keep_going() {
                return client.flush();
            }
            data[..8].copy_from_slice(&(number * log + at).to_le_bytes());
            client.write(at, &data[..BATCH as usize])?;
            client.flush()?;
        }
        // The log is written as a new table.
        let at = number % new_slots;
        copy(client, None, slot_offset(at), &mut data, &mut read)?;
        client.trim(0, log as u32)?;
        if at == new_slots - 1 {
            for old in 0..new_slots.min(table_slots - new_slots) {
                copy(client, Some(slot_offset(old)), slot_offset(new_slots + old), &mut data, &mut read)?;
            }
            (0..new_slots).try_for_each(|old| client.trim(slot_offset(old), table as u32))?;
        }
    }
    client.flush()
}
