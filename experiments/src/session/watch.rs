//! Observer of a reproduction, and the error of a reproduction that its observer has ended.

use std::ops::ControlFlow;

/// Observer of a reproduction, which may end it.
pub trait ReproductionObserver: Sync {
    /// Announces that a number of points follows.
    fn announce_points(&self, _points: usize) {}

    /// Reports a finished point; `reused` is true if it was found in the journal.
    fn point_finished(&self, _reused: bool) {}

    /// Returns `Continue` unless the reproduction must end.
    fn flow(&self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Requests that the process is not killed from now on. Running measurements end soon after
    /// [`ReproductionObserver::flow`] returns `Break`, and must clean up first.
    fn forbid_kill(&self) {}

    /// Reports, with the reason, that points meant for another executor are computed in this process.
    fn computed_locally(&self, _reason: &str) {}
}

/// The observer ended the reproduction; finished points are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("interrupted; finished points are kept, and the same command goes on")]
pub struct Interrupted;
