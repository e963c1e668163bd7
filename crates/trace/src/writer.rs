//! Writing a trace of any format.

use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::write::GzEncoder;
use liblzma::write::XzEncoder;
use tempfile::NamedTempFile;

use super::encode::{Content, Encode, Reason};
use super::error::TraceError;
use super::format::Format;
use super::options::WriteOptions;
use super::request::{Request, RequestBatch};
use super::table::{find_format, names};

/// Approximate size, in bytes, of the pieces in which encoded text is passed on.
const PIECE_BYTES: usize = 1 << 18;

/// Result of writing a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Requests written.
    pub requests: u64,
    /// Requests omitted because the format cannot hold them.
    pub dropped: u64,
    /// Reason why the first of them was omitted.
    pub first_dropped: Option<String>,
}

/// A trace that is being written. Without [`TraceWriter::finish`] it is deleted.
pub struct TraceWriter {
    path: PathBuf,
    format: &'static Format,
    encoder: Box<dyn Encode>,
    drop_inexpressible: bool,
    target: Target,
    piece: Vec<u8>,
    written: Written,
}

impl TraceWriter {
    /// Starts a trace at `path`, compressed if the name ends in `.gz`, `.xz` or `.zst`.
    ///
    /// Writes to a temporary file in the same directory, which is renamed at the end.
    pub fn create(path: impl AsRef<Path>, options: &WriteOptions) -> Result<Self, TraceError> {
        let path = path.as_ref();
        let (format, encoder) = encoder(options)?;
        let target = Target::create(path).map_err(|error| TraceError::io(path, error))?;
        Ok(Self::start(path, format, encoder, options, target))
    }

    /// Starts a trace in memory, for [`TraceWriter::into_bytes`].
    pub fn in_memory(options: &WriteOptions) -> Result<Self, TraceError> {
        let (format, encoder) = encoder(options)?;
        Ok(Self::start(Path::new("(memory)"), format, encoder, options, Target::Memory(Vec::new())))
    }

    fn start(
        path: &Path,
        format: &'static Format,
        mut encoder: Box<dyn Encode>,
        options: &WriteOptions,
        target: Target,
    ) -> Self {
        let mut piece = Vec::new();
        encoder.begin(&mut piece);
        let drop_inexpressible = options.drop_inexpressible;
        let path = path.to_owned();
        TraceWriter { path, format, encoder, drop_inexpressible, target, piece, written: Written::default() }
    }

    /// Appends all requests of `batch`.
    pub fn write_batch(&mut self, batch: &RequestBatch) -> Result<(), TraceError> {
        for index in 0..batch.len() {
            let content = Content { digests: batch.digests_of(index), digest_bytes: batch.digest_bytes };
            self.write(&batch.get(index), content)?;
        }
        Ok(())
    }

    fn write(&mut self, request: &Request, content: Content<'_>) -> Result<(), TraceError> {
        let before = self.piece.len();
        match self.encoder.request(request, content, &mut self.piece) {
            Ok(()) => self.written.requests += 1,
            Err(reason) => {
                self.piece.truncate(before);
                self.drop_request(reason)?;
            }
        }
        if self.piece.len() >= PIECE_BYTES { self.hand_on() } else { Ok(()) }
    }

    #[cold]
    fn drop_request(&mut self, reason: Reason) -> Result<(), TraceError> {
        let request = self.written.requests + self.written.dropped + 1;
        let error = TraceError::Inexpressible {
            path: self.path.clone(),
            format: self.format.name,
            request,
            reason: reason.into_owned(),
        };
        if !self.drop_inexpressible {
            return Err(error);
        }
        self.written.dropped += 1;
        self.written.first_dropped.get_or_insert_with(|| error.to_string());
        Ok(())
    }

    fn hand_on(&mut self) -> Result<(), TraceError> {
        self.target.write_all(&self.piece).map_err(|error| TraceError::io(&self.path, error))?;
        self.piece.clear();
        Ok(())
    }

