//! Access check, which admits requests only from this machine, and none on behalf of another site.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};

/// Host names of loopback. Names of other domains that resolve to this machine are refused.
const NAMES: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// Content security policy: pages load nothing from other hosts, and other pages cannot show them in a frame.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; connect-src 'self'; \
    frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// Accepted names of this server in the headers `host` and `origin`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// Loopback name with this port.
    Port(u16),
    /// Loopback name with any port or none, for a Unix-domain socket: the permissions of the socket control the
    /// access, and a proxy listens at a different port.
    Socket,
}

/// Adds the access check to the routes.
pub(crate) fn with_guard(routes: Router, names: Names) -> Router {
    routes.layer(middleware::from_fn_with_state(names, admit))
}

/// Admits requests that are addressed to this server and come from no page or from a page of this server.
async fn admit(State(names): State<Names>, request: Request, next: Next) -> Response {
    if !is_addressed_to_server(request.headers(), names) {
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

/// True if the host header names this server and the origin header, if present, does so, too.
fn is_addressed_to_server(headers: &HeaderMap, names: Names) -> bool {
    let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let host = text(header::HOST).is_some_and(|host| names.has(host));
    let origin = text(header::ORIGIN)
        .is_none_or(|origin| origin.strip_prefix("http://").is_some_and(|host| names.has(host)));
    host && origin
}

impl Names {
    fn has(self, host: &str) -> bool {
        let suffix = NAMES.iter().find_map(|name| host.strip_prefix(name));
        match self {
            Names::Port(port) => suffix == Some(&format!(":{port}")),
            Names::Socket => suffix.is_some_and(|rest| {
                rest.is_empty() || rest.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok())
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_admitted(names: Names, host: &'static str, origin: Option<&'static str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        is_addressed_to_server(&headers, names)
    }

    #[test]
    fn port_admits_only_loopback_names_with_its_port() {
        let is_admitted = |host, origin| is_admitted(Names::Port(8080), host, origin);
        assert!(
            is_admitted("127.0.0.1:8080", None)
                && is_admitted("localhost:8080", Some("http://localhost:8080"))
        );
        assert!(is_admitted("[::1]:8080", None));
        assert!(
            !is_admitted("evil.example:8080", None)
                && !is_admitted("127.0.0.1:81", None)
                && !is_admitted("", None)
        );
        assert!(!is_admitted("localhost.evil.example:8080", None) && !is_admitted("127.0.0.1", None));
        assert!(!is_admitted("127.0.0.1:8080", Some("http://evil.example")));
        assert!(
            !is_admitted("127.0.0.1:8080", Some("null"))
                && !is_admitted("127.0.0.1:8080", Some("https://127.0.0.1:8080"))
        );
        assert!(!is_addressed_to_server(&HeaderMap::new(), Names::Port(8080)));
    }

    #[test]
    fn socket_admits_loopback_names_with_any_port() {
        let is_admitted = |host, origin| is_admitted(Names::Socket, host, origin);
        assert!(
            is_admitted("localhost", None) && is_admitted("127.0.0.1:9000", Some("http://127.0.0.1:9000"))
        );
        assert!(!is_admitted("evil.example", None) && !is_admitted("localhost.evil.example", None));
        assert!(!is_admitted("localhost:", None) && !is_admitted("localhost:x", None));
        assert!(
            !is_admitted("localhost", Some("http://evil.example")) && !is_admitted("localhost", Some("null"))
        );
    }
}
