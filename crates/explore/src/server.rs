//! HTTP server of the HTML page and its results, on loopback.

use super::controls::{self, Control};
use super::page;
use super::request::{PointsRequest, RequestError, ScenarioPoint};
use super::simulations::{RunFunction, Simulations};
use super::theory;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::Semaphore;
use wearwell_stack::{Draft, ResolvedScenario};

/// State shared by all requests.
#[derive(Clone)]
pub struct Site {
    draft: Arc<Draft>,
    controls: Arc<Vec<Control>>,
    simulations: Simulations,
    /// Permits that limit concurrent computations of theory; other requests wait.
    theory_permits: Arc<Semaphore>,
}

impl Site {
    /// Returns the site of `draft`; `resolved` is its resolved scenario.
    pub fn new(draft: Draft, resolved: &ResolvedScenario, run: RunFunction, threads: usize) -> Self {
        Site {
            controls: Arc::new(controls::controls_of(&draft, resolved)),
            draft: Arc::new(draft),
            simulations: Simulations::new(run, threads),
            theory_permits: Arc::new(Semaphore::new(threads)),
        }
    }

    /// Stops running simulations.
    pub fn stop(&self) {
        self.simulations.stop();
    }

    /// Returns the routes.
    pub fn routes(self) -> Router {
        Router::new()
            .route("/", get(show_page))
            .route("/api/theory", post(compute_theory))
            .route("/api/simulations", post(start_simulations))
            .route("/api/simulations/states", post(simulation_states))
            .route("/api/simulations/stop", post(stop_simulations))
            .route("/api/scenario", post(download_scenario))
            .with_state(self)
    }

    fn requested_points(&self, request: &PointsRequest) -> Result<Vec<ScenarioPoint>, RefusedRequest> {
        Ok(request.points(&self.draft, &self.controls)?)
    }
}

/// Refused request, with the reason.
struct RefusedRequest(String);

impl From<RequestError> for RefusedRequest {
    fn from(error: RequestError) -> Self {
        RefusedRequest(error.to_string())
    }
}

impl IntoResponse for RefusedRequest {
    fn into_response(self) -> Response {
        (StatusCode::UNPROCESSABLE_ENTITY, Json(json!({ "refused": self.0 }))).into_response()
    }
}

async fn show_page(State(site): State<Site>) -> Html<String> {
    Html(page::page(&site.draft, &site.controls))
}

/// Computes theory at each requested point.
async fn compute_theory(
    State(site): State<Site>,
    Json(request): Json<PointsRequest>,
) -> Result<Json<Value>, RefusedRequest> {
    let requested = site.requested_points(&request)?;
    let closed = |_| RefusedRequest("the page is being closed".to_owned());
    let _permit = site.theory_permits.acquire().await.map_err(closed)?;
    let answers =
        tokio::task::spawn_blocking(move || requested.iter().map(theory::prediction).collect::<Vec<_>>());
    let points = answers
        .await
        .map_err(|_| RefusedRequest("theory panicked; please report the scenario".to_owned()))?;
    Ok(Json(json!({ "points": points })))
}

/// Starts a simulation of each requested point.
async fn start_simulations(
    State(site): State<Site>,
    Json(request): Json<PointsRequest>,
) -> Result<Json<Value>, RefusedRequest> {
    let requested = site.requested_points(&request)?;
    let scenarios = requested.iter().map(ScenarioPoint::scenario).collect::<Result<Vec<_>, _>>()?;
    let start = |(point, scenario): (&ScenarioPoint, _)| {
        let number = site.simulations.start(scenario).map_err(RefusedRequest)?;
        Ok(json!({ "value": point.value, "number": number }))
    };
    let started: Vec<Value> =
        requested.iter().zip(scenarios).map(start).collect::<Result<_, RefusedRequest>>()?;
    Ok(Json(json!({ "simulations": started })))
}

async fn simulation_states(State(site): State<Site>, Json(numbers): Json<Vec<u64>>) -> Json<Value> {
    Json(json!({ "simulations": site.simulations.states(&numbers) }))
}

/// Stops all simulations. The empty body must be JSON, so that a form on another site cannot send this request.
async fn stop_simulations(State(site): State<Site>, Json(_): Json<Value>) -> Json<Value> {
    site.simulations.stop();
    Json(json!({}))
}

/// Returns the requested scenario as a file.
async fn download_scenario(
    State(site): State<Site>,
    Json(request): Json<PointsRequest>,
) -> Result<Response, RefusedRequest> {
    let requested = site.requested_points(&request)?;
    let [asked] = &requested[..] else { return Err(RefusedRequest("a file is of one scenario".to_owned())) };
    asked.scenario()?;
    let text = asked.toml().map_err(RefusedRequest)?;
    Ok(([(header::CONTENT_TYPE, "application/toml")], text).into_response())
}
