// Requests to the server. A new request cancels the previous one.

const MOST_ON_CURVE = 33;
const AT_ONCE = 4;

async function ask(path, question, signal) {
  const answer = await fetch(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(question), signal });
  const type = answer.headers.get("content-type") || "";
  const body = type.includes("json") ? await answer.json() : await answer.text();
  if (!answer.ok) throw new Error(body.refused || body || `the server answers ${answer.status}`);
  return body;
}

// Returns the values of a control, thinned evenly; the first, the last and the current value are kept.
function thinned(control, most) {
  const { values } = control;
  if (values.length <= most) return values;
  const wanted = new Set([standing.get(control.key), ...Array.from({ length: most }, (_, at) => values[Math.round((at * (values.length - 1)) / (most - 1))])]);
  return values.filter((value) => wanted.has(value));
}

let overtaken = new AbortController();

// Requests the results of theory at the controls' current values, then those along the curve; calls `tell` as
// responses arrive.
async function theory(tell) {
  overtaken.abort();
  overtaken = new AbortController();
  const { signal } = overtaken;
  const control = axisControl();
  try {
    const here = await ask("/api/theory", { settings: chosen() }, signal);
    tell({ here: here.points[0], curve: null });
    const values = thinned(control, MOST_ON_CURVE);
    const curve = [];
    for (let from = 0; from < values.length; from += AT_ONCE) {
      const question = { settings: chosenBeside(control.key), axis: { key: control.key, values: values.slice(from, from + AT_ONCE) } };
      curve.push(...(await ask("/api/theory", question, signal)).points);
      tell({ here: here.points[0], curve: [...curve], done: curve.length >= values.length });
    }
  } catch (error) {
    if (error.name !== "AbortError") tell({ problem: error.message });
  }
}

// Simulations by number, with their position along a curve.
const simulations = new Map();

async function simulate(values) {
  const control = axisControl();
  const beside = chosenBeside(control.key);
  const { simulations: started } = await ask("/api/simulations", { settings: beside, axis: { key: control.key, values } });
  const curve = JSON.stringify([control.key, beside]);
  for (const { value, number } of started) simulations.set(number, { curve, key: control.key, settings: beside, value, state: { state: "waiting" } });
}

const unfinished = () => [...simulations].filter(([, { state }]) => state.state === "waiting" || state.state === "running").map(([number]) => number);

async function look() {
  const numbers = unfinished();
  if (!numbers.length) return false;
  const { simulations: states } = await ask("/api/simulations/states", numbers);
  for (const number of numbers) simulations.get(number).state = states[number] || { state: "stopped" };
  return true;
}
