//! Tests that the replies of the control server agree with the counters of the device.

use crate::common::{STACK, device, start_control, write};
use serde_json::Value;
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

#[test]
fn reading_agrees_with_device_and_layers() {
    let folder = tempfile::tempdir().unwrap();
    let device = device(STACK);
    write(&device, 8000);
    device.with(|device| device.read(0, &mut [0; 8192])).unwrap();
    device.with(|device| device.trim(4096, 3 * 4096)).unwrap();
    device.with(|device| device.flush()).unwrap();
    let (control, client) = start_control(&device, folder.path());
    let mode = folder.path().join("control.sock").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let reading = client.read().unwrap();
    // The status of the device is the reference. The output of each layer must equal the input of the layer below.
    let known = device.with(|device| Ok(device.status())).unwrap().read();
    assert_eq!(reading.intermediate_result, known.intermediate_result);
    assert_eq!(reading.requests, known.requests);
    assert_eq!(reading.erased_blocks, known.erased_blocks);
    let of = |operation: &str| (reading.requests[operation].requests, reading.requests[operation].bytes);
    assert_eq!(of("write"), (8000, 8000 * 4096));
    assert_eq!((of("read"), of("trim"), of("flush")), ((1, 8192), (1, 3 * 4096), (1, 0)));
    let so_far = &reading.intermediate_result;
    assert_eq!(so_far.host_pages, 8000);
    let sent =
        |at: usize| -> u64 { so_far.layers[at].outgoing.values().filter_map(|of| of.get("write")).sum() };
    assert_eq!(so_far.layers[0].incoming["write"], 8000);
    assert_eq!(so_far.layers[1].incoming["write"], sent(0));
    assert_eq!(so_far.nand.programs, sent(1));
    assert_eq!(so_far.write_amplification, Some(sent(1) as f64 / 8000.0));
    assert!(so_far.write_amplification > Some(1.2), "{:?}", so_far.write_amplification);
    assert_eq!(so_far.wear.map.as_ref().unwrap().erases.iter().sum::<f64>(), so_far.nand.erases as f64);
    assert_eq!(reading.endurance_cycles, Some(3000));
    control.stop().unwrap();
    assert!(!folder.path().join("control.sock").exists());
}

/// Time limits the number of readings, not the number of queries.
#[test]
fn many_queries_cause_few_readings() {
    let folder = tempfile::tempdir().unwrap();
    let device = device(STACK);
    let (control, client) = start_control(&device, folder.path());
    let (started, mut seconds) = (Instant::now(), BTreeSet::new());
    for _ in 0..100 {
        write(&device, 1);
        seconds.insert(client.read().unwrap().seconds.to_bits());
    }
    let most = started.elapsed().as_secs_f64() / 0.25 + 2.0;
    assert!((seconds.len() as f64) < most, "{} readings in {most} quarters of a second", seconds.len());
    drop(control);
}

#[test]
fn history_lists_samples_and_after_filters_them() {
    let folder = tempfile::tempdir().unwrap();
    let device = device(STACK);
    let (control, client) = start_control(&device, folder.path());
    let history = |query: &str| -> Vec<Value> {
        serde_json::from_slice(&client.get(&format!("/history.json{query}")).unwrap()).unwrap()
    };
    let end = Instant::now() + Duration::from_secs(300);
    while history("").len() < 3 {
        write(&device, 500);
        assert!(Instant::now() < end, "a sample comes each second");
        std::thread::sleep(Duration::from_millis(50));
    }
    let all = history("");
    let pages = |sample: &Value| sample["host_pages"].as_u64().unwrap();
    // On a busy machine, no write may come between two samples.
    assert!(all.windows(2).all(|pair| pages(&pair[0]) <= pages(&pair[1])), "{all:?}");
    assert!(all.windows(2).all(|pair| pair[0]["seconds"].as_f64() < pair[1]["seconds"].as_f64()), "{all:?}");
    for sample in &all {
        let sent: u64 =
            sample["writes"]["ftl"].as_object().unwrap().values().map(|one| one.as_u64().unwrap()).sum();
        assert_eq!(sent, sample["programs"].as_u64().unwrap(), "{sample}");
    }
    let after = all[1]["seconds"].as_f64().unwrap();
    assert_eq!(history(&format!("?after={after}"))[0], all[2]);
    assert!(client.get("/history.json?after=x").is_err() && client.get("/history.json?before=1").is_err());
    drop(control);
}

#[test]
fn page_is_self_contained_and_escapes_text() {
    let folder = tempfile::tempdir().unwrap();
    let device = device(STACK);
    write(&device, 3000);
    let (control, client) = start_control(&device, folder.path());
    let page = String::from_utf8(client.get("/").unwrap()).unwrap();
    assert!(page.contains("connect-src 'self'") && page.contains("keepUpToDate"));
    assert!(!page.contains("<b>small</b>") && page.contains("&lt;b&gt;small&lt;/b&gt;"));
    assert!(!page.contains("src=\"http") && !page.contains("href=\"http"));
    drop(control);
}

/// A block takes sixteen pages, and is opened when its first page is written.
#[test]
fn erased_blocks_fall_when_a_block_is_opened() {
    let device = device("[device]\nblocks_per_plane = 96\npages_per_block = 16\nspare_factor = 0.25\n");
    let mut free = Vec::new();
    for page in 0..40 {
        free.push(device.with(|device| Ok(device.status())).unwrap().read().erased_blocks["ftl"]);
        device.with(|device| device.write(page * 4096, &[1; 4096])).unwrap();
    }
    let expected = [vec![96], vec![95; 16], vec![94; 16], vec![93; 7]].concat();
    assert_eq!(free, expected);
}
