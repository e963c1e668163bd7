//! The `wearwell` command.

fn main() -> std::process::ExitCode {
    wearwell_cli::main()
}
