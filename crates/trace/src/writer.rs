//! Writing a trace of any format.

use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::write::GzEncoder;
use liblzma::write::XzEncoder;
use tempfile::NamedTempFile;

use super::encode::{Encoder, Reason, RequestContent};
use super::error::TraceError;
use super::format::Format;
use super::options::WriteOptions;
use super::request::{Request, RequestBatch};
use super::table::{find_format, format_names};

/// Approximate size, in bytes, of the chunks in which encoded text is forwarded.
const CHUNK_BYTES: usize = 1 << 18;

/// Result of writing a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteSummary {
    /// Requests written.
    pub requests: u64,
    /// Requests omitted because the format cannot hold them.
    pub dropped: u64,
    /// Reason why the format cannot hold the first omitted request.
    pub first_dropped: Option<String>,
}

/// A trace that is being written. Without [`TraceWriter::finish`] it is deleted.
pub struct TraceWriter {
    path: PathBuf,
    format: &'static Format,
    encoder: Box<dyn Encoder>,
    drop_inexpressible: bool,
    target: OutputStream,
    chunk: Vec<u8>,
    summary: WriteSummary,
}

impl TraceWriter {
    /// Starts a trace at `path`, compressed if the name ends in `.gz`, `.xz` or `.zst`.
    ///
    /// Writes to a temporary file in the same directory, which is renamed at the end.
    pub fn create(path: impl AsRef<Path>, options: &WriteOptions) -> Result<Self, TraceError> {
        let path = path.as_ref();
        let (format, mut encoder) = encoder(options)?;
        let target = OutputStream::create(path).map_err(|error| TraceError::io(path, error))?;
        let mut chunk = Vec::new();
        encoder.begin(&mut chunk);
        Ok(TraceWriter {
            path: path.to_owned(),
            format,
            encoder,
            drop_inexpressible: options.drop_inexpressible,
            target,
            chunk,
            summary: WriteSummary::default(),
        })
    }

    /// Appends all requests of `batch`.
    pub fn write_batch(&mut self, batch: &RequestBatch) -> Result<(), TraceError> {
        for index in 0..batch.len() {
            let content =
                RequestContent { digests: batch.digests_of(index), digest_bytes: batch.digest_bytes };
            self.write(&batch.get(index), content)?;
        }
        Ok(())
    }

    fn write(&mut self, request: &Request, content: RequestContent<'_>) -> Result<(), TraceError> {
        let start = self.chunk.len();
        match self.encoder.encode(request, content, &mut self.chunk) {
            Ok(()) => self.summary.requests += 1,
            Err(reason) => {
                self.chunk.truncate(start);
                self.drop_request(reason)?;
            }
        }
        if self.chunk.len() >= CHUNK_BYTES { self.flush_chunk() } else { Ok(()) }
    }

    #[cold]
    fn drop_request(&mut self, reason: Reason) -> Result<(), TraceError> {
        let request = self.summary.requests + self.summary.dropped + 1;
        let error = TraceError::Inexpressible {
            path: self.path.clone(),
            format: self.format.name,
            request,
            reason: reason.into_owned(),
        };
        if !self.drop_inexpressible {
            return Err(error);
        }
        self.summary.dropped += 1;
        self.summary.first_dropped.get_or_insert_with(|| error.to_string());
        Ok(())
    }

    fn flush_chunk(&mut self) -> Result<(), TraceError> {
        self.target.write_all(&self.chunk).map_err(|error| TraceError::io(&self.path, error))?;
        self.chunk.clear();
        Ok(())
    }

    /// Returns the trace's format.
    pub fn format(&self) -> &'static Format {
        self.format
    }

    /// Completes the file and renames it to its final name.
    pub fn finish(mut self) -> Result<WriteSummary, TraceError> {
        self.encoder.end(&mut self.chunk);
        self.flush_chunk()?;
        self.target.finish().map_err(|error| TraceError::io(&self.path, error))?;
        Ok(self.summary)
    }
}

/// Returns the format of `options`, and its encoder.
pub(crate) fn encoder(options: &WriteOptions) -> Result<(&'static Format, Box<dyn Encoder>), TraceError> {
    let format = find_format(&options.format)?;
    let choices = || format_names(|format| format.write.is_some());
    let write =
        format.write.ok_or_else(|| TraceError::NotWritable { format: format.name, choices: choices() })?;
    Ok((format, write(&format.settings(&options.options)?)))
}

/// Destination of a trace.
enum OutputStream {
    Plain(BufWriter<OutputFile>),
    Gzip(GzEncoder<OutputFile>),
    Xz(XzEncoder<OutputFile>),
    Zstd(zstd::Encoder<'static, OutputFile>),
}

impl OutputStream {
    fn create(path: &Path) -> io::Result<Self> {
        let file = OutputFile::create(path)?;
        Ok(match path.extension().and_then(|extension| extension.to_str()) {
            Some("gz") => OutputStream::Gzip(GzEncoder::new(file, flate2::Compression::default())),
            Some("xz") => OutputStream::Xz(XzEncoder::new(file, 6)),
            Some("zst") => OutputStream::Zstd(zstd::Encoder::new(file, zstd::DEFAULT_COMPRESSION_LEVEL)?),
            _ => OutputStream::Plain(BufWriter::new(file)),
        })
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            OutputStream::Plain(file) => file.write_all(bytes),
            OutputStream::Gzip(file) => file.write_all(bytes),
            OutputStream::Xz(file) => file.write_all(bytes),
            OutputStream::Zstd(file) => file.write_all(bytes),
        }
    }

    fn finish(self) -> io::Result<()> {
        let file = match self {
            OutputStream::Plain(file) => file.into_inner().map_err(io::IntoInnerError::into_error)?,
            OutputStream::Gzip(file) => file.finish()?,
            OutputStream::Xz(file) => file.finish()?,
            OutputStream::Zstd(file) => file.finish()?,
        };
        file.finish()
    }
}

/// Destination file: a new file, which is renamed when it is complete, or an existing pipe or device.
enum OutputFile {
    New(NamedTempFile, PathBuf),
    Special(File),
}

impl OutputFile {
    fn create(path: &Path) -> io::Result<Self> {
        if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            return Ok(OutputFile::Special(File::create(path)?));
        }
        // A symbolic link continues to point at its target.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let mut builder = tempfile::Builder::new();
        builder.prefix(".wearwell-").permissions(default_permissions());
        let file = builder.tempfile_in(directory.unwrap_or(Path::new(".")))?;
        Ok(OutputFile::New(file, path))
    }

    fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        match self {
            OutputFile::New(file, path) => file.persist(path).map(|_| ()).map_err(|error| error.error),
            OutputFile::Special(_) => Ok(()),
        }
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            OutputFile::New(file, _) => file.write(bytes),
            OutputFile::Special(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            OutputFile::New(file, _) => file.flush(),
            OutputFile::Special(file) => file.flush(),
        }
    }
}

/// Returns the permissions of a new file, from which the process's umask removes bits as usual.
fn default_permissions() -> Permissions {
    use std::os::unix::fs::PermissionsExt;
    Permissions::from_mode(0o666)
}
