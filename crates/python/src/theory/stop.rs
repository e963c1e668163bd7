//! How a calculation is ended in the middle.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// What a calculation that is to end unwinds with.
struct Stopped;

/// Ends the calculation that this thread is in.
///
/// The models know nothing of interruptions, and some of their searches would go on for long with numbers that mean
/// nothing; they hold nothing that unwinding could leave half done.
pub fn stop() -> ! {
    resume_unwind(Box::new(Stopped))
}

/// The work's answer, or nothing if it was stopped.
pub fn caught<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).map_or_else(
        |panic| if panic.is::<Stopped>() { None } else { resume_unwind(panic) },
        |answer| Some(answer),
    )
}
