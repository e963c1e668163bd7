//! Tests that queries from other sites and malformed queries are refused without effect.

use crate::common::{STACK, device, send, write};
use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};
use wearwell_serve::sockets::Address;
use wearwell_watch::{Client, ControlError, ControlServer};

fn control(device: &wearwell_serve::SharedDevice) -> ControlServer {
    ControlServer::start(device.clone(), &"tcp:127.0.0.1:0".parse().unwrap()).unwrap()
}

#[test]
fn queries_from_other_machines_or_sites_are_refused() {
    let device = device(STACK);
    for address in ["tcp:0.0.0.0:0", "tcp:[::]:0", "tcp:192.0.2.1:9090"] {
        let refused = ControlServer::start(device.clone(), &address.parse().unwrap());
        assert!(matches!(refused, Err(ControlError::Remote(_))), "{address}");
    }
    let control = control(&device);
    let here = control.url().unwrap().trim_start_matches("http://").trim_end_matches('/').to_owned();
    let get = |path: &str, head: &str| {
        send(&control, &format!("GET {path} HTTP/1.1\r\n{head}\r\nconnection: close\r\n\r\n")).0
    };
    let own = format!("host: {here}");
    for path in ["/", "/status.json", "/metrics", "/history.json"] {
        assert_eq!(get(path, &own), 200, "{path}");
        assert_eq!(get(path, "host: evil.example"), 403, "{path}");
        assert_eq!(get(path, &format!("{own}\r\norigin: http://evil.example")), 403, "{path}");
        assert_eq!(
            send(
                &control,
                &format!("POST {path} HTTP/1.1\r\n{own}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            )
            .0,
            405
        );
    }
    assert_eq!(get("/nothing", &own), 404);
    let (_, answer) = send(&control, &format!("GET / HTTP/1.1\r\n{own}\r\nconnection: close\r\n\r\n"));
    for header in [
        "content-security-policy: default-src 'none'",
        "x-content-type-options: nosniff",
        "cache-control: no-store",
    ] {
        assert!(answer.contains(header), "{header}");
    }
}

#[test]
fn malformed_queries_and_idle_connections_do_not_block_clients() {
    let device = device(STACK);
    let control = control(&device);
    let Address::Tcp(address) = *control.address() else { panic!("a port") };
    let huge = format!("GET / HTTP/1.1\r\nhost: {}\r\n\r\n", "x".repeat(1 << 20));
    for bytes in
        [&b"GET /status.json HTTP/1.1\r\nhost:"[..], b"\0\xff\r\n\r\n", b"", b"NBDMAGIC", huge.as_bytes()]
    {
        // The server may close the connection before all bytes are sent.
        let _ = TcpStream::connect(address).unwrap().write_all(bytes);
    }
    let idle: Vec<TcpStream> = (0..300).map_while(|_| TcpStream::connect(address).ok()).collect();
    let client = Client::new(control.address().clone()).unwrap();
    write(&device, 100);
    // The server may reuse an earlier reading for a short time.
    let end = Instant::now() + Duration::from_secs(120);
    while client.read().unwrap().requests["write"].requests != 100 {
        assert!(Instant::now() < end, "the reading stays old");
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(idle);
    drop(device.take());
    let told = loop {
        match client.read() {
            Ok(_) if Instant::now() < end => std::thread::sleep(Duration::from_millis(50)),
            read => break read.unwrap_err().to_string(),
        }
    };
    assert!(told.contains("served no more"), "{told}");
    control.stop().unwrap();
    let told = client.read().unwrap_err().to_string();
    assert!(told.contains("wearwell serve --control"), "{told}");
}
