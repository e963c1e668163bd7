//! Tests of `wearwell serve`: a server that starts, accepts connections, and ends with a result.

use crate::browser;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use wearwell_serve::nbd::Client;

const DRIVE: &str = "[device]\nblocks_per_plane = 96\npages_per_block = 16\nspare_factor = 0.25\n";

/// Serves the drive in `folder`, connects, and ends the server; returns its exit code and its messages.
fn serve(folder: &Path, more: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wearwell"));
    command.current_dir(folder).args(["serve", "drive.toml", "--nbd", "unix:s.sock"]).args(more);
    let mut server = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut stdout = BufReader::new(server.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert!(line.contains("nbd+unix:///?socket=s.sock"), "{line}");
    let socket = folder.join("s.sock");
    assert_eq!(socket.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let mut greeting = [0; 8];
    UnixStream::connect(&socket).unwrap().read_exact(&mut greeting).unwrap();
    assert_eq!(&greeting, b"NBDMAGIC");
    Command::new("kill").arg(server.id().to_string()).status().unwrap();
    stdout.read_to_string(&mut line).unwrap();
    let code = server.wait().unwrap().code();
    assert!(!socket.exists());
    (code, line)
}

#[test]
fn server_ends_with_result_and_keeps_image() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("drive.toml"), DRIVE).unwrap();
    for _ in 0..2 {
        let more = ["--image", "drive", "--output", "result.json", "--report", "page.html"];
        let (code, stderr) = serve(folder.path(), &more);
        assert_eq!(code, Some(0), "{stderr}");
        let result = std::fs::read_to_string(folder.path().join("result.json")).unwrap();
        assert!(result.contains("\"layers\""), "{result}");
        assert!(folder.path().join("page.html").exists());
    }
}

/// The replay that the documents name has the counts of the served drive.
#[test]
fn recording_replayed_as_recorded_has_counts_of_served_drive() {
    let folder = tempfile::tempdir().unwrap();
    for (at, ftl) in ["", "[ftl]\nstructure = \"gecko\"\n"].into_iter().enumerate() {
        std::fs::write(folder.path().join("drive.toml"), format!("{DRIVE}{ftl}")).unwrap();
        let [recording, served] = [format!("recording{at}.csv.zst"), format!("served{at}.json")];
        let mut command = Command::new(env!("CARGO_BIN_EXE_wearwell"));
        command.current_dir(folder.path()).args(["serve", "drive.toml", "--nbd", "unix:s.sock"]);
        command.args(["--record", &recording, "--output", &served]);
        let mut server = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(server.stdout.take().unwrap());
        stdout.read_line(&mut String::new()).unwrap();
        let mut client = Client::connect(&folder.path().join("s.sock")).unwrap();
        let pages = client.bytes() / 4096;
        for at in 0..3 * pages {
            let page = (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) % pages;
            client.write(page * 4096, &[at as u8; 4096]).unwrap();
        }
        client.trim(0, 8 * 4096).unwrap();
        // A part of a page is read, changed and written.
        client.write(20 * 4096 + 5, &[1; 100]).unwrap();
        client.flush().unwrap();
        drop(client);
        Command::new("kill").arg(server.id().to_string()).status().unwrap();
        stdout.read_to_string(&mut String::new()).unwrap();
        assert_eq!(server.wait().unwrap().code(), Some(0));
        let mut command = Command::new(env!("CARGO_BIN_EXE_wearwell"));
        command.current_dir(folder.path()).args(["run", "drive.toml", "--trace", &recording]);
        command.args(["--as-recorded", "--format", "json"]);
        let replayed = command.output().unwrap();
        assert!(replayed.status.success(), "{replayed:?}");
        let replayed: serde_json::Value = serde_json::from_slice(&replayed.stdout).unwrap();
        let served = std::fs::read(folder.path().join(&served)).unwrap();
        let served: serde_json::Value = serde_json::from_slice(&served).unwrap();
        assert!(served["nand"]["erases"].as_u64() > Some(50), "{}", served["nand"]);
        for counts in ["/nand", "/wear", "/layers/0/incoming", "/layers/0/outgoing", "/write_amplification"] {
            assert_eq!(served.pointer(counts).unwrap(), replayed.pointer(counts).unwrap(), "{counts}: {ftl}");
        }
    }
}

