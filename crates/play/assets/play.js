// Player of a film: steps, picture and controls.

const { film, layout } = JSON.parse(document.getElementById("data").textContent);
const frames = film.frames;
const last = frames.length - 1;
const GROUPS = 8;
// Steps per second.
const SPEEDS = [["0.5", "½ a second"], ["1", "1 a second"], ["2", "2 a second"], ["4", "4 a second"], ["10", "10 a second"], ["30", "30 a second"]];
const INSET = 2.5;

function drawn(name, attributes = {}, ...children) {
  const made = document.createElementNS("http:" + "//www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// --- State at a step.

const blank = () => ({ life: "free", stale: false, fresh: false, label: "", cause: 0, group: 0 });

function empty() {
  return film.panels.map((panel) => (panel.kind === "blocks"
    ? { pages: Array.from({ length: panel.blocks * panel.pages_per_block }, blank), victim: null, written: Array(7).fill(0), erases: 0 }
    : { rows: panel.rows.map(() => []) }));
}

function change(state, op) {
  const panel = state[op.panel];
  const size = film.panels[op.panel].pages_per_block;
  const at = op.block * size + op.page;
  const { label = "", cause = 0, group } = op;
  if (op.op === "write") {
    panel.written[cause] += 1;
    panel.pages[at] = { life: "live", stale: false, fresh: true, label, cause, group };
  } else if (op.op === "invalidate") {
    Object.assign(panel.pages[at], { life: "dead", stale: false, fresh: true });
  } else if (op.op === "stale") {
    panel.pages[at].stale = op.stale;
  } else if (op.op === "erase") {
    for (let page = 0; page < size; page += 1) panel.pages[op.block * size + page] = { ...blank(), fresh: true };
    panel.erases += 1;
    if (panel.victim === op.block) panel.victim = null;
  } else if (op.op === "victim") {
    panel.victim = op.block;
  } else if (op.op === "row") {
    panel.rows[op.row] = op.cells;
  }
}

let state = empty();
let shown = -1;

function goTo(step) {
  if (step < shown) {
    state = empty();
    shown = -1;
  }
  while (shown < step) {
    shown += 1;
    for (const panel of state) for (const page of panel.pages || []) page.fresh = false;
    frames[shown].ops.forEach((op) => change(state, op));
  }
}

// --- Picture. Parts that never change are created only once.

const pitch = layout.pitch;
const fits = (label) => Math.min(pitch * 0.42, (pitch - 6) * 1.75 / Math.max(1, label.length));

function pageAt(x, y) {
  const side = pitch - 2 * INSET;
  const [left, top] = [x + INSET, y + INSET];
  const place = drawn("g", {},
    drawn("rect", { class: "page", x: left, y: top, width: side, height: side, rx: 3 }),
    drawn("line", { class: "cross", x1: left + 2, y1: top + side - 2, x2: left + side - 2, y2: top + 2 }),
    drawn("line", { class: "doubt", x1: left + 2, y1: top + 2, x2: left + side - 2, y2: top + side - 2 }),
    drawn("path", { class: "moved", d: `M${left + side} ${top} v${side / 3.2} l${-side / 3.2} ${-side / 3.2} z` }),
    drawn("text", { class: "label", x: x + pitch / 2, y: y + pitch / 2 }));
  return place;
}

function dress(place, page, grouped) {
  const colour = (grouped ? page.group : page.cause) % GROUPS;
  const classes = [page.life, page.life === "live" ? `g${colour}` : "", page.stale ? "stale" : "", page.fresh ? "new" : "", page.life === "live" && page.cause !== 0 && grouped ? "is-moved" : ""];
  const name = classes.filter(Boolean).join(" ");
  if (place.getAttribute("class") !== name) place.setAttribute("class", name);
  const text = place.lastChild;
  if (text.textContent !== page.label) {
    text.textContent = page.label;
    text.setAttribute("font-size", fits(page.label));
  }
}

const svg = drawn("svg", { id: "picture", viewBox: `0 44 ${layout.width} ${layout.height - 64}`, role: "img", "aria-labelledby": "happens" });
const parts = film.panels.map((panel, at) => {
  const place = layout.panels[at];
  const tally = drawn("text", { class: "tally", x: layout.width - 20, y: place.name_y });
  svg.append(drawn("text", { class: "name", x: 20, y: place.name_y }, panel.name), tally);
  if (panel.kind === "rows") {
    const rows = panel.rows.map((name, row) => {
      svg.append(drawn("text", { class: "number", x: 20, y: place.rows[row] + pitch / 2 + 4, style: "font-size: 13px" }, name));
      const cells = drawn("g");
      svg.append(cells);
      return cells;
    });
    return { tally, rows };
  }
  const blocks = place.blocks.map(({ x, y, w, h }, block) => {
    const pages = Array.from({ length: panel.pages_per_block }, (_, page) => pageAt(x + (page % place.columns) * pitch, y + Math.floor(page / place.columns) * pitch));
    const number = drawn("text", { class: "number", x: x + 3, y: y - 3 }, `${block}`);
    const group = drawn("g", {}, number, ...pages, drawn("rect", { class: "block", x, y, width: w, height: h, rx: 4 }));
    svg.append(group);
    return { group, pages, number };
  });
  return { tally, blocks };
});

function tallyOf(panel, { pages, written, erases }) {
  let free = 0;
  for (let block = 0; block < panel.blocks; block += 1) {
    const first = block * panel.pages_per_block;
    if (pages.slice(first, first + panel.pages_per_block).every(({ life }) => life === "free")) free += 1;
  }
  const all = written.reduce((sum, count) => sum + count, 0);
  const [host, cleaning] = written;
  const other = all - host - cleaning;
  const words = `written ${host}${cleaning ? ` + ${cleaning} moved` : ""}${other ? ` + ${other} other` : ""}${host ? ` = ×${(all / host).toFixed(2)}` : ""}`;
  return `${words} · ${erases} erased · ${free} free`;
}

function show() {
  film.panels.forEach((panel, at) => {
    const part = parts[at];
    if (panel.kind === "rows") {
      const most = layout.panels[at].row_cells;
      part.rows.forEach((row, index) => {
        const cells = state[at].rows[index];
        const fitting = cells.length > most ? most - 1 : cells.length;
        row.replaceChildren(...cells.slice(0, fitting).map((cell, column) => {
          const place = pageAt(150 + column * pitch, layout.panels[at].rows[index]);
          dress(place, { life: "live", stale: false, fresh: false, label: "", cause: 0, ...cell }, true);
          return place;
        }));
        if (fitting < cells.length) row.append(drawn("text", { class: "number", x: 150 + fitting * pitch + 4, y: layout.panels[at].rows[index] + pitch / 2 + 4 }, `+${cells.length - fitting}`));
      });
      return;
    }
    part.tally.textContent = tallyOf(panel, state[at]);
    part.blocks.forEach(({ group, pages, number }, block) => {
      const victim = state[at].victim === block;
      group.setAttribute("class", victim ? "victim" : "");
      number.textContent = victim ? `${block} being cleaned` : `${block}`;
      pages.forEach((place, page) => dress(place, state[at].pages[block * panel.pages_per_block + page], panel.grouped));
    });
  });
}

// --- Text and controls.

const happens = element("p", { id: "happens", "aria-live": "polite" });
const scrub = element("input", { type: "range", id: "scrub", min: "0", max: String(last), value: "0", step: "1", "aria-label": "Step" });
const counter = element("output", { for: "scrub" });
const button = (id, label, title, act) => {
  const made = element("button", { type: "button", id, "aria-label": title, title }, label);
  made.addEventListener("click", act);
  return made;
};
const speed = element("select", { id: "speed", "aria-label": "Speed" }, ...SPEEDS.map(([value, text]) => element("option", { value, ...(value === "2" ? { selected: "" } : {}) }, text)));
const words = folded("The picture in words");
const steps = element("ol", { class: "steps", start: "0" });
const list = folded("All steps", steps);

let timer = null;

function tell() {
  const panels = film.panels.map((panel, at) => {
    if (panel.kind === "rows") return table([panel.name, "from first to last"], panel.rows.map((name, row) => [name, state[at].rows[row].map(({ label = "·" }) => label).join(" ") || "–"]));
    const rows = Array.from({ length: panel.blocks }, (_, block) => {
      const pages = state[at].pages.slice(block * panel.pages_per_block, (block + 1) * panel.pages_per_block);
      const named = (life) => pages.filter((page) => page.life === life).map(({ label }) => label).join(" ") || "–";
      return [`${panel.word} ${block}`, named("live"), named("dead"), pages.filter(({ life }) => life === "free").length];
    });
    return table([panel.name, "valid", "no longer valid", "free"], rows);
  });
  words.replaceChildren(words.firstChild, ...panels);
}

function step(to) {
  const next = Math.max(0, Math.min(last, to));
  goTo(next);
  show();
  happens.textContent = frames[next].text;
  scrub.value = String(next);
  scrub.setAttribute("aria-valuetext", `step ${next} of ${last}: ${frames[next].text}`);
  counter.textContent = `step ${next} of ${last}`;
  if (words.open) tell();
  steps.querySelector("[aria-current]")?.removeAttribute("aria-current");
  if (list.open) {
    steps.children[next].setAttribute("aria-current", "step");
    steps.scrollTop = steps.children[next].offsetTop - steps.offsetTop - steps.clientHeight / 2;
  }
}

function pause() {
  clearTimeout(timer);
  timer = null;
  play.textContent = "▶ Play";
  play.setAttribute("aria-label", "Play");
  happens.setAttribute("aria-live", "polite");
}

function goOn() {
  if (shown >= last) return pause();
  step(shown + 1);
  timer = setTimeout(goOn, 1000 / Number(speed.value));
}

function toggle() {
  if (timer !== null) return pause();
  if (shown >= last) step(0);
  play.textContent = "❚❚ Pause";
  play.setAttribute("aria-label", "Pause");
  // A screen reader cannot keep up with the steps of a playing film, so they are not announced.
  happens.setAttribute("aria-live", "off");
  timer = setTimeout(goOn, 1000 / Number(speed.value));
}

const by = (count) => () => { pause(); step(shown + count); };
const play = button("play", "▶ Play", "Play", toggle);
const controls = element("div", { class: "controls", role: "group", "aria-label": "Film" },
  button("first", "|◀", "First step", () => { pause(); step(0); }), button("back", "◀", "A step back", by(-1)), play, button("next", "▶", "A step on", by(1)),
  button("last", "▶|", "Last step", () => { pause(); step(last); }), scrub, counter, speed);

scrub.addEventListener("input", () => { pause(); step(Number(scrub.value)); });
words.addEventListener("toggle", () => words.open && tell());
list.addEventListener("toggle", () => {
  if (!list.open || steps.children.length) return;
  steps.append(...frames.map(({ text }, at) => {
    const go = element("button", { type: "button" }, text);
    go.addEventListener("click", () => { pause(); step(at); });
    return element("li", {}, go);
  }));
  step(shown);
});

const KEYS = {
  " ": toggle, k: toggle, ArrowRight: by(1), ArrowLeft: by(-1), ".": by(1), ",": by(-1), PageDown: by(10), PageUp: by(-10), Home: () => { pause(); step(0); }, End: () => { pause(); step(last); },
};
addEventListener("keydown", (event) => {
  const { target } = event;
  const act = KEYS[event.key];
  if (!act || event.ctrlKey || event.altKey || event.metaKey) return;
  // A focused control handles its keys itself. The arrow keys have the same effect on the slider as on the page.
  if (target.matches("select, summary") || (event.key === " " && target.matches("button, a"))) return;
  event.preventDefault();
  act();
});

// --- Page.

function sample(classes, label) {
  const made = pageAt(0, 0);
  dress(made, { life: "live", stale: false, fresh: false, label, cause: 0, group: 0, ...classes }, classes.grouped);
  return drawn("svg", { viewBox: `0 0 ${pitch} ${pitch}`, "aria-hidden": "true" }, made);
}

function legend() {
  if (film.panels.every((panel) => panel.kind === "rows")) return element("p", { class: "legend" });
  const grouped = film.panels.some((panel) => panel.grouped);
  const ops = frames.flatMap((frame) => frame.ops);
  const has = (test) => ops.some(test);
  const entries = [[{ life: "free" }, "free", true], [{ grouped }, grouped ? "valid, in the colour of what it belongs to" : "valid, written by the host", true],
    [{ life: "dead" }, "no longer valid", has(({ op }) => op === "invalidate")],
    [{ cause: 1, grouped }, grouped ? "moved by cleaning" : "valid, moved by cleaning", has(({ op, cause }) => op === "write" && cause === 1)],
    [{ cause: 2, grouped }, "T: a part of the translation table", has(({ op, cause }) => op === "write" && cause === 2)],
    [{ cause: 3, grouped }, "V: says which pages are valid", has(({ op, cause }) => op === "write" && cause === 3)],
    [{ label: "–", grouped }, "padding, written only because pages are programmed in order", has(({ op, label }) => op === "write" && label === "–")],
    [{ stale: true, grouped }, "valid here, though nobody above wants it", has(({ op }) => op === "stale")], [{ fresh: true, grouped }, "changed in this step", true]];
  return element("ul", { class: "legend" }, ...entries.filter(([, , is]) => is).map(([classes, text]) => element("li", {}, sample(classes, ""), text)));
}

const keys = element("p", { class: "keys" });
keys.append(...[["Space", "plays and pauses"], ["←", ""], ["→", "a step"], ["PgUp", ""], ["PgDn", "ten"], ["Home", ""], ["End", "first and last"]].flatMap(([key, text]) => [element("kbd", {}, key), ` ${text}${text ? "   " : ""}`]));
document.getElementById("contents").remove();
document.getElementById("content").append(...(film.notes.length ? [element("div", { class: "notes" }, ...film.notes.map((note) => element("p", {}, note)))] : []),
  happens, svg, legend(), controls, keys, words, list);
follow();
step(0);
