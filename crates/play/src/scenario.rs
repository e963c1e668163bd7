//! Films of scenarios.

use crate::director::{Director, Medium};
use crate::film::Film;
use std::ops::ControlFlow;
use wearwell_base::config::ConfigError;
use wearwell_engine::layer::MediumEvent;
use wearwell_stack::tree::{Tree, User};
use wearwell_stack::{
    CustomParts, ObservedOutcome, PageObserver, Phase, ResolvedScenario, RunError, Scenario, run_observed,
};

/// Maximum number of blocks of a layer, which the size of the picture limits.
pub const MAX_BLOCKS: u32 = 128;
/// Maximum number of pages of a layer.
pub const MAX_PAGES: u64 = 2048;
/// Maximum number of steps of a film.
pub const MAX_STEPS: usize = 5000;

/// Number of requests without a write, trim or erase after which filming ends.
const MAX_IDLE_REQUESTS: u32 = 100_000;

/// Part of a run that is filmed.
#[derive(Clone, Copy, Debug)]
pub struct FilmRange {
    /// Number of steps before the first step that is shown.
    pub from: usize,
    /// Number of steps that are shown.
    pub steps: usize,
}

/// Film of a run, and the counts of the engine.
#[derive(Debug)]
pub struct FilmedRun {
    /// The film.
    pub film: Film,
    /// Counts of the engine since the drive was new.
    pub outcome: ObservedOutcome,
}

/// Films a run of `scenario`; `parts` may supply a custom workload. Calls `keep_going` after each request, and stops
/// filming when it returns false.
///
/// # Errors
///
/// Returns an error for a scenario that cannot be run or filmed: the drive is too large, or the scenario has timing,
/// power cuts or merge trees.
pub fn film(
    scenario: &Scenario,
    parts: CustomParts,
    cut: FilmRange,
    keep_going: &mut dyn FnMut() -> bool,
) -> Result<FilmedRun, RunError> {
    let mut camera = FilmRecorder {
        director: None,
        max_frames: cut.from + cut.steps,
        idle: 0,
        keep_going,
        stopped: false,
    };
    let watched = run_observed(scenario, parts, &mut camera)?;
    if camera.stopped {
        return Err(RunError::Interrupted);
    }
    let mut director = camera.director.expect("it was begun");
    if let Some(error) = &watched.end_of_life {
        director.add_text_frame(&format!("The drive has come to its end: {error}."));
    }
    let title = scenario.name.clone().unwrap_or_else(|| "A drive".to_owned());
    let film = director.film(title, Vec::new()).starting_at(cut.from);
    Ok(FilmedRun { film, outcome: watched })
}

struct FilmRecorder<'a> {
    director: Option<Director>,
    max_frames: usize,
    /// Number of requests since the last visible change.
    idle: u32,
    keep_going: &'a mut dyn FnMut() -> bool,
    stopped: bool,
}

impl PageObserver for FilmRecorder<'_> {
    fn begin(&mut self, resolved: &ResolvedScenario) -> Result<(), ConfigError> {
        let media = media(&resolved.tree, resolved.device.geometry.blocks())?;
        let first = "Nothing is written yet: every page is free.";
        self.director = Some(Director::new(media, first));
        Ok(())
    }

    fn observe(&mut self, _phase: Phase, events: Vec<(usize, MediumEvent)>) -> ControlFlow<()> {
        let director = self.director.as_mut().expect("it was begun");
        let before = director.frames();
        director.add_events(events);
        self.idle = if director.frames() == before { self.idle + 1 } else { 0 };
        self.stopped = !(self.keep_going)();
        let is_over = director.frames() > self.max_frames || self.idle > MAX_IDLE_REQUESTS;
        if is_over || self.stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Returns the media of a stack, logs first; refuses a stack that does not fit into a picture.
fn media(tree: &Tree, flash_blocks: u32) -> Result<Vec<Medium>, ConfigError> {
    let mut media = Vec::new();
    for (at, layer) in tree.layers.iter().enumerate() {
        let is_flash = at == tree.ftl();
        let blocks = match is_flash {
            true => flash_blocks,
            false => (layer.physical_pages / u64::from(layer.block_pages)) as u32,
        };
        let (word, key) = if is_flash { ("block", "device") } else { ("segment", layer.key.as_str()) };
        let pages = u64::from(blocks) * u64::from(layer.block_pages);
        if blocks > MAX_BLOCKS || pages > MAX_PAGES {
            let problem = format!(
                "makes {blocks} {word}s of {} pages; a film has room for {MAX_BLOCKS} of them and {MAX_PAGES} pages in each \
                 layer. A drive to look at is, for example, device.capacity = \"256 KiB\" with device.pages_per_block = 8",
                layer.block_pages
            );
            return Err(ConfigError::new(key, problem));
        }
        let (mut first, mut users) = (0, Vec::new());
        for (position, user) in layer.users.iter().enumerate() {
            if let User::Log(above) = user {
                users.push((*above, first));
            }
            first += layer.partitions.as_ref().map_or(0, |partitions| partitions[position]);
        }
        let name = if layer.name.is_empty() { layer.key.clone() } else { layer.name.clone() };
        media.push(Medium { name, word, blocks, pages_per_block: layer.block_pages, users });
    }
    Ok(media)
}
