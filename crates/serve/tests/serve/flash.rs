//! Tests of drives that recover from the bytes of their flash.

use crate::agreement::{counts, simulate};
use crate::common::{PAGE, SMALL, Step, page_steps, run_step, scenario};
use std::path::Path;
use wearwell_base::seed::{Seed, random_below};
use wearwell_serve::flash::{PowerCut, check, count_image, dump};
use wearwell_serve::{Device, DeviceError, ImageError};
use wearwell_stack::layers::{PageMap, ftls};

/// Returns drives with every FTL that recovers from its flash, and with deduplication whose map is recoverable. The
/// flag is true if acknowledged writes survive without a flush.
pub fn drives() -> Vec<(String, bool)> {
    let log = "victim = \"cost_benefit\"\nplacement = \"double\"\nreclaim = \"free_pool\"\n";
    let mut drives = vec![(format!("{SMALL}[ftl]\n{log}"), false)];
    for (ftl, properties) in ftls() {
        if !matches!(properties.map, PageMap::InFlash | PageMap::OfBlocks) {
            continue;
        }
        let drive = format!("{SMALL}[ftl]\nstructure = \"{}\"\n", ftl.name);
        drives.push((drive, properties.has_battery));
    }
    for (ftl, dedup) in [("", "cagc"), ("", "inline"), ("structure = \"gecko\"\n", "inline")] {
        let log = if ftl.is_empty() { "reclaim = \"free_pool\"\n" } else { ftl };
        let dedup = format!("[ftl.dedup]\nkind = \"{dedup}\"\nmap_log = true\n");
        // Slots that wait for the log of the map take space, so this drive has more spare space.
        let drive = SMALL.replace("= 96", "= 160").replace("0.25", "0.4");
        drives.push((format!("{drive}[ftl]\n{log}{dedup}"), false));
    }
    drives
}

/// Returns a folder for an image, in memory if possible: the host keeps its power in tests, and every erase would
/// wait for a disk.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn open(at: &Path, text: &str) -> Result<Device, String> {
    let opened = Device::in_image(&scenario(text), at).map_err(|error| error.to_string());
    opened.map(|(device, _)| device)
}

/// Possible content of a drive after a power cut. All bytes of a page are equal; they are 0 if the page has no
/// content.
struct Model {
    content: Vec<u8>,
    /// Other possible content of each page.
    alternatives: Vec<Vec<u8>>,
    /// All content that was ever written to each page.
    all_written: Vec<Vec<u8>>,
    /// True if acknowledged writes survive without a flush.
    writes_survive: bool,
    /// True if trims survive after a flush. Otherwise, any earlier content of a trimmed page may reappear.
    trims_survive: bool,
}

impl Model {
    fn new(bytes: u64, text: &str) -> Self {
        let pages = (bytes / PAGE) as usize;
        Model {
            content: vec![0; pages],
            alternatives: vec![Vec::new(); pages],
            all_written: vec![Vec::new(); pages],
            writes_survive: !text.contains("dedup"),
            trims_survive: text.contains("structure = \"") && !text.contains("ast\"")
                || text.contains("dedup"),
        }
    }

    fn page(&mut self, page: usize, content: u8, is_done: bool) {
        let before = std::mem::replace(&mut self.content[page], content);
        if content > 0 && is_done && self.writes_survive {
            self.alternatives[page].clear();
        } else {
            self.alternatives[page].push(before);
        }
        if content > 0 {
            self.all_written[page].push(content);
        } else if !self.trims_survive {
            let ever = self.all_written[page].clone();
            self.alternatives[page].extend(ever);
        }
    }

    /// Applies a request that was acknowledged (if `is_done`) or interrupted by the power cut.
    fn apply(&mut self, step: &Step, is_done: bool) {
        match step {
            Step::Write(offset, data) => {
                for (page, data) in ((offset / PAGE) as usize..).zip(data.chunks(PAGE as usize)) {
                    self.page(page, data[0], is_done);
                }
            }
            Step::Trim(offset, length) => {
                (offset / PAGE..(offset + length) / PAGE)
                    .for_each(|page| self.page(page as usize, 0, is_done));
            }
            Step::Flush if is_done && self.trims_survive => self.alternatives.iter_mut().for_each(Vec::clear),
            _ => {}
        }
    }

