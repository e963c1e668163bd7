//! Problems with the files of an image, for messages of the server on standard error.

use super::Device;
use crate::error::DeviceError;
use crate::requests::Operation;
use std::collections::BTreeSet;
use std::io;

/// Maximum number of different problems that are reported.
const MAX_REPORTED: usize = 100;

/// Problems so far. Each text is reported once.
#[derive(Default)]
pub(super) struct Problems {
    known: BTreeSet<String>,
    unreported: Vec<String>,
    /// Reason why the last write failed, if it did.
    write_failure: Option<String>,
}

impl Problems {
    fn add(&mut self, problem: String) {
        if self.known.len() < MAX_REPORTED && self.known.insert(problem.clone()) {
            self.unreported.push(problem);
        }
    }

    /// Records the result of a request.
    fn record(&mut self, operation: Operation, result: &Result<(), DeviceError>) {
        let is_write = operation == Operation::Write;
        match result {
            Ok(()) if is_write => self.write_failure = None,
            Err(DeviceError::Content(error)) if error.kind() != io::ErrorKind::Unsupported => {
                let problem = format!("a {} has failed: {}", operation.name(), description(error));
                if is_write {
                    self.write_failure = Some(problem.clone());
                }
                self.add(problem);
            }
            _ => {}
        }
    }
}

/// Describes an error of the host's files, and what to do about it.
fn description(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::StorageFull => {
            format!("{error}; make room for the content, on the disk of the image if there is one")
        }
        _ => error.to_string(),
    }
}

impl Device {
    /// Records the result of a request, for [`Device::take_problems`].
    pub(super) fn record_result(&mut self, operation: Operation, result: &Result<(), DeviceError>) {
        self.problems.record(operation, result);
        if let Some(stored) = &self.stored {
            stored.image.take_moved_damage().into_iter().for_each(|damage| self.problems.add(damage));
        }
    }

    /// Takes the descriptions of problems with the files of the image since the last call. Equal ones are returned
    /// once.
    pub fn take_problems(&mut self) -> Vec<String> {
        std::mem::take(&mut self.problems.unreported)
    }

    /// Returns the reason why the device accepts no more writes: the drive is at its end of life, its flash has failed,
    /// or the last write has failed.
    pub fn failure(&self) -> Option<String> {
        let end_of_life = self.stack.end_of_life().map(ToString::to_string);
        end_of_life.or_else(|| self.image_failure()).or_else(|| self.problems.write_failure.clone())
    }

    /// Fails if the drive is stored as its flash, and this cannot be written any more.
    pub(super) fn check_writable(&self) -> Result<(), DeviceError> {
        let failure = self.stored.as_ref().and_then(|stored| stored.image.failure());
        failure.map_or(Ok(()), |error| Err(DeviceError::Content(error)))
    }

    /// Returns the reason why an image of flash is not written any more, if it has failed. The drive recovers from it
    /// when it is opened again.
    pub fn image_failure(&self) -> Option<String> {
        let error = self.stored.as_ref()?.image.failure()?;
        Some(format!(
            "the flash of the image has failed: {}; the drive accepts no more writes until it is served again",
            description(&error)
        ))
    }
}
