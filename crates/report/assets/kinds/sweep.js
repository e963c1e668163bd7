// Sweep: figures of its points over one or two axes, the points as a table, and the best point.

const METRICS = {
  write_amplification: "write amplification", theory_write_amplification: "write amplification by theory", erases: "erases", erases_max: "erases of the most erased block", erases_deviation: "deviation of erases",
  tbw: "TB that can be written", dwpd: "drive writes a day", years: "years", life_ratio: "life over the rated one", mb_per_s: "MB/s", requests_per_s: "requests a second", elapsed_s: "seconds",
};
const MOST_LINES = 24;

const named = (value) => (typeof value === "string" ? value : JSON.stringify(value));

// Points of a sweep, with accessors by column name.
function sweepOf(data) {
  const at = Object.fromEntries(data.columns.map((name, index) => [name, index]));
  const get = (row, name) => row[at[name]];
  const values = (axis) => {
    const all = [...new Map(data.rows.map((row) => [named(get(row, axis)), get(row, axis)])).values()];
    return all.every((value) => typeof value === "number") ? all.sort((one, other) => one - other) : all;
  };
  const axes = data.axes.map((key) => { const all = values(key); return { key, values: all, isNumber: all.every((value) => typeof value === "number") }; });
  const metrics = data.columns.filter((name) => !data.axes.includes(name) && !/_ci95$|^(seed|replicas|theory_layer)$/.test(name) && data.rows.some((row) => typeof get(row, name) === "number"));
  const varied = metrics.filter((name) => new Set(data.rows.map((row) => get(row, name))).size > 1 || name === "write_amplification");
  const first = Object.keys(METRICS).filter((name) => varied.includes(name));
  const label = (name) => METRICS[name] || name.replaceAll("_", " ");
  const choices = [...first, ...varied.filter((name) => !first.includes(name)).sort()].map((name) => [name, label(name)]);
  const place = (row, keys = data.axes) => keys.map((key) => `${key} = ${named(get(row, key))}`).join(", ");
  return { rows: data.rows, get, axes, choices, label, place };
}

// Half-width of a point's interval, if the metric has one.
const halfOf = (sweep, row, metric) => (metric === "write_amplification" ? sweep.get(row, "write_amplification_ci95") || 0 : 0);

// Theory covers one layer, so its value is comparable with the stack only if no other layer amplifies writes.
function theoryOf(sweep, row) {
  const own = sweep.get(row, `${sweep.get(row, "theory_layer")}_write_amplification`);
  return own !== undefined && own === sweep.get(row, "write_amplification") ? sweep.get(row, "theory_write_amplification") : null;
}

// Groups rows that differ only along one axis; the key of a group is the common settings.
function groupsOf(sweep, along) {
  const others = sweep.axes.filter((axis) => axis !== along).map(({ key }) => key);
  const groups = new Map();
  for (const row of sweep.rows) {
    const name = others.length ? sweep.place(row, others) : "";
    groups.set(name, [...(groups.get(name) || []), row]);
  }
  const order = (row) => along.values.findIndex((value) => named(value) === named(sweep.get(row, along.key)));
  return [...groups].map(([name, rows]) => [name, rows.sort((one, other) => order(one) - order(other))]);
}

function extremes(sweep, metric) {
  const known = sweep.rows.filter((row) => typeof sweep.get(row, metric) === "number").sort((one, other) => sweep.get(one, metric) - sweep.get(other, metric));
  if (!known.length) return "No point has it.";
  const say = (row) => `${amount(sweep.get(row, metric))} (${sweep.place(row)})`;
  return `From ${say(known[0])} to ${say(known[known.length - 1])}.`;
}