    /// Checks after a power cut that every page has one of its possible contents, which from then on is its content.
    fn check(&mut self, device: &mut Device, text: &str) {
        let mut all = vec![0; self.content.len() * PAGE as usize];
        device.read(0, &mut all).unwrap_or_else(|error| panic!("{error}\nin\n{text}"));
        for (page, found) in all.chunks_exact(PAGE as usize).enumerate() {
            let (wanted, content) = (self.content[page], found[0]);
            let is_whole = found.iter().all(|byte| *byte == content);
            let may_hold = content == wanted || self.alternatives[page].contains(&content);
            let maybe = &self.alternatives[page];
            assert!(is_whole && may_hold, "page {page}: {content}, not {wanted} or {maybe:?}\nin\n{text}");
            self.content[page] = content;
            match self.trims_survive {
                true => self.alternatives[page].clear(),
                // Content that reappeared may disappear and reappear again until the next write of the page.
                false => self.alternatives[page].push(wanted),
            }
        }
    }
}

/// A drive in files has the same counts as a simulation with the same requests.
#[test]
fn drive_on_flash_image_has_counts_of_simulation() {
    for (text, _) in drives() {
        let folder = folder();
        let mut device = open(folder.path(), &text).unwrap_or_else(|error| panic!("{error}\nin\n{text}"));
        let steps = page_steps(device.bytes(), 2500, 3);
        for step in &steps {
            run_step(&mut device, step).unwrap_or_else(|error| panic!("{error}\nin\n{text}"));
        }
        device.check().unwrap();
        assert_eq!(counts(&device.result().unwrap()), counts(&simulate(&text, &steps)), "{text}");
    }
}

/// Number of pages that the steps write.
fn written_pages(steps: &[Step]) -> u64 {
    let pages = |step: &Step| match step {
        Step::Write(_, data) => data.len() as u64 / PAGE,
        _ => 0,
    };
    steps.iter().map(pages).sum()
}

/// The drive ends between two requests without a clean shutdown, and recovers from its files alone. The result of each
/// power cycle has the counts of this power cycle.
#[test]
fn drive_recovers_from_its_files() {
    for (text, _) in drives() {
        let folder = folder();
        let mut model = None;
        for round in 0..4 {
            let mut device = open(folder.path(), &text).unwrap_or_else(|error| panic!("{error}\nin\n{text}"));
            let opened = device.open_report().expect("its flash is kept");
            assert_eq!((opened.is_new, opened.recovery.is_some()), (round == 0, round > 0), "{text}");
            let model = model.get_or_insert_with(|| Model::new(device.bytes(), &text));
            model.check(&mut device, &text);
            let steps = page_steps(device.bytes(), 900, 10 + round);
            for step in &steps {
                run_step(&mut device, step).unwrap_or_else(|error| panic!("{error}\nin\n{text}"));
                model.apply(step, true);
            }
            device.check().unwrap();
            let result = device.result().unwrap_or_else(|error| panic!("{error}\nin\n{text}"));
            assert_eq!(result.phases.measured_host_pages, written_pages(&steps), "{text}");
            let checked = check(folder.path(), &mut |_| true).unwrap();
            assert_eq!(checked.problems, [""; 0], "{text}");
            assert!(checked.recovery.is_some());
        }
    }
}

/// Power is cut at random operations, before or during them, and the server continues.
#[test]
fn drive_recovers_from_power_cut_at_any_operation() {
    for (text, _) in drives() {
        let folder = folder();
        let mut device = open(folder.path(), &text).unwrap();
        let mut model = Model::new(device.bytes(), &text);
        let mut random = Seed(5).random();
        let mut cuts = 0;
        // With inline deduplication, most writes program no page, so cuts must come earlier.
        let most = if text.contains("inline") { 2 } else { 40 };
        for step in page_steps(device.bytes(), 700, 6) {
            if random_below(&mut random, 12) == 0 {
                let after = random_below(&mut random, most);
                device.cut_power(PowerCut { after, torn: true }).unwrap();
            }
            let done = run_step(&mut device, &step);
            match &done {
                Ok(_) => model.apply(&step, true),
                Err(DeviceError::PowerLost) => {
                    model.apply(&step, false);
                    model.check(&mut device, &text);
                    cuts += 1;
                }
                Err(error) => panic!("{error}\nin\n{text}"),
            }
        }
        assert!(cuts > 3 && device.power_cuts() >= cuts, "{cuts} cuts\nin\n{text}");
        let again = device.cut_power(PowerCut { after: 0, torn: false }).unwrap();
        assert!(again.expect("at once").recovery.is_some());
        model.check(&mut device, &text);
        device.check().unwrap();
        // The last power cut was followed by reads only.
        let result = device.result().unwrap_or_else(|error| panic!("{error}\nin\n{text}"));
        assert_eq!(result.phases.measured_host_pages, 0, "{text}");
    }
}

