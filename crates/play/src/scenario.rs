//! Films of scenarios.

use crate::director::{Director, Medium};
use crate::film::Film;
use std::ops::ControlFlow;
use wearwell_base::config::ConfigError;
use wearwell_engine::layer::Seen;
use wearwell_stack::tree::{Tree, User};
use wearwell_stack::{Looker, Parts, Phase, ResolvedScenario, RunError, Scenario, Watched, watched};

/// Maximum number of blocks of a layer, limited by the size of the picture.
pub const MOST_BLOCKS: u32 = 128;
/// Maximum number of pages of a layer.
pub const MOST_PAGES: u64 = 2048;
/// Maximum number of steps of a film.
pub const MOST_STEPS: usize = 5000;

/// Number of requests without a write, trim or erase after which filming ends.
const MOST_IDLE: u32 = 100_000;

/// Part of a run that is filmed.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// Number of steps before the first visible one.
    pub from: usize,
    /// Number of visible steps.
    pub steps: usize,
}

/// Film, and the engine's counts during it.
#[derive(Debug)]
pub struct Filmed {
    /// The film.
    pub film: Film,
    /// Counts of the engine since the drive was new.
    pub watched: Watched,
}

/// Films a run of `scenario`; `parts` may supply a custom workload. Calls `goes_on` after each request and stops when
/// it returns false.
///
/// # Errors
///
/// Returns an error for scenarios that cannot be run or filmed: too large a drive, timing, power cuts, merge trees.
pub fn film(
    scenario: &Scenario,
    parts: Parts,
    cut: Cut,
    goes_on: &mut dyn FnMut() -> bool,
) -> Result<Filmed, RunError> {
    let mut camera =
        Camera { director: None, wanted: cut.from + cut.steps, idle: 0, goes_on, stopped: false };
    let watched = watched(scenario, parts, &mut camera)?;
    if camera.stopped {
        return Err(RunError::Interrupted);
    }
    let mut director = camera.director.expect("it was begun");
    if let Some(error) = &watched.end_of_life {
        director.say(&format!("The drive has come to its end: {error}."));
    }
    let title = scenario.name.clone().unwrap_or_else(|| "A drive".to_owned());
    let film = director.film(title, Vec::new()).starting_at(cut.from);
    Ok(Filmed { film, watched })
}

struct Camera<'a> {
    director: Option<Director>,
    wanted: usize,
    /// Number of requests since the last visible change.
    idle: u32,
    goes_on: &'a mut dyn FnMut() -> bool,
    stopped: bool,
}

impl Looker for Camera<'_> {
    fn begin(&mut self, resolved: &ResolvedScenario) -> Result<(), ConfigError> {
        let media = media(&resolved.tree, resolved.device.geometry.blocks())?;
        let first = "Nothing is written yet: every page is free.";
        self.director = Some(Director::new(media, first));
        Ok(())
    }

    fn look(&mut self, _phase: Phase, seen: Vec<(usize, Seen)>) -> ControlFlow<()> {
        let director = self.director.as_mut().expect("it was begun");
        let before = director.frames();
        director.take(seen);
        self.idle = if director.frames() == before { self.idle + 1 } else { 0 };
        self.stopped = !(self.goes_on)();
        let is_over = director.frames() > self.wanted || self.idle > MOST_IDLE;
        if is_over || self.stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Returns the media of a stack, logs first; refuses stacks that do not fit a picture.
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
        if blocks > MOST_BLOCKS || pages > MOST_PAGES {
            let problem = format!(
                "makes {blocks} {word}s of {} pages; a film has room for {MOST_BLOCKS} of them and {MOST_PAGES} pages in each \
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
