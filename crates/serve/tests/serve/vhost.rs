//! Tests of the export to virtual machines by vhost-user.

use crate::agreement::{counts, simulate};
use crate::common::{PAGE, ReferenceDisk, SMALL, Step, device, page_steps};
use crate::guest::{
    DATA, DISCARD, Descriptor, FEATURES, FLUSH, GET_ID, Guest, IN, INDIRECT, MEMORY_BYTES, NEXT, OUT, WRITE,
    WRITE_ZEROES,
};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use wearwell_serve::transport::Transport;
use wearwell_serve::vhost_user::TRANSPORT;
use wearwell_serve::{Device, Operation, SharedDevice};

/// Device served at a vhost-user socket.
pub struct ServedDrive {
    _folder: tempfile::TempDir,
    pub path: PathBuf,
    device: SharedDevice,
    transport: Box<dyn Transport>,
}

impl ServedDrive {
    pub fn serve(text: &str) -> ServedDrive {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let device = SharedDevice::new(device(text));
        let endpoint = (TRANSPORT.parse)(&format!("unix:{}", path.display())).unwrap();
        let transport = endpoint.open(&device).unwrap();
        ServedDrive { _folder: folder, path, device, transport }
    }

    pub fn close(self) -> Device {
        assert!(!self.transport.is_closed());
        self.transport.close().unwrap();
        assert!(!self.path.exists());
        self.device.take().unwrap()
    }
}

/// Performs a step of whole pages on the guest and on the reference disk.
fn run_step(guest: &mut Guest, reference: &mut ReferenceDisk, step: &Step) {
    let status = match step {
        Step::Write(offset, data) => guest.write(*offset, data),
        Step::Read(offset, length) => {
            assert!(guest.read(*offset, *length) == reference.apply(step), "{offset} {length}");
            0
        }
        Step::Trim(offset, length) => guest.range(DISCARD, *offset, *length, 0),
        Step::Zero(offset, length, allocated) => {
            guest.range(WRITE_ZEROES, *offset, *length, u32::from(!allocated))
        }
        Step::Flush => guest.request(FLUSH, 0, 0, false),
    };
    assert_eq!(status, 0, "{step:?}");
    reference.apply(step);
}

#[test]
fn device_counts_of_guest_equal_simulation() {
    for (ftl, features) in [
        ("", FEATURES),
        ("[ftl]\nstructure = \"dftl\"\n", u64::MAX),
        ("[ftl]\ndedup = \"inline\"\n", FEATURES),
    ] {
        let text = format!("{SMALL}{ftl}");
        let served = ServedDrive::serve(&text);
        let mut guest = Guest::connect(&served.path, features);
        let mut naive = ReferenceDisk(vec![
            0;
            512 * u64::from_le_bytes(guest.config()[..8].try_into().unwrap())
                as usize
        ]);
        let steps = page_steps(naive.0.len() as u64, 1500, 8);
        for step in &steps {
            run_step(&mut guest, &mut naive, step);
        }
        drop(guest);
        let device = served.close();
        device.check().unwrap();
        assert_eq!(counts(&device.result().unwrap()), counts(&simulate(&text, &steps)), "{text}");
    }
}

#[test]
fn configuration_and_requests_follow_the_specification() {
    let served = ServedDrive::serve(SMALL);
    let mut guest = Guest::connect(&served.path, FEATURES);
    for bit in [1, 2, 6, 9, 10, 12, 13, 14, 28, 32] {
        assert!(guest.features & 1 << bit != 0, "feature {bit}");
    }
    let config = guest.config();
    let number = |at: usize| u32::from_le_bytes(config[at..at + 4].try_into().unwrap());
    let bytes = served.device.with(|device| Ok(device.bytes())).unwrap();
    assert_eq!(u64::from(number(0)) * 512, bytes);
    // The configuration has 126 segments of 64 KiB; blocks of 4096 bytes; four queues; and 32 ranges of 1 GiB,
    // aligned to a page.
    assert_eq!((number(8), number(12), number(20), config[34]), (65536, 126, 4096, 4));
    assert_eq!([36, 40, 44, 48, 52].map(number), [1 << 21, 32, 8, 1 << 21, 32]);
    assert_eq!(config[56], 1);
    assert_eq!(guest.request(GET_ID, 0, 20, true), 0);
    assert_eq!(&guest.get(DATA, 9), b"wearwell\0");
    // Zeroes that are unmapped take no space, and zeroes that must be allocated take space; both read as zeroes.
    assert_eq!(guest.write(0, &[7; 4 * PAGE as usize]), 0);
    assert_eq!(guest.range(WRITE_ZEROES, PAGE, PAGE, 0), 0);
    assert_eq!(guest.range(WRITE_ZEROES, 2 * PAGE, PAGE, 1), 0);
    assert_eq!(guest.read(0, 4096 * 3)[4095..4097], [7, 0]);
    assert_eq!(served.device.with(|device| Ok(device.content_bytes())).unwrap(), 3 * PAGE);
    let before = served.device.with(|device| Ok(device.status().requests)).unwrap();
    assert_eq!((before.stats(Operation::Trim).count(), before.stats(Operation::Flush).count()), (1, 0));
    // A request has two ranges, and sectors that are not whole pages.
    let mut ranges = Vec::new();
    for (sector, sectors) in [(0u64, 8u32), (24, 8)] {
        ranges.extend(sector.to_le_bytes());
        ranges.extend(sectors.to_le_bytes());
        ranges.extend([0; 4]);
    }
    guest.put(DATA, &ranges);
    assert_eq!(guest.request(DISCARD, 0, 32, false), 0);
    assert_eq!(guest.write(512, &[9; 1024]), 0);
    assert_eq!(guest.read(0, 2048), [vec![0; 512], vec![9; 1024], vec![0; 512]].concat());
}

