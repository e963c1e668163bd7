// Common parts of all figures: number formats, colours, and a frame with a chart and its data as a table.

const CAUSES = {
  host: "host", cleaning: "cleaning", translation: "translation table", validity: "page validity", log_metadata: "metadata of the log",
  wear_levelling: "wear levelling", dedup: "deduplication",
};
// Colours of Okabe and Ito, which people with colour blindness can distinguish; the lighter ones are for dark pages.
const COLOURS = { light: ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#B8860B", "#56B4E9", "#444444"],
  dark: ["#56B4E9", "#E69F00", "#2BC79A", "#E39CC4", "#F0E442", "#7FA8D9", "#C8C8C8"] };
const charts = [];
// Functions that draw documents, by kind: `section` draws one document, and `together` draws all documents of the
// kind.
const KINDS = {};

const isDark = () => document.documentElement.classList.contains("dark");
const colours = () => (isDark() ? COLOURS.dark : COLOURS.light);
const colourOf = (cause) => colours()[Object.keys(CAUSES).indexOf(cause)];
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Formats a number with four significant digits and thousands separators.
function amount(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value !== 0 && (Math.abs(value) >= 1e15 || Math.abs(value) < 1e-4)) return value.toExponential(3);
  const digits = Math.max(0, 3 - Math.floor(Math.log10(Math.abs(value) || 1)));
  return value.toLocaleString("en", { maximumFractionDigits: Number.isInteger(value) ? 0 : digits });
}

function duration(ns) {
  const units = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
  const [size, unit] = units.find(([size]) => ns >= size) || units[3];
  return `${amount(ns / size)} ${unit}`;
}

// Creates an element with attributes and children; text is never parsed as HTML.
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.filter((child) => child !== null));
  return made;
}

function table(columns, rows) {
  const cells = (row, kind) => element("tr", {}, ...row.map((cell) => element(kind, kind === "th" ? { scope: "col" } : {}, String(cell))));
  return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table" },
    element("table", {}, element("thead", {}, cells(columns, "th")), element("tbody", {}, ...rows.map((row) => cells(row, "td")))));
}

// Escapes text for tooltips, which are parsed as HTML.
function encode(text) {
  return element("i", {}, String(text)).innerHTML;
}

// Statement at the top of a section about the reliability of the results.
function verdict(good, words) {
  return element("p", { class: `verdict ${good ? "good" : "bad"}` }, words);
}

function warningList(texts) {
  return texts.length ? element("ul", { class: "warnings" }, ...texts.map((text) => element("li", {}, text))) : null;
}

// Key numbers, each with a name, a value and a remark; a number without a value is omitted.
function numbers(list) {
  const shown = list.filter(([, value]) => value !== null && value !== undefined);
  return element("dl", { class: "numbers" }, ...shown.map(([name, value, small]) => element("div", {}, element("dt", {}, name), element("dd", {}, value, element("small", {}, small || "")))));
}

function folded(title, ...children) {
  return element("details", {}, element("summary", {}, title), ...children);
}

function settings(scenario, title = "The scenario, with every default filled in") {
  return scenario ? folded(title, element("pre", { tabindex: "0" }, JSON.stringify(scenario, null, 2))) : null;
}

// Text that users paste elsewhere, with a button that copies it.
function pasted(text) {
  const pre = element("pre", { tabindex: "0" }, text);
  const button = element("button", { type: "button", class: "copy" }, "Copy");
  button.addEventListener("click", () => {
    getSelection().selectAllChildren(pre);
    // A page that was opened from a file has no other access to the clipboard.
    button.textContent = document.execCommand("copy") ? "Copied" : "Selected";
  });
  return element("div", { class: "pasted" }, pre, button);
}