function lines(sweep, along, metric) {
  const groups = groupsOf(sweep, along);
  const shown = groups.slice(0, MOST_LINES);
  const isLog = along.isNumber && along.values[0] > 0 && along.values[along.values.length - 1] / along.values[0] > 50;
  const x = (row) => (along.isNumber ? sweep.get(row, along.key) : along.values.findIndex((value) => named(value) === named(sweep.get(row, along.key))));
  const name = (group) => group || sweep.label(metric);
  const series = () => shown.flatMap(([group, rows], index) => {
    const colour = colours()[index % colours().length];
    const points = rows.map((row) => ({ x: x(row), y: sweep.get(row, metric), half: halfOf(sweep, row, metric) }));
    const theory = metric === "write_amplification" ? rows.map((row) => [x(row), theoryOf(sweep, row)]) : [];
    return [
      { name: name(group), type: "line", color: colour, symbolSize: 7, lineStyle: { width: along.isNumber ? 2 : 0 }, data: points.map((point) => [point.x, point.y]) },
      ...(points.some(({ half }) => half > 0) ? [whiskers(points.filter(({ y }) => typeof y === "number"), colour)] : []),
      ...(theory.some(([, value]) => typeof value === "number") ? [{ name: "theory", type: "line", color: colour, showSymbol: false, lineStyle: { width: 1, type: "dashed" }, data: theory }] : []),
    ];
  });
  const left = groups.length > shown.length ? ` The first ${shown.length} of ${groups.length} lines are drawn.` : "";
  return figure({
    title: `${sweep.label(metric)} by ${along.key}`, text: `${extremes(sweep, metric)}${metric === "write_amplification" ? " Bars are 95 % intervals, dashes theory, where there are any." : ""}${left}`,
    option: () => ({
      xAxis: axis(along.key, along.isNumber ? { type: isLog ? "log" : "value", scale: true, nameGap: 26 } : { type: "category", data: along.values.map(named), nameGap: 26 }),
      yAxis: axis(sweep.label(metric), { type: "value", scale: true }), tooltip: { ...common().tooltip, valueFormatter: amount }, dataZoom: zoom(), series: series(),
    }),
    columns: [...sweep.axes.map(({ key }) => key), sweep.label(metric), ...(metric === "write_amplification" ? ["± (95 %)", "by theory"] : [])],
    rows: sweep.rows.map((row) => [...sweep.axes.map(({ key }) => named(sweep.get(row, key))), amount(sweep.get(row, metric)), ...(metric === "write_amplification" ? [amount(sweep.get(row, "write_amplification_ci95")), amount(theoryOf(sweep, row))] : [])]),
  });
}

function heatMap(sweep, [across, up], metric, rows, where) {
  const at = (axis, row) => axis.values.findIndex((value) => named(value) === named(sweep.get(row, axis.key)));
  const cells = rows.map((row) => [at(across, row), at(up, row), sweep.get(row, metric)]).filter(([, , value]) => typeof value === "number");
  const values = cells.map(([, , value]) => value);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const isRoomy = cells.length <= 200;
  // White text on the dark end of the scale, which is the upper end on light pages.
  const ink = (value) => (value - least > (most - least) / 2 !== isDark() ? "#fff" : "#000");
  return figure({
    title: `${sweep.label(metric)} over ${across.key} and ${up.key}`, text: `${where ? `Where ${where}. ` : ""}${values.length ? `From ${amount(least)} to ${amount(most)}, in the colours of the bar beside it.` : "No point has it."}`,
    height: `${Math.min(40, 11 + 2.2 * up.values.length)}rem`,
    option: () => ({
      tooltip: { ...common().tooltip, trigger: "item", formatter: ({ value: [x, y, value] }) => `${encode(across.key)} = ${encode(named(across.values[x]))}<br>${encode(up.key)} = ${encode(named(up.values[y]))}<br>${amount(value)}` },
      grid: { left: 130, right: 100, top: 16, bottom: 56 }, legend: { show: false },
      xAxis: axis(across.key, { type: "category", data: across.values.map(named), nameGap: 30 }),
      yAxis: axis(up.key, { type: "category", data: up.values.map(named), nameGap: 105, axisLabel: { color: style("--faint"), width: 95, overflow: "truncate" } }),
      visualMap: { ...scale(least, most), formatter: amount },
      series: [{ type: "heatmap", progressive: 0, itemStyle: { borderWidth: 1, borderColor: style("--paper") }, label: { show: isRoomy, formatter: ({ value: [, , value] }) => amount(value) }, data: cells.map((value) => ({ value, label: { color: ink(value[2]) } })) }],
    }),
    columns: [up.key, ...across.values.map(named)],
    rows: up.values.map((value, y) => [named(value), ...across.values.map((_, x) => amount(cells.find((cell) => cell[0] === x && cell[1] === y)?.[2]))]),
  });
}