    /// Returns the trace's format.
    pub fn format(&self) -> &'static Format {
        self.format
    }

    /// Completes the file and renames it to its final name.
    pub fn finish(mut self) -> Result<Written, TraceError> {
        self.encoder.end(&mut self.piece);
        self.hand_on()?;
        self.target.finish().map_err(|error| TraceError::io(&self.path, error))?;
        Ok(self.written)
    }

    /// Completes a trace in memory.
    ///
    /// # Panics
    /// If the writer was not made by [`TraceWriter::in_memory`].
    pub fn into_bytes(mut self) -> (Vec<u8>, Written) {
        self.encoder.end(&mut self.piece);
        let Target::Memory(mut bytes) = self.target else { panic!("{} is a file", self.path.display()) };
        bytes.append(&mut self.piece);
        (bytes, self.written)
    }
}

/// Returns the format of `options`, and its encoder.
pub(crate) fn encoder(options: &WriteOptions) -> Result<(&'static Format, Box<dyn Encode>), TraceError> {
    let format = find_format(&options.format)?;
    let choices = || names(|format| format.write.is_some());
    let write =
        format.write.ok_or_else(|| TraceError::NotWritable { format: format.name, choices: choices() })?;
    Ok((format, write(&format.settings(&options.options)?)))
}

/// Destination of a trace.
enum Target {
    Memory(Vec<u8>),
    Plain(BufWriter<Place>),
    Gzip(GzEncoder<Place>),
    Xz(XzEncoder<Place>),
    Zstd(zstd::Encoder<'static, Place>),
}

impl Target {
    fn create(path: &Path) -> io::Result<Self> {
        let file = Place::create(path)?;
        Ok(match path.extension().and_then(|extension| extension.to_str()) {
            Some("gz") => Target::Gzip(GzEncoder::new(file, flate2::Compression::default())),
            Some("xz") => Target::Xz(XzEncoder::new(file, 6)),
            Some("zst") => Target::Zstd(zstd::Encoder::new(file, zstd::DEFAULT_COMPRESSION_LEVEL)?),
            _ => Target::Plain(BufWriter::new(file)),
        })
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Target::Memory(memory) => memory.write_all(bytes),
            Target::Plain(file) => file.write_all(bytes),
            Target::Gzip(file) => file.write_all(bytes),
            Target::Xz(file) => file.write_all(bytes),
            Target::Zstd(file) => file.write_all(bytes),
        }
    }

    fn finish(self) -> io::Result<()> {
        let file = match self {
            Target::Memory(_) => return Ok(()),
            Target::Plain(file) => file.into_inner().map_err(io::IntoInnerError::into_error)?,
            Target::Gzip(file) => file.finish()?,
            Target::Xz(file) => file.finish()?,
            Target::Zstd(file) => file.finish()?,
        };
        file.finish()
    }
}

/// Destination file: a new file, which is renamed when it is complete, or an existing pipe or device.
enum Place {
    New(NamedTempFile, PathBuf),
    Special(File),
}

impl Place {
    fn create(path: &Path) -> io::Result<Self> {
        if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            return Ok(Place::Special(File::create(path)?));
        }
        // A symbolic link continues to point at its target.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let mut builder = tempfile::Builder::new();
        builder.prefix(".wearwell-").permissions(ordinary_permissions());
        let file = builder.tempfile_in(directory.unwrap_or(Path::new(".")))?;
        Ok(Place::New(file, path))
    }

    fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        match self {
            Place::New(file, path) => file.persist(path).map(|_| ()).map_err(|error| error.error),
            Place::Special(_) => Ok(()),
        }
    }
}

impl Write for Place {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Place::New(file, _) => file.write(bytes),
            Place::Special(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Place::New(file, _) => file.flush(),
            Place::Special(file) => file.flush(),
        }
    }
}

/// Returns the permissions of a new file, from which the process's umask removes bits as usual.
fn ordinary_permissions() -> Permissions {
    use std::os::unix::fs::PermissionsExt;
    Permissions::from_mode(0o666)
}
