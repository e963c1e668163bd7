//! `wearwell completions` and `wearwell man`.

use crate::exit::Failure;
use crate::output::print;
use clap::CommandFactory;
use clap_complete::Shell;
use std::path::PathBuf;

/// Prints the completion script of a shell
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  wearwell completions bash > ~/.local/share/bash-completion/completions/wearwell
  wearwell completions zsh > ~/.zfunc/_wearwell
  wearwell completions fish > ~/.config/fish/completions/wearwell.fish")]
pub struct CompletionArgs {
    /// The shell
    shell: Shell,
}

/// Writes manual pages, one for each command
#[derive(clap::Args)]
#[command(after_help = "Example:\n  wearwell man ~/.local/share/man/man1")]
pub struct ManArgs {
    /// Directory for the pages, which is created if missing
    directory: PathBuf,
}

/// Runs `wearwell completions`.
pub fn completions<C: CommandFactory>(args: &CompletionArgs) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut C::command(), "wearwell", &mut script);
    print(&String::from_utf8_lossy(&script))
}

/// Runs `wearwell man`.
pub fn man<C: CommandFactory>(args: &ManArgs) -> Result<(), Failure> {
    let directory = &args.directory;
    let written =
        std::fs::create_dir_all(directory).and_then(|()| clap_mangen::generate_to(C::command(), directory));
    written.map_err(|error| Failure::run(format!("{}: {error}", directory.display())))
}