/// The result has the requests since the last power cut, for every FTL.
#[test]
fn result_after_power_cut_has_counts_since_recovery() {
    for (text, _) in drives() {
        let folder = folder();
        let mut device = open(folder.path(), &text).unwrap();
        let [before, after] = [21, 22].map(|seed| page_steps(device.bytes(), 600, seed));
        let run = |device: &mut Device, steps: &[Step]| {
            for step in steps {
                run_step(device, step).unwrap_or_else(|error| panic!("{error}\nin\n{text}"));
            }
        };
        run(&mut device, &before);
        device.cut_power(PowerCut { after: 0, torn: false }).unwrap();
        run(&mut device, &after);
        let result = device.result().unwrap_or_else(|error| panic!("{error}\nin\n{text}"));
        assert_eq!(result.phases.measured_host_pages, written_pages(&after), "{text}");
    }
}

/// A flipped bit is detected: either the image or the page is refused, unless the bit is never read.
#[test]
fn damaged_data_is_refused_and_never_returned() {
    let text = format!("{SMALL}[ftl]\nstructure = \"gecko\"\n");
    let folder = folder();
    let mut device = open(folder.path(), &text).unwrap();
    let steps = page_steps(device.bytes(), 1500, 8);
    for step in &steps {
        run_step(&mut device, step).unwrap();
    }
    device.flush().unwrap();
    let mut all = vec![0; device.bytes() as usize];
    device.read(0, &mut all).unwrap();
    assert!(open(folder.path(), &text).map(drop).unwrap_err().contains("in use"));
    drop(device);
    assert!(open(folder.path(), &format!("seed = 5\n{text}")).map(drop).unwrap_err().contains("another"));
    let mut random = Seed(9).random();
    let (mut refused, mut unread) = (0, 0);
    for name in ["flash", "blocks", "spares", "pages"] {
        let path = folder.path().join(name);
        let whole = std::fs::read(&path).unwrap();
        for _ in 0..12 {
            let mut damaged = whole.clone();
            // The byte to be damaged must be in use.
            let at = loop {
                let at = random_below(&mut random, whole.len() as u64) as usize;
                if whole[at] != 0 {
                    break at;
                }
            };
            damaged[at] ^= 1 << random_below(&mut random, 8);
            std::fs::write(&path, &damaged).unwrap();
            let told = check(folder.path(), &mut |_| true);
            let is_found = told.as_ref().map_or(true, |checked| !checked.problems.is_empty());
            let copy = copy_folder(folder.path());
            let mut found = vec![0; all.len()];
            match open(copy.path(), &text) {
                Err(problem) => {
                    assert!(problem.starts_with(&copy.path().display().to_string()), "{problem}");
                    refused += 1;
                }
                Ok(mut device) => match device.read(0, &mut found) {
                    Err(error) => {
                        assert!(error.to_string().contains("damaged"), "{error}");
                        refused += 1;
                    }
                    Ok(()) => {
                        assert!(found == all, "byte {at} of {name}");
                        unread += 1;
                    }
                },
            }
            // Damage to the older sync record has no effect.
            assert!(is_found || name == "blocks" && at < 64, "byte {at} of {name}");
            std::fs::write(&path, &whole).unwrap();
        }
    }
    assert!(refused > 20 && refused + unread == 48, "{refused} refused, {unread} not read");
    let mut device = open(folder.path(), &text).unwrap();
    let mut found = vec![0; all.len()];
    device.read(0, &mut found).unwrap();
    assert!(found == all);
}

