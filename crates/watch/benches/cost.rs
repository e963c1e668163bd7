//! Cost of monitoring a drive: requests per second without a control server, with an idle control server, and with a
//! control server that is queried ten times per second, in alternating rounds. Run with `cargo bench -p
//! wearwell-watch`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use wearwell_serve::sockets::Address;
use wearwell_serve::{Device, SharedDevice};
use wearwell_watch::{Client, ControlServer};

const DRIVE: &str = "[device]\ncapacity = \"1 GiB\"\nspare_factor = 0.1\npages_per_block = 64\n";
/// Number of rounds of each case.
const ROUNDS: usize = 7;
/// Duration of a round.
const ROUND_TIME: Duration = Duration::from_secs(2);
/// Number of requests between two checks of the clock.
const REQUESTS: u64 = 256;

#[derive(Clone, Copy)]
enum Monitoring {
    None,
    Idle,
    Queried,
}

/// Writes 4 KiB at random positions for one round. Returns the requests per second.
fn measure_round(device: &SharedDevice, position: &mut u64) -> f64 {
    let pages = device.with(|device| Ok(device.bytes())).expect("it is served") / 4096;
    let (started, mut requests) = (Instant::now(), 0);
    while started.elapsed() < ROUND_TIME {
        for _ in 0..REQUESTS {
            *position ^= *position << 13;
            *position ^= *position >> 7;
            *position ^= *position << 17;
            let offset = *position % pages * 4096;
            device.with(|device| device.write(offset, &[*position as u8; 4096])).expect("room");
        }
        requests += REQUESTS;
    }
    requests as f64 / started.elapsed().as_secs_f64()
}

fn request_rate(device: &SharedDevice, how: Monitoring, drawn: &mut u64) -> f64 {
    let folder = tempfile::tempdir().expect("a folder");
    let control = match how {
        Monitoring::None => return measure_round(device, drawn),
        Monitoring::Idle | Monitoring::Queried => {
            let address = Address::Unix(folder.path().join("control.sock"));
            ControlServer::start(device.clone(), &address).expect("it listens")
        }
    };
    let is_over = AtomicBool::new(matches!(how, Monitoring::Idle));
    let client = Client::new(control.address().clone()).expect("means to wait");
    std::thread::scope(|scope| {
        let asks = scope.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                client.get("/metrics").expect("an answer");
                std::thread::sleep(Duration::from_millis(100));
            }
        });
        let rate = measure_round(device, drawn);
        is_over.store(true, Ordering::SeqCst);
        asks.join().expect("it asks and ends");
        rate
    })
}

fn main() {
    let scenario = toml::from_str(DRIVE).expect("a scenario");
    let device = SharedDevice::new(Device::in_memory(&scenario).expect("a drive"));
    let mut drawn = 1;
    // The warm-up lasts until garbage collection is in its steady state.
    for _ in 0..4 {
        measure_round(&device, &mut drawn);
    }
    let hows = [
        ("not watched", Monitoring::None),
        ("watched, not asked", Monitoring::Idle),
        ("asked 10 times a second", Monitoring::Queried),
    ];
    let mut rates = [const { Vec::new() }; 3];
    for _ in 0..ROUNDS {
        for (rates, (_, how)) in rates.iter_mut().zip(hows) {
            rates.push(request_rate(&device, how, &mut drawn));
        }
    }
    let median = |rates: &mut Vec<f64>| {
        rates.sort_by(f64::total_cmp);
        rates[rates.len() / 2]
    };
    let base = median(&mut rates[0]);
    for (rates, (name, _)) in rates.iter_mut().zip(hows) {
        let rate = median(rates);
        println!(
            "{name:<24} {rate:>9.0} requests a second ({:.0} to {:.0}), {:.3} of the first",
            rates[0],
            rates[rates.len() - 1],
            rate / base
        );
    }
}
