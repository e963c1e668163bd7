//! HTTP server of the page and its results, on loopback.

use super::controls::{self, Control};
use super::page;
use super::question::{Asked, Question, QuestionError};
use super::simulations::{Run, Simulations};
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
    /// Permits for concurrent theory computations; other requests wait.
    answering: Arc<Semaphore>,
}

impl Site {
    /// Returns the site of `draft`; `resolved` is its resolved scenario.
    pub fn new(draft: Draft, resolved: &ResolvedScenario, run: Run, threads: usize) -> Self {
        Site {
            controls: Arc::new(controls::of(&draft, resolved)),
            draft: Arc::new(draft),
            simulations: Simulations::new(run, threads),
            answering: Arc::new(Semaphore::new(threads)),
        }
    }

    /// Stops running simulations.
    pub fn stop(&self) {
        self.simulations.stop();
    }

    /// Returns the routes.
    pub fn routes(self) -> Router {
        Router::new()
            .route("/", get(shown))
            .route("/api/theory", post(answered))
            .route("/api/simulations", post(started))
            .route("/api/simulations/states", post(states))
            .route("/api/simulations/stop", post(stopped))
            .route("/api/scenario", post(scenario))
            .with_state(self)
    }

    fn asked(&self, question: &Question) -> Result<Vec<Asked>, Refused> {
        Ok(question.asked(&self.draft, &self.controls)?)
    }
}

/// Refused request, with the reason.
struct Refused(String);

impl From<QuestionError> for Refused {
    fn from(error: QuestionError) -> Self {
        Refused(error.to_string())
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        (StatusCode::UNPROCESSABLE_ENTITY, Json(json!({ "refused": self.0 }))).into_response()
    }
}

async fn shown(State(site): State<Site>) -> Html<String> {
    Html(page::page(&site.draft, &site.controls))
}

/// Computes theory at each requested point.
async fn answered(State(site): State<Site>, Json(question): Json<Question>) -> Result<Json<Value>, Refused> {
    let asked = site.asked(&question)?;
    let closed = |_| Refused("the page is being closed".to_owned());
    let _permit = site.answering.acquire().await.map_err(closed)?;
    let answers = tokio::task::spawn_blocking(move || asked.iter().map(theory::answer).collect::<Vec<_>>());
    let points =
        answers.await.map_err(|_| Refused("theory panicked; please report the scenario".to_owned()))?;
    Ok(Json(json!({ "points": points })))
}

/// Starts a simulation of each requested point.
async fn started(State(site): State<Site>, Json(question): Json<Question>) -> Result<Json<Value>, Refused> {
    let asked = site.asked(&question)?;
    let scenarios = asked.iter().map(Asked::scenario).collect::<Result<Vec<_>, _>>()?;
    let start = |(asked, scenario): (&Asked, _)| {
        let number = site.simulations.start(scenario).map_err(Refused)?;
        Ok(json!({ "value": asked.value, "number": number }))
    };
    let started: Vec<Value> = asked.iter().zip(scenarios).map(start).collect::<Result<_, Refused>>()?;
    Ok(Json(json!({ "simulations": started })))
}

async fn states(State(site): State<Site>, Json(numbers): Json<Vec<u64>>) -> Json<Value> {
    Json(json!({ "simulations": site.simulations.states(&numbers) }))
}

/// Stops all simulations. The empty body must be JSON, so that a form on another site cannot send it.
async fn stopped(State(site): State<Site>, Json(_): Json<Value>) -> Json<Value> {
    site.simulations.stop();
    Json(json!({}))
}

/// Returns the requested scenario as a file.
async fn scenario(State(site): State<Site>, Json(question): Json<Question>) -> Result<Response, Refused> {
    let asked = site.asked(&question)?;
    let [asked] = &asked[..] else { return Err(Refused("a file is of one scenario".to_owned())) };
    asked.scenario()?;
    let text = asked.toml().map_err(Refused)?;
    Ok(([(header::CONTENT_TYPE, "application/toml")], text).into_response())
}
