//! Throughput of the transports, each compared with a minimal counterpart in alternating rounds. One client sends
//! random 4 KiB requests.
//!
//! ```sh
//! cargo bench -p wearwell-serve --bench transports             # three rounds of two seconds
//! cargo bench -p wearwell-serve --bench transports -- 5 7      # five rounds of seven seconds
//! cargo bench -p wearwell-serve --bench transports -- nbd      # a part: memory, drive, nbd, guest or file
//! ```
//!
//! The second number of each measurement is the server's processor time per request in us, which other programs on
//! the machine affect less. The minimal clients run in the server's process, so this number includes their processor
//! time.
//!
//! The benchmark needs Linux, fio, nbdkit, `/dev/fuse` and a loop device (root). If one of these is missing, it
//! prints that and skips the parts that need it. The drive has 1 GiB, and is written once before the measurements.

mod clients;
#[path = "../../tests/serve/guest.rs"]
#[allow(dead_code, reason = "only the tests use all of it")]
mod guest;
mod memory_file;

use clients::{Job, fio, guest_iops, in_process_iops, nbd_iops};
use memory_file::MemoryFile;
use std::path::Path;
use std::process::Command;
use wearwell_serve::transport::Transport;
use wearwell_serve::{Device, SharedDevice, TRANSPORTS};

const DRIVE: &str = "[device]\ncapacity = \"1 GiB\"\nspare_factor = 0.1\npages_per_block = 256\n";
const LARGE: &str = "[device]\ncapacity = \"256 GiB\"\nspare_factor = 0.07\npages_per_block = 256\n";
/// Bytes of the device that are read and written.
pub const BYTES: u64 = 900 << 20;

/// Function that runs a job and returns the requests per second.
type Measurement<'a> = Box<dyn Fn(&Job) -> Option<f64> + 'a>;
/// Name, server process and function of a measurement.
type Runner<'a> = (&'a str, u32, Measurement<'a>);
/// Function that measures one part of the benchmark, with a number of rounds and of seconds per round.
type Part = fn(&SharedDevice, u32, u32);

fn main() {
    let numbers: Vec<u32> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let (rounds, seconds) = (numbers.first().copied().unwrap_or(3), numbers.get(1).copied().unwrap_or(2));
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|argument| argument.starts_with(char::is_alphabetic)).collect();
    let is_wanted = |part: &str| wanted.is_empty() || wanted.iter().any(|wanted| wanted == part);
    if is_wanted("memory") {
        memory();
    }
    let device = SharedDevice::new(drive(DRIVE));
    fill(&device);
    println!(
        "{:32} {:>27} {:>9} {:>6} {:>23} {:>9} {:>6} {:>6}",
        "4 KiB", "", "1/s", "us", "", "1/s", "us", "ratio"
    );
    let parts: [(&str, Part); 4] =
        [("drive", without_transport), ("nbd", nbd), ("guest", guests), ("file", files)];
    for (_, part) in parts.iter().filter(|(name, _)| is_wanted(name)) {
        part(&device, rounds, seconds);
    }
}

/// Opens a transport of the given kind at an address.
fn open(device: &SharedDevice, kind: &str, address: &str) -> std::io::Result<Box<dyn Transport>> {
    let kind = TRANSPORTS.iter().find(|of| of.name == kind).expect("there is such a transport");
    (kind.parse)(address).map_err(std::io::Error::other).and_then(|endpoint| endpoint.open(device))
}

/// Opens a transport at a socket in `folder`, named after its kind.
fn open_at_socket(device: &SharedDevice, kind: &str, folder: &Path) -> Box<dyn Transport> {
    open(device, kind, &format!("unix:{}", folder.join(kind).display())).unwrap()
}

/// Measures the device without a transport.
fn without_transport(device: &SharedDevice, rounds: u32, seconds: u32) {
    let work = Box::new(|job: &Job| Some(in_process_iops(device, job)));
    measure_alone(&("the drive, by no transport", std::process::id(), work), rounds, seconds);
}

/// Compares NBD with nbdkit.
fn nbd(device: &SharedDevice, rounds: u32, seconds: u32) {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("nbdkit");
    let Some(plain) = nbdkit(&socket) else { return };
    let by_uri = |uri: String| -> Measurement<'static> {
        Box::new(move |job| fio(&["--ioengine=nbd", &format!("--uri={uri}")], job))
    };
    for (name, options) in [("NBD", ""), ("NBD that polls", ",poll")] {
        let address = format!("unix:{}{options}", folder.path().join("nbd").display());
        let transport = open(device, "nbd", &address).unwrap();
        let theirs = by_uri(format!("nbd+unix:///?socket={}", socket.display()));
        let ours = (name, std::process::id(), by_uri(transport.address()));
        compare(("nbdkit memory", plain.0.id(), theirs), ours, rounds, seconds);
    }
}

/// Compares a guest with an NBD client.
fn guests(device: &SharedDevice, rounds: u32, seconds: u32) {
    let folder = tempfile::tempdir().unwrap();
    let transports = ["nbd", "vhost-user"].map(|kind| open_at_socket(device, kind, folder.path()));
    let here = std::process::id();
    let client = Box::new(|job: &Job| Some(nbd_iops(&folder.path().join("nbd"), job)));
    let guest = Box::new(|job: &Job| Some(guest_iops(&folder.path().join("vhost-user"), job)));
    compare(("NBD, own client", here, client), ("vhost-user, own guest", here, guest), rounds, seconds);
    drop(transports);
}

fn drive(text: &str) -> Device {
    Device::in_memory(&toml::from_str(text).unwrap()).unwrap()
}

