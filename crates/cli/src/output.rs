//! Standard output, and files that are written completely or not at all.

use crate::exit::Failure;
use std::fs::{File, Permissions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Prints `text` to standard output.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    written.map_err(|error| failed(&error))
}

/// Returns the failure for an error while writing to standard output.
pub fn failed(error: &io::Error) -> Failure {
    match error.kind() {
        ErrorKind::BrokenPipe => Failure::BrokenPipe,
        _ => Failure::run(format!("standard output: {error}")),
    }
}

/// Kinds of result files, by the endings of their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// `.json`
    Json,
    /// `.csv`
    Csv,
    /// `.parquet`
    Parquet,
}

/// A result file to be written at the end; the path was checked at the start.
#[derive(Debug)]
pub struct OutputFile {
    /// Path as given by the user.
    pub path: PathBuf,
    /// Kind of the file.
    pub kind: FileKind,
}

/// Refuses to overwrite one of the files that the command reads.
pub fn check_not_input(output: &Path, inputs: &[PathBuf]) -> Result<(), Failure> {
    let identity =
        |path: &Path| path.metadata().ok().filter(|of| of.is_file()).map(|of| (of.dev(), of.ino()));
    let Some(file) = identity(output) else { return Ok(()) };
    match inputs.iter().find(|input| identity(input) == Some(file)) {
        Some(input) => Err(Failure::Usage(format!(
            "{}: would be written over {}, which the command reads; name another file",
            output.display(),
            input.display()
        ))),
        None => Ok(()),
    }
}

/// Checks that files can be created in the directory of `path`.
pub fn check_can_create(path: &Path) -> Result<(), Failure> {
    if is_special(path) {
        return Ok(());
    }
    let created = create_temporary(path).map(drop);
    created.map_err(|error| Failure::run(format!("{}: {error}", path.display())))
}

impl OutputFile {
    /// Checks that `path` has a known ending, that files can be created in its directory, and that it is none of the
    /// `inputs`.
    pub fn new(path: &Path, inputs: &[PathBuf]) -> Result<Self, Failure> {
        check_not_input(path, inputs)?;
        let kind = match path.extension().and_then(|extension| extension.to_str()) {
            Some("json") => FileKind::Json,
            Some("csv") => FileKind::Csv,
            Some("parquet") if cfg!(feature = "parquet") => FileKind::Parquet,
            Some("parquet") => {
                let problem =
                    "this program was built without Parquet files; `make build` builds it with them";
                return Err(Failure::Usage(format!("{}: {problem}", path.display())));
            }
            _ => {
                let problem = "a result file ends in .json, .csv or .parquet";
                return Err(Failure::Usage(format!("{}: {problem}", path.display())));
            }
        };
        check_can_create(path)?;
        Ok(OutputFile { path: path.to_owned(), kind })
    }

    fn failed(&self, error: impl std::fmt::Display) -> Failure {
        Failure::run(format!("{}: {error}", self.path.display()))
    }

    /// Writes the file with `write`; if that fails, the previous file stays.
    pub fn write<E: std::fmt::Display>(
        &self,
        write: impl FnOnce(&mut dyn WriteSend) -> Result<(), E>,
    ) -> Result<(), Failure> {
        write_atomically(&self.path, write).map_err(|error| self.failed(error))
    }
}

/// Writes a text to the file at `path`, completely or not at all.
pub fn write_text(path: &Path, text: &str) -> Result<(), Failure> {
    write_bytes(path, text.as_bytes())
}

/// Writes bytes to the file at `path`, completely or not at all.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let written = write_atomically(path, |out| out.write_all(bytes));
    written.map_err(|problem| Failure::run(format!("{}: {problem}", path.display())))
}

/// Writer for result files.
pub trait WriteSend: Write + Send {}
impl<W: Write + Send> WriteSend for W {}

/// Writes to a temporary file first and renames it to `path` when it is complete.
fn write_atomically<E: std::fmt::Display>(
    path: &Path,
    write: impl FnOnce(&mut dyn WriteSend) -> Result<(), E>,
) -> Result<(), String> {
    let text = |error: io::Error| error.to_string();
    if is_special(path) {
        let mut file = BufWriter::new(File::create(path).map_err(text)?);
        write(&mut file).map_err(|error| error.to_string())?;
        return file.flush().map_err(text);
    }
    // A symbolic link stays; the file that it names is replaced.
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut file = BufWriter::new(create_temporary(&target).map_err(text)?);
    write(&mut file).map_err(|error| error.to_string())?;
    let file = file.into_inner().map_err(|error| error.to_string())?;
    file.persist(&target).map(|_| ()).map_err(|error| error.to_string())
}

/// True if `path` is a pipe or a device, which must not be replaced by a file.
fn is_special(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| !metadata.is_file())
}

fn create_temporary(path: &Path) -> io::Result<NamedTempFile> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // The process's umask restricts these permissions, as for any new file.
    tempfile::Builder::new()
        .prefix(".wearwell-")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(directory)
}
