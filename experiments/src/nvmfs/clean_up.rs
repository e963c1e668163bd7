//! What has to be undone at the end, whatever happens.

use crate::Failure;
use std::process::Command;
use std::time::Duration;

/// How often and how long apart a command of the clean-up is tried: a mount may be busy for a moment.
const TRIES: u32 = 20;
const BETWEEN_TRIES: Duration = Duration::from_millis(250);

/// Commands that undo what was done, run in reverse order when it is dropped.
#[derive(Debug, Default)]
pub struct CleanUp {
    commands: Vec<Vec<String>>,
}

impl CleanUp {
    /// `command` will be run before those that were added earlier.
    pub fn later(&mut self, command: &[&str]) {
        self.commands.push(command.iter().map(|part| (*part).to_owned()).collect());
    }
}

impl Drop for CleanUp {
    fn drop(&mut self) {
        for command in self.commands.drain(..).rev() {
            let done = (0..TRIES).any(|_| {
                let done = Command::new(&command[0]).args(&command[1..]).output();
                let done = done.is_ok_and(|output| output.status.success());
                if !done {
                    std::thread::sleep(BETWEEN_TRIES);
                }
                done
            });
            if !done {
                eprintln!("could not clean up: {}", command.join(" "));
            }
        }
    }
}

/// Runs a command; its standard output without the last line end. Errors: it cannot be run or fails; with what it said.
pub fn output_of(command: &[&str]) -> Result<String, Failure> {
    let output = Command::new(command[0])
        .args(&command[1..])
        .output()
        .map_err(|error| format!("{}: {error}", command[0]))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}: {}: {said}", command.join(" "), output.status).into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_run_in_reverse_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut clean_up = CleanUp::default();
        for word in ["first", "second"] {
            clean_up.later(&["sh", "-c", &format!("echo {word} >> {}", path.display())]);
        }
        drop(clean_up);
        assert_eq!(std::fs::read_to_string(path).unwrap(), "second\nfirst\n");
    }

    #[test]
    fn failures_tell_what_was_said() {
        assert_eq!(output_of(&["sh", "-c", "echo yes"]).unwrap(), "yes");
        let error = output_of(&["sh", "-c", "echo broken >&2; exit 3"]).unwrap_err().to_string();
        assert!(error.contains("broken") && error.contains('3'), "{error}");
    }
}
