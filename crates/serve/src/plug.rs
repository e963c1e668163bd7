//! The plug of a drive that is being served: a socket in the folder of its image, through which its power is cut.
//!
//! A command is a line of JSON and so is its answer; then the connection ends. Only the user that the server belongs to may connect.

use crate::error::DeviceError;
use crate::flash::{Opened, PowerCut};
use crate::shared::SharedDevice;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The socket's name in the folder.
const NAME: &str = "plug";
/// Longest command, bytes.
const LONGEST: u64 = 1024;
/// How long somebody who connected has to say what it wants.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often is looked whether a cut has come.
const TICK: Duration = Duration::from_millis(10);
/// Longest wait for a cut.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Command {
    /// Power is cut: at once, or in a request to come.
    CutPower {
        /// Operations that are still done.
        after: u64,
        /// Whether the next one is begun.
        torn: bool,
        /// How long the answer waits for it, seconds.
        wait_seconds: u64,
    },
}

/// A step of a recovery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// What is looked for.
    pub name: String,
    /// Spare areas and pages read, pages written, blocks erased.
    pub did: [u64; 4],
}

/// What a command led to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// Power was lost after so many operations of the flash, and the drive came back by these steps.
    CameBack {
        /// Operations.
        operations: u64,
        /// Steps.
        steps: Vec<Step>,
        /// Trims that a battery had kept, done once more.
        trimmed_pages: u64,
    },
    /// It has not come to that operation yet, and will lose its power when it does.
    Waits,
    /// It was not done.
    Refused(String),
}

impl Reply {
    fn of(opened: Option<Opened>) -> Self {
        let Opened { operations, recovery, trimmed_pages, .. } = opened.unwrap_or_default();
        let steps = recovery.unwrap_or_default().steps;
        let step = |step: &wearwell_engine::layer::RecoveryStep| Step {
            name: step.name.to_owned(),
            did: [step.spare_reads, step.page_reads, step.page_writes, step.erases],
        };
        Reply::CameBack { operations, steps: steps.iter().map(step).collect(), trimmed_pages }
    }
}

/// Sends a command to the server of the image in `folder`.
///
/// # Errors
/// Nobody serves it, or the server does not answer.
pub fn send(folder: &Path, command: &Command) -> io::Result<Reply> {
    let mut server = UnixStream::connect(folder.join(NAME))?;
    let Command::CutPower { wait_seconds, .. } = command;
    server.set_read_timeout(Some(PATIENCE + Duration::from_secs(*wait_seconds).min(LONGEST_WAIT)))?;
    server.write_all(&serde_json::to_vec(command)?)?;
    server.write_all(b"\n")?;
    let mut line = String::new();
    BufReader::new(server.take(1 << 20)).read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}

/// The socket, and who waits at it.
pub struct Plug {
    path: PathBuf,
    ended: Arc<AtomicBool>,
    listening: Option<JoinHandle<()>>,
}

impl Plug {
    /// Takes commands to `device`, whose image is in `folder`.
    ///
    /// # Errors
    /// A folder in which no socket can be made.
    pub fn start(device: SharedDevice, folder: &Path) -> io::Result<Self> {
        let path = folder.join(NAME);
        // Nobody else serves this image; it is left over from a server that was killed.
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&path)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
        let ended = Arc::new(AtomicBool::new(false));
        let listening = {
            let ended = ended.clone();
            let listen = move || {
                while !ended.load(Ordering::SeqCst) {
                    let Ok((client, _)) = listener.accept() else { continue };
                    // Whoever breaks off, or speaks nonsense, is nobody else's concern.
                    let _ = serve(&device, client, &ended);
                }
            };
            std::thread::Builder::new().name("plug".into()).spawn(listen)?
        };
        Ok(Plug { path, ended, listening: Some(listening) })
    }

    fn end(&mut self) {
        let Some(listening) = self.listening.take() else { return };
        self.ended.store(true, Ordering::SeqCst);
        let woken = UnixStream::connect(&self.path).is_ok();
        // Somebody may have taken it away already.
        let _ = std::fs::remove_file(&self.path);
        if woken {
            // What it panicked of was told.
            let _ = listening.join();
        }
    }
}

impl Drop for Plug {
    fn drop(&mut self) {
        self.end();
    }
}

fn serve(device: &SharedDevice, mut client: UnixStream, ended: &AtomicBool) -> io::Result<()> {
    client.set_read_timeout(Some(PATIENCE))?;
    client.set_write_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new((&client).take(LONGEST)).read_line(&mut line)?;
    let reply = match serde_json::from_str::<Command>(&line) {
        Ok(command) => obey(device, command, ended),
        Err(error) => Reply::Refused(format!("this is no command: {error}")),
    };
    client.write_all(&serde_json::to_vec(&reply)?)?;
    client.write_all(b"\n")
}

fn obey(device: &SharedDevice, command: Command, ended: &AtomicBool) -> Reply {
    let Command::CutPower { after, torn, wait_seconds } = command;
    let refused = |error: DeviceError| Reply::Refused(error.to_string());
    let cut = device.with(|device| Ok((device.power_cuts(), device.cut_power(PowerCut { after, torn })?)));
    let before = match cut {
        Err(error) => return refused(error),
        Ok((_, Some(opened))) => return Reply::of(Some(opened)),
        Ok((before, None)) => before,
    };
    let until = Instant::now() + Duration::from_secs(wait_seconds).min(LONGEST_WAIT);
    while !ended.load(Ordering::SeqCst) {
        match device.with(|device| Ok((device.power_cuts() > before).then(|| device.opened()))) {
            Err(error) => return refused(error),
            Ok(Some(opened)) => return Reply::of(opened),
            Ok(None) => {}
        }
        if Instant::now() >= until {
            break;
        }
        std::thread::sleep(TICK);
    }
    Reply::Waits
}
