//! Help that fits the terminal: an example that is too long for a line continues on the next line with a backslash, as
//! a shell reads it.

use crate::report::terminal_width;
use clap::Command;

/// Width of help without a terminal, and largest width for readability.
const WIDTH: usize = 100;

/// Indentation of a line of help.
const INDENT: &str = "  ";
/// Beginning of an example.
const COMMAND: &str = "  wearwell ";
/// Beginning of a second command, which follows a pipe.
const PIPED: &str = " | wearwell ";
/// Gap between a command and its explanation.
const GAP: &str = "   ";
/// Indentation of the further lines of an example.
const CONTINUED: &str = "      ";

/// Returns `command` with help fitted to the width of the terminal.
pub fn fit_to_terminal(command: Command) -> Command {
    let width = terminal_width().map_or(WIDTH, |width| usize::from(width).min(WIDTH));
    fit_to_width(command.term_width(width), width)
}

fn fit_to_width(command: Command, width: usize) -> Command {
    let command = command.mut_subcommands(|inner| fit_to_width(inner, width));
    match command.get_after_help().map(ToString::to_string) {
        Some(text) => {
            let lines: Vec<String> = text.lines().map(|line| example(line, width)).collect();
            command.after_help(lines.join("\n"))
        }
        None => command,
    }
}

/// Splits a line of help into several lines if the line is a command that is too long.
fn example(line: &str, width: usize) -> String {
    let is_command = line.starts_with(COMMAND) || line.starts_with(INDENT) && line.contains(PIPED);
    if line.chars().count() <= width || !is_command {
        return line.to_owned();
    }
    let (indent, rest) = line.split_at(INDENT.len());
    let (command, comment) = rest.split_once(GAP).unwrap_or((rest, ""));
    let mut text = match comment.trim() {
        "" => String::new(),
        remark => format!("{indent}# {remark}\n"),
    };
    let mut current = indent.to_owned();
    for word in words(command) {
        // Leaves a column for the backslash.
        let is_full = current.chars().count() + 1 + word.chars().count() + 2 > width;
        if is_full && !current.trim().is_empty() {
            text += &format!("{current} \\\n");
            current = format!("{CONTINUED}{word}");
        } else {
            current += if current.trim().is_empty() { "" } else { " " };
            current += word;
        }
    }
    text + &current
}

/// Splits a command into words; a quoted string is one word.
fn words(command: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let (mut start, mut quote) = (0, None);
    for (at, letter) in command.char_indices() {
        match (letter, quote) {
            ('\'' | '"', None) => quote = Some(letter),
            (_, Some(open)) if letter == open => quote = None,
            (' ', None) => {
                words.push(&command[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    words.push(&command[start..]);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str =
        "  wearwell nvmfs mkfs --nvram /dev/shm/n --size '256 MiB' --ssd ssd.img   a file system";

    #[test]
    fn long_examples_are_continued_with_backslash() {
        assert_eq!(example(LINE, 100), LINE);
        let expected = "  # a file system\n  wearwell nvmfs mkfs --nvram /dev/shm/n \\\n      --size '256 MiB' --ssd ssd.img";
        assert_eq!(example(LINE, 44), expected);
        assert_eq!(example("Examples of what can be done:", 10), "Examples of what can be done:");
    }

    #[test]
    fn lines_fit_the_terminal_and_keep_all_words() {
        for width in [40, 60, 80] {
            let text = example(LINE, width);
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
            let joined = text.replace(" \\\n", " ").split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(
                joined.ends_with("wearwell nvmfs mkfs --nvram /dev/shm/n --size '256 MiB' --ssd ssd.img"),
                "{joined}"
            );
        }
    }
}
