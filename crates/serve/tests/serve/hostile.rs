//! Tests that faulty and malicious NBD clients do not affect other clients.

use crate::client::Client;
use crate::common::{SMALL, device};
use crate::conversation;
use proptest::prelude::*;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use wearwell_serve::SharedDevice;
use wearwell_serve::nbd::{Address, Limits, Server};

struct ServedDrive {
    _folder: tempfile::TempDir,
    path: PathBuf,
    _server: Server,
}

fn serve(limits: Limits) -> ServedDrive {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let server =
        Server::start(SharedDevice::new(device(SMALL)), &Address::Unix(path.clone()), limits).unwrap();
    ServedDrive { _folder: folder, path, _server: server }
}

#[test]
fn negotiation_and_requests_follow_the_protocol() {
    let served = serve(Limits::default());
    let mut client = Client::connect(&served.path);
    // The client sends an unknown option, an option that is too long, an unknown export, wrong lengths, and metadata
    // contexts before structured replies.
    assert_eq!(client.option(99, b"x")[0].0, 1 << 31 | 1);
    assert_eq!(client.option(99, &vec![0; 1 << 17])[0].0, 1 << 31 | 9);
    assert_eq!(client.option(7, b"\0\0\0\x03abc\0\0")[0].0, 1 << 31 | 6);
    assert_eq!(client.option(7, b"\0\0\0\x09abc\0\0")[0].0, 1 << 31 | 3);
    assert_eq!(client.option(10, b"\0\0\0\0\0\0\0\0")[0].0, 1 << 31 | 3);
    assert_eq!(client.option(3, &[]), [(2, vec![0; 4]), (1, vec![])]);
    client.negotiate_structured();
    let context = client.select_allocation();
    client.go();
    assert_eq!(client.flags & 0b1101_1110_1101, 0b1101_1110_1101, "{:b}", client.flags);
    assert_eq!(client.request(1, 1, 4096, 8192, &[7; 8192]).error, 0);
    let status = client.request(0, 7, 0, 65536, &[]);
    let numbers = [context, 4096, 3, 8192, 0, 65536 - 12288, 3];
    assert_eq!(status.chunks, [(5, numbers.iter().flat_map(|number: &u32| number.to_be_bytes()).collect())]);
    assert_eq!(client.request(8, 7, 0, 65536, &[]).chunks[0].1.len(), 12);
    assert_eq!(client.request(4, 0, 4095, 2, &[]).chunks, [(1, vec![0, 7])]);
    assert_eq!(client.request(2 | 16, 6, 0, 4096, &[]).error, 95);
    assert_eq!(client.request(16, 6, 4096, 8192, &[]).error, 0);
    assert_eq!(client.request(0, 0, 4096, 8192, &[]).chunks, [(1, vec![0; 8192])]);
    assert_eq!(client.request(0, 5, 0, 4096, &[]).error, 0);
    client.disconnect();
}

/// There are exports for placement handles if the drive separates hints. A metadata context that is negotiated for
/// one export does not apply to another.
#[test]
fn drive_with_placement_handles_has_an_export_for_each() {
    let text = format!("{SMALL}[ftl]\nplacement = {{ kind = \"host_hint\", streams = 2 }}\n");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let server =
        Server::start(SharedDevice::new(device(&text)), &Address::Unix(path.clone()), Limits::default())
            .unwrap();
    let mut client = Client::connect(&path);
    let name = |name: &str| (2, [&(name.len() as u32).to_be_bytes(), name.as_bytes()].concat());
    assert_eq!(client.option(3, &[]), [name(""), name("placement/0"), name("placement/1"), (1, vec![])]);
    client.negotiate_structured();
    client.select_allocation();
    assert_eq!(client.option(7, b"\0\0\0\x0bplacement/2\0\0")[0].0, 1 << 31 | 6);
    client.go_to("placement/1");
    assert_eq!(client.request(0, 7, 0, 4096, &[]).error, 22, "the context was agreed for the default");
    assert_eq!(client.request(0, 1, 0, 3, b"abc").error, 0);
    let mut other = Client::connect(&path);
    other.go();
    assert_eq!(other.request(0, 0, 0, 3, &[]).chunks, [(1, b"abc".to_vec())]);
    server.stop();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]
    #[test]
    fn arbitrary_bytes_are_answered_or_end_the_connection(
        how in any::<u8>(), bytes in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        conversation::run_conversation(device(SMALL), &[&[how], &bytes[..]].concat());
    }
}

/// The client sends a few bytes of a write of maximum length: no buffer is allocated for the remaining bytes.
#[test]
fn announced_data_takes_no_memory_before_it_arrives() {
    let (length, data) = ((32u32 << 20).to_be_bytes(), [7; 100]);
    let write = [&0x2560_9513u32.to_be_bytes()[..], &[0, 0, 0, 1], &[0; 16], &length, &data].concat();
    conversation::run_conversation(device(SMALL), &[&[2], &write[..]].concat());
}

