//! What a command serves to this machine, over HTTP, and to nobody else.
//!
//! A page of another site may have a browser ask whatever it likes: the `guard` answers to names of loopback only, and to pages
//! that came from here. It is told what a page may do, which is to ask where it came from, and no more.

mod guard;

pub use guard::Names;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use std::io;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::time::Duration;

/// Largest question, bytes.
const MOST_BYTES: usize = 64 << 10;

/// How often it is asked whether to go on.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What listens.
pub enum Listener {
    /// A port of loopback.
    Tcp(TcpListener),
    /// A socket in the file system.
    Unix(UnixListener),
}

/// Answers by `routes` until `goes_on` says no, to whom the guard admits. Whoever is still connected then is not waited for.
///
/// # Errors
/// The socket fails.
pub fn serve(listener: Listener, routes: Router, goes_on: impl Fn() -> bool) -> io::Result<()> {
    let names = match &listener {
        Listener::Tcp(listener) => Names::Port(listener.local_addr()?.port()),
        Listener::Unix(_) => Names::Socket,
    };
    let routes = guard::guarded(routes.layer(DefaultBodyLimit::max(MOST_BYTES)), names);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcome = runtime.block_on(async {
        let ended = async {
            while goes_on() {
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        tokio::select! {
            served = answer(listener, routes) => served,
            () = ended => Ok(()),
        }
    });
    runtime.shutdown_timeout(LOOK_EVERY);
    outcome
}

async fn answer(listener: Listener, routes: Router) -> io::Result<()> {
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
