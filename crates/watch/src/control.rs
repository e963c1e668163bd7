//! Control server of a live drive: HTTP routes for queries from this machine.

use crate::metrics;
use crate::observed::ObservedDrive;
use crate::page::page as build_page;
use axum::extract::{RawQuery, State};
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::json;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use wearwell_serve::sockets::{Address, Listener};
use wearwell_serve::{DeviceError, SharedDevice};

/// Interval between checks for the next history sample and for the end.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Reason why a control server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// Other machines could reach the address.
    #[error(
        "{0}: other machines reach this address, and here is neither encryption nor a password; use a unix socket or 127.0.0.1, \
         and what passes on to it (ssh -L, a proxy) where others are to look"
    )]
    Remote(Address),
    /// The address is in use, or the user may not use it.
    #[error("{0}: {1}")]
    Listen(Address, io::Error),
}

/// Control server of a live drive, which serves an HTML page and counters.
///
/// | path | answer |
/// |---|---|
/// | `GET /` | page that shows the drive and updates itself |
/// | `GET /status.json` | [`Reading`](wearwell_serve::Reading) |
/// | `GET /history.json` | list of earlier readings, abridged, oldest first |
/// | `GET /metrics` | a reading for Prometheus |
pub struct ControlServer {
    address: Address,
    is_stopping: Arc<AtomicBool>,
    threads: Vec<JoinHandle<io::Result<()>>>,
}

impl ControlServer {
    /// Serves queries about `device` at `address` until the server is stopped.
    ///
    /// # Errors
    /// Fails if other machines could reach the address, or the server cannot listen at it.
    pub fn start(device: SharedDevice, address: &Address) -> Result<Self, ControlError> {
        if !address.is_local() {
            return Err(ControlError::Remote(address.clone()));
        }
        let failed = |error| ControlError::Listen(address.clone(), error);
        let (listener, bound) = Listener::bind(address).map_err(failed)?;
        let listener = match listener {
            Listener::Unix(listener) => wearwell_web::Listener::Unix(listener),
            Listener::Tcp(listener) => wearwell_web::Listener::Tcp(listener),
        };
        let observed = ObservedDrive::new(device);
        let is_stopping = Arc::new(AtomicBool::new(false));
        let is_running = {
            let is_stopping = is_stopping.clone();
            move || !is_stopping.load(Ordering::SeqCst)
        };
        let mut control = ControlServer { address: bound, is_stopping, threads: Vec::new() };
        let (sampled, keeps_sampling) = (observed.clone(), is_running.clone());
        control.spawn("control history", move || {
            while keeps_sampling() {
                sampled.sample();
                std::thread::sleep(CHECK_INTERVAL);
            }
            Ok(())
        })?;
        control.spawn("control", move || wearwell_web::serve(listener, routes(observed), is_running))?;
        Ok(control)
    }

    fn spawn(
        &mut self,
        name: &str,
        work: impl FnOnce() -> io::Result<()> + Send + 'static,
    ) -> Result<(), ControlError> {
        let thread = std::thread::Builder::new().name(name.into()).spawn(work);
        let thread = thread.map_err(|error| ControlError::Listen(self.address.clone(), error))?;
        self.threads.push(thread);
        Ok(())
    }

    /// Returns the address of the listening socket.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Returns the URL of the HTML page; `None` for a Unix-domain socket, which browsers cannot open.
    pub fn url(&self) -> Option<String> {
        match &self.address {
            Address::Tcp(address) => Some(format!("http://{address}/")),
            Address::Unix(_) => None,
        }
    }

    /// Stops the server and releases the device.
    ///
    /// # Errors
    /// Fails if the socket failed earlier; queries since then had no reply.
    pub fn stop(mut self) -> io::Result<()> {
        self.end()
    }

    fn end(&mut self) -> io::Result<()> {
        self.is_stopping.store(true, Ordering::SeqCst);
        // A panic of a thread was already reported.
        let results = self.threads.drain(..).map(|thread| thread.join().unwrap_or(Ok(())));
        let outcome = results.fold(Ok(()), Result::and);
        if let Address::Unix(path) = &self.address {
            // The socket may have been removed already.
            let _ = std::fs::remove_file(path);
        }
        outcome
    }
}

impl Drop for ControlServer {
    fn drop(&mut self) {
        // Only `stop` reports errors.
        let _ = self.end();
    }
}

fn routes(observed: ObservedDrive) -> Router {
    Router::new()
        .route("/", get(page))
        .route("/status.json", get(status))
        .route("/history.json", get(history))
        .route("/metrics", get(prometheus_metrics))
        .with_state(observed)
}

/// Error reply as JSON: `{"refused": "..."}`.
struct ErrorReply(StatusCode, String);

impl IntoResponse for ErrorReply {
    fn into_response(self) -> Response {
        (self.0, Json(json!({ "refused": self.1 }))).into_response()
    }
}

impl From<DeviceError> for ErrorReply {
    fn from(error: DeviceError) -> Self {
        ErrorReply(StatusCode::SERVICE_UNAVAILABLE, error.to_string())
    }
}

/// Queries the drive on a blocking thread, because the drive may be busy. Other queries are not delayed.
async fn query<T: IntoResponse + Send + 'static>(
    observed: ObservedDrive,
    read: impl FnOnce(&ObservedDrive) -> Result<T, DeviceError> + Send + 'static,
) -> Result<T, ErrorReply> {
    let answer = tokio::task::spawn_blocking(move || read(&observed)).await;
    let defect =
        |_| ErrorReply(StatusCode::INTERNAL_SERVER_ERROR, "a defect of Wearwell; please report it".into());
    Ok(answer.map_err(defect)??)
}

async fn page(State(observed): State<ObservedDrive>) -> Result<Html<String>, ErrorReply> {
    query(observed, |observed| Ok(Html(build_page(&*observed.read()?, &observed.history(f64::NEG_INFINITY)))))
        .await
}

async fn status(State(observed): State<ObservedDrive>) -> Result<Response, ErrorReply> {
    query(observed, |observed| Ok(Json(&*observed.read()?).into_response())).await
}

/// Returns the history. `?after=SECONDS` omits samples up to that time.
async fn history(
    State(observed): State<ObservedDrive>,
    RawQuery(parameters): RawQuery,
) -> Result<Response, ErrorReply> {
    let after = match parameters.as_deref().map(|text| text.strip_prefix("after=").map(str::parse::<f64>)) {
        None => f64::NEG_INFINITY,
        Some(Some(Ok(seconds))) => seconds,
        Some(_) => {
            return Err(ErrorReply(StatusCode::BAD_REQUEST, "history.json takes after=SECONDS".into()));
        }
    };
    query(observed, move |observed| Ok(Json(observed.history(after)).into_response())).await
}

async fn prometheus_metrics(State(observed): State<ObservedDrive>) -> Result<Response, ErrorReply> {
    let headers = [(header::CONTENT_TYPE, metrics::CONTENT_TYPE)];
    query(observed, move |observed| {
        Ok((headers, metrics::drive_metrics(&*observed.read()?).text()).into_response())
    })
    .await
}
