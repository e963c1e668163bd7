//! Tests that compare films with the counts of the engine, frame by frame.

use std::collections::BTreeMap;
use wearwell_engine::counters::{Cause, Operation};
use wearwell_play::{
    Film, FilmRange, FilmedRun, LESSONS, Op, PageStatus, PanelContent, State, film, gif, page,
};
use wearwell_stack::layers::{PageMap, ftls};
use wearwell_stack::{CustomParts, Draft, Scenario};

const ONE_LAYER: &str = r#"
name = "one"
[device]
capacity = "256 KiB"
raw_capacity = "384 KiB"
pages_per_block = 8
page_size = "4 KiB"
[ftl]
placement = "single"
[workload]
kind = "uniform"
"#;

const TWO_LAYERS: &str = r#"
[device]
capacity = "240 KiB"
raw_capacity = "384 KiB"
pages_per_block = 8
page_size = "4 KiB"
[ftl]
placement = "single"
[[log]]
name = "upper"
placement = "single"
segment_size = "24 KiB"
spare_factor = 0.45
[workload]
kind = "uniform"
"#;

fn scenario(text: &str) -> Scenario {
    Draft::from_toml(text, "test").unwrap().scenario().unwrap()
}

fn filmed(text: &str, from: usize, steps: usize) -> FilmedRun {
    film(&scenario(text), CustomParts::default(), FilmRange { from, steps }, &mut || true).unwrap()
}

fn refusal(text: &str) -> String {
    let cut = FilmRange { from: 0, steps: 100 };
    film(&scenario(text), CustomParts::default(), cut, &mut || true).unwrap_err().to_string()
}

/// Pages of a panel by position, each with its label and true if it is valid.
type PanelPages = BTreeMap<(u32, u32), (String, bool)>;

/// Replays a film with maps. Checks at each step that no page is written twice or invalidated twice, and that no
/// valid page is erased unless it moves.
fn replay(film: &Film, mut check: impl FnMut(usize, &[PanelPages])) {
    let mut panels = vec![PanelPages::new(); film.panels.len()];
    for (step, frame) in film.frames.iter().enumerate() {
        for op in &frame.ops {
            match op {
                Op::Write { panel, block, page, cell } => {
                    let before = panels[*panel].insert((*block, *page), (cell.label.clone(), true));
                    assert_eq!(before, None, "step {step}: {}", frame.text);
                    let written = panels[*panel].range((*block, 0)..(*block + 1, 0)).count() as u32;
                    assert_eq!(written, page + 1, "pages are written in order: {}", frame.text);
                }
                Op::Invalidate { panel, block, page } => {
                    let page = panels[*panel].get_mut(&(*block, *page)).expect("it was written");
                    assert!(std::mem::replace(&mut page.1, false), "{}", frame.text);
                }
                Op::Erase { panel, block, .. } => panels[*panel].retain(|(own, _), _| own != block),
                Op::Stale { .. } | Op::Victim { .. } | Op::Row { .. } => {}
            }
        }
        check(step, &panels);
    }
}

/// Counts the writes and the erases of a panel by cause.
fn count_operations(film: &Film, at: usize) -> (Vec<u64>, Vec<u64>) {
    let (mut written, mut erased) = (vec![0; Cause::ALL.len()], vec![0; Cause::ALL.len()]);
    for op in film.frames.iter().flat_map(|frame| &frame.ops) {
        match op {
            Op::Write { panel, cell, .. } if *panel == at => written[usize::from(cell.cause)] += 1,
            Op::Erase { panel, cause, .. } if *panel == at => erased[usize::from(*cause)] += 1,
            _ => {}
        }
    }
    (written, erased)
}

