//! The public clients, where they are installed.

use crate::common::{SMALL, device};
use std::process::Command;
use wearwell_serve::SharedDevice;
use wearwell_serve::nbd::{Address, Limits, Server};

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
        // What a program leaves where it runs goes with the folder.
        match Command::new(program).args(arguments).current_dir(folder.path()).output() {
            Err(error) => println!("NOT RUN: {program}: {error}"),
            Ok(ended) => assert!(ended.status.success(), "{program}: {ended:?}"),
        }
    }
    server.stop();
}
