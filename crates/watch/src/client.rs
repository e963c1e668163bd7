//! Client of the control server, used by the command-line tool.

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::{Request, header};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use wearwell_serve::Reading;
use wearwell_serve::sockets::Address;

/// Time limit for a reply.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum length of a reply in bytes.
const MAX_BYTES: usize = 64 << 20;

/// Reason why a query failed.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// No server listens at the address, or the server does not speak this protocol.
    #[error("{address}: {problem}; give the address that `wearwell serve --control` listens at")]
    Unreachable {
        /// Address that was tried.
        address: String,
        /// Description of the problem.
        problem: String,
    },
    /// The server refused the request.
    #[error("{address}: {reason}")]
    Refused {
        /// Address of the server.
        address: String,
        /// Reason given by the server.
        reason: String,
    },
}

/// Client of the control server at an address.
pub struct Client {
    address: Address,
    runtime: tokio::runtime::Runtime,
}

impl Client {
    /// Creates a client for the drive whose control server listens at `address`.
    ///
    /// # Errors
    /// Fails if the system has no resources for asynchronous I/O.
    pub fn new(address: Address) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Client { address, runtime })
    }

    /// Fetches the document at a path.
    ///
    /// # Errors
    /// Fails if no server replies, or the server refuses the request.
    pub fn get(&self, path: &str) -> Result<Vec<u8>, QueryError> {
        self.send(self.request("GET", path, Bytes::new()))
    }

    /// Posts `body` to a path as JSON and returns the reply.
    ///
    /// # Errors
    /// Fails if no server replies, or the server refuses the request.
    pub fn post(&self, path: &str, body: &Value) -> Result<Value, QueryError> {
        let answer = self.send(self.request("POST", path, body.to_string().into()))?;
        serde_json::from_slice(&answer).map_err(|error| self.unreachable(error))
    }

    /// Fetches a reading of all counters.
    ///
    /// # Errors
    /// Fails if no server replies, or the reading has another format version.
    pub fn read(&self) -> Result<Reading, QueryError> {
        let answer = self.get("/status.json")?;
        let value = serde_json::from_slice(&answer).map_err(|error| self.unreachable(error))?;
        Reading::from_json(value).map_err(|problem| self.unreachable(problem))
    }

    fn unreachable(&self, problem: impl ToString) -> QueryError {
        QueryError::Unreachable { address: self.address.to_string(), problem: problem.to_string() }
    }

    fn request(&self, method: &str, path: &str, body: Bytes) -> Request<Full<Bytes>> {
        let host = match &self.address {
            Address::Unix(_) => "localhost".to_owned(),
            Address::Tcp(address) => address.to_string(),
        };
        let request = Request::builder().method(method).uri(path).header(header::HOST, host);
        let request = request.header(header::CONTENT_TYPE, "application/json");
        request.body(Full::new(body)).expect("plain ASCII")
    }

    fn send(&self, request: Request<Full<Bytes>>) -> Result<Vec<u8>, QueryError> {
        let answer = self.runtime.block_on(async {
            let query = async {
                match &self.address {
                    Address::Unix(path) => answer(UnixStream::connect(path).await?, request).await,
                    Address::Tcp(address) => answer(TcpStream::connect(address).await?, request).await,
                }
            };
            tokio::time::timeout(TIMEOUT, query).await
        });
        let answer = answer.map_err(|_| self.unreachable("no answer in 10 seconds"))?;
        let (status, body) = answer.map_err(|error: BoxError| self.unreachable(error))?;
        if status.is_success() {
            return Ok(body);
        }
        let refusal: Option<Value> = serde_json::from_slice(&body).ok();
        let refusal = refusal.and_then(|refusal| Some(refusal.get("refused")?.as_str()?.to_owned()));
        let reason = refusal.unwrap_or_else(|| status.to_string());
        Err(QueryError::Refused { address: self.address.to_string(), reason })
    }
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Sends a request over a new connection. Returns the status and the body of the reply.
async fn answer<S>(stream: S, request: Request<Full<Bytes>>) -> Result<(hyper::StatusCode, Vec<u8>), BoxError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // The connection makes progress while the runtime runs, and is aborted after the reply.
    let connection = tokio::spawn(connection);
    let answer = sender.send_request(request).await?;
    let status = answer.status();
    let body = Limited::new(answer.into_body(), MAX_BYTES).collect().await?.to_bytes().to_vec();
    connection.abort();
    Ok((status, body))
}
