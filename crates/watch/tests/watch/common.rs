//! Helpers of the tests.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;
use wearwell_serve::sockets::Address;
use wearwell_serve::{Device, SharedDevice};
use wearwell_watch::{Client, ControlServer};

/// Small drive under a log.
pub const STACK: &str = "name = \"a <b>small</b> \\\"drive\\\"\"\n[device]\nblocks_per_plane = 96\npages_per_block = 16\nspare_factor = 0.25\nendurance_cycles = 3000\n\
    [[log]]\nname = \"fs\"\nspare_factor = 0.2\nsegment_blocks = 2\n";

/// Creates the drive of a scenario.
pub fn device(scenario: &str) -> SharedDevice {
    let scenario = toml::from_str(scenario).expect("a scenario");
    SharedDevice::new(Device::in_memory(&scenario).expect("a drive"))
}

/// Writes one page at a random position, `requests` times.
pub fn write(device: &SharedDevice, requests: u64) {
    let pages = device.with(|device| Ok(device.bytes())).expect("it is served") / 4096;
    for at in 0..requests {
        // This is SplitMix64.
        let mixed = (at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let page = (mixed ^ mixed >> 27) % pages;
        device.with(|device| device.write(page * 4096, &[at as u8; 4096])).expect("room");
    }
}

/// Starts a control server at a socket in `folder`, and a client of it.
pub fn start_control(device: &SharedDevice, folder: &Path) -> (ControlServer, Client) {
    let address = Address::Unix(folder.join("control.sock"));
    let control = ControlServer::start(device.clone(), &address).expect("it listens");
    let client = Client::new(control.address().clone()).expect("means to wait");
    (control, client)
}

/// Sends bytes to a control server at a TCP port. Returns the status code and the whole reply.
pub fn send(control: &ControlServer, request: &str) -> (u16, String) {
    let Address::Tcp(address) = control.address() else { panic!("no port") };
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time");
    stream.write_all(request.as_bytes()).expect("it takes requests");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text");
    (answer.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0), answer)
}
