//! Tests of timed devices.

use crate::agreement::counts;
use crate::client::Client;
use crate::common::{SMALL, device, page_steps, run_step, scenario};
use std::time::{Duration, Instant};
use wearwell_serve::nbd::{Address, Limits, Server};
use wearwell_serve::{Device, Operation, SharedDevice, Speed};

/// Drive with eight dies; a program takes 20 ms, a read takes 5 ms, and all else takes no time.
const SLOW: &str = "[device]\nchannels = 8\nblocks_per_plane = 32\npages_per_block = 16\nspare_factor = 0.25\npage_size = 4096\nsuperblock_blocks = 8\n\
    [timing]\nread_us = 5000.0\nprogram_us = 20000.0\nerase_us = 1000.0\nchannel_mb_per_s = 1000000.0\n";

fn paced(text: &str) -> SharedDevice {
    SharedDevice::new(Device::in_memory_at(&scenario(text), Speed::Timed).unwrap())
}

#[test]
fn request_takes_as_long_as_its_flash_operations() {
    let device = paced(SLOW);
    let started = Instant::now();
    for page in 0..4 {
        device.with(|device| device.write(page * 4096, &[1; 4096])).unwrap();
    }
    assert!(started.elapsed() >= Duration::from_millis(80), "{:?}", started.elapsed());
    let read = Instant::now();
    device.with(|device| device.read(0, &mut [0; 4096])).unwrap();
    assert!(read.elapsed() >= Duration::from_millis(5));
    // A request without pages takes no time in the drive.
    device.with(|device| device.read(0, &mut [])).unwrap();
    let device = device.take().unwrap();
    let writes = device.status().requests;
    assert_eq!(writes.stats(Operation::Write).count(), 4);
    assert!(writes.stats(Operation::Write).total >= Duration::from_millis(80));
    let result = device.result().unwrap();
    let write = &result.timing.unwrap().requests["write"];
    // In simulated time, each write takes 20 ms plus the short transfer on the channel, because no write waits for
    // another.
    assert!((write.mean_ns / 20e6 - 1.0).abs() < 1e-3, "{}", write.mean_ns);
}

/// Requests of one connection are served concurrently: eight dies program at the same time.
#[test]
fn requests_of_one_connection_are_served_concurrently() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let text = SLOW.replace("program_us = 20000.0", "program_us = 200000.0");
    let server = Server::start(paced(&text), &Address::Unix(path.clone()), Limits::default()).unwrap();
    let mut client = Client::connect(&path);
    client.go();
    let mut write_eight = |attempt: u8| {
        let started = Instant::now();
        for page in 0..8 {
            client.send(0, 1, page * 4096, 4096, &[page as u8; 4096]);
        }
        let mut cookies: Vec<Vec<u8>> = (0..8).map(|_| client.bytes(16)).collect();
        let took = started.elapsed();
        cookies.sort();
        assert!(
            cookies.iter().all(|reply| reply[..8] == [0x67, 0x44, 0x66, 0x98, 0, 0, 0, 0]),
            "{cookies:?}"
        );
        let numbers: Vec<u8> = cookies.iter().map(|reply| reply[15]).collect();
        assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 7, 8].map(|number| 8 * attempt + number));
        assert!(took >= Duration::from_millis(200), "{took:?}");
        took
    };
    // One after the other, the requests would take 1.6 s. On a busy machine, an attempt may take that long as well.
    let is_concurrent = |took: &Duration| *took < Duration::from_millis(1500);
    let mut times = Vec::new();
    while times.len() < 20 && !times.last().is_some_and(is_concurrent) {
        times.push(write_eight(times.len() as u8));
    }
    assert!(times.last().is_some_and(is_concurrent), "{times:?}");
    client.disconnect();
    server.stop();
}

/// Removes the sums in which reads are weighted by their duration, because such sums need a timing model.
fn without_weights(mut counts: serde_json::Value) -> serde_json::Value {
    for layer in counts["layers"].as_array_mut().unwrap() {
        if let Some(ftl) = layer.get_mut("ftl").and_then(serde_json::Value::as_object_mut) {
            for key in ["delta", "delta_source", "write_amplification_with_reads"] {
                ftl.remove(key);
            }
        }
    }
    counts
}

#[test]
fn timed_device_has_counts_of_untimed_device() {
    let times = "[timing]\nread_us = 0.1\nprogram_us = 0.1\nerase_us = 0.1\nchannel_mb_per_s = 1000000.0\nwrite_buffer = \"64 KiB\"\n";
    for text in [SMALL.to_owned(), format!("{SMALL}[ftl]\nstructure = \"dftl\"\n")] {
        let mut quick = device(&text);
        let slow = paced(&format!("{text}\n{times}"));
        for step in &page_steps(quick.bytes(), 2000, 8) {
            let read = run_step(&mut quick, step).unwrap();
            assert_eq!(slow.with(|device| run_step(device, step)).unwrap(), read);
        }
        let (quick, slow) = (quick.result().unwrap(), slow.take().unwrap().result().unwrap());
        assert_eq!((quick.mode.as_str(), slow.mode.as_str()), ("counting", "timed"));
        assert_eq!(without_weights(counts(&quick)), without_weights(counts(&slow)), "{text}");
    }
}

#[test]
fn timed_device_without_timing_names_missing_setting() {
    let refused = Device::in_memory_at(&scenario(SMALL), Speed::Timed).err().unwrap();
    assert!(refused.to_string().contains("timing."), "{refused}");
}