fn assert_counts_agree(filmed: &FilmedRun) {
    let FilmedRun { film, outcome: watched } = filmed;
    let mut last = Vec::new();
    let mut state = State::of(film);
    let mut steps = film.frames.iter();
    replay(film, |_, panels| {
        // The drawn state agrees with the maps.
        state.apply(steps.next().unwrap());
        for (expected, drawn) in panels.iter().zip(&state.panels) {
            for (at, page) in drawn.pages.iter().enumerate() {
                let position = (at as u32 / drawn.pages_per_block, at as u32 % drawn.pages_per_block);
                let life = match expected.get(&position) {
                    None => PageStatus::Free,
                    Some((label, lives)) => {
                        assert_eq!(*label, page.cell.label);
                        if *lives { PageStatus::Valid } else { PageStatus::Invalid }
                    }
                };
                assert_eq!(life, page.status);
            }
        }
        last = panels.to_vec();
    });
    for (at, report) in watched.reports.layers.iter().enumerate() {
        let (written, erased) = count_operations(film, at);
        for cause in Cause::ALL {
            let of = |operation| report.counters.outgoing(cause, operation);
            assert_eq!(written[cause as usize], of(Operation::Write), "{at} {cause:?}");
            assert_eq!(erased[cause as usize], of(Operation::Erase), "{at} {cause:?}");
        }
        // Labels of FTL metadata start with a letter.
        let is_of_host = |label: &str| label.starts_with(|first: char| first.is_ascii_digit());
        let valid = last[at].values().filter(|(label, is_valid)| *is_valid && is_of_host(label)).count();
        assert_eq!(valid as u64, u64::from(report.mapped_pages), "{at}");
    }
    let nand = watched.reports.nand.as_ref().unwrap();
    let (_, erased) = count_operations(film, film.panels.len() - 1);
    assert_eq!(
        erased.iter().sum::<u64>(),
        nand.erase_counts.iter().map(|count| u64::from(*count)).sum::<u64>()
    );
}

#[test]
fn film_matches_engine_counts() {
    let in_place = ONE_LAYER.replace("[ftl]", "[ftl]\nreclaim = \"in_place\"");
    let trimming = ONE_LAYER.replace("kind = \"uniform\"", "kind = \"uniform\"\ntrim_ratio = 0.2");
    let untrimmed = TWO_LAYERS.replace("spare_factor", "trim = false\nspare_factor");
    let by_page = TWO_LAYERS.replace("spare_factor", "trim = { unit = \"page\" }\nspare_factor");
    let streams = ONE_LAYER.replace("\"single\"", "\"double\"").replace("384", "448");
    for text in [ONE_LAYER, &in_place, &trimming, TWO_LAYERS, &untrimmed, &by_page, &streams] {
        let filmed = filmed(text, 0, 700);
        assert!(filmed.film.frames.len() > 700, "{}", filmed.film.frames.len());
        assert_counts_agree(&filmed);
    }
}

/// Drive with enough space for the metadata of every FTL.
const ROOMY_DRIVE: &str = r#"
[device]
capacity = "128 KiB"
raw_capacity = "1 MiB"
pages_per_block = 8
page_size = "4 KiB"
[workload]
kind = "uniform"
trim_ratio = 0.2
"#;

#[test]
fn film_of_every_ftl_matches_engine_counts() {
    for (entry, properties) in ftls() {
        let is_mapped_in_flash = properties.map == PageMap::InFlash;
        let cache = if is_mapped_in_flash { ", cache_entries = 12" } else { "" };
        let ftl = format!("[ftl]\nstructure = {{ kind = \"{}\"{cache} }}\n[workload]", entry.name);
        let mut text = ROOMY_DRIVE.replace("[workload]", &ftl);
        if properties.map == PageMap::Absent {
            // This FTL exposes all its flash as capacity and writes pages at fixed positions.
            text = text.replace("capacity = \"128 KiB\"\nraw_capacity", "capacity");
            text += "[[log]]\nplacement = \"single\"\nsegment_size = \"32 KiB\"\nspare_factor = 0.5\n";
        }
        let filmed = filmed(&text, 0, 1500);
        assert_counts_agree(&filmed);
        let film = &filmed.film;
        assert!(film.frames.len() > 1500, "{}: {}", entry.name, film.frames.len());
        let labels: String = film
            .frames
            .iter()
            .flat_map(|frame| &frame.ops)
            .filter_map(|op| match op {
                Op::Write { cell, .. } => cell.label.chars().next(),
                _ => None,
            })
            .collect();
        let has = |first: char| labels.contains(first);
        assert_eq!(has('T'), is_mapped_in_flash, "{}", entry.name);
        assert_eq!(has('V'), properties.validity_in_flash, "{}", entry.name);
        assert_eq!(has('–'), properties.map == PageMap::OfBlocks, "{}: padding", entry.name);
    }
}