// Whiskers, which are lines along the axis `along` from end to end of a point's interval. A point without an interval
// has none.
function whiskers(points, colour, along = "y") {
  const ends = ({ x, y, half }) => (along === "y" ? [[x, y - half], [x, y + half]] : [[x - half, y], [x + half, y]]);
  const data = points.filter(({ half }) => half > 0).flatMap((point) => [...ends(point), [null, null]]);
  return { name: "95 % interval", type: "line", data, symbol: "rect", symbolSize: along === "y" ? [9, 2] : [2, 9], color: colour, lineStyle: { width: 1.5 }, silent: true, tooltip: { show: false }, z: 1 };
}

const blues = () => (isDark() ? ["#1d2b45", "#2f7ab8", "#d6ecff"] : ["#e4eefa", "#56B4E9", "#08306b"]);

function scale(least, most) {
  return { min: least, max: most > least ? most : least + 1, right: 0, top: "middle", calculable: true, precision: 3, textStyle: { color: style("--ink") }, inRange: { color: blues() } };
}

// Options that all charts share.
function common() {
  const ink = style("--ink");
  return {
    animation: false, backgroundColor: "transparent", color: colours(), textStyle: { color: ink, fontFamily: "system-ui, sans-serif" },
    grid: { left: 70, right: 24, top: 48, bottom: 74 }, legend: { top: 4, type: "scroll", textStyle: { color: ink } },
    tooltip: { trigger: "axis", confine: true, backgroundColor: style("--panel"), borderColor: style("--line"), textStyle: { color: ink } },
  };
}

function axis(name, more = {}) {
  const faint = style("--faint");
  return {
    name, nameLocation: "middle", nameGap: 44, nameTextStyle: { color: faint }, axisLabel: { color: faint }, axisLine: { lineStyle: { color: style("--line") } },
    splitLine: { lineStyle: { color: style("--line"), opacity: 0.5 } }, ...more,
  };
}

// Figure with a title, a description, a chart, and its data as a table. `option` is called again when colours change.
function figure({ title, text, option, columns, rows, height }) {
  const place = element("div", { class: "chart", role: "img", "aria-label": `${title}. ${text}` });
  if (height) place.style.height = height;
  const frame = element("figure", {}, element("h3", {}, title), element("figcaption", {}, text), place,
    element("details", {}, element("summary", {}, "The same as a table"), table(columns, rows)));
  const one = { place, option, chart: null };
  charts.push(one);
  // A figure that is created later, by a choice, is drawn as soon as it is in the document.
  if (isDrawn) queueMicrotask(() => draw(one));
  return frame;
}

// Figure with alternatives. `choices` are pairs of a name and a label, and `make` creates the figure for a name.
function choosable(label, choices, make) {
  if (choices.length < 2) return make(choices[0]?.[0]);
  const select = element("select", {}, ...choices.map(([value, text]) => element("option", { value }, text)));
  let present = make(choices[0][0]);
  const frame = element("div", { class: "choosable" }, element("label", {}, `${label} `, select), present);
  select.addEventListener("change", () => {
    const old = charts.findIndex(({ place }) => present.contains(place));
    if (old >= 0) charts.splice(old, 1)[0].chart?.dispose();
    const next = make(select.value);
    present.replaceWith(next);
    present = next;
  });
  return frame;
}

let isDrawn = false;

function draw(one) {
  one.chart?.dispose();
  one.chart = echarts.init(one.place, null, { renderer: "svg" });
  one.chart.setOption({ ...common(), ...one.option() });
}

function drawAll() {
  charts.forEach(draw);
  isDrawn = true;
}

function follow() {
  const button = document.getElementById("theme");
  const dress = (dark) => {
    document.documentElement.classList.toggle("dark", dark);
    button.setAttribute("aria-pressed", String(dark));
    drawAll();
  };
  const wish = matchMedia("(prefers-color-scheme: dark)");
  button.addEventListener("click", () => dress(!isDark()));
  wish.addEventListener("change", (event) => dress(event.matches));
  addEventListener("resize", () => charts.forEach(({ chart }) => chart?.resize()));
  // A page is always printed in light colours.
  addEventListener("beforeprint", () => { const was = isDark(); dress(false); addEventListener("afterprint", () => dress(was), { once: true }); });
  dress(wish.matches);
}
