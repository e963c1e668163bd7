// Page: controls on the left, results of theory and simulations on the right.

const KEPT_CURVES = 6;
const LOOK_EVERY_MS = 150;
const kept = [];
let latest = { here: null, curve: [] };

const shown = (value) => (typeof value === "number" ? amount(value) : String(value));
const label = (key) => byKey.get(key)?.label || key;
const settingsText = (list) => list.map(([key, value]) => `${label(key)} ${shown(value)}`).join(", ") || "as the scenario has it";

function say(text, bad = false) {
  const place = document.getElementById("say");
  place.textContent = text;
  place.classList.toggle("bad", bad);
}

const tried = (work) => async () => { try { await work(); } catch (error) { say(error.message, true); } };

// Returns the element of a control: a slider over its values, or a list.
function controlOf(control) {
  const id = `control-${control.key}`;
  const output = element("output", { for: id });
  const isNumber = control.is_number;
  const input = isNumber
    ? element("input", { id, type: "range", min: 0, max: control.values.length - 1, step: 1 })
    : element("select", { id }, ...control.values.map((value, at) => element("option", { value: at, title: control.words[at] || "" }, shown(value))));
  const words = element("small");
  const name = element("span", {}, control.label, " ", isNumber ? element("small", {}, control.help) : "");
  const frame = element("div", { class: "control" }, element("label", { for: id }, name, isNumber ? output : ""), input, isNumber ? null : words);
  input.addEventListener("input", () => { set(control.key, control.values[Number(input.value)]); changed(); });
  const refresh = () => {
    frame.hidden = !applies(control);
    const at = control.values.findIndex((value) => same(value, standing.get(control.key)));
    input.value = String(at);
    if (isNumber) { output.textContent = shown(control.values[at]); input.setAttribute("aria-valuetext", shown(control.values[at])); }
    else words.textContent = control.words[at] || "";
  };
  return { frame, refresh };
}

function axisList() {
  const list = element("select", { id: "along", "aria-label": "What the curve runs along" });
  const refresh = () => {
    const known = controls.filter((control) => control.is_number && control.key !== "seed" && applies(control));
    list.replaceChildren(...known.map((control) => element("option", { value: control.key }, control.label)));
    list.value = axisControl().key;
  };
  list.addEventListener("change", () => { along = list.value; changed(); });
  return { list, refresh };
}

const button = (id, text, work) => { const made = element("button", { id, type: "button" }, text); made.addEventListener("click", tried(work)); return made; };
const parts = controls.map(controlOf);
const axes = axisList();
const answer = element("p", { class: "answer", id: "answer", "aria-live": "polite" });
const notes = element("p", { class: "notes", id: "notes" });
const place = element("div", { class: "chart", id: "curve", role: "img", "aria-label": "Write amplification along the chosen control" });
const tables = element("details", {}, element("summary", {}, "The same as a table"));
const drawn = { place, option: curveOption, chart: null };

function curveName(list, key) {
  return settingsText(list.filter(([known]) => known !== key));
}

// Returns the finished simulations that have a result on a curve.
function measured(curve) {
  return [...simulations.values()].filter((one) => one.curve === curve && one.state.state === "finished" && one.state.write_amplification !== null)
    .map(({ value, state, settings: list }) => ({ value, mean: state.write_amplification, half: state.ci95_half_width, steady: state.steady, warnings: state.warnings, list }));
}

function seriesOf({ name, curve, points }, colour) {
  const runs = measured(curve);
  const intervals = runs.map(({ value, mean, half }) => ({ x: value, y: mean, half: half ?? 0 }));
  return [
    { name, type: "line", showSymbol: false, color: colour, data: points.map((point) => [point.value, point.write_amplification ?? null]) },
    { name, type: "scatter", color: colour, symbolSize: 9, data: runs.map(({ value, mean }) => [value, mean]) },
    whiskers(intervals, colour),
  ];
}

function curves() {
  const control = axisControl();
  const beside = chosenBeside(control.key);
  const now = { name: curveName(beside, control.key), curve: JSON.stringify([control.key, beside]), points: latest.curve || [] };
  return [now, ...kept.filter((one) => one.key === control.key && one.curve !== now.curve)];
}

