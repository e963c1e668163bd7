//! Who may ask: this machine, and nobody on behalf of another site.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};

/// Names of loopback. A site that lets its own name point here is not among them.
const NAMES: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// A page takes nothing from elsewhere, and nobody frames it.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; connect-src 'self'; \
    frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// What is served here is called, in the header `host` and by pages that come from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// A name of loopback and this port.
    Port(u16),
    /// A name of loopback, with whatever port or none: who reaches a socket in the file system may connect to it, and what passes
    /// on to one has a port of its own.
    Socket,
}

/// The routes, for those who are admitted.
pub(crate) fn guarded(routes: Router, names: Names) -> Router {
    routes.layer(middleware::from_fn_with_state(names, admit))
}

/// Lets through what was sent to this server, by nobody or by a page of its own.
async fn admit(State(names): State<Names>, request: Request, next: Next) -> Response {
    if !is_for_us(request.headers(), names) {
        return (StatusCode::FORBIDDEN, "answers on loopback, to itself\n").into_response();
    }
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    let mut say =
        |name: HeaderName, value: &'static str| headers.insert(name, value.parse().expect("plain ASCII"));
    say(header::CONTENT_SECURITY_POLICY, POLICY);
    say(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    say(header::REFERRER_POLICY, "no-referrer");
    say(header::CACHE_CONTROL, "no-store");
    response
}

/// Whether the host is this server, and so is the site that asks, if it is named.
fn is_for_us(headers: &HeaderMap, names: Names) -> bool {
    let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let host = text(header::HOST).is_some_and(|host| names.has(host));
    let origin = text(header::ORIGIN)
        .is_none_or(|origin| origin.strip_prefix("http://").is_some_and(|host| names.has(host)));
    host && origin
}

impl Names {
    fn has(self, host: &str) -> bool {
        let rest = NAMES.iter().find_map(|name| host.strip_prefix(name));
        match self {
            Names::Port(port) => rest == Some(&format!(":{port}")),
            Names::Socket => rest.is_some_and(|rest| {
                rest.is_empty() || rest.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok())
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(names: Names, host: &'static str, origin: Option<&'static str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        is_for_us(&headers, names)
    }

    #[test]
    fn only_this_machine_and_its_own_pages_are_answered() {
        let asked = |host, origin| asked(Names::Port(8080), host, origin);
        assert!(asked("127.0.0.1:8080", None) && asked("localhost:8080", Some("http://localhost:8080")));
        assert!(asked("[::1]:8080", None));
        assert!(!asked("evil.example:8080", None) && !asked("127.0.0.1:81", None) && !asked("", None));
        assert!(!asked("localhost.evil.example:8080", None) && !asked("127.0.0.1", None));
        assert!(!asked("127.0.0.1:8080", Some("http://evil.example")));
        assert!(
            !asked("127.0.0.1:8080", Some("null"))
                && !asked("127.0.0.1:8080", Some("https://127.0.0.1:8080"))
        );
        assert!(!is_for_us(&HeaderMap::new(), Names::Port(8080)));
    }

    #[test]
    fn a_socket_has_no_port_of_its_own() {
        let asked = |host, origin| asked(Names::Socket, host, origin);
        assert!(asked("localhost", None) && asked("127.0.0.1:9000", Some("http://127.0.0.1:9000")));
        assert!(!asked("evil.example", None) && !asked("localhost.evil.example", None));
        assert!(!asked("localhost:", None) && !asked("localhost:x", None));
        assert!(!asked("localhost", Some("http://evil.example")) && !asked("localhost", Some("null")));
    }
}
