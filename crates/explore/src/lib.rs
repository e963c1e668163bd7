//! A page on loopback on which a drive is explored: one drags, theory answers; simulations are started on request and lie over its
//! curve, with their intervals.
//!
//! What is explored is a scenario, and what can be turned are keys of it: the answers are those of
//! `wearwell theory --scenario` and `wearwell run`, and the scenario of any point can be taken along as a file. The page is served to
//! this machine only, and fetches nothing from elsewhere.

mod controls;
mod guard;
mod page;
mod question;
mod server;
mod simulations;
mod theory;

pub use simulations::Run;

use server::Site;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::thread::available_parallelism;
use std::time::Duration;
use wearwell_stack::{Draft, ResolvedScenario};

/// How often it is asked whether to go on.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A page that listens and does not answer yet.
pub struct Explorer {
    listener: TcpListener,
    site: Site,
}

impl Explorer {
    /// Listens on `port` of 127.0.0.1, any free one for 0, for questions about `draft`, which with nothing left open is `resolved`.
    /// Simulations are run by `run`, `threads` at a time; as many as there are cores unless given.
    ///
    /// # Errors
    /// The port is taken, or needs rights.
    pub fn bind(
        port: u16,
        draft: Draft,
        resolved: &ResolvedScenario,
        run: Run,
        threads: Option<usize>,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
        listener.set_nonblocking(true)?;
        let threads = threads.unwrap_or_else(|| available_parallelism().map_or(1, usize::from));
        Ok(Explorer { listener, site: Site::new(draft, resolved, run, threads) })
    }

    /// Where it is to be looked at.
    pub fn url(&self) -> String {
        self.listener.local_addr().map_or_else(|_| String::new(), |address| format!("http://{address}/"))
    }

    /// Answers until `goes_on` says no; simulations that still run are stopped then.
    ///
    /// # Errors
    /// The socket fails.
    pub fn serve(self, goes_on: impl Fn() -> bool) -> io::Result<()> {
        let port = self.listener.local_addr()?.port();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let site = self.site.clone();
        let outcome = runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(self.listener)?;
            let ended = async {
                while goes_on() {
                    tokio::time::sleep(LOOK_EVERY).await;
                }
            };
            // Whoever is still connected is not waited for.
            tokio::select! {
                served = async { axum::serve(listener, self.site.routes(port)).await } => served,
                () = ended => Ok(()),
            }
        });
        site.stop();
        runtime.shutdown_timeout(LOOK_EVERY);
        outcome
    }
}