/// A file that is missing or shorter than it was is not taken for one of a new drive.
#[test]
fn missing_or_shortened_files_are_refused_and_found_by_check() {
    let (folder, text) = (folder(), format!("{SMALL}[ftl]\nstructure = \"gecko\"\n"));
    let mut device = open(folder.path(), &text).unwrap();
    let steps = page_steps(device.bytes(), 300, 12);
    steps.iter().for_each(|step| drop(run_step(&mut device, step).unwrap()));
    device.flush().unwrap();
    drop(device);
    for name in ["pages", "spares", "blocks"] {
        let path = folder.path().join(name);
        let whole = std::fs::read(&path).unwrap();
        for shortened in [Some(whole.len() / 2), Some(whole.len() - 1), Some(0), None] {
            match shortened {
                Some(length) => std::fs::write(&path, &whole[..length]).unwrap(),
                None => std::fs::remove_file(&path).unwrap(),
            }
            assert!(check(folder.path(), &mut |_| true).is_err(), "{name}: {shortened:?}");
            assert!(open(folder.path(), &text).map(drop).unwrap_err().contains(name), "{shortened:?}");
        }
        std::fs::write(&path, &whole).unwrap();
    }
    assert_eq!(check(folder.path(), &mut |_| true).unwrap().problems, [""; 0]);
    open(folder.path(), &text).unwrap();
}

/// The trims that only the battery's file has: without a part of the file, opening fails and the check finds it.
#[test]
fn incomplete_file_of_battery_is_refused_and_found_by_check() {
    let (folder, text) = (folder(), format!("{SMALL}[ftl]\nstructure = \"dftl\"\n"));
    let mut device = open(folder.path(), &text).unwrap();
    for page in 0..20 {
        device.write(page * PAGE, &filled(page)).unwrap();
    }
    device.flush().unwrap();
    device.trim(0, 10 * PAGE).unwrap();
    device.flush().unwrap();
    drop(device);
    let path = folder.path().join("battery");
    let whole = std::fs::read(&path).unwrap();
    assert_eq!(whole.len(), 10 * 16);
    let mut flipped = whole.clone();
    flipped[33] ^= 8;
    for damaged in [Some(&whole[..32]), Some(&whole[..150]), Some(&flipped[..]), None] {
        match damaged {
            Some(bytes) => std::fs::write(&path, bytes).unwrap(),
            None => std::fs::remove_file(&path).unwrap(),
        }
        let problems = check(folder.path(), &mut |_| true).unwrap().problems;
        assert!(problems.len() == 1 && problems[0].contains("battery"), "{problems:?}");
        assert!(open(folder.path(), &text).map(drop).unwrap_err().contains("battery"));
    }
    std::fs::write(&path, &whole).unwrap();
    assert_eq!(check(folder.path(), &mut |_| true).unwrap().problems, [""; 0]);
    let mut device = open(folder.path(), &text).unwrap();
    let mut found = vec![0; 20 * PAGE as usize];
    device.read(0, &mut found).unwrap();
    let wanted: Vec<u8> =
        (0..20).flat_map(|page| if page < 10 { vec![0; PAGE as usize] } else { filled(page) }).collect();
    assert!(found == wanted);
}

/// Returns the bytes with which a test fills a page.
fn filled(page: u64) -> Vec<u8> {
    vec![1 + page as u8 % 250; PAGE as usize]
}

/// Returns the index in the file `pages` of the newest copy of a logical page.
fn newest_copy(folder: &Path, owner: u32) -> u64 {
    let mut newest = (0, 0);
    dump::<ImageError>(folder, None, |line| {
        if line.kind == "data" && line.owner == owner {
            newest = newest.max((line.operation, u64::from(line.block) * 16 + u64::from(line.page)));
        }
        Ok(())
    })
    .unwrap();
    newest.1
}

