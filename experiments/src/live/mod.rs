//! Real file systems and databases on live drives: what the whole stack writes for what an application writes.
//!
//! One disk is mounted, and several [drives] take its requests side by side: they see the same, bytes and all, and what one
//! answers is held against the others.

pub mod cases;
pub mod drives;
pub mod f2fs_loads;
pub mod file_systems;
pub mod loads;
pub mod measure;
pub mod needs;

use crate::Failure;
use crate::nvmfs::stop::unless_interrupted;
use crate::session::{Interrupted, Session};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Measures each of `keys` on this machine, as [`Session::each`] does; an interruption ends what is mounted, and undoes it.
///
/// # Errors
///
/// As of [`Session::each`].
pub fn measure_each<K: Serialize + Sync, T: Serialize + DeserializeOwned + Send>(
    session: &Session,
    what: &str,
    keys: &[K],
    measure: impl Fn(&K) -> Result<T, Failure> + Send + Sync,
) -> Result<Vec<T>, Failure> {
    session.has_to_undo();
    session.stays_here("it mounts file systems on this machine");
    session.each(what, keys, |key| {
        let found = unless_interrupted(session, || measure(key));
        if session.flow().is_break() { Err(Interrupted.into()) } else { found }
    })
}
