//! HTTP server for pages that are accessible from this machine only.
//!
//! A page of another site can make a browser send requests to local servers. Therefore the `guard` admits only
//! requests to loopback names that come from pages of this server or from no page. It also restricts the pages, which
//! may send requests only to this server.

mod guard;

pub use guard::Names;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use std::io;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::time::Duration;

/// Maximum size of a request body in bytes.
const MAX_BYTES: usize = 64 << 10;

/// Interval between calls of `should_continue`, and time limit for the shutdown.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Listening socket.
pub enum Listener {
    /// Loopback TCP port.
    Tcp(TcpListener),
    /// Unix-domain socket.
    Unix(UnixListener),
}

/// Serves `routes` to admitted clients until `should_continue` returns false. Open connections are then closed without waiting for them.
///
/// # Errors
/// Fails if the socket fails.
pub fn serve(listener: Listener, routes: Router, should_continue: impl Fn() -> bool) -> io::Result<()> {
    let names = match &listener {
        Listener::Tcp(listener) => Names::Port(listener.local_addr()?.port()),
        Listener::Unix(_) => Names::Socket,
    };
    let routes = guard::with_guard(routes.layer(DefaultBodyLimit::max(MAX_BYTES)), names);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcome = runtime.block_on(async {
        let until_stopped = async {
            while should_continue() {
                tokio::time::sleep(CHECK_INTERVAL).await;
            }
        };
        tokio::select! {
            served = handle_connections(listener, routes) => served,
            () = until_stopped => Ok(()),
        }
    });
    runtime.shutdown_timeout(CHECK_INTERVAL);
    outcome
}

async fn handle_connections(listener: Listener, routes: Router) -> io::Result<()> {
    match listener {
        Listener::Tcp(listener) => {
            listener.set_nonblocking(true)?;
            axum::serve(tokio::net::TcpListener::from_std(listener)?, routes).await
        }
        Listener::Unix(listener) => {
            listener.set_nonblocking(true)?;
            axum::serve(tokio::net::UnixListener::from_std(listener)?, routes).await
        }
    }
}
