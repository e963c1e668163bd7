//! A page on loopback on which a drive is explored: one drags, theory answers; simulations are started on request and lie over its
//! curve, with their intervals.
//!
//! What is explored is a scenario, and what can be turned are keys of it: the answers are those of
//! `wearwell theory --scenario` and `wearwell run`, and the scenario of any point can be taken along as a file. The page is served to
//! this machine only, and fetches nothing from elsewhere.

mod controls;
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
use wearwell_stack::{Draft, ResolvedScenario};
use wearwell_web::Listener;

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
        let site = self.site.clone();
        let outcome = wearwell_web::serve(Listener::Tcp(self.listener), self.site.routes(), goes_on);
        site.stop();
        outcome
    }
}
