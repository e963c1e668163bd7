//! Programs that compute the items. A program needs a file, and two lines here. The first line is its module, by
//! which the formatter finds the file; the second line is the type of its settings.

mod answer_choices;
mod answer_choices_predicted;
mod answer_merging;
mod answer_merging_predicted;
mod cagc_beyond;
mod cagc_figure2;
mod cagc_figure6;
mod cagc_figure8;
mod cagc_figure9;
mod cagc_footprint;
mod cagc_sensitivity;
mod cagc_tables;
mod gecko_checkpoints;
mod gecko_figure1;
mod gecko_figure10;
mod gecko_figure11;
mod gecko_figure12;
mod gecko_figure13;
mod gecko_figure9;
mod gecko_ram;
mod gecko_ram_predicted;
mod gecko_table1;
mod hot_cold_figure1;
mod hot_cold_figure2;
mod hot_cold_figure3;
mod hot_cold_figure4;
mod hot_cold_figure5;
mod hot_cold_table1;
mod hot_cold_table2;
mod hot_cold_traces;
mod limit_hints;
mod limit_placements;
mod limit_table;
mod live_calibration;
mod live_f2fs;
mod live_stack;
mod log_on_log_collapsed;
mod log_on_log_coordination;
mod log_on_log_f2fs;
mod log_on_log_figure1;
mod log_on_log_figure3;
mod log_on_log_figure4;
mod log_on_log_rules;
mod log_on_log_streams;
mod log_on_log_trim;
mod nvmfs_by_clock;
mod nvmfs_figures;
mod nvmfs_grid;
mod nvmfs_hints;
mod nvmfs_host_cleaning;
mod nvmfs_rivals;
mod nvmfs_throughput;
mod placement_question;
mod spare_split;
mod transient;
mod trim_question;
mod wear_levelling;
mod zipf_classes;

use crate::Failure;
use crate::moving_hot_set;
use crate::session::{Calculation, Sampling, Scale, Session};
use serde::de::DeserializeOwned;

/// A program.
pub struct Program {
    /// Name of the program in manifests.
    pub name: &'static str,
    /// Runs the program in a session.
    pub run: fn(&Session) -> Result<(), Failure>,
    /// Returns an error if the program does not accept these settings.
    pub check: fn(&toml::Table) -> Result<(), Failure>,
}

fn check<T: DeserializeOwned>(settings: &toml::Table) -> Result<(), Failure> {
    match T::deserialize(toml::Value::Table(settings.clone())) {
        Ok(_) => Ok(()),
        Err(error) => Err(error.message().into()),
    }
}

/// Defines the table of programs, with the types of their settings.
macro_rules! programs {
    ($($name:ident: $settings:ty,)*) => {
        /// All programs.
        pub const PROGRAMS: &[Program] =
            &[$(Program { name: stringify!($name), run: $name::run, check: check::<$settings> }),*];
    };
}

programs! {
    answer_choices: moving_hot_set::Settings,
    answer_choices_predicted: moving_hot_set::Settings,
    answer_merging: Sampling,
    answer_merging_predicted: Calculation,
    cagc_beyond: Sampling,
    cagc_figure2: Sampling,
    cagc_figure6: Sampling,
    cagc_figure8: Calculation,
    cagc_figure9: Sampling,
    cagc_footprint: Sampling,
    cagc_sensitivity: Sampling,
    cagc_tables: Calculation,
    gecko_checkpoints: gecko_checkpoints::Settings,
    gecko_figure1: Calculation,
    gecko_figure10: Scale,
    gecko_figure11: Scale,
    gecko_figure12: Scale,
    gecko_figure13: gecko_figure13::Settings,
    gecko_figure9: Scale,
    gecko_ram: crate::gecko_ram::Settings,
    gecko_ram_predicted: crate::gecko_ram::Settings,
    gecko_table1: Calculation,
    hot_cold_figure1: Calculation,
    hot_cold_figure2: Calculation,
    hot_cold_figure3: Calculation,
    hot_cold_figure4: Calculation,
    hot_cold_figure5: Calculation,
    hot_cold_table1: Sampling,
    hot_cold_table2: Sampling,
    hot_cold_traces: Sampling,
    limit_hints: limit_hints::Settings,
    limit_placements: limit_placements::Settings,
    limit_table: limit_table::Settings,
    live_calibration: live_calibration::Settings,
    live_f2fs: live_f2fs::Settings,
    live_stack: live_stack::Settings,
    log_on_log_collapsed: Sampling,
    log_on_log_coordination: Sampling,
    log_on_log_f2fs: Calculation,
    log_on_log_figure1: Sampling,
    log_on_log_figure3: Sampling,
    log_on_log_figure4: Sampling,
    log_on_log_rules: Sampling,
    log_on_log_streams: Sampling,
    log_on_log_trim: Sampling,
    nvmfs_by_clock: nvmfs_by_clock::Settings,
    nvmfs_figures: nvmfs_figures::Settings,
    nvmfs_grid: nvmfs_grid::Settings,
    nvmfs_hints: nvmfs_hints::Settings,
    nvmfs_host_cleaning: nvmfs_host_cleaning::Settings,
    nvmfs_rivals: nvmfs_rivals::Settings,
    nvmfs_throughput: nvmfs_throughput::Settings,
    placement_question: Sampling,
    spare_split: Sampling,
    transient: Sampling,
    trim_question: Sampling,
    wear_levelling: Calculation,
    zipf_classes: Sampling,
}

/// Returns the program with this name.
///
/// # Errors
///
/// Returns an error for an unknown name.
pub fn find(name: &str) -> Result<&'static Program, Failure> {
    PROGRAMS.iter().find(|program| program.name == name).ok_or_else(|| {
        let names: Vec<&str> = PROGRAMS.iter().map(|program| program.name).collect();
        format!("there is no program `{name}`; there are {}", names.join(", ")).into()
    })
}

#[cfg(test)]
mod tests;