function curveOption() {
  const control = axisControl();
  const isLog = control.key === "device.pages_per_block" || control.key === "ftl.victim.choices";
  const here = { silent: true, symbol: "none", label: { show: false }, lineStyle: { color: style("--faint"), type: "dashed" }, data: [{ xAxis: standing.get(control.key) }] };
  const series = curves().flatMap((one, at) => seriesOf(one, colours()[at % colours().length]));
  if (series.length) series[0].markLine = here;
  return {
    tooltip: { ...common().tooltip, trigger: "item", formatter: ({ seriesName, data }) => `${encode(seriesName)}<br>${encode(control.label)} ${shown(data[0])}: ${amount(data[1])}` },
    xAxis: axis(`${control.label}${control.help ? ` (${control.help})` : ""}`, { type: isLog ? "log" : "value", scale: true, nameGap: 26 }),
    yAxis: axis("write amplification", { type: "value", scale: true }), series,
  };
}

function redraw() {
  drawn.chart?.setOption({ ...common(), ...curveOption() }, { notMerge: true });
  const control = axisControl();
  const rows = curves().flatMap(({ name, curve, points }) => [
    ...points.map((point) => [name, shown(point.value), "theory", amount(point.write_amplification), "", point.refused || ""]),
    ...measured(curve).map(({ value, mean, half, steady, warnings }) => [name, shown(value), "simulation", amount(mean), amount(half), steady ? warnings.join("; ") : ["not steady", ...warnings].join("; ")]),
  ]);
  tables.replaceChildren(tables.firstChild, table(["curve", control.label, "by", "write amplification", "± (95 %)", "to know"], rows));
}

function told({ here, curve, problem }) {
  if (problem) { say(problem, true); return; }
  latest = { here, curve: curve || latest.curve };
  const value = here.write_amplification;
  answer.replaceChildren(value === undefined ? "–" : amount(value), element("small", {}, "write amplification by theory"));
  notes.textContent = here.refused ? `Theory says nothing here: ${here.refused}. A simulation does.` : [here.model, ...here.notes].join("; ");
  redraw();
}

function changed() {
  parts.forEach(({ refresh }) => refresh());
  axes.refresh();
  history.replaceState(null, "", link());
  latest = { ...latest, curve: [] };
  say("");
  theory(told);
}

let looking = false;
async function watch() {
  if (looking) return;
  looking = true;
  try {
    while (await look()) {
      const left = unfinished().length;
      const failed = [...simulations.values()].filter(({ state }) => state.state === "failed");
      if (failed.length) say(failed[failed.length - 1].state.problem, true);
      else say(left ? `${left} of ${simulations.size} simulations wait or run.` : `${simulations.size} simulations are through.`);
      redraw();
      await new Promise((wake) => setTimeout(wake, LOOK_EVERY_MS));
    }
  } finally { looking = false; }
}

async function simulated(values) {
  await simulate(values);
  await watch();
}

async function save() {
  const text = await ask("/api/scenario", { settings: chosen() });
  const at = URL.createObjectURL(new Blob([text], { type: "application/toml" }));
  const anchor = element("a", { href: at, download: "scenario.toml" });
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
  URL.revokeObjectURL(at);
}

function keep() {
  const [now] = curves();
  if (!now.points.length || kept.some(({ curve }) => curve === now.curve)) return;
  kept.unshift({ ...now, key: axisControl().key });
  kept.length = Math.min(kept.length, KEPT_CURVES);
  say(`Kept: ${now.name}.`);
  redraw();
}

const actions = element("div", { class: "actions" }, element("span", {}, "along"), axes.list,
  button("simulate", "Simulate here", () => simulated([standing.get(axisControl().key)])),
  button("simulate-curve", "Simulate the curve", () => simulated(thinned(axisControl(), 9))),
  button("stop", "Stop", async () => { await ask("/api/simulations/stop", {}); say("Stopped."); }),
  button("keep", "Keep the curve", async () => keep()),
  button("clear", "Clear", async () => { simulations.clear(); kept.length = 0; redraw(); }),
  button("save", "Download the scenario", save));
const panel = element("form", { class: "controls", "aria-label": "The drive and what is written" }, ...parts.map(({ frame }) => frame));
panel.addEventListener("submit", (event) => event.preventDefault());
document.getElementById("content").append(panel, element("div", {}, answer, notes, actions, element("p", { id: "say", role: "status" }),
  element("figure", {}, element("h3", {}, "Write amplification"), element("figcaption", {}, "Lines are theory, points are simulations with their 95 % intervals. The dashed line is where the control stands."), place, tables)));
addEventListener("hashchange", () => { follow_link(location.hash); changed(); });
follow_link(location.hash);
charts.push(drawn);
follow();
changed();
