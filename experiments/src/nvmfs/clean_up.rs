//! Clean-up commands that run at the end, even after an error.

use crate::Failure;
use std::process::Command;
use std::time::Duration;

/// Number of attempts of a clean-up command; attempts are repeated because a mount may be busy for a moment.
const TRIES: u32 = 20;
/// Time between two attempts.
const RETRY_INTERVAL: Duration = Duration::from_millis(250);

/// Commands that undo earlier steps, run in reverse order when dropped.
#[derive(Debug, Default)]
pub struct CleanUp {
    commands: Vec<CleanUpCommand>,
}

/// A command, and an alternative that runs if all attempts fail.
#[derive(Debug)]
struct CleanUpCommand {
    command: Vec<String>,
    last_resort: Option<Vec<String>>,
}

fn to_strings(command: &[&str]) -> Vec<String> {
    command.iter().map(|part| (*part).to_owned()).collect()
}

fn succeeds(command: &[String]) -> bool {
    let output = Command::new(&command[0]).args(&command[1..]).output();
    output.is_ok_and(|output| output.status.success())
}

impl CleanUp {
    /// Adds `command`, which will run before the commands that were added earlier.
    pub fn add(&mut self, command: &[&str]) {
        self.commands.push(CleanUpCommand { command: to_strings(command), last_resort: None });
    }

    /// Adds an unmount at the end. If all attempts fail, the mount is detached and ends with the last process that
    /// uses it.
    pub fn add_unmount(&mut self, mount_point: &str) {
        let last_resort = Some(to_strings(&["umount", "-l", mount_point]));
        self.commands.push(CleanUpCommand { command: to_strings(&["umount", mount_point]), last_resort });
    }
}

impl Drop for CleanUp {
    fn drop(&mut self) {
        for CleanUpCommand { command, last_resort } in self.commands.drain(..).rev() {
            let succeeded = (0..TRIES).any(|_| {
                let succeeded = succeeds(&command);
                if !succeeded {
                    std::thread::sleep(RETRY_INTERVAL);
                }
                succeeded
            });
            if !succeeded && !last_resort.is_some_and(|command| succeeds(&command)) {
                eprintln!("could not clean up: {}", command.join(" "));
            }
        }
    }
}

/// Runs a command; returns its standard output without the last newline. Errors: the command cannot be run, or it
/// fails; the error includes its output.
pub fn output_of(command: &[&str]) -> Result<String, Failure> {
    let output = Command::new(command[0])
        .args(&command[1..])
        .output()
        .map_err(|error| format!("{}: {error}", command[0]))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}: {}: {stderr}", command.join(" "), output.status).into());
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
            clean_up.add(&["sh", "-c", &format!("echo {word} >> {}", path.display())]);
        }
        drop(clean_up);
        assert_eq!(std::fs::read_to_string(path).unwrap(), "second\nfirst\n");
    }

    #[test]
    fn alternative_runs_only_after_all_attempts_fail() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let echo = |word: &str| to_strings(&["sh", "-c", &format!("echo {word} >> {}", path.display())]);
        let mut clean_up = CleanUp::default();
        for (command, word) in [(to_strings(&["false"]), "needed"), (to_strings(&["true"]), "idle")] {
            clean_up.commands.push(CleanUpCommand { command, last_resort: Some(echo(word)) });
        }
        drop(clean_up);
        assert_eq!(std::fs::read_to_string(path).unwrap(), "needed\n");
    }

    #[test]
    fn errors_include_the_output_of_the_command() {
        assert_eq!(output_of(&["sh", "-c", "echo yes"]).unwrap(), "yes");
        let error = output_of(&["sh", "-c", "echo broken >&2; exit 3"]).unwrap_err().to_string();
        assert!(error.contains("broken") && error.contains('3'), "{error}");
    }
}