/// Cleaning moves a damaged page with its checksum, so that it never becomes valid and other pages can be written.
#[test]
fn damaged_page_stays_damaged_when_cleaning_moves_it() {
    const DAMAGED: u64 = 5;
    for ftl in ["reclaim = \"free_pool\"", "structure = \"gecko\"", "structure = \"fast\""] {
        let (folder, text) = (folder(), format!("{SMALL}[ftl]\n{ftl}\n"));
        let mut device = open(folder.path(), &text).unwrap();
        let pages = device.bytes() / PAGE;
        (0..pages).for_each(|page| device.write(page * PAGE, &filled(page)).unwrap());
        device.flush().unwrap();
        drop(device);
        let first = newest_copy(folder.path(), DAMAGED as u32);
        let path = folder.path().join("pages");
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[(first * PAGE) as usize + 100] ^= 4;
        std::fs::write(&path, &bytes).unwrap();
        let mut device = open(folder.path(), &text).unwrap();
        let mut random = Seed(4).random();
        for _ in 0..4 * pages {
            let page = random_below(&mut random, pages);
            if page != DAMAGED {
                device
                    .write(page * PAGE, &filled(page))
                    .unwrap_or_else(|error| panic!("{error}\nin\n{text}"));
            }
        }
        let problems = device.take_problems();
        assert!(problems.iter().any(|problem| problem.contains("cleaning has moved the page")), "{text}");
        let mut found = vec![0; PAGE as usize];
        let refused = device.read(DAMAGED * PAGE, &mut found).unwrap_err().to_string();
        assert!(refused.contains("damaged"), "{refused}");
        device.flush().unwrap();
        drop(device);
        assert_ne!(newest_copy(folder.path(), DAMAGED as u32), first, "{text}");
        let checked = check(folder.path(), &mut |_| true).unwrap();
        assert!(!checked.problems.is_empty() && checked.recovery.is_some(), "{text}");
        let mut device = open(folder.path(), &text).unwrap();
        device.write(DAMAGED * PAGE, &filled(DAMAGED)).unwrap();
        for page in 0..pages {
            device.read(page * PAGE, &mut found).unwrap();
            assert!(found == filled(page), "page {page}\nin\n{text}");
        }
    }
}

fn copy_folder(from: &Path) -> tempfile::TempDir {
    let to = folder();
    for file in std::fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), to.path().join(file.file_name())).unwrap();
    }
    to
}

/// When the host machine stops, its disk may have any subset of the last operations. The operations before the first
/// missing one are the state after a power cut at that moment, provided that no operation before the last flush is
/// missing.
#[test]
fn operations_after_a_lost_one_are_undone() {
    let text = format!("{SMALL}[ftl]\nreclaim = \"free_pool\"\n");
    let folder = folder();
    let mut device = open(folder.path(), &text).unwrap();
    let page = |fill: u8| vec![fill; PAGE as usize];
    for (at, fill) in [(0, 1), (1, 2)] {
        device.write(at * PAGE, &page(fill)).unwrap();
    }
    device.flush().unwrap();
    for (at, fill) in [(0, 3), (2, 4), (3, 5)] {
        device.write(at * PAGE, &page(fill)).unwrap();
    }
    drop(device);
    let lines = || {
        let mut lines = Vec::new();
        dump::<ImageError>(folder.path(), None, |line| {
            lines.push(line.clone());
            Ok(())
        })
        .unwrap();
        lines
    };
    let fourth = lines().into_iter().find(|line| line.operation == 4).unwrap();
    assert_eq!((fourth.owner, fourth.kind, fourth.cause), (2, "data", "host"));
    let spares = folder.path().join("spares");
    let mut bytes = std::fs::read(&spares).unwrap();
    bytes[(fourth.block * 16 + fourth.page) as usize * 128..][..128].fill(0);
    std::fs::write(&spares, &bytes).unwrap();
    assert_eq!(count_image(folder.path()).unwrap().undone_operations, 1);
    let mut device = open(folder.path(), &text).unwrap();
    let opened = device.open_report().unwrap();
    assert_eq!((opened.operations, opened.undone_operations), (3, 1));
    let mut found = vec![0; 4 * PAGE as usize];
    device.read(0, &mut found).unwrap();
    let firsts: Vec<u8> = found.chunks(PAGE as usize).map(|page| page[0]).collect();
    assert_eq!(firsts, [3, 2, 0, 0]);
    drop(device);
    assert_eq!(lines().len(), 3);
    // A missing operation before the last flush is refused.
    let mut bytes = std::fs::read(&spares).unwrap();
    let second = lines().into_iter().find(|line| line.operation == 2).unwrap();
    bytes[(second.block * 16 + second.page) as usize * 128 + 9] ^= 1;
    std::fs::write(&spares, &bytes).unwrap();
    assert!(open(folder.path(), &text).map(drop).unwrap_err().contains("is damaged"));
}

#[test]
fn power_cut_without_flash_image_is_refused() {
    let mut device = Device::in_memory(&scenario(SMALL)).unwrap();
    let refused = device.cut_power(PowerCut { after: 0, torn: false }).unwrap_err();
    assert!(refused.to_string().contains("image"), "{refused}");
    let folder = folder();
    let in_place = format!("{SMALL}[ftl]\nreclaim = \"in_place\"\nplacement = \"single\"\n");
    let device = open(folder.path(), &in_place).unwrap();
    assert!(device.open_report().is_none(), "it is kept as a journal");
}
