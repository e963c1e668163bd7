//! Tests with well-behaved clients: the client of these tests, and public clients where they are installed.

use crate::client::Client;
use crate::common::{SMALL, device};
use std::process::Command;
use std::time::Duration;
use wearwell_serve::SharedDevice;
use wearwell_serve::nbd::{Address, Limits, Server, TRANSPORT};

/// With and without polling, a client is served, may pause, and is disconnected when the server stops.
#[test]
fn server_with_and_without_polling_serves_clients() {
    for options in ["", ",poll"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let device = SharedDevice::new(device(SMALL));
        let endpoint = (TRANSPORT.parse)(&format!("unix:{}{options}", path.display())).unwrap();
        let transport = endpoint.open(&device).unwrap();
        let mut client = Client::connect(&path);
        client.go();
        for round in 0..500u64 {
            if round % 100 == 99 {
                std::thread::sleep(Duration::from_millis(2));
            }
            let page = [round as u8; 4096];
            assert_eq!(client.request(0, 1, round % 7 * 4096, 4096, &page).error, 0);
            assert_eq!(client.request(0, 0, round % 7 * 4096, 4096, &[]).chunks, [(1, page.to_vec())]);
        }
        transport.close().unwrap();
        assert!(client.is_ended());
    }
}

#[test]
fn public_clients_use_the_device() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let server =
        Server::start(SharedDevice::new(device(SMALL)), &Address::Unix(path.clone()), Limits::default())
            .unwrap();
    let uri = server.uri();
    let fio = format!("--uri={uri}");
    let output = format!("--output={}", folder.path().join("fio").display());
    let commands: [(&str, &[&str]); 5] = [
        ("nbdinfo", &[&uri]),
        (
            "qemu-io",
            &[
                "-f",
                "raw",
                "-c",
                "write -P 7 1024 9000",
                "-c",
                "read -P 7 1024 9000",
                "-c",
                "write -z 4096 4096",
                "-c",
                "read -P 0 4096 4096",
                "-c",
                "discard 0 65536",
                "-c",
                "write -f -P 3 0 512",
                "-c",
                "flush",
                &uri,
            ],
        ),
        ("nbdcopy", &[&uri, "null:"]),
        ("qemu-img", &["map", "-f", "raw", &uri]),
        (
            "fio",
            &[
                "--name=a",
                "--ioengine=nbd",
                &fio,
                "--rw=randwrite",
                "--bs=4k",
                "--size=2m",
                "--iodepth=16",
                "--verify=crc32c",
                &output,
            ],
        ),
    ];
    for (program, arguments) in commands {
        // Files that the programs create are deleted with the folder.
        match Command::new(program).args(arguments).current_dir(folder.path()).output() {
            Err(error) => println!("NOT RUN: {program}: {error}"),
            Ok(ended) => assert!(ended.status.success(), "{program}: {ended:?}"),
        }
    }
    server.stop();
}
