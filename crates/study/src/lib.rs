//! Studies over many runs: sweeps, advice, and comparisons of the simulator with theory.

pub mod advise;
mod axis;
mod compare;
pub mod drive;
mod executor;
pub mod fleet;
pub mod journal;
mod kept;
pub mod limit;
mod measured;
mod points;
mod prediction;
mod summary;
mod sweep;
pub mod theory_check;

pub use axis::Axis;
pub use compare::{Comparison, Figure, SettingChange, Verdict, compare};
pub use executor::{Executor, ExecutorError, Foreman, Job, RunScenario, Threads};
pub use kept::{BUILD, Store, fingerprint, identity, made_by};
pub use measured::MeasureError;
pub use points::{Point, PointResult, StoreError, SweepError};
pub use prediction::{Patience, PredictionError, beside, predict};
pub use summary::{Row, rows, summary};
pub use sweep::{Outcome, Shifted, Sweep, SweepObserver, SweepOptions};
