//! Real file systems and databases on live drives: the writes of the whole stack for the writes of an application.
//!
//! One disk is mounted, and several [drives] process its requests at the same time: all receive the same requests and
//! data, and their answers are compared.

pub mod cases;
pub mod drives;
pub mod f2fs_loads;
pub mod file_systems;
pub mod loads;
pub mod measure;
pub mod requirements;

use crate::Failure;
use crate::nvmfs::stop::unless_interrupted;
use crate::session::{Interrupted, Session};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Measures each of `keys` on this machine, like [`Session::compute_each`]; an interruption ends the measurement and unmounts everything.
///
/// # Errors
///
/// The errors of [`Session::compute_each`].
pub fn measure_each<K: Serialize + Sync, T: Serialize + DeserializeOwned + Send>(
    session: &Session,
    name: &str,
    keys: &[K],
    measure: impl Fn(&K) -> Result<T, Failure> + Send + Sync,
) -> Result<Vec<T>, Failure> {
    session.require_clean_up();
    session.require_local("it mounts file systems on this machine");
    session.compute_each(name, keys, |key| {
        let found = unless_interrupted(session, || measure(key));
        if session.flow().is_break() { Err(Interrupted.into()) } else { found }
    })
}
