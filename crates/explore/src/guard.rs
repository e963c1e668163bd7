//! Who may ask: the page itself, and nobody on behalf of another site.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// Names under which the page is reached. A site that lets its own name point here is not among them.
const NAMES: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// The page takes nothing from elsewhere, and nobody frames it.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; connect-src 'self'; \
    frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// Lets through what was sent to this page by this page.
pub async fn admit(State(port): State<u16>, request: Request, next: Next) -> Response {
    if !is_for_us(request.headers(), port) {
        return (StatusCode::FORBIDDEN, "this page answers on loopback, to itself\n").into_response();
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

/// Whether the host is this page's, and so is the site that asks, if it is named.
fn is_for_us(headers: &HeaderMap, port: u16) -> bool {
    let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let is_ours = |host: &str| NAMES.iter().any(|name| host == format!("{name}:{port}"));
    let host = text(header::HOST).is_some_and(is_ours);
    let origin =
        text(header::ORIGIN).is_none_or(|origin| origin.strip_prefix("http://").is_some_and(is_ours));
    host && origin
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(host: &'static str, origin: Option<&'static str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        is_for_us(&headers, 8080)
    }

    #[test]
    fn only_the_page_itself_is_answered() {
        assert!(asked("127.0.0.1:8080", None) && asked("localhost:8080", Some("http://localhost:8080")));
        assert!(asked("[::1]:8080", None));
        assert!(!asked("evil.example:8080", None) && !asked("127.0.0.1:81", None) && !asked("", None));
        assert!(!asked("127.0.0.1:8080", Some("http://evil.example")));
        assert!(
            !asked("127.0.0.1:8080", Some("null"))
                && !asked("127.0.0.1:8080", Some("https://127.0.0.1:8080"))
        );
        assert!(!is_for_us(&HeaderMap::new(), 8080));
    }
}
