//! `wearwell play`.

use crate::exit::Failure;
use crate::interrupt;
use crate::output::{check_can_create, check_not_input, print, write_bytes, write_text};
use crate::report::grid;
use crate::scenario_args::ScenarioArgs;
use clap::builder::{PossibleValue, PossibleValuesParser};
use std::path::{Path, PathBuf};
use wearwell_play::{Film, FilmRange, LESSONS, Lesson, MAX_PICTURES, MAX_STEPS};
use wearwell_stack::{CustomParts, Draft};

/// Default drive: small enough to be shown as a whole.
const DRIVE: &str = include_str!("../../../../scenarios/play.toml");

/// Animates a small drive, step by step: blocks fill up, pages become invalid, blocks are cleaned
///
/// Makes a page to step through, or a GIF or numbered pictures for slides. Every step is a real operation of the
/// engine, with one sentence of explanation. Lessons are films with a story: examples of the papers.
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// Lesson to show in place of a scenario; `--list` describes the lessons
    #[arg(long, value_name = "NAME", value_parser = names(), conflicts_with = "file", help_heading = "Film")]
    lesson: Option<String>,
    /// Lists the lessons
    #[arg(long, help_heading = "Film", conflicts_with_all = ["lesson", "file", "output"])]
    list: bool,
    /// The film: a page (.html), an animated GIF (.gif), or a folder for a PNG of each step
    #[arg(long, short, value_name = "FILE", required_unless_present = "list", help_heading = "Film")]
    output: Option<PathBuf>,
    /// Number of steps to show; all steps of a lesson unless given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MAX_STEPS as i64), help_heading = "Film")]
    steps: Option<u16>,
    /// Number of steps to skip at the start
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=100_000), help_heading = "Film")]
    from: u32,
    /// Steps per second in a GIF
    #[arg(long, value_name = "N", default_value_t = 2.0, value_parser = pace, help_heading = "Film")]
    pace: f64,
}

const HELP: &str = "\
Examples:
  wearwell play --output drive.html                      a small drive, in a page to step through
  wearwell play --list                                   the lessons
  wearwell play --lesson cagc-figure-8 --output cagc.html
  wearwell play --lesson log-on-log-figure-3 --output segments.gif --pace 1
  wearwell play my.toml --from 500 --steps 100 --output pictures/";

/// Default number of steps of a film of a scenario.
const STEPS: usize = 400;

fn names() -> PossibleValuesParser {
    LESSONS.iter().map(|lesson| PossibleValue::new(lesson.name).help(lesson.title)).collect::<Vec<_>>().into()
}

fn pace(text: &str) -> Result<f64, String> {
    let problem = || format!("{text} is no number of steps in a second from 0.1 to 50");
    text.parse().ok().filter(|pace| (0.1..=50.0).contains(pace)).ok_or_else(problem)
}

/// Format of a film.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FilmFormat {
    Page,
    Gif,
    Pictures,
}

impl FilmFormat {
    fn of(path: &Path) -> Result<FilmFormat, Failure> {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("html" | "htm") => Ok(FilmFormat::Page),
            Some("gif") => Ok(FilmFormat::Gif),
            _ if path.is_dir() || path.to_string_lossy().ends_with('/') => Ok(FilmFormat::Pictures),
            _ => {
                let problem = "a film ends in .html or .gif, or in / for a folder of pictures";
                Err(Failure::Usage(format!("{}: {problem}", path.display())))
            }
        }
    }

    /// Checks that the film can be written to `path`.
    fn check_output(self, path: &Path, inputs: &[PathBuf]) -> Result<(), Failure> {
        check_not_input(path, inputs)?;
        match self {
            FilmFormat::Pictures if path.is_dir() => check_can_create(&path.join("step-0000.png")),
            _ => check_can_create(path),
        }
    }

    fn write(self, path: &Path, film: &Film, pace: f64) -> Result<(), Failure> {
        let of = |problem: Box<dyn std::error::Error + Send + Sync>| {
            Failure::run(format!("{}: {problem}", path.display()))
        };
        match self {
            FilmFormat::Page => write_text(path, &wearwell_play::page(film)),
            FilmFormat::Gif => write_bytes(path, &wearwell_play::gif(film, pace).map_err(of)?),
            FilmFormat::Pictures => {
                std::fs::create_dir_all(path)
                    .map_err(|error| Failure::run(format!("{}: {error}", path.display())))?;
                let mut failed = None;
                let written = wearwell_play::frames(film, |name, png| {
                    if interrupt::interrupted() {
                        failed = Some(Failure::Interrupted);
                        return Err("interrupted".into());
                    }
                    write_bytes(&path.join(name), png).map_err(|failure| {
                        failed = Some(failure);
                        "a picture could not be written".into()
                    })
                });
                written.map_err(|problem| failed.unwrap_or_else(|| of(problem)))
            }
        }
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let Some(output) = args.output.as_ref().filter(|_| !args.list) else {
        return print(&lesson_list());
    };
    let (kind, steps) = (FilmFormat::of(output)?, args.steps.map(usize::from));
    if kind != FilmFormat::Page && steps.is_some_and(|steps| steps >= MAX_PICTURES) {
        let problem = format!("pictures are at most {}; a page has room for more", MAX_PICTURES - 1);
        return Err(Failure::Usage(format!("--steps: {problem}")));
    }
    let mut film = match args.lesson.as_deref().and_then(Lesson::named) {
        Some(lesson) => {
            if !args.scenario.arguments().is_empty() {
                let problem = "a lesson has a scenario of its own, in which nothing is changed";
                return Err(Failure::Usage(format!("--lesson {}: {problem}", lesson.name)));
            }
            kind.check_output(output, &[])?;
            lesson.film().map_err(Failure::run)?.starting_at(args.from as usize)
        }
        None => of_scenario(args, output, kind, steps.unwrap_or(STEPS))?,
    };
    // A single request may cause more steps than requested.
    let max_steps = steps.or(args.lesson.is_none().then_some(STEPS));
    film.frames.truncate(max_steps.map_or(usize::MAX, |steps| steps + 1));
    kind.write(output, &film, args.pace)
}

fn of_scenario(args: &Args, output: &Path, kind: FilmFormat, steps: usize) -> Result<Film, Failure> {
    let draft = match args.scenario.file {
        Some(_) => args.scenario.draft()?,
        None => {
            let mut draft = Draft::from_toml(DRIVE, "play.toml (built in)")?;
            args.scenario.overrides.apply(&mut draft)?;
            draft
        }
    };
    kind.check_output(output, &args.scenario.inputs(&draft))?;
    let cut = FilmRange { from: args.from as usize, steps };
    let mut keep_going = || !interrupt::interrupted();
    let filmed = wearwell_play::film(&draft.scenario()?, CustomParts::default(), cut, &mut keep_going);
    Ok(filmed.map_err(|error| Failure::of_run(error, &draft))?.film)
}

/// Returns the list of lessons, one line each.
fn lesson_list() -> String {
    let rows = LESSONS
        .iter()
        .map(|lesson| vec![lesson.name.to_owned(), lesson.title.to_owned(), lesson.source.to_owned()]);
    grid(&["lesson", "shows", "after"], rows.collect(), &[])
}