/// Serves the drive in `folder`; returns the server process and the address of its page.
fn serve_with_page(folder: &Path) -> (Child, String) {
    std::fs::write(folder.join("drive.toml"), DRIVE).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_wearwell"));
    command.current_dir(folder).args(["serve", "drive.toml", "--nbd", "unix:s.sock"]);
    command.args(["--control", "tcp:127.0.0.1:0"]).stdout(Stdio::piped());
    let mut server = command.spawn().unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    lines.next().unwrap().unwrap();
    let line = lines.next().unwrap().unwrap();
    let address = line.split("http://").nth(1).unwrap_or_else(|| panic!("{line}")).trim_end_matches('/');
    (server, address.to_owned())
}

/// Checks that the live status agrees with the final result.
#[test]
fn live_status_agrees_with_result() {
    let folder = tempfile::tempdir().unwrap();
    let (mut server, address) = serve_with_page(folder.path());
    let get = |path: &str| {
        let mut stream = TcpStream::connect(&address).unwrap();
        let head = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    assert!(get("/").contains("<title>A live drive</title>"));
    assert!(get("/metrics").contains("wearwell_flash_operations_total{operation=\"program\"} 0\n"));
    assert!(get("/status.json").contains("\"format_version\":2,"));
    Command::new("kill").arg(server.id().to_string()).status().unwrap();
    assert_eq!(server.wait().unwrap().code(), Some(0));
}

/// Script that acts like a user of the page while the drive is written to.
const WATCHER: &str = r##"
const all = (what) => [...document.querySelectorAll(what)];
const shown = (name) => all(".numbers dt").find((term) => term.textContent === name)?.nextSibling.textContent;
const undrawn = () => all("figure .chart").filter((chart) => !chart.querySelector("svg path")).length;
const change = async (what) => { const before = shown("flash programs"); await until(what, () => shown("flash programs") !== before); };
const use = async () => {
  await until("figures", () => all("figure .chart").length >= 8 && shown("write, half within"));
  await change("more programs");
  if (undrawn()) found.push(`${undrawn()} figures are not drawn`);
  const opened = () => all("figure details")[0];
  opened().open = true;
  await change("more programs while a table is open");
  if (!opened().open) found.push("a table was closed");
  by("pause").click();
  await sleep(3000);
  const paused = shown("flash programs");
  await sleep(20000);
  if (shown("flash programs") !== paused || by("pause").getAttribute("aria-pressed") !== "true") found.push("it does not pause");
  by("pause").click();
  await change("more programs after a pause");
  const theme = document.documentElement.className;
  by("theme").click();
  if (document.documentElement.className === theme) found.push("the theme does not change");
  await change("more programs in the other theme");
  if (undrawn()) found.push(`${undrawn()} figures are not drawn in the other theme`);
  if (!(Number(shown("write amplification").split("since")[0]) > 1)) found.push(`write amplification ${shown("write amplification")}`);
};
"##;

#[test]
fn browser_shows_drive_activity() {
    let folder = tempfile::tempdir().unwrap();
    let (mut server, address) = serve_with_page(folder.path());
    let is_watched = AtomicBool::new(true);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut client = Client::connect(&folder.path().join("s.sock")).unwrap();
            let pages = client.bytes() / 4096;
            for at in 0u64.. {
                if !is_watched.load(Ordering::Relaxed) {
                    break;
                }
                let page = at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
                client.write(page % pages * 4096, &[at as u8; 4096]).unwrap();
                if at % 64 == 0 {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        });
        let used = std::panic::catch_unwind(|| browser::run_user_script(&address, WATCHER));
        is_watched.store(false, Ordering::Relaxed);
        used.unwrap_or_else(|problem| std::panic::resume_unwind(problem));
    });
    Command::new("kill").arg(server.id().to_string()).status().unwrap();
    assert_eq!(server.wait().unwrap().code(), Some(0));
}