function heatMaps(sweep) {
  const axes = sweep.axes.filter(({ values }) => values.length > 1).sort((one, other) => other.values.length - one.values.length);
  if (axes.length < 2) return null;
  const pair = [axes[0], axes[1]];
  if (axes.length === 2) return choosable("Figure:", sweep.choices, (metric) => heatMap(sweep, pair, metric, sweep.rows, ""));
  const others = axes.slice(2).map(({ key }) => key);
  const places = [...new Set(sweep.rows.map((row) => sweep.place(row, others)))];
  return choosable("Where:", places.map((place) => [place, place]), (place) => heatMap(sweep, pair, "write_amplification", sweep.rows.filter((row) => sweep.place(row, others) === place), place));
}

// Smallest write amplification among steady points, and the points within its interval.
function best(sweep) {
  const measured = sweep.rows.filter((row) => sweep.get(row, "steady") && typeof sweep.get(row, "write_amplification") === "number");
  const value = (row) => sweep.get(row, "write_amplification");
  const half = (row) => halfOf(sweep, row, "write_amplification");
  const found = measured.reduce((least, row) => (least && value(least) <= value(row) ? least : row), null);
  if (!found) return element("p", {}, "No point has a write amplification that means something in a steady state, so none is best.");
  const near = measured.filter((row) => row !== found && value(row) - half(row) <= value(found) + half(found));
  const words = near.length ? ` ${near.length} other ${near.length === 1 ? "point is" : "points are"} within the intervals of it: ${near.slice(0, 5).map((row) => sweep.place(row)).join("; ")}${near.length > 5 ? " and more" : ""}.` : "";
  const life = sweep.get(found, "tbw");
  return element("div", {}, numbers([
    ["least write amplification", amount(value(found)), half(found) ? `± ${amount(half(found))} (95 %)` : "no interval"], ["at", sweep.place(found)], ["of it, by theory", theoryOf(sweep, found) ? amount(theoryOf(sweep, found)) : null], ["lifetime there", life ? `${amount(life)} TB` : null],
  ]), words ? element("p", {}, words.trim()) : null);
}

function sweepSection({ name, data }, id) {
  const sweep = sweepOf(data);
  const failures = data.failures || [];
  const unsteady = data.rows.filter((row) => !sweep.get(row, "steady")).length;
  const warned = data.rows.filter((row) => sweep.get(row, "warnings"));
  const words = [
    unsteady ? `${unsteady} of ${data.rows.length} points were not steady when they were measured.` : `All ${data.rows.length} points were steady when they were measured.`,
    warned.length ? `${warned.length} have warnings.` : "", failures.length ? `${failures.length} runs failed.` : "", data.left_out ? `${data.left_out} points more have no room on this page; the table that was written has them.` : "",
  ];
  const texts = [...failures, ...warned.map((row) => `${sweep.place(row)}: ${sweep.get(row, "warnings")}`)];
  const made = element("section", { id }, element("h2", {}, name), verdict(!unsteady && !texts.length && !data.left_out, words.filter(Boolean).join(" ")), warningList(texts));
  if (!data.rows.length) return made;
  const along = [...sweep.axes].sort((one, other) => other.isNumber - one.isNumber || other.values.length - one.values.length)[0];
  made.append(best(sweep), ...[heatMaps(sweep)].filter(Boolean));
  if (along) made.append(choosable("Figure:", sweep.choices, (metric) => lines(sweep, along, metric)));
  const shown = ["write_amplification", "write_amplification_ci95", "theory_write_amplification", "steady", "erases", "erases_max", "tbw", "dwpd"];
  const cell = (value) => (typeof value === "number" ? amount(value) : value === true ? "yes" : value === false ? "NO" : value === null || value === undefined ? "–" : named(value));
  const of = (columns) => table(columns.map((column) => METRICS[column] || (column === "write_amplification_ci95" ? "± (95 %)" : column)), data.rows.map((row) => columns.map((column) => (data.axes.includes(column) ? named(sweep.get(row, column)) : cell(sweep.get(row, column))))));
  made.append(element("h3", {}, "The points"), of([...data.axes, ...shown.filter((column) => data.columns.includes(column))]));
  const all = folded("All columns");
  all.addEventListener("toggle", () => all.append(of(data.columns)), { once: true });
  made.append(all);
  const scenario = settings(data.scenario, "The scenario that was varied, with every default filled in");
  if (scenario) made.append(scenario);
  return made;
}

KINDS.sweep = { section: sweepSection };
