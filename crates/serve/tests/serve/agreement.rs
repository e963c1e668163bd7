//! Tests that the counters of a live device equal those of a simulation with the same requests.

use crate::client::Client;
use crate::common::{PAGE, SMALL, Step, device, page_steps, run_step, scenario};
use serde_json::{Value, json};
use std::ops::ControlFlow;
use wearwell_base::content::ContentId;
use wearwell_base::request::Op;
use wearwell_base::units::Lpn;
use wearwell_serve::nbd::{Address, Limits, Server};
use wearwell_serve::{Device, SharedDevice, Speed, checksum};
use wearwell_stack::layers::{PageMap, ftls};
use wearwell_stack::{CustomParts, Progress, RunResult, run_with};
use wearwell_workload::{PageBatch, Stage, Workload};

/// Workload of a simulation that has the requests of a test.
struct StepWorkload {
    steps: Vec<Step>,
    next: usize,
    contents: bool,
    /// Stream hint of each request.
    hint: fn(usize) -> u16,
}

impl Workload for StepWorkload {
    fn fill(&mut self, batch: &mut PageBatch, pages: usize) {
        let until = batch.pages.len() + pages;
        while batch.pages.len() < until && self.next < self.steps.len() {
            let page = |bytes: u64| (bytes / PAGE) as u32;
            let before = batch.pages.len();
            match &self.steps[self.next] {
                Step::Write(offset, data) => {
                    batch.push_request(
                        Op::Write,
                        (self.hint)(self.next),
                        Lpn(page(*offset)),
                        page(data.len() as u64),
                    );
                    let names = data.chunks(PAGE as usize).map(|page| ContentId(checksum(page)));
                    batch.contents.extend(names.filter(|_| self.contents));
                }
                Step::Read(offset, length) => {
                    batch.push_request(Op::Read, 0, Lpn(page(*offset)), page(*length as u64))
                }
                Step::Trim(offset, length) => {
                    batch.push_request(Op::Trim, 0, Lpn(page(*offset)), page(*length))
                }
                _ => batch.push_request(Op::Flush, 0, Lpn(0), 0),
            }
            if self.contents {
                batch.contents.resize(batch.pages.len(), ContentId::UNKNOWN);
            }
            self.next += 1;
            if pages == 1 || batch.pages.len() == before {
                break;
            }
        }
    }

    fn stage(&self) -> Option<Stage> {
        Some(if self.next < self.steps.len() { Stage::Measured } else { Stage::Over })
    }

    fn final_draw(&mut self) -> u64 {
        0
    }
}

pub fn simulate(text: &str, steps: &[Step]) -> RunResult {
    simulate_with_hints(text, steps, |_| 0)
}

fn simulate_with_hints(text: &str, steps: &[Step], hint: fn(usize) -> u16) -> RunResult {
    let scenario = scenario(&format!("{text}\n[precondition]\nfill = \"none\"\n"));
    let contents = scenario.holds_content();
    let requests = StepWorkload { steps: steps.to_vec(), next: 0, contents, hint };
    let parts =
        CustomParts { workload: Some(Box::new(move |_| Box::new(requests))), ..CustomParts::default() };
    let run = run_with(&scenario, parts, &mut |_: &Progress| ControlFlow::Continue(()));
    run.unwrap_or_else(|error| panic!("{error}\nin\n{text}"))
}

/// Returns the counters of a result, without the form of a log's directory, which depends on the page content.
pub fn counts(result: &RunResult) -> Value {
    let mut layers = serde_json::to_value(&result.layers).unwrap();
    for layer in layers.as_array_mut().unwrap() {
        let layer = layer.as_object_mut().unwrap();
        layer.remove("directory");
        layer.remove("map_bytes");
    }
    json!({ "layers": layers, "nand": result.nand, "wear": result.wear, "device": result.device,
        "host_pages": result.phases.measured_host_pages })
}