#[test]
fn skipped_steps_are_merged_into_the_first_frame() {
    let (full, part) = (filmed(ONE_LAYER, 0, 300).film, filmed(ONE_LAYER, 200, 100).film);
    let end = |film: &Film| {
        let mut state = State::of(film);
        film.frames.iter().for_each(|frame| state.apply(frame));
        state.panels[0].pages.iter().map(|page| (page.status, page.cell.clone())).collect::<Vec<_>>()
    };
    assert!(part.frames[0].text.contains("200 steps"), "{}", part.frames[0].text);
    assert_eq!(full.frames[201..], part.frames[1..]);
    assert_eq!(end(&full), end(&part));
}

#[test]
fn unsupported_scenario_is_refused_with_reason() {
    for (change, words) in [
        (("384 KiB", "384 MiB"), vec!["a film has room for", "256 KiB"]),
        (("[workload]", "[timing]\n[workload]"), vec!["timing", "a clock"]),
    ] {
        let problem = refusal(&ONE_LAYER.replace("256 KiB", "128 KiB").replace(change.0, change.1));
        assert!(words.iter().all(|word| problem.contains(word)), "{problem}");
    }
    let metadata = TWO_LAYERS.replace("spare_factor", "metadata = \"f2fs\"\nspare_factor");
    let problem = Draft::from_toml(&metadata, "test").unwrap().scenario().map(|scenario| {
        film(&scenario, CustomParts::default(), FilmRange { from: 0, steps: 9 }, &mut || true)
            .unwrap_err()
            .to_string()
    });
    assert!(problem.unwrap().contains("log[0]"));
}

#[test]
fn film_stops_on_request() {
    let mut polls = 0;
    let cut = FilmRange { from: 0, steps: 100 };
    let stopped = film(&scenario(ONE_LAYER), CustomParts::default(), cut, &mut || {
        polls += 1;
        polls < 10
    });
    assert!(matches!(stopped, Err(wearwell_stack::RunError::Interrupted)));
}

#[test]
fn gif_has_a_picture_for_each_step() {
    let film = filmed(ONE_LAYER, 100, 12).film;
    let bytes = match gif(&film, 4.0) {
        Ok(bytes) => bytes,
        Err(problem) => return assert!(problem.to_string().contains("no font"), "{problem}"),
    };
    let mut options = gif::DecodeOptions::new();
    options.set_color_output(gif::ColorOutput::RGBA);
    let mut decoder = options.read_info(&bytes[..]).unwrap();
    let (width, height) = (decoder.width(), decoder.height());
    let mut delays = Vec::new();
    while let Some(frame) = decoder.read_next_frame().unwrap() {
        assert!(frame.left + frame.width <= width && frame.top + frame.height <= height);
        delays.push(frame.delay);
    }
    assert_eq!(delays.len(), film.frames.len());
    assert!(delays[..delays.len() - 1].iter().all(|delay| *delay == 25) && delays.last() == Some(&225));
}

#[test]
fn lessons_have_unique_names_and_films() {
    let mut names: Vec<&str> = LESSONS.iter().map(|lesson| lesson.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), LESSONS.len());
    for lesson in LESSONS {
        let film = lesson.film().unwrap();
        assert!(film.frames.len() > 10 && film.notes.len() >= 2, "{}", lesson.name);
        replay(&film, |_, _| {});
        let text = page(&film);
        assert!(text.len() < 2_000_000 && text.contains(lesson.title), "{}: {}", lesson.name, text.len());
        let blocks = film.panels.iter().filter(|panel| matches!(panel.content, PanelContent::Blocks { .. }));
        assert!(blocks.count() + 1 >= film.panels.len());
        assert!(film.frames.iter().all(|frame| frame.text.ends_with('.')), "{}", lesson.name);
    }
}
