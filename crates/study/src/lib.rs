//! Studies over many runs: sweeps, advice, and comparisons of the simulator with theory.

pub mod advise;
mod axis;
mod compare;
pub mod drive;
mod executor;
pub mod fleet;
pub mod journal;
pub mod limit;
mod measurement;
mod points;
mod prediction;
mod store;
mod summary;
mod sweep;
pub mod theory_check;

pub use axis::Axis;
pub use compare::{Comparison, Figure, SettingChange, Significance, compare};
pub use executor::{Executor, ExecutorError, Job, RunListener, RunScenario, ThreadExecutor};
pub use measurement::MeasureError;
pub use points::{Point, PointResult, StoreError, SweepError};
pub use prediction::{PredictionEffort, PredictionError, add_prediction, predict};
pub use store::{BUILD, Store, build_of, fingerprint, identity};
pub use summary::{Row, rows, summary_row};
pub use sweep::{Outcome, RoundObserver, Sweep, SweepObserver, SweepOptions};
