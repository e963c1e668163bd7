// Page of a live drive: the figures of run reports, made from the readings so far, and latencies. The page redraws
// itself while it is visible.

const EVERY_MS = 2000;
// Maximum number of samples. It exceeds the number that the server keeps, so that samples which the page has shown do
// not disappear too soon.
const MOST_SAMPLES = 1200;

const live = JSON.parse(document.getElementById("data").textContent);
let isPaused = false;

const OPERATIONS = ["read", "write", "trim", "flush"];
const differences = (values) => values.slice(1).map((value, index) => value - values[index]);

// Converts the history to the form of a run in progress: each sample with new host writes ends a window.
function asRun({ reading, history }) {
  const samples = history.filter((sample, index) => index === 0 || sample.host_pages > history[index - 1].host_pages);
  const of = (value) => differences(samples.map(value));
  const [host, programs, erases] = [of((one) => one.host_pages), of((one) => one.programs), of((one) => one.erases)];
  const windows = host.map((pages, index) => ({ phase: "live", host_pages: samples[index + 1].host_pages, window_host_pages: pages, programs: programs[index], erases: erases[index], write_amplification: programs[index] / pages }));
  const series = reading.layers.flatMap((layer) => Object.keys(CAUSES).map((cause) => ({ layer: layer.name, cause, pages: of((one) => one.writes[layer.name]?.[cause] || 0) })));
  return { ...reading, windows, causes: series.filter(({ pages }) => pages.some((one) => one > 0)), phases: { measured_host_pages: reading.host_pages } };
}

// Draws lines over the time since the device was opened.
function overTime({ title, text, name, lines, samples, type = "value" }) {
  if (samples.length < 2 || !lines.length) return null;
  return figure({
    title, text,
    option: () => ({
      xAxis: axis("seconds since it was opened", { type: "value", min: "dataMin", max: "dataMax", nameGap: 26, axisLabel: { color: style("--faint"), formatter: amount, showMinLabel: false, showMaxLabel: false } }), yAxis: axis(name, { type }), dataZoom: zoom(),
      series: lines.map((line) => ({ name: line.name, type: "line", showSymbol: false, connectNulls: true, data: samples.map((sample, index) => [sample.seconds, line.of(sample, samples[index - 1])]) })),
    }),
    columns: ["seconds", ...lines.map((line) => line.name)],
    rows: samples.slice(-50).map((sample, index, all) => [amount(sample.seconds), ...lines.map((line) => amount(line.of(sample, all[index - 1])))]),
  });
}

function freeBlocks({ reading, history }) {
  const lines = Object.keys(reading.erased_blocks).map((layer) => ({ name: layer, of: (sample) => sample.erased_blocks[layer] }));
  const now = Object.entries(reading.erased_blocks).map(([layer, blocks]) => `${layer} ${amount(blocks)}`).join(", ");
  return overTime({ title: "Free blocks", text: `Erased blocks (of logs on other layers: segments) that wait to be written. Now: ${now}.`, name: "blocks", lines, samples: history });
}

const served = (reading) => OPERATIONS.filter((operation) => reading.requests[operation]?.requests > 0);

function latency({ reading, history }) {
  const lines = served(reading).flatMap((operation) => [["median", "median_ns"], ["99 %", "p99_ns"]].map(([what, key]) => ({ name: `${operation}, ${what}`, of: (sample) => { const ns = sample.requests[operation]?.[key]; return ns ? ns / 1000 : null; } })));
  return overTime({ title: "Latency", text: "By wall clock, from when the device was asked until it was done: half, and 99 of a hundred, took no longer.", name: "µs", lines, samples: history, type: "log" });
}

function throughput({ reading, history }) {
  const rate = (operation) => (sample, before) => (before ? (sample.requests[operation].requests - before.requests[operation].requests) / (sample.seconds - before.seconds) : null);
  const lines = served(reading).map((operation) => ({ name: operation, of: rate(operation) }));
  return overTime({ title: "Requests", text: "Requests a second, by what they ask for.", name: "requests a second", lines, samples: history });
}

