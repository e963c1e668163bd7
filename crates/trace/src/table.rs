//! Table of trace formats, and look-up in it.

use super::error::TraceError;
use super::format::Format;
use super::formats::table::TableGuess;
use super::formats::*;
use super::input::Input;
use super::options::ReadOptions;

/// Every trace format. A new format is a file in `formats/` and a line here.
pub static FORMATS: &[&Format] = &[
    &msr::FORMAT,
    &fiu::FORMAT,
    &fiu::HOMES,
    &blkparse::FORMAT,
    &blktrace::FORMAT,
    &fio::V2,
    &fio::V3,
    &spc::FORMAT,
    &alibaba::FORMAT,
    &tencent::FORMAT,
    &systor17::FORMAT,
    &disksim::FORMAT,
    &ssdsim::FORMAT,
    &mqsim::FORMAT,
    &blkreplay::FORMAT,
    &cloudphysics::FORMAT,
    &oracle_general::FORMAT,
    &table::FORMAT,
    &wearwell_csv::FORMAT,
];

/// Formats whose requests may have digests of their content, listed in errors about traces without digests.
pub const DIGEST_FORMATS: &[&str] = &["fiu", "fiu-homes", "table", "wearwell-csv"];

/// Returns the format called `name`.
pub fn find_format(name: &str) -> Result<&'static Format, TraceError> {
    FORMATS.iter().copied().find(|format| format.name == name).ok_or_else(|| TraceError::UnknownFormat {
        name: name.escape_debug().to_string(),
        choices: format_names(|_| true),
    })
}

/// Returns the only format that the first bytes of a trace can be, if they identify it.
pub fn detect_format(beginning: &[u8]) -> Option<&'static Format> {
    let mut certain = FORMATS.iter().filter(|format| format.detect.is_some_and(|detect| detect(beginning)));
    match (certain.next(), certain.next()) {
        (Some(format), None) => Some(format),
        _ => None,
    }
}

/// Returns the format called `name`, or else the format detected from the input.
///
/// The option `columns` implies the format `table`.
pub(crate) fn choose_format(options: &ReadOptions, input: &mut Input) -> Result<&'static Format, TraceError> {
    if let Some(name) = &options.format {
        return find_format(name);
    }
    if options.options.iter().any(|(name, _)| name == "columns") {
        return Ok(&table::FORMAT);
    }
    if let Some(format) = detect_format(input.beginning()?) {
        return Ok(format);
    }
    let guess = table::guess_table(input.beginning()?).filter(TableGuess::is_certain);
    let table = match guess {
        Some(guess) => format!("its header reads as the format table with --columns '{}'", guess.option),
        None => {
            "if it is a table of your own, `wearwell trace columns FILE` suggests how to name its columns"
                .to_owned()
        }
    };
    Err(TraceError::FormatNeeded {
        path: input.path().to_owned(),
        choices: format_names(|_| true),
        hint: extension_hint(input.path()),
        table,
    })
}

/// Returns the names of the formats for which `chosen` is true, separated by commas.
pub(crate) fn format_names(chosen: impl Fn(&Format) -> bool) -> String {
    let names: Vec<_> = FORMATS.iter().filter(|format| chosen(format)).map(|format| format.name).collect();
    names.join(", ")
}

/// Returns a hint about formats with the extension of `path`; the extension alone does not decide.
fn extension_hint(path: &std::path::Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut parts = name.rsplit('.').skip_while(|part| ["gz", "xz", "zst"].contains(part));
    let Some(extension) = parts.next() else { return String::new() };
    let usual = format_names(|format| format.extensions.contains(&extension));
    if usual.is_empty() { usual } else { format!(" (the extension is usual for {usual})") }
}