/// A driver without the flush feature relies on the durability of every write.
#[test]
fn writes_are_flushed_if_driver_has_no_flush_feature() {
    let served = ServedDrive::serve(SMALL);
    let mut guest = Guest::connect(&served.path, FEATURES & !(1 << 9));
    assert_eq!(guest.write(0, &[7; 4096]), 0);
    assert_eq!(guest.range(DISCARD, 0, PAGE, 0), 0);
    let requests = served.device.with(|device| Ok(device.status().requests)).unwrap();
    assert_eq!(requests.stats(Operation::Flush).count(), 2);
}

#[test]
fn concurrent_requests_of_several_guests_are_served() {
    let served = ServedDrive::serve(SMALL);
    let mut guests: Vec<_> = (0..3).map(|_| Guest::connect(&served.path, FEATURES)).collect();
    for (number, guest) in guests.iter_mut().enumerate() {
        for slot in 0..64 {
            guest.put(Guest::data(slot), &[number as u8 + 1; 4096]);
            guest.submit(slot, (OUT, (number as u64 * 64 + u64::from(slot)) * 8), 4096, false);
        }
        guest.kick();
    }
    for guest in &mut guests {
        let mut done = 0;
        while done < 64 {
            done += guest.wait().len();
        }
        assert!((0..64).all(|slot| guest.status(slot) == 0));
    }
    for page in 0..192 {
        assert_eq!(guests[0].read(page * PAGE, 4096), vec![(page / 64) as u8 + 1; 4096]);
    }
}

#[test]
fn invalid_requests_are_refused_and_next_is_served() {
    let served = ServedDrive::serve(SMALL);
    let mut guest = Guest::connect(&served.path, FEATURES);
    let sectors = served.device.with(|device| Ok(device.bytes() / 512)).unwrap();
    for (kind, sector, bytes, is_read, status) in [
        (IN, sectors, 512, true, 1),
        (IN, sectors - 1, 1024, true, 1),
        (OUT, sectors, 512, false, 1),
        (OUT, u64::MAX, 512, false, 1),
        (OUT, u64::MAX / 512, 4096, false, 1),
        (OUT, 0, 511, false, 1),
        (IN, 0, 16 << 20, true, 1),
        (DISCARD, 0, 15, false, 1),
        (DISCARD, 0, 0, false, 1),
        (99, 0, 512, false, 2),
    ] {
        assert_eq!(guest.request(kind, sector, bytes, is_read), status, "{kind} {sector} {bytes}");
    }
    assert_eq!(guest.range(DISCARD, 0, PAGE, 1), 2);
    assert_eq!(guest.range(WRITE_ZEROES, 0, PAGE, 2), 2);
    assert_eq!(guest.range(DISCARD, (sectors - 1) * 512, PAGE, 0), 1);
    assert_eq!(guest.range(WRITE_ZEROES, 0, 2 << 30, 0), 1);
    assert_eq!(guest.write(0, &[5; 512]), 0);
    assert_eq!(guest.read(0, 512), [5; 512]);
}

