//! The compiled part of the Python package: `wearwell._core`.
//!
//! Scenarios, results and listings are passed as JSON, so that the checks and names of Rust apply on both sides.
//! Pages, requests and parameters of the theory are passed as NumPy arrays. `_core.pyi` documents the functions.

mod advise;
mod device;
mod drive;
mod errors;
mod executor;
mod fleet;
mod interruptible;
mod limit;
mod listing;
mod page;
mod part;
mod placement;
mod policy;
mod run;
mod scenario;
mod store;
mod study;
mod theory;
mod trace;
mod workload;

use pyo3::prelude::*;

#[pymodule]
mod _core {
    #[pymodule_export]
    use crate::advise::advise;
    #[pymodule_export]
    use crate::device::LiveDevice;
    #[pymodule_export]
    use crate::drive::{drive_scenario, drive_sheet, drive_smart};
    #[pymodule_export]
    use crate::fleet::fleet;
    #[pymodule_export]
    use crate::limit::limit;
    #[pymodule_export]
    use crate::listing::listing;
    #[pymodule_export]
    use crate::page::page;
    #[pymodule_export]
    use crate::part::Store;
    #[pymodule_export]
    use crate::placement::PageContext;
    #[pymodule_export]
    use crate::policy::Blocks;
    #[pymodule_export]
    use crate::run::run;
    #[pymodule_export]
    use crate::scenario::{ci95_half_width, replica_seed, resolve, scenario_schema, short_form};
    #[pymodule_export]
    use crate::store::{ResultStore, compact_store, read_store};
    #[pymodule_export]
    use crate::theory::{
        theory_many_classes, theory_of_scenario, theory_solve_spare, theory_steady_state, theory_transient,
        theory_write_amplification, theory_zipf_classes,
    };
    #[pymodule_export]
    use crate::trace::{TraceReader, convert_trace, describe_trace, trace_columns};
    #[expect(non_upper_case_globals, reason = "the name is Python's")]
    #[pymodule_export]
    const __version__: &str = env!("CARGO_PKG_VERSION");
    #[expect(non_upper_case_globals, reason = "the name is Python's")]
    #[pymodule_export]
    const __build__: &str = wearwell_study::BUILD;
}
