//! Benchmark clients: fio, and two minimal clients that differ only in the transport.

use crate::BYTES;
use crate::guest::{EVENT_IDX, FEATURES, Guest, IN, OUT};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use wearwell_serve::SharedDevice;

/// Load during one measurement.
pub struct Job {
    pub writes: bool,
    /// Number of requests in progress.
    pub depth: u16,
    pub seconds: u32,
}

/// Returns the requests per second of a caller in the same process, which has one request in progress.
pub fn in_process_iops(device: &SharedDevice, job: &Job) -> f64 {
    let (mut pages, mut data) = (Pages(1), vec![7; 4096]);
    let (started, mut done) = (Instant::now(), 0u64);
    let time = Duration::from_secs(job.seconds.into());
    while started.elapsed() < time {
        let offset = pages.next() * 4096;
        device
            .with(|device| match job.writes {
                true => device.write(offset, &data),
                false => device.read(offset, &mut data),
            })
            .unwrap();
        done += 1;
    }
    done as f64 / started.elapsed().as_secs_f64()
}

/// Returns the requests per second that fio measures; `None` if fio is missing or failed.
pub fn fio(target: &[&str], job: &Job) -> Option<f64> {
    let folder = tempfile::tempdir().ok()?;
    let output = folder.path().join("result");
    let ended = Command::new("fio")
        .current_dir(folder.path())
        .args([
            "--name=a",
            "--bs=4k",
            "--time_based",
            "--norandommap",
            "--randrepeat=1",
            "--output-format=json",
        ])
        .args(target)
        .arg(format!("--output={}", output.display()))
        .arg(format!("--rw={}", if job.writes { "randwrite" } else { "randread" }))
        .arg(format!("--iodepth={}", job.depth))
        .arg(format!("--runtime={}", job.seconds))
        .arg(format!("--size={BYTES}"))
        .output();
    if !ended.ok()?.status.success() {
        return None;
    }
    let result: serde_json::Value = serde_json::from_slice(&std::fs::read(output).ok()?).ok()?;
    result["jobs"][0][if job.writes { "write" } else { "read" }]["iops"].as_f64()
}

/// Pseudo-random sequence of pages: a linear congruential generator with full period (Knuth, TAOCP 2, 3.2.1.2), reduced to the
/// size of the device.
struct Pages(u64);

impl Pages {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % (BYTES / 4096)
    }
}

/// Returns the requests per second of an NBD client with `job.depth` requests in progress.
pub fn nbd_iops(socket: &Path, job: &Job) -> f64 {
    let mut stream = UnixStream::connect(socket).unwrap();
    let mut greeting = [0; 18];
    stream.read_exact(&mut greeting).unwrap();
    // The client sends the flag NO_ZEROES, and selects the default export by NBD_OPT_EXPORT_NAME.
    stream.write_all(&3u32.to_be_bytes()).unwrap();
    stream.write_all(&[&b"IHAVEOPT"[..], &1u32.to_be_bytes(), &0u32.to_be_bytes()].concat()).unwrap();
    stream.read_exact(&mut [0; 10]).unwrap();
    let mut pages = Pages(1);
    let request = |pages: &mut Pages, to: &mut Vec<u8>| {
        to.extend(0x2560_9513_u32.to_be_bytes());
        to.extend([0, 0, 0, u8::from(job.writes)]);
        to.extend([0; 8]);
        to.extend((pages.next() * 4096).to_be_bytes());
        to.extend(4096u32.to_be_bytes());
        to.resize(to.len() + if job.writes { 4096 } else { 0 }, 7);
    };
    let reply_bytes = if job.writes { 16 } else { 16 + 4096 };
    let mut requests = Vec::new();
    (0..job.depth).for_each(|_| request(&mut pages, &mut requests));
    let mut replies = vec![0; reply_bytes * usize::from(job.depth)];
    let (started, mut done, mut partial) = (Instant::now(), 0u64, 0);
    let time = Duration::from_secs(job.seconds.into());
    while started.elapsed() < time {
        stream.write_all(&requests).unwrap();
        requests.clear();
        // For every reply that has arrived, a new request is submitted.
        let read = loop {
            partial += stream.read(&mut replies[partial..]).unwrap();
            if partial >= reply_bytes {
                break partial / reply_bytes;
            }
        };
        replies.copy_within(read * reply_bytes..partial, 0);
        partial -= read * reply_bytes;
        (0..read).for_each(|_| request(&mut pages, &mut requests));
        done += read as u64;
    }
    done as f64 / started.elapsed().as_secs_f64()
}

/// Returns the requests per second of a guest with `job.depth` requests in progress.
pub fn guest_iops(socket: &Path, job: &Job) -> f64 {
    let mut guest = Guest::connect(socket, FEATURES | EVENT_IDX);
    let mut pages = Pages(1);
    let (data, mut read) = (vec![7; 4096], vec![0; 4096]);
    let submit = |guest: &mut Guest, slot: u16, pages: &mut Pages| {
        let kind = if job.writes { OUT } else { IN };
        if job.writes {
            guest.put(Guest::data(slot), &data);
        }
        guest.submit(slot, (kind, pages.next() * 8), 4096, !job.writes);
    };
    (0..job.depth).for_each(|slot| submit(&mut guest, slot, &mut pages));
    let (started, mut done) = (Instant::now(), 0u64);
    let time = Duration::from_secs(job.seconds.into());
    while started.elapsed() < time {
        guest.kick();
        for (head, _) in guest.wait() {
            let slot = (head / 3) as u16;
            assert_eq!(guest.status(slot), 0);
            if !job.writes {
                guest.get_into(Guest::data(slot), &mut read);
            }
            done += 1;
            submit(&mut guest, slot, &mut pages);
        }
    }
    done as f64 / started.elapsed().as_secs_f64()
}
