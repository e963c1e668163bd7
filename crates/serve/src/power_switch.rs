//! Power switch of a served drive: a socket in the folder of its image that accepts commands to cut the power.
//!
//! A command is a line of JSON, and so is the reply; then the connection is closed. Only the user that runs the
//! server may connect.

use crate::error::DeviceError;
use crate::flash::{OpenReport, PowerCut};
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

/// File name of the socket.
const NAME: &str = "plug";
/// Maximum length of a command in bytes.
const MAX_COMMAND_BYTES: u64 = 1024;
/// Time limit for a client to send its command.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Interval between checks for a scheduled power cut.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Maximum time to wait for a power cut.
const MAX_WAIT: Duration = Duration::from_secs(3600);

/// Command to the power switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Command {
    /// Cuts the power, either immediately or in a later request.
    CutPower {
        /// Number of flash operations to complete before the cut.
        after: u64,
        /// True if the next operation begins and stays incomplete.
        torn: bool,
        /// Number of seconds that the reply waits for the cut.
        wait_seconds: u64,
    },
}

/// Step of a recovery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Name of the step.
    pub name: String,
    /// Numbers of spare areas read, pages read, pages written and blocks erased.
    #[serde(alias = "did")]
    pub operations: [u64; 4],
}

/// Result of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// Power was cut, and the drive recovered.
    #[serde(alias = "came_back")]
    Recovered {
        /// Number of flash operations before the power cut.
        operations: u64,
        /// Steps of the recovery.
        steps: Vec<Step>,
        /// Number of pages that were trimmed again because of the battery's records.
        trimmed_pages: u64,
    },
    /// The drive has not reached the operation yet. Power is cut when it does.
    #[serde(alias = "waits")]
    Scheduled,
    /// The command failed.
    Refused(String),
}

impl Reply {
    fn from_report(opened: Option<OpenReport>) -> Self {
        let OpenReport { operations, recovery, trimmed_pages, .. } = opened.unwrap_or_default();
        let steps = recovery.unwrap_or_default().steps;
        let step = |step: &wearwell_engine::layer::RecoveryStep| Step {
            name: step.name.to_owned(),
            operations: [step.spare_reads, step.page_reads, step.page_writes, step.erases],
        };
        Reply::Recovered { operations, steps: steps.iter().map(step).collect(), trimmed_pages }
    }
}

/// Sends a command to the server of the image in `folder`.
///
/// # Errors
/// Fails if no server uses the image, or the server does not reply.
pub fn send(folder: &Path, command: &Command) -> io::Result<Reply> {
    let mut server = UnixStream::connect(folder.join(NAME))?;
    let Command::CutPower { wait_seconds, .. } = command;
    server.set_read_timeout(Some(TIMEOUT + Duration::from_secs(*wait_seconds).min(MAX_WAIT)))?;
    server.write_all(&serde_json::to_vec(command)?)?;
    server.write_all(b"\n")?;
    let mut line = String::new();
    BufReader::new(server.take(1 << 20)).read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}

/// Server of the power switch's socket.
pub struct PowerSwitch {
    path: PathBuf,
    is_stopping: Arc<AtomicBool>,
    listening: Option<JoinHandle<()>>,
}

impl PowerSwitch {
    /// Starts to accept commands for `device`, whose image is in `folder`.
    ///
    /// # Errors
    /// Fails if the socket cannot be created in the folder.
    pub fn start(device: SharedDevice, folder: &Path) -> io::Result<Self> {
        let path = folder.join(NAME);
        // No other process can serve this image, so an existing socket belongs to a server that was killed.
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&path)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
        let is_stopping = Arc::new(AtomicBool::new(false));
        let listening = {
            let is_stopping = is_stopping.clone();
            let listen = move || {
                while !is_stopping.load(Ordering::SeqCst) {
                    let Ok((client, _)) = listener.accept() else { continue };
                    // An error of one client does not affect the other clients.
                    let _ = serve(&device, client, &is_stopping);
                }
            };
            std::thread::Builder::new().name("plug".into()).spawn(listen)?
        };
        Ok(PowerSwitch { path, is_stopping, listening: Some(listening) })
    }

    fn end(&mut self) {
        let Some(listening) = self.listening.take() else { return };
        self.is_stopping.store(true, Ordering::SeqCst);
        let woken = UnixStream::connect(&self.path).is_ok();
        // The socket may have been removed already.
        let _ = std::fs::remove_file(&self.path);
        if woken {
            // A panic of the thread was already reported.
            let _ = listening.join();
        }
    }
}

impl Drop for PowerSwitch {
    fn drop(&mut self) {
        self.end();
    }
}

fn serve(device: &SharedDevice, mut client: UnixStream, is_stopping: &AtomicBool) -> io::Result<()> {
    client.set_read_timeout(Some(TIMEOUT))?;
    client.set_write_timeout(Some(TIMEOUT))?;
    let mut line = String::new();
    BufReader::new((&client).take(MAX_COMMAND_BYTES)).read_line(&mut line)?;
    let reply = match serde_json::from_str::<Command>(&line) {
        Ok(command) => execute(device, command, is_stopping),
        Err(error) => Reply::Refused(format!("this is no command: {error}")),
    };
    client.write_all(&serde_json::to_vec(&reply)?)?;
    client.write_all(b"\n")
}

fn execute(device: &SharedDevice, command: Command, is_stopping: &AtomicBool) -> Reply {
    let Command::CutPower { after, torn, wait_seconds } = command;
    let refused = |error: DeviceError| Reply::Refused(error.to_string());
    let cut = device.with(|device| Ok((device.power_cuts(), device.cut_power(PowerCut { after, torn })?)));
    let before = match cut {
        Err(error) => return refused(error),
        Ok((_, Some(opened))) => return Reply::from_report(Some(opened)),
        Ok((before, None)) => before,
    };
    let until = Instant::now() + Duration::from_secs(wait_seconds).min(MAX_WAIT);
    while !is_stopping.load(Ordering::SeqCst) {
        match device.with(|device| Ok((device.power_cuts() > before).then(|| device.open_report()))) {
            Err(error) => return refused(error),
            Ok(Some(opened)) => return Reply::from_report(opened),
            Ok(None) => {}
        }
        if Instant::now() >= until {
            break;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Reply::Scheduled
}