#[test]
fn addresses_of_other_machines_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("drive.toml"), DRIVE).unwrap();
    for (transports, problem) in [
        (&["--nbd", "tcp:0.0.0.0:0"][..], "--allow-remote"),
        (&["--nbd", "unix:s", "--nbd", "tcp:0.0.0.0:0"], "--nbd tcp:0.0.0.0:0: other machines"),
        (&["--nbd", "there"], "unix:PATH"),
        (&["--nbd", "unix:s,tls=nowhere"], "nowhere/server-cert.pem: it is not there"),
        (&["--nbd", "unix:s", "--allow-remote", "--control", "tcp:0.0.0.0:0"], "127.0.0.1"),
        (&["--nbd", "unix:s", "--control", "there"], "unix:PATH"),
        (&["--fuse", "drive.toml"], "is not a directory"),
        (&["--fuse", "."], "is not empty"),
        (&["--vhost-user", "unix:s,tls=certs"], "no place to listen at"),
        (&["--nbd", "unix:s", "--control", "unix:c,tls=certs"], ",tls=DIR and ,poll are for NBD alone"),
        (&["--nbd", "unix:s", "--control", "unix:c,poll"], ",tls=DIR and ,poll are for NBD alone"),
        (&["--nbd", "unix:s,poll,tls=nowhere"], "nowhere/server-cert.pem"),
        (&["--vhost-user", "tcp:127.0.0.1:1"], "the guest's memory comes over the socket"),
        (&[], "--nbd <ADDRESS>|--fuse <DIR>|--vhost-user <ADDRESS>"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wearwell"));
        let ended = command
            .current_dir(folder.path())
            .args(["serve", "drive.toml"])
            .args(transports)
            .output()
            .unwrap();
        assert_eq!(ended.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&ended.stderr).contains(problem), "{ended:?}");
    }
}

/// Exports one device by two transports; SIGTERM arrives while the file is open, and the result is still written.
#[test]
fn two_transports_share_one_device() {
    if !Path::new("/dev/fuse").exists() {
        println!("NOT RUN: there is no /dev/fuse");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("drive.toml"), DRIVE).unwrap();
    let mount = folder.path().join("mnt");
    std::fs::create_dir(&mount).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_wearwell"));
    command.current_dir(folder.path()).args(["serve", "drive.toml", "--nbd", "unix:s.sock", "--fuse", "mnt"]);
    command.args(["--output", "result.json"]);
    let mut server = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdout = BufReader::new(server.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    if line.is_empty() {
        println!("NOT RUN: mounting: {:?}", server.wait_with_output());
        return;
    }
    assert!(line.contains("socket=s.sock  and  ") && line.contains("mnt/disk"), "{line}");
    let disk = std::fs::File::options().read(true).write(true).open(mount.join("disk")).unwrap();
    disk.write_all_at(&[7; 3 * 4096], 4096).unwrap();
    disk.sync_all().unwrap();
    let mut greeting = [0; 8];
    UnixStream::connect(folder.path().join("s.sock")).unwrap().read_exact(&mut greeting).unwrap();
    Command::new("kill").arg(server.id().to_string()).status().unwrap();
    let ended = server.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    assert!(String::from_utf8_lossy(&ended.stderr).contains("mnt/disk is open still"), "{ended:?}");
    assert!(disk.read_at(&mut [0], 0).is_err());
    assert!(!mount.join("disk").exists(), "nothing is mounted any more");
    let result = std::fs::read_to_string(folder.path().join("result.json")).unwrap();
    let result: serde_json::Value = serde_json::from_str(&result).unwrap();
    assert_eq!(result["nand"]["programs"], 3);
}
