//! Interactive HTML page on loopback for exploring a drive. Sliders change parameters, and the results of theory are
//! updated immediately. Simulations run on request; their results are plotted over the curve of theory with confidence
//! intervals.
//!
//! The page explores a scenario, and its controls are keys of the scenario. Results are those of
//! `wearwell theory --scenario` and `wearwell run`; the scenario of any point can be downloaded as a file. The page is
//! served only to this machine, and loads nothing from other hosts.

mod controls;
mod page;
mod request;
mod server;
mod simulations;
mod theory;

pub use simulations::RunFunction;

use server::Site;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::thread::available_parallelism;
use wearwell_stack::{Draft, ResolvedScenario};
use wearwell_web::Listener;

/// HTML page that is bound to a port and not served yet.
pub struct Explorer {
    listener: TcpListener,
    site: Site,
}

impl Explorer {
    /// Listens on `port` of 127.0.0.1 (0 selects a free port) for requests about `draft`; `resolved` is its resolved
    /// scenario. `run` executes simulations, `threads` at a time; the default is the number of cores.
    ///
    /// # Errors
    /// Returns an error if the port is in use or requires privileges.
    pub fn bind(
        port: u16,
        draft: Draft,
        resolved: &ResolvedScenario,
        run: RunFunction,
        threads: Option<usize>,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
        let threads = threads.unwrap_or_else(|| available_parallelism().map_or(1, usize::from));
        Ok(Explorer { listener, site: Site::new(draft, resolved, run, threads) })
    }

    /// Returns the URL of the HTML page.
    pub fn url(&self) -> String {
        self.listener.local_addr().map_or_else(|_| String::new(), |address| format!("http://{address}/"))
    }

    /// Serves the HTML page until `keep_going` returns false, then stops running simulations.
    ///
    /// # Errors
    /// Returns an error if the socket fails.
    pub fn serve(self, keep_going: impl Fn() -> bool) -> io::Result<()> {
        let site = self.site.clone();
        let outcome = wearwell_web::serve(Listener::Tcp(self.listener), self.site.routes(), keep_going);
        site.stop();
        outcome
    }
}
