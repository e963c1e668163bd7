// What every figure needs: numbers in words, colours, a frame with a chart and the same as a table.

const CAUSES = {
  host: "host", cleaning: "cleaning", translation: "translation table", validity: "page validity", log_metadata: "metadata of the log",
  wear_levelling: "wear levelling", dedup: "deduplication",
};
// Okabe and Ito's colours, which the colour-blind tell apart; the lighter ones are for dark pages.
const COLOURS = { light: ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#B8860B", "#56B4E9", "#444444"],
  dark: ["#56B4E9", "#E69F00", "#2BC79A", "#E39CC4", "#F0E442", "#7FA8D9", "#C8C8C8"] };
const charts = [];

const isDark = () => document.documentElement.classList.contains("dark");
const colours = () => (isDark() ? COLOURS.dark : COLOURS.light);
const colourOf = (cause) => colours()[Object.keys(CAUSES).indexOf(cause)];
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Four digits that count, and thousands apart.
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

// An element with attributes and children; texts are texts, whatever is in them.
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

// What all charts have in common.
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

// A figure: its title, what it says in words, the chart, and the data as a table. `option` is asked anew when colours change.
function figure({ title, text, option, columns, rows, height }) {
  const place = element("div", { class: "chart", role: "img", "aria-label": `${title}. ${text}` });
  if (height) place.style.height = height;
  const frame = element("figure", {}, element("h3", {}, title), element("figcaption", {}, text), place,
    element("details", {}, element("summary", {}, "The same as a table"), table(columns, rows)));
  charts.push({ place, option, chart: null });
  return frame;
}

function drawAll() {
  for (const one of charts) {
    one.chart?.dispose();
    one.chart = echarts.init(one.place, null, { renderer: "svg" });
    one.chart.setOption({ ...common(), ...one.option() });
  }
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
  // Paper is white.
  addEventListener("beforeprint", () => { const was = isDark(); dress(false); addEventListener("afterprint", () => dress(was), { once: true }); });
  dress(wish.matches);
}
