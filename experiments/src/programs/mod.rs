//! The programs behind the items: one a file, and a line here.

use crate::Failure;
use crate::session::{Calculation, Sampling, Scale, Session};
use serde::de::DeserializeOwned;

/// A program.
pub struct Program {
    /// What manifests call it.
    pub name: &'static str,
    /// Runs it in a session.
    pub run: fn(&Session) -> Result<(), Failure>,
    /// Whether it takes these settings.
    pub check: fn(&toml::Table) -> Result<(), Failure>,
}

fn check<T: DeserializeOwned>(settings: &toml::Table) -> Result<(), Failure> {
    match T::deserialize(toml::Value::Table(settings.clone())) {
        Ok(_) => Ok(()),
        Err(error) => Err(error.message().into()),
    }
}

/// Each program with the type of its settings.
macro_rules! programs {
    ($($name:ident: $settings:ty,)*) => {
        $(mod $name;)*

        /// All programs.
        pub const PROGRAMS: &[Program] =
            &[$(Program { name: stringify!($name), run: $name::run, check: check::<$settings> }),*];
    };
}

programs! {
    cagc_beyond: Sampling,
    cagc_figure2: Sampling,
    cagc_figure6: Sampling,
    cagc_figure9: Sampling,
    cagc_sensitivity: Sampling,
    gecko_checkpoints: gecko_checkpoints::Settings,
    gecko_figure1: Calculation,
    gecko_figure10: Scale,
    gecko_figure11: Scale,
    gecko_figure12: Scale,
    gecko_figure13: gecko_figure13::Settings,
    gecko_figure9: Scale,
    gecko_ram: gecko_ram::Settings,
    gecko_table1: Calculation,
    hot_cold_figure1: Calculation,
    hot_cold_figure2: Calculation,
    hot_cold_figure3: Calculation,
    hot_cold_figure4: Calculation,
    hot_cold_figure5: Calculation,
    hot_cold_table1: Sampling,
    hot_cold_table2: Sampling,
    log_on_log_collapsed: Sampling,
    log_on_log_coordination: Sampling,
    log_on_log_figure2_table1: Sampling,
    log_on_log_figure3: Sampling,
    log_on_log_figure4: Sampling,
    log_on_log_rules: Sampling,
    log_on_log_streams: Sampling,
    log_on_log_trim: Sampling,
    nvmfs_figures: nvmfs_figures::Settings,
    nvmfs_hints: nvmfs_hints::Settings,
    nvmfs_rivals: nvmfs_rivals::Settings,
    placement_question: Sampling,
    transient: Sampling,
    trim_question: Sampling,
    wear_levelling: Calculation,
    zipf_classes: Sampling,
}

/// The program called `name`.
///
/// # Errors
///
/// A name that no program has.
pub fn find(name: &str) -> Result<&'static Program, Failure> {
    PROGRAMS.iter().find(|program| program.name == name).ok_or_else(|| {
        let names: Vec<&str> = PROGRAMS.iter().map(|program| program.name).collect();
        format!("there is no program `{name}`; there are {}", names.join(", ")).into()
    })
}
