//! Replacements for commands in a program that was built without them.

/// Defines the module of a missing command: it accepts any arguments and reports why the command is missing.
macro_rules! absent {
    ($(#[$about:meta])* $name:ident($arguments:ident): $why:literal) => {
        pub mod $name {
            use crate::exit::Failure;
            use std::ffi::OsString;

            $(#[$about])*
            #[derive(clap::Args)]
            pub struct $arguments {
                /// Arguments that the real command would take
                #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
                _arguments: Vec<OsString>,
            }

            /// Reports that the command is missing.
            pub fn run(_: &$arguments) -> Result<(), Failure> {
                Err(Failure::usage($why))
            }
        }
    };
}

#[cfg(not(feature = "explore"))]
absent! {
    /// Serves a page with sliders; not in this program
    explore(Args): "this program was built without the page; `make build` builds it with it"
}

#[cfg(not(all(target_os = "linux", feature = "nvmfs")))]
absent! {
    /// Makes, mounts and checks NVMFS, a file system over NVRAM and an SSD; not in this program
    nvmfs(Command): "this program was built without NVMFS; on Linux, `make build` builds it with it"
}

#[cfg(not(feature = "play"))]
absent! {
    /// Plays a small drive, step by step; not in this program
    play(Args): "this program was built without films; `make build` builds it with them"
}

#[cfg(not(feature = "plot"))]
absent! {
    /// Draws a figure for a paper; not in this program
    plot(Args): "this program was built without figures for papers; `make build` builds it with them"
}

#[cfg(not(all(target_os = "linux", feature = "reproduce")))]
absent! {
    /// Reproduces figures, tables and claims of the five papers; not in this program
    reproduce(Args): "this program was built without the papers; on Linux, `make build` builds it with them"
}

#[cfg(not(feature = "serve"))]
absent! {
    /// Serves a stack as a live block device; not in this program
    serve(Args): "this program was built without live devices; `make build` builds it with them"
}

#[cfg(not(feature = "serve"))]
absent! {
    /// Shows what live software does to flash; not in this program
    live(Command): "this program was built without live devices; `make build` builds it with them"
}

#[cfg(not(feature = "serve"))]
absent! {
    /// Shows what a live drive is doing; not in this program
    top(Args): "this program was built without live devices; `make build` builds it with them"
}

#[cfg(not(feature = "parquet"))]
absent! {
    /// Lists the runs in a store; not in this program
    results(Args): "this program was built without Parquet files; `make build` builds it with them"
}

#[cfg(not(feature = "serve"))]
absent! {
    /// Inspects the image of a live drive; not in this program
    image(Command): "this program was built without live devices; `make build` builds it with them"
}

#[cfg(not(feature = "serve"))]
absent! {
    /// Cuts the power of a drive that is being served; not in this program
    pull_plug(Args): "this program was built without live devices; `make build` builds it with them"
}