/// Writes the whole device once, with a different content in each page.
fn fill(device: &SharedDevice) {
    let mut data = vec![0; 1 << 20];
    for at in 0..BYTES >> 20 {
        data.chunks_mut(8)
            .zip(at << 20..)
            .for_each(|(word, number)| word.copy_from_slice(&number.to_le_bytes()));
        device.with(|device| device.write(at << 20, &data)).unwrap();
    }
}

/// Compares files under loop devices: the FUSE file of the device, and a FUSE file in memory.
fn files(device: &SharedDevice, rounds: u32, seconds: u32) {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let transport = open(device, "fuse", folders[0].path().to_str().unwrap());
    let memory = MemoryFile::mount(BYTES, folders[1].path());
    let (Ok(transport), Ok(memory)) = (transport, memory) else {
        return println!("NOT RUN: files cannot be mounted here");
    };
    {
        let (ours, plain) = (
            LoopDevice::on(Path::new(&transport.address())),
            LoopDevice::on(&folders[1].path().join("disk")),
        );
        let (Some(ours), Some(plain)) = (ours, plain) else {
            return println!("NOT RUN: loop devices need root");
        };
        let on = |of: &LoopDevice| -> Measurement<'static> {
            let file = format!("--filename={}", of.0);
            Box::new(move |job| fio(&["--ioengine=libaio", "--direct=1", &file], job))
        };
        let here = std::process::id();
        let theirs = ("file of memory, on a loop", here, on(&plain));
        compare(theirs, ("file, on a loop", here, on(&ours)), rounds, seconds);
    }
    drop(memory);
    transport.close().unwrap();
}

/// Loop device, detached when dropped.
struct LoopDevice(String);

impl LoopDevice {
    fn on(file: &Path) -> Option<LoopDevice> {
        let options = ["-f", "--show", "-b", "4096", "--direct-io=on"];
        let ended = Command::new("losetup").args(options).arg(file).output().ok()?;
        ended.status.success().then(|| LoopDevice(String::from_utf8_lossy(&ended.stdout).trim().to_owned()))
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.0]).status();
    }
}

/// Process that is killed when this is dropped.
struct KillOnDrop(std::process::Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts nbdkit with its memory plugin at a socket.
fn nbdkit(socket: &Path) -> Option<KillOnDrop> {
    let started = Command::new("nbdkit").args(["-f", "-U"]).arg(socket).args(["memory", "1G"]).spawn();
    let Ok(child) = started else {
        println!("NOT RUN: there is no nbdkit");
        return None;
    };
    while !socket.exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    Some(KillOnDrop(child))
}

/// Runs one measurement with one request at a time, and prints its medians.
fn measure_alone(runner: &Runner<'_>, rounds: u32, seconds: u32) {
    for writes in [true, false] {
        let job = Job { writes, depth: 1, seconds };
        let figures: Vec<[f64; 2]> = (0..rounds).filter_map(|_| measure(runner, &job)).collect();
        let [rate, time_us] =
            [0, 1].map(|which| median(figures.iter().map(|figures| figures[which]).collect()));
        println!("{:32} {:>27} {rate:9.0} {time_us:6.1}", name(&job), runner.0);
    }
}

fn name(job: &Job) -> String {
    format!("{}, {} at once", if job.writes { "random writes" } else { "random reads" }, job.depth)
}

/// Runs two measurements in alternating rounds, and prints their medians and ratios.
fn compare(baseline: Runner<'_>, transport: Runner<'_>, rounds: u32, seconds: u32) {
    for (writes, depth) in [(true, 1), (true, 32), (false, 1), (false, 32)] {
        let job = Job { writes, depth, seconds };
        let (mut theirs, mut mine) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let (Some(a), Some(b)) = (measure(&baseline, &job), measure(&transport, &job)) else {
                return println!("NOT RUN: {} and {} could not do their job", baseline.0, transport.0);
            };
            theirs.push(a);
            mine.push(b);
        }
        let [theirs, mine] = [theirs, mine].map(|of: Vec<[f64; 2]>| {
            [0, 1].map(|which| median(of.iter().map(|figures| figures[which]).collect()))
        });
        println!(
            "{:32} {:>27} {:9.0} {:6.1} {:>23} {:9.0} {:6.1} {:6.2}",
            name(&job),
            baseline.0,
            theirs[0],
            theirs[1],
            transport.0,
            mine[0],
            mine[1],
            mine[0] / theirs[0]
        );
    }
}

/// Returns the requests per second, and the server's processor time per request in us.
fn measure((_, server, work): &Runner<'_>, job: &Job) -> Option<[f64; 2]> {
    let before = processor_seconds(*server)?;
    let rate = work(job)?;
    let seconds = processor_seconds(*server)? - before;
    Some([rate, seconds * 1e6 / (rate * f64::from(job.seconds))])
}

/// Returns the processor time of a process in seconds from `/proc/PID/stat` (proc(5)), which counts in hundredths.
fn processor_seconds(process: u32) -> Option<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The process name, in parentheses, may contain spaces.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok());
    Some((ticks(11)? + ticks(12)?) / 100.0)
}

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

/// Prints the memory that a drive of 256 GiB takes for its tables, and for written data.
fn memory() {
    let resident = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) / 1024
    };
    let before = resident();
    let mut device = drive(LARGE);
    let bytes = device.bytes();
    let new = resident();
    // The benchmark writes a gigabyte, spread over the whole drive.
    let pages = 1 << 18;
    for at in 0..pages {
        device.write(at * (bytes / pages) / 4096 * 4096, &[at as u8; 4096]).unwrap();
    }
    let written = resident();
    println!(
        "a drive of {} GiB: {} MiB of memory when it is new, {} MiB more with 1 GiB written all over it\n",
        bytes >> 30,
        new - before,
        written - new
    );
}
