// Drive compared with its lower bound: all placements and victim policies, and the causes of their rewritten pages.

const pairOf = ({ placement, victim }) => `${placement}, ${victim}`;

// The lower bound and the best offline policy are lines across a figure.
function levels({ lower_bound: bound, offline }) {
  // Their labels point in opposite directions, because the two lines may be close together.
  const line = (at, name, type, align) => ({ xAxis: at, name, lineStyle: { color: style("--ink"), type }, label: { formatter: "{b}", color: style("--ink"), position: "start", align } });
  return { silent: true, symbol: "none", data: [line(bound, "bound", "solid", "right"), ...(offline ? [line(offline.write_amplification, "foresight", "dashed", "left")] : [])] };
}

function besideLimit(data, rows) {
  const points = rows.map((row, y) => ({ x: row.write_amplification, y, half: row.write_amplification_ci95 || 0 }));
  const colour = colours()[0];
  const say = (row) => `${pairOf(row)} ${amount(row.write_amplification)}`;
  return figure({
    title: "Placements and victim policies beside the limit", text: `Write amplification with 95 % intervals, the least first; the bound is ${amount(data.lower_bound)}${data.offline ? `, the best that knows the future ${amount(data.offline.write_amplification)}` : ""}: ${rows.slice(0, 6).map(say).join("; ")}${rows.length > 6 ? "; and so on" : ""}.`,
    height: `${9 + 1.6 * rows.length}rem`,
    option: () => ({
      tooltip: { ...common().tooltip, trigger: "item", formatter: ({ data: [value, at] }) => `${encode(pairOf(rows[at]))}: ${amount(value)}` }, legend: { show: false }, grid: { left: 230, right: 30, top: 30, bottom: 48 },
      xAxis: axis("write amplification", { type: "value", nameGap: 26, scale: true, min: (range) => Math.min(range.min, data.lower_bound) }),
      yAxis: axis("", { type: "category", inverse: true, data: rows.map(pairOf), axisLabel: { color: style("--ink"), width: 215, overflow: "truncate" } }),
      series: [{ name: "write amplification", type: "scatter", symbolSize: 9, color: colour, data: points.map(({ x, y }) => [x, y]), markLine: levels(data) }, whiskers(points, colour, "x")],
    }),
    columns: ["placement", "victim policy", "write amplification", "±", "above the bound", "above foresight"],
    rows: rows.map((row) => [row.placement, row.victim, amount(row.write_amplification), amount(row.write_amplification_ci95), amount(row.above_lower_bound), amount(row.above_offline)]),
  });
}

const LOSSES = { lost_by_block_size: "by the size of blocks", lost_by_placement: "by placement", lost_by_victim: "by victim choice" };

function whereLost(rows) {
  const known = rows.filter((row) => typeof row.lost_by_placement === "number");
  if (!known.length) return null;
  const say = (row) => `${pairOf(row)} ${Object.entries(LOSSES).map(([key, name]) => `${name} ${amount(row[key])}`).join(", ")}`;
  return figure({
    title: "Where rewriting is lost", text: `Pages rewritten for each of the host's: ${known.slice(0, 4).map(say).join("; ")}${known.length > 4 ? "; and so on" : ""}. A part may be negative.`, height: `${9 + 1.6 * known.length}rem`,
    option: () => ({
      tooltip: { ...common().tooltip, axisPointer: { type: "shadow" }, valueFormatter: amount }, grid: { left: 230, right: 30, top: 48, bottom: 48 },
      xAxis: axis("pages rewritten for each of the host's", { type: "value", nameGap: 26 }),
      yAxis: axis("", { type: "category", inverse: true, data: known.map(pairOf), axisLabel: { color: style("--ink"), width: 215, overflow: "truncate" } }),
      series: Object.entries(LOSSES).map(([key, name]) => ({ name, type: "bar", stack: "lost", data: known.map((row) => row[key]) })),
    }),
    columns: ["placement", "victim policy", ...Object.values(LOSSES)], rows: known.map((row) => [row.placement, row.victim, ...Object.keys(LOSSES).map((key) => amount(row[key]))]),
  });
}

function limitSection({ name, data }, id) {
  const rows = data.rows.filter((row) => typeof row.write_amplification === "number").sort((one, other) => one.write_amplification - other.write_amplification);
  const best = data.offline;
  const open = typeof data.open_share === "number" ? `${amount(100 * data.open_share)} %` : null;
  const words = open ? `${open} of what is rewritten nobody has shown to be necessary.` : "Nothing is rewritten, or nothing is known of it.";
  const made = element("section", { id }, element("h2", {}, name), verdict(true, words));
  made.append(...[warningList(data.warnings)].filter(Boolean), numbers([
    ["as it is", amount(data.write_amplification), "write amplification"], ["at least", amount(data.lower_bound), "for anything that knows the future"],
    ["with foresight", best ? amount(best.write_amplification) : null, best ? pairOf(best) : ""], ["host pages measured", amount(data.host_pages), `${amount(data.min_rewrites)} had to be rewritten, ${amount(data.replicas)} seeds`],
  ]));
  if (rows.length) made.append(...[besideLimit(data, rows), whereLost(rows)].filter(Boolean));
  const others = data.rows.filter((row) => row.problem);
  if (others.length) made.append(folded(others.length === 1 ? "1 pair was not run" : `${others.length} pairs were not run`, table(["placement", "victim policy", "why"], others.map((row) => [row.placement, row.victim, row.problem]))));
  const scenario = settings(data.scenario);
  if (scenario) made.append(scenario);
  return made;
}

KINDS.limit = { section: limitSection };