function keyNumbers({ reading, history }) {
  const [before, last] = [history[Math.max(0, history.length - 11)], history[history.length - 1]];
  const lately = before && last && last.host_pages > before.host_pages ? amount((last.programs - before.programs) / (last.host_pages - before.host_pages)) : null;
  const within = (operation, percent) => reading.requests[operation].percentiles.find((one) => one.percent === percent);
  return numbers([
    ["write amplification", reading.write_amplification === null ? null : amount(reading.write_amplification), "since the drive was new"],
    ["lately", lately, "over the last samples"],
    ["host writes", amount(reading.host_pages), `pages; ${amount(reading.host_pages / reading.device.logical_pages)} drive writes`],
    ["flash programs", amount(reading.nand.programs), `pages; ${amount(reading.nand.erases)} erases`],
    ["held", amount(reading.content_bytes / 2 ** 20), `MiB of ${amount(reading.bytes / 2 ** 20)}`],
    ["erases of a block", amount(reading.wear.erases_mean), `${amount(reading.wear.erases_min)} to ${amount(reading.wear.erases_max)}`],
    ...served(reading).map((operation) => [`${operation}, half within`, duration(within(operation, 50).latency_ns), `99 % within ${duration(within(operation, 99).latency_ns)}; ${amount(reading.requests[operation].requests)} requests`]),
  ]);
}

function state({ reading }) {
  return reading.failure ? verdict(false, `The drive takes no more writes: ${reading.failure}.`) : null;
}

const all = (make) => ({ run }) => { const made = make(run); return made.length ? element("div", {}, ...made) : null; };
const of = (make) => ({ run }) => make(run);

const PARTS = [state, keyNumbers, of(course), all(causes), of(flows), freeBlocks, latency, throughput, of(wearMap), of(erases), all(victims)];

// Redraws one part of the page. Open tables stay open; a part with the keyboard focus is not redrawn.
function put(place, part) {
  if (place.contains(document.activeElement)) return;
  const open = [...place.querySelectorAll("details")].map((details) => details.open);
  for (let at = charts.length - 1; at >= 0; at -= 1) if (place.contains(charts[at].place)) charts.splice(at, 1)[0].chart?.dispose();
  const made = part(live);
  place.replaceChildren(...(made ? [made] : []));
  place.querySelectorAll("details").forEach((details, index) => { details.open = Boolean(open[index]); });
}

function putAll() {
  live.run = asRun(live);
  places.forEach(([place, part]) => put(place, part));
}

const places = PARTS.map((part) => [element("div"), part]);
const told = element("span", { class: "state", role: "status" });

async function json(path) {
  const answer = await fetch(path);
  if (!answer.ok) throw new Error(answer.statusText);
  return answer.json();
}

async function refresh() {
  const after = live.history.length ? live.history[live.history.length - 1].seconds : -1;
  const [reading, samples] = await Promise.all([json("/status.json"), json(`/history.json?after=${after}`)]);
  live.reading = reading;
  live.history.push(...samples);
  while (live.history.length > MOST_SAMPLES) live.history = live.history.filter((_, index) => index % 2 === 0);
  putAll();
  told.textContent = `${amount(Math.round(reading.seconds))} s since it was opened`;
  told.classList.remove("lost");
}

async function keepUpToDate() {
  try {
    if (!isPaused && !document.hidden) await refresh();
  } catch (error) {
    told.textContent = "the drive does not answer; it may have ended";
    told.classList.add("lost");
  }
  setTimeout(keepUpToDate, EVERY_MS);
}

const pause = element("button", { id: "pause", type: "button", "aria-pressed": "false" }, "Pause");
pause.addEventListener("click", () => {
  isPaused = !isPaused;
  pause.setAttribute("aria-pressed", String(isPaused));
});
document.getElementById("contents").append(told, pause);
putAll();
document.getElementById("content").append(...places.map(([place]) => place));
follow();
setTimeout(keepUpToDate, EVERY_MS);
