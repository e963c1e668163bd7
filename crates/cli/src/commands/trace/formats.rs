//! `wearwell trace formats`.

use crate::exit::Failure;
use crate::output::print;
use crate::report::wrap;
use std::fmt::Write;
use wearwell_trace::{FORMATS, Format, OptionSpec, find_format};

/// Explains trace formats: columns, units, operation codes, options
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  wearwell trace formats\n  wearwell trace formats msr")]
pub struct Args {
    /// The formats to explain; all unless given
    names: Vec<String>,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let formats: Vec<&Format> = match &args.names[..] {
        [] => FORMATS.to_vec(),
        names => {
            names.iter().map(|name| find_format(name)).collect::<Result<_, _>>().map_err(Failure::usage)?
        }
    };
    print(&wrap(&formats.into_iter().map(explanation).collect::<Vec<_>>().join("\n")))
}

fn explanation(format: &Format) -> String {
    let mut text = format!("{}: {}\n", format.name, format.help);
    let uses = match (format.detect.is_some(), format.write.is_some()) {
        (true, true) => "recognised by its content; read and written",
        (true, false) => "recognised by its content; read only",
        (false, true) => "has to be named; read and written",
        (false, false) => "has to be named; read only",
    };
    let _ = writeln!(text, "  use      {uses}; time step {} ns", format.time_step_ns);
    let _ = writeln!(text, "  columns  {}", format.columns);
    let _ = writeln!(text, "  source   {}", format.source);
    format.options.iter().for_each(|option| text += &option_line(option));
    text
}

fn option_line(option: &OptionSpec) -> String {
    let choices = match (option.text, option.choices) {
        (Some(text), _) => format!("{}, such as {}", text.expected, text.example),
        (None, []) => "a positive whole number".to_owned(),
        (None, choices) => choices.join(", "),
    };
    let default =
        option.default.map_or_else(|| "has to be given".to_owned(), |default| format!("default {default}"));
    format!("  option   {}: {} ({choices}; {default})\n", option.name, option.help)
}