/// Connects a guest after earlier guests have disconnected.
fn connect_when_possible(path: &Path) -> Guest {
    let until = Instant::now() + Duration::from_secs(120);
    loop {
        match Guest::try_connect(path, FEATURES) {
            Ok(guest) => return guest,
            Err(error) if Instant::now() > until => panic!("{error}"),
            Err(_) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

/// The descriptor chains are outside of the memory, cyclic, endless, without space for the status, or too long.
#[test]
fn hostile_descriptor_chains_do_not_affect_other_guests() {
    let served = ServedDrive::serve(SMALL);
    let mut good = Guest::connect(&served.path, FEATURES);
    assert_eq!(good.write(0, &[3; 512]), 0);
    let of = |address, length, flags, next| Descriptor { address, length, flags, next };
    let chains: &[&[Descriptor]] = &[
        &[of(MEMORY_BYTES - 8, 16, NEXT, 1), of(DATA, 1, WRITE, 0)],
        &[of(u64::MAX - 8, 16, NEXT, 1), of(DATA, 1, WRITE, 0)],
        &[of(DATA, 16, NEXT, 1), of(MEMORY_BYTES, 1, WRITE, 0)],
        &[of(DATA, 16, NEXT, 0)],
        &[of(DATA, 16, NEXT, 1), of(DATA, 16, NEXT, 0)],
        &[of(DATA, 16, NEXT, 1), of(DATA, 4096, WRITE | NEXT, 1)],
        &[of(DATA, 16, NEXT, 60_000)],
        &[of(DATA, 16, 0, 0)],
        &[of(DATA, 3, NEXT, 1), of(DATA, 1, WRITE, 0)],
        &[of(DATA, 1, WRITE, 0)],
        &[of(DATA, 0, WRITE, 0)],
        &[of(DATA, 16, WRITE | NEXT, 1), of(DATA, 16, NEXT, 2), of(DATA, 1, WRITE, 0)],
        &[
            of(DATA, 16, NEXT, 1),
            of(0, MEMORY_BYTES as u32, WRITE | NEXT, 2),
            of(0, MEMORY_BYTES as u32, WRITE, 0),
        ],
        &[of(DATA, 16 * 1000, INDIRECT, 0)],
        &[of(DATA, 15, INDIRECT, 0)],
        &[of(MEMORY_BYTES - 16, 4096, INDIRECT, 0)],
        &[of(DATA, 16, INDIRECT | NEXT, 0)],
    ];
    for chain in chains {
        let mut guest = connect_when_possible(&served.path);
        // The table of indirect tables is at the address that the indirect chains use.
        for index in 0..64 {
            guest.describe(DATA, index, of(DATA, 16 * 64, INDIRECT, 0));
        }
        for (index, descriptor) in (0..).zip(*chain) {
            guest.describe(0, index, *descriptor);
        }
        guest.make_available(0);
        guest.kick();
        // The guest can continue, unless its request has overwritten its queue.
        if !chain.iter().any(|of| of.address == 0) {
            assert_eq!(guest.wait().len(), 1, "{chain:?}");
            assert_eq!(guest.request(IN, 0, 512, true), 0, "{chain:?}");
        }
    }
    let mut liar = connect_when_possible(&served.path);
    liar.announce_missing_chains(5000);
    liar.kick();
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(good.read(0, 512), [3; 512]);
    drop((good, liar));
    served.close().check().unwrap();
}

/// Front ends send invalid messages, no message, or too many bytes at a time.
#[test]
fn hostile_front_ends_do_not_affect_other_guests() {
    let served = ServedDrive::serve(SMALL);
    let mut good = Guest::connect(&served.path, FEATURES);
    let message = |request: u32, flags: u32, payload: &[u8]| {
        let head = [request, flags, payload.len() as u32];
        [head.iter().flat_map(|number| number.to_ne_bytes()).collect(), payload.to_vec()].concat()
    };
    let nonsense = [
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        vec![0xff; 4096],
        message(5, 1, &[0xff; 72]),
        message(5, 1, &[0; 4]),
        message(9, 1, &[0xff; 40]),
        message(8, 1, &[0xff; 8]),
        message(12, 1, &[0; 8]),
        message(24, 1, &[0xff; 300]),
        message(1, 0, &[]),
        message(u32::MAX, 1, &[]),
        message(1, 1, &[])[..7].to_vec(),
    ];
    for bytes in &nonsense {
        let mut stream = UnixStream::connect(&served.path).unwrap();
        // The server may close the connection before all bytes are sent.
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        let mut rest = Vec::new();
        match stream.read_to_end(&mut rest) {
            Ok(_) => {}
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{bytes:?}"),
        }
    }
    // Many guests, one after the other, leak no file descriptors.
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let before = open();
    for _ in 0..100 {
        drop(connect_when_possible(&served.path));
    }
    // At most eight guests are connected at a time.
    let held: Vec<_> = (0..12).map(|_| UnixStream::connect(&served.path).unwrap()).collect();
    drop(held);
    let until = Instant::now() + Duration::from_secs(120);
    while open() > before + 100 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(open() <= before + 100, "{before} {}", open());
    assert_eq!(good.write(0, &[3; 512]), 0);
    assert_eq!(good.read(0, 512), [3; 512]);
}

#[test]
fn transport_closes_while_guest_has_requests() {
    let served = ServedDrive::serve(SMALL);
    let mut guest = Guest::connect(&served.path, FEATURES);
    for slot in 0..64 {
        guest.submit(slot, (OUT, u64::from(slot) * 8), 4096, false);
    }
    guest.kick();
    served.close().check().unwrap();
}

#[test]
fn addresses_other_than_unix_sockets_are_refused() {
    for text in ["tcp:127.0.0.1:1", "", "unix:"] {
        assert!((TRANSPORT.parse)(text).is_err_and(|problem| problem.contains("unix:PATH")), "{text}");
    }
}