/// Returns stacks with every FTL, with every kind of deduplication where it is supported, and with several layers.
fn stacks() -> Vec<String> {
    let logs = [
        "",
        "victim = \"cost_benefit\"\nplacement = \"double\"\n",
        "reclaim = \"in_place\"\nplacement = \"single\"\n",
    ];
    let mut stacks: Vec<String> = logs.iter().map(|log| format!("{SMALL}[ftl]\n{log}")).collect();
    for (ftl, properties) in ftls() {
        if matches!(properties.map, PageMap::InFlash | PageMap::OfBlocks) {
            stacks.push(format!("{SMALL}[ftl]\nstructure = \"{}\"\n", ftl.name));
        }
    }
    for dedup in ["inline", "sampled", "pre_hashed", "cagc"] {
        stacks.push(format!("{SMALL}[ftl]\ndedup = \"{dedup}\"\n"));
    }
    for ftl in ["page", "dftl", "gecko"] {
        stacks.push(format!("{SMALL}[ftl]\nstructure = \"{ftl}\"\ndedup = \"inline\"\n"));
    }
    stacks.push(format!("{SMALL}[[log]]\nname = \"fs\"\nsegment_blocks = 1\nspare_factor = 0.2\n"));
    let zoned = SMALL.replace("spare_factor = 0.25\n", "");
    stacks.push(format!("{zoned}[[log]]\nname = \"fs\"\nsegment_size = \"64 KiB\"\nspare_factor = 0.2\n[ftl]\nstructure = \"zones\"\n"));
    stacks
}

#[test]
fn device_counts_equal_simulation() {
    for text in stacks() {
        let mut device = device(&text);
        let steps = page_steps(device.bytes(), 4000, 3);
        for step in &steps {
            run_step(&mut device, step).unwrap_or_else(|error| panic!("{error}\nin\n{text}"));
        }
        device.check().unwrap();
        let served = device.result().unwrap_or_else(|error| panic!("{error}\nin\n{text}"));
        let simulated = simulate(&text, &steps);
        // A drive that deduplicates equal pages may need no cleaning.
        assert!(
            simulated.nand.erases > 100
                || text.contains("inline")
                || text.contains("sampled")
                || text.contains("pre_hashed"),
            "{text}"
        );
        assert_eq!(counts(&served), counts(&simulated), "{text}");
    }
}

#[test]
fn device_counts_over_nbd_equal_simulation() {
    let folder = tempfile::tempdir().unwrap();
    for (at, text) in [SMALL.to_owned(), format!("{SMALL}[ftl]\nstructure = \"dftl\"\ndedup = \"inline\"\n")]
        .into_iter()
        .enumerate()
    {
        let device = device(&text);
        let steps = page_steps(device.bytes(), 2000, 4);
        let device = SharedDevice::new(device);
        let path = folder.path().join(format!("{at}.sock"));
        let server = Server::start(device.clone(), &Address::Unix(path.clone()), Limits::default()).unwrap();
        let mut client = Client::connect(&path);
        client.go();
        for step in &steps {
            client.run_step(step);
        }
        client.disconnect();
        server.stop();
        let served = device.take().expect("nobody else has it").result().unwrap();
        assert_eq!(counts(&served), counts(&simulate(&text, &steps)), "{text}");
    }
}

/// Writes through an export carry its placement handle, which the drive separates. A replay of the journal uses the
/// same handles.
#[test]
fn device_counts_with_placement_handles_equal_simulation() {
    const HINT: fn(usize) -> u16 = |at| at as u16 % 3;
    for ftl in ["", "structure = \"gecko\"\n"] {
        let text = format!("{SMALL}[ftl]\n{ftl}placement = {{ kind = \"host_hint\", streams = 3 }}\n");
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("image");
        let (device, _) = Device::in_journal(&scenario(&text), &image, Speed::Full).unwrap();
        assert_eq!(device.placement_handles(), 3);
        let steps = page_steps(device.bytes(), 2000, 5);
        let device = SharedDevice::new(device);
        let path = folder.path().join("s");
        let server = Server::start(device.clone(), &Address::Unix(path.clone()), Limits::default()).unwrap();
        let mut clients = [0, 1, 2].map(|handle| {
            let mut client = Client::connect(&path);
            client.go_to(&format!("placement/{handle}"));
            client
        });
        for (at, step) in steps.iter().enumerate() {
            clients[usize::from(HINT(at))].run_step(step);
        }
        clients.into_iter().for_each(Client::disconnect);
        server.stop();
        drop(device.take());
        let (again, replayed) = Device::in_journal(&scenario(&text), &image, Speed::Full).unwrap();
        assert!(replayed.requests > 0);
        let wanted = counts(&simulate_with_hints(&text, &steps, HINT));
        assert_eq!(counts(&again.result().unwrap()), wanted, "{text}");
        assert_ne!(counts(&simulate(&text, &steps)), wanted, "handles matter");
    }
}
