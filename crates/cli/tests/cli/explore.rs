//! Tests of `wearwell explore`: the served page over plain sockets, and in a browser if one is installed.

use crate::browser;
use crate::common::{outcome, repository, small};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The running command and its address; ended when dropped.
struct ServedPage {
    process: Child,
    address: String,
}

impl ServedPage {
    fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("wearwell"));
        command.current_dir(repository()).arg("explore").args(arguments).stdout(Stdio::piped());
        let mut process = command.spawn().expect("the command runs");
        let mut line = String::new();
        BufReader::new(process.stdout.as_mut().expect("it is piped")).read_line(&mut line).expect("a line");
        let (_, rest) = line.split_once("http://").expect("an address");
        let address = rest.split('/').next().expect("a host").to_owned();
        ServedPage { process, address }
    }

    /// Sends the bytes of a request; returns the answer's status and body.
    fn send(&self, request: &[u8]) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time");
        stream.write_all(request).expect("it takes requests");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        (status, answer.split_once("\r\n\r\n").map_or("", |(_, body)| body).to_owned())
    }

    fn post(&self, path: &str, body: &str) -> (u16, String) {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close",
            self.address,
            body.len()
        );
        self.send(format!("{head}\r\n\r\n{body}").as_bytes())
    }

    fn post_json(&self, path: &str, question: &Value) -> Value {
        let (status, body) = self.post(path, &question.to_string());
        assert_eq!(status, 200, "{path} {question}: {body}");
        serde_json::from_str(&body).expect("JSON")
    }

    /// Returns the simulations once all have finished.
    fn finished(&self, numbers: &[u64]) -> Vec<Value> {
        let end = Instant::now() + Duration::from_secs(300);
        loop {
            let states = self.post_json("/api/simulations/states", &json!(numbers));
            let of = |number: &u64| states["simulations"][number.to_string()].clone();
            let states: Vec<Value> = numbers.iter().map(of).collect();
            if states.iter().all(|state| !["waiting", "running"].contains(&state["state"].as_str().unwrap()))
            {
                return states;
            }
            assert!(Instant::now() < end, "{states:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for ServedPage {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Checks that the page agrees with the commands: theory with `theory --scenario`, a simulation with `run`; the offered
/// scenario runs.
#[test]
fn page_agrees_with_commands() {
    let (folder, scenario) = small();
    let served = ServedPage::start(&[&scenario]);
    let question = json!({
        "settings": [["ftl.victim.policy", "d_choices"], ["ftl.victim.choices", 5]],
        "axis": { "key": "device.spare_factor", "values": [0.1, 0.3] },
    });
    let theory = served.post_json("/api/theory", &question);
    let started = served.post_json("/api/simulations", &question);
    let number = |at: usize| started["simulations"][at]["number"].as_u64().unwrap();
    let simulated = served.finished(&[number(0), number(1)]);
    for (at, spare) in ["0.1", "0.3"].into_iter().enumerate() {
        let set = [
            "--set",
            "ftl.victim.policy=d_choices",
            "--set",
            "ftl.victim.choices=5",
            "--spare-factor",
            spare,
        ];
        let all = |words: &[&str]| {
            let words: Vec<&str> = words.iter().chain(&set).chain(&["--format", "json"]).copied().collect();
            serde_json::from_str::<Value>(&outcome(&words, 0).0).unwrap()
        };
        let known = all(&["theory", "--scenario", &scenario]);
        assert_eq!(theory["points"][at]["write_amplification"], known["write_amplification"]);
        let known = all(&["run", &scenario, "--quiet"]);
        assert_eq!(simulated[at]["state"], "finished");
        assert_eq!(simulated[at]["write_amplification"], known["write_amplification"]);
        assert_eq!(
            simulated[at]["ci95_half_width"],
            known["write_amplification_estimate"]["ci95_half_width"]
        );
    }
    let settings = json!({ "settings": [["workload.kind", "zipf"], ["workload.exponent", 0.5]] });
    let (status, text) = served.post("/api/scenario", &settings.to_string());
    assert_eq!(status, 200, "{text}");
    let file = folder.path().join("taken.toml");
    std::fs::write(&file, text).unwrap();
    let (checked, _) = outcome(&["scenario", "check", file.to_str().unwrap()], 0);
    assert!(checked.contains("exponent = 0.5"), "{checked}");
}

#[test]
fn scenario_without_theory_is_reported_and_can_be_simulated() {
    let served = ServedPage::start(&["--capacity", "128 MiB", "--set", "measure.max_warm_up=4.0"]);
    let question = json!({ "settings": [["ftl", "fast"]] });
    let point = &served.post_json("/api/theory", &question)["points"][0];
    assert!(point["refused"].as_str().unwrap().contains("no model applies"), "{point}");
    let started = served.post_json("/api/simulations", &question);
    let state = &served.finished(&[started["simulations"][0]["number"].as_u64().unwrap()])[0];
    assert!(state["write_amplification"].as_f64().unwrap() > 1.0, "{state}");
}

#[test]
fn stopped_simulations_end() {
    let served = ServedPage::start(&["--threads", "1", "--capacity", "64 GiB"]);
    let along = json!({ "key": "seed", "values": [1, 2, 3] });
    let started = served.post_json("/api/simulations", &json!({ "settings": [], "axis": along }));
    let numbers: Vec<u64> = started["simulations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["number"].as_u64().unwrap())
        .collect();
    served.post_json("/api/simulations/stop", &json!({}));
    assert!(served.finished(&numbers).iter().all(|state| state["state"] == "stopped"));
}

/// Checks that malformed requests and requests of other sites are refused with a reason, and that the server continues.
#[test]
fn hostile_requests_are_refused() {
    let (_folder, scenario) = small();
    let served = ServedPage::start(&[&scenario]);
    let refused = |path: &str, body: &str, status: u16, word: &str| {
        let (answer_status, text) = served.post(path, body);
        assert!(answer_status == status && text.contains(word), "{path} {body}: {answer_status} {text}");
    };
    let theory = "/api/theory";
    refused("/api/scenario", r#"{"settings":[["trace.path","/etc/passwd"]]}"#, 422, "no control");
    refused(theory, r#"{"settings":[["device.capacity","1 EiB"]]}"#, 422, "no control");
    refused(theory, r#"{"settings":[["device.spare_factor",0.123]]}"#, 422, "none of its values");
    refused(theory, r#"{"settings":[["device.spare_factor","x"]]}"#, 422, "none of its values");
    refused(theory, r#"{"settings":[],"axis":{"key":"nothing","values":[1]}}"#, 422, "no control");
    refused(
        theory,
        &json!({ "settings": [], "axis": { "key": "seed", "values": vec![1; 65] } }).to_string(),
        422,
        "65 points",
    );
    refused("/api/scenario", r#"{"settings":[],"axis":{"key":"seed","values":[]}}"#, 422, "one scenario");
    refused(theory, r#"{"settings":[],"more":1}"#, 422, "unknown field");
    refused(theory, "[", 400, "");
    refused(theory, &"[".repeat(60_000), 422, "");
    refused(theory, &" ".repeat(100_000), 413, "");
    refused("/api/nothing", "{}", 404, "");
    refused("/api/simulations/states", "[1e99]", 422, "");
    assert_eq!(served.post_json("/api/simulations/states", &json!([7])), json!({ "simulations": {} }));
    for head in ["host: evil.example", "host: 127.0.0.1:1", "x: y", "host: {}\r\norigin: http://evil.example"]
    {
        let head = head.replace("{}", &served.address);
        let request = format!("GET / HTTP/1.1\r\n{head}\r\nconnection: close\r\n\r\n");
        assert!([400, 403].contains(&served.send(request.as_bytes()).0), "{head}");
    }
    // The bytes are half a request, random bytes, and none.
    for bytes in [&b"POST /api/theory HTTP/1.1\r\nhost:"[..], b"\0\xff\r\n\r\n", b""] {
        TcpStream::connect(&served.address).unwrap().write_all(bytes).unwrap();
    }
    assert_eq!(served.post_json(theory, &json!({ "settings": [] }))["points"].as_array().unwrap().len(), 1);
}

#[test]
fn unusable_port_thread_count_and_scenario_are_refused() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let (_, stderr) = outcome(&["explore", "--port", &port], 1);
    assert!(stderr.contains(&format!("port {port}")), "{stderr}");
    for (option, value) in [("--port", "65536"), ("--port", "x"), ("--threads", "0"), ("--threads", "x")] {
        let (_, stderr) = outcome(&["explore", option, value], 2);
        assert!(stderr.contains(option), "{option} {value}: {stderr}");
    }
    assert!(outcome(&["explore", "no.toml"], 2).1.contains("no.toml"));
}

/// Script that acts like a user.
const USER: &str = r##"
const rows = (kind) => [...document.querySelectorAll("figure table tbody tr")].filter((row) => row.cells[2].textContent === kind);
const turn = (key, at) => { const input = by(`control-${key}`); input.value = String(at); input.dispatchEvent(new Event("input", { bubbles: true })); };
const use = async () => {
  await until("a curve", () => rows("theory").length > 20);
  const before = by("answer").textContent;
  turn("device.spare_factor", 20);
  await until("another answer", () => by("answer").textContent !== before && rows("theory").length > 20);
  if (!location.hash.includes("device.spare_factor=")) found.push("the link does not hold the state");
  by("keep").click();
  turn("ftl.victim.policy", [...by("control-ftl.victim.policy").options].findIndex((option) => option.textContent === "greedy"));
  if (!by("control-ftl.victim.choices").closest(".control").hidden) found.push("greedy has choices");
  await until("two curves", () => rows("theory").length > 50);
  by("simulate-curve").click();
  await until("simulations", () => rows("simulation").length === 9);
  if (rows("simulation").some((row) => !(Number(row.cells[3].textContent) > 1))) found.push("a simulation without a number");
  if (!document.querySelector("#curve svg path")) found.push("nothing is drawn");
  by("along").value = "device.pages_per_block";
  by("along").dispatchEvent(new Event("change"));
  await until("another axis", () => rows("theory").length >= 10 && document.querySelector("figure th:nth-child(2)").textContent === "Pages per block");
  by("theme").click();
  location.hash = "#ftl=%22gecko%22&along=%3Cb%3E&trace.path=%22x%22";
  await until("a link to be followed", () => by("notes").textContent.includes("Theory says nothing here"));
  by("clear").click();
};
"##;

#[test]
fn browser_moves_sliders_and_simulates() {
    let served = ServedPage::start(&["--capacity", "32 MiB", "--set", "measure.drive_writes=1.0"]);
    browser::run_user_script(&served.address, USER);
}