#[test]
fn invalid_requests_are_refused_and_next_is_served() {
    let served = serve(Limits::default());
    let mut client = Client::connect(&served.path);
    client.go();
    let end = client.bytes;
    for (flags, command, offset, length, error) in [
        (0, 0, end, 1, 22),
        (0, 0, u64::MAX, u32::MAX, 22),
        (0, 0, 0, (32 << 20) + 1, 22),
        (0, 4, end - 1, 2, 22),
        (0, 6, end - 1, 2, 28),
        (0, 99, 0, 0, 22),
        (0x8000, 3, 0, 0, 22),
        (0, 7, 0, 4096, 22),
    ] {
        assert_eq!(
            client.request(flags, command, offset, length, &[]).error,
            error,
            "{command} {offset} {length}"
        );
    }
    assert_eq!(client.request(0, 1, end - 1, 2, &[0; 2]).error, 28);
    let long = vec![0; (32 << 20) + 1];
    assert_eq!(client.request(0, 1, 0, long.len() as u32, &long).error, 22);
    assert_eq!(client.request(0, 1, 0, 3, b"abc").error, 0);
    assert_eq!(client.request(0, 0, 0, 3, &[]).chunks, [(1, b"abc".to_vec())]);
    client.disconnect();
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let served = serve(Limits::default());
    let mut client = Client::connect(&served.path);
    client.go();
    let cookies: Vec<u64> =
        (0..200u64).map(|at| client.send(0, 1, at * 4096, 4096, &[at as u8; 4096])).collect();
    for cookie in cookies {
        assert_eq!(client.reply(cookie, 0).error, 0);
    }
    // An incomplete request does not delay the reply to the previous one.
    let cookie = client.send(0, 0, 4096, 1, &[]);
    client.stream.write_all(&[0x25, 0x60]).unwrap();
    assert_eq!(client.reply(cookie, 1).chunks, [(1, vec![1])]);
}

#[test]
fn invalid_input_and_disconnects_end_only_their_own_connection() {
    let served = serve(Limits { connections: 8, handshake: Duration::from_secs(600) });
    let mut good = Client::connect(&served.path);
    good.go();
    for nonsense in
        [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xff; 200], b"\0\0\0\x03IHAVEOPT\0\0\0\x01\xff\xff\xff\xff", b"\0"]
    {
        let mut stream = UnixStream::connect(&served.path).unwrap();
        // The server may close the connection before all bytes are sent.
        let _ = stream.write_all(nonsense);
    }
    let mut half = Client::connect(&served.path);
    half.go();
    half.stream.write_all(&[1; 28]).unwrap();
    assert!(half.is_ended());
    let mut broken = Client::connect(&served.path);
    broken.go();
    broken.send(0, 1, 0, 1 << 20, b"much less");
    drop(broken);
    // The number of connections is limited; the first client is still connected.
    let mut held: Vec<_> = (1..8).map(|_| connect_when_possible(&served.path)).collect();
    let mut more = UnixStream::connect(&served.path).unwrap();
    assert_eq!(more.read(&mut [0]).unwrap_or(0), 0);
    held.iter_mut().for_each(Client::go);
    assert_eq!(good.request(0, 1, 0, 3, b"abc").error, 0);
    assert_eq!(good.request(0, 0, 0, 3, &[]).chunks, [(1, b"abc".to_vec())]);
}

/// Connects a client after the server has noticed the end of earlier connections.
fn connect_when_possible(path: &Path) -> Client {
    let until = Instant::now() + Duration::from_secs(120);
    loop {
        match Client::try_connect(path) {
            Ok(client) => return client,
            Err(error) if Instant::now() > until => panic!("{error}"),
            Err(_) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

#[test]
fn silent_client_is_disconnected() {
    let served = serve(Limits { connections: 8, handshake: Duration::from_secs(1) });
    let mut silent = UnixStream::connect(&served.path).unwrap();
    silent.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    // On a busy machine, the server may already have disconnected the client.
    let _ = silent.write_all(&3u32.to_be_bytes());
    assert!(silent.read_to_end(&mut Vec::new()).is_ok());
}

#[test]
fn connections_see_each_others_writes() {
    let served = serve(Limits::default());
    let (mut one, mut two) = (Client::connect(&served.path), Client::connect(&served.path));
    one.go();
    two.go();
    for at in 0..50u8 {
        assert_eq!(one.request(0, 1, 100, 1, &[at]).error, 0);
        assert_eq!(two.request(0, 0, 100, 1, &[]).chunks, [(1, vec![at])]);
    }
}

#[test]
fn address_in_use_is_refused_and_stale_socket_is_replaced() {
    let served = serve(Limits::default());
    let start = |path: &PathBuf| {
        Server::start(SharedDevice::new(device(SMALL)), &Address::Unix(path.clone()), Limits::default())
    };
    assert!(start(&served.path).is_err());
    let left = served.path.with_extension("left");
    drop(std::os::unix::net::UnixListener::bind(&left).unwrap());
    let server = start(&left).unwrap();
    Client::connect(&left).go();
    server.stop();
    assert!(!left.exists());
}
