//! Films of scenarios.

use crate::director::{Director, Medium};
use crate::film::Film;
use std::ops::ControlFlow;
use wearwell_base::config::ConfigError;
use wearwell_engine::layer::Seen;
use wearwell_stack::tree::{Tree, User};
use wearwell_stack::{Looker, Parts, Phase, ResolvedScenario, RunError, Scenario, Watched, watched};

/// What a picture has room for, and a film time.
pub const MOST_BLOCKS: u32 = 128;
/// Pages of a layer.
pub const MOST_PAGES: u64 = 2048;
/// Steps of a film.
pub const MOST_STEPS: usize = 5000;

/// Requests without a write, trim or erase after which nothing is waited for any longer.
const MOST_IDLE: u32 = 100_000;

/// How much of a run is filmed.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// Steps before the first that is shown.
    pub from: usize,
    /// Steps that are shown.
    pub steps: usize,
}

/// A film and what the engine counted meanwhile.
#[derive(Debug)]
pub struct Filmed {
    /// The film.
    pub film: Film,
    /// The engine's own counts, since the drive was new.
    pub watched: Watched,
}

/// Films a run of `scenario`; `parts` may bring a workload of its own. `goes_on` is asked after each request.
///
/// # Errors
///
/// What cannot be run, or not be filmed: too large a drive, a clock, power cuts, merge trees.
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
    /// Requests since something was last seen.
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

/// The media of a stack, those of the logs first; refuses what no picture has room for.
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
