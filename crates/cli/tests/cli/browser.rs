//! Opens HTML pages, from files or from a server, in a headless browser, if one is installed.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::time::Duration;

/// Returns the name of an installed browser.
fn browser() -> Option<&'static str> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    names
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok_and(|done| done.status.success()))
}

/// Returns the title of an HTML page after the scripts of the page have run; fails if a script reports an error. `more`
/// are options of the browser. Returns `None`, with a message, if no browser is installed.
pub fn title(url: &str, more: &[&str]) -> Option<String> {
    let Some(browser) = browser() else {
        println!("NOT RUN: a page in a browser, as there is no Chromium");
        return None;
    };
    let options = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom"];
    let done = Command::new(browser).args(options).args(more).arg(url).output().unwrap();
    let (dom, log) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    let title = dom.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>"));
    let title = title.map_or("", |(title, _)| title);
    assert!(!log.contains("CONSOLE"), "{url}: {title}\n{log}");
    Some(title.to_owned())
}

/// Start of the test scripts; they call `found` for each problem.
const SCRIPT_PREFIX: &str = r##"<script>
const found = [];
addEventListener("error", (event) => found.push(event.message));
addEventListener("unhandledrejection", (event) => found.push(String(event.reason)));
const by = (id) => document.getElementById(id);
const sleep = (ms) => new Promise((wake) => setTimeout(wake, ms)).then(() => fetch("/a-moment"));
const until = async (what, holds) => { for (let at = 0; at < 2000; at += 1) { if (holds()) return; await sleep(100); } found.push(`waited for ${what}`); };
"##;

/// End of the test scripts, which writes the result to the title.
const SCRIPT_SUFFIX: &str = r##"
use().catch((error) => found.push(String(error))).then(() => { document.title = `used: ${found.join("; ") || "all is well"}`; });
</script>"##;

/// A short delay: without it, the browser's virtual time would run ahead of the server.
const SHORT_DELAY: Duration = Duration::from_millis(20);

/// Opens the HTML page that is served at `address` and runs `user`, a script with a function `use`. The page runs in
/// virtual time; each `sleep` of the script also waits for a short real time.
pub fn run_user_script(address: &str, user: &str) {
    let address = start_proxy(address.to_owned(), [SCRIPT_PREFIX, user, SCRIPT_SUFFIX].concat());
    if let Some(title) = title(&format!("http://{address}/"), &["--virtual-time-budget=600000"]) {
        assert_eq!(title, "used: all is well");
    }
}

/// Runs a proxy between browser and page that inserts `user` into the page.
fn start_proxy(address: String, user: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy_address = listener.local_addr().unwrap().to_string();
    let name = proxy_address.clone();
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let (address, name, user) = (address.clone(), name.clone(), user.clone());
            std::thread::spawn(move || forward(client, &address, &name, &user));
        }
    });
    proxy_address
}

fn forward(client: TcpStream, address: &str, name: &str, user: &str) -> Option<()> {
    let mut reader = BufReader::new(client.try_clone().ok()?);
    let (mut head, mut length, mut line) = (String::new(), 0, String::new());
    while reader.read_line(&mut line).ok()? > 2 {
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if !line.to_ascii_lowercase().starts_with("connection:") {
            head += &line.replace(name, address);
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let mut client = client;
    if head.starts_with("GET /a-moment ") {
        std::thread::sleep(SHORT_DELAY);
        return client.write_all(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n").ok();
    }
    let mut server = TcpStream::connect(address).ok()?;
    server.write_all(format!("{head}connection: close\r\n\r\n").as_bytes()).ok()?;
    server.write_all(&body).ok()?;
    let mut answer = String::new();
    server.read_to_string(&mut answer).ok()?;
    let (answer_head, answer_body) = answer.split_once("\r\n\r\n")?;
    let answer_body = answer_body.replace("</body>", &format!("{user}</body>"));
    let lines = answer_head.lines().filter(|line| !line.to_ascii_lowercase().starts_with("content-length:"));
    let answer_head: String = lines.map(|line| format!("{line}\r\n")).collect();
    client
        .write_all(
            format!("{answer_head}content-length: {}\r\n\r\n{answer_body}", answer_body.len()).as_bytes(),
        )
        .ok()
}
