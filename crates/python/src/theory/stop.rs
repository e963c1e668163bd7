//! Early end of a calculation.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Panic payload of a calculation that is stopped.
struct Stopped;

/// Ends the current calculation of this thread by unwinding.
///
/// The models do not support interruptions, and with meaningless numbers some of their searches would take long. They
/// have no state that unwinding could leave inconsistent.
pub fn stop() -> ! {
    resume_unwind(Box::new(Stopped))
}

/// Returns the result of the work, or `None` if it was stopped.
pub fn catch_stop<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).map_or_else(
        |panic| if panic.is::<Stopped>() { None } else { resume_unwind(panic) },
        |answer| Some(answer),
    )
}
