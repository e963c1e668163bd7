//! Studies over many runs: sweeps, advice, and the simulator held against theory.

pub mod advise;
mod axis;
mod compare;
pub mod drive;
pub mod fleet;
pub mod journal;
mod points;
mod prediction;
mod summary;
mod sweep;
pub mod theory_check;

pub use axis::Axis;
pub use compare::{Comparison, Figure, SettingChange, Verdict, compare};
pub use points::{Point, PointResult, SweepError};
pub use prediction::{Patience, PredictionError, beside, predict};
pub use summary::{Row, rows, summary};
pub use sweep::{RunScenario, Sweep, SweepObserver, SweepOptions};
