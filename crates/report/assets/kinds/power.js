// Recovery from power cuts, and use of RAM. These figures are also shown for runs.

function cutNumbers(power) {
  return numbers([
    ["power cuts", amount(power.cuts), `${amount(power.torn_cuts)} in the middle of an operation`],
    ["cuts of recoveries", amount(power.cuts_in_recovery)],
    ["a recovery, mean", power.recovery_seconds_mean === null ? null : duration(1e9 * power.recovery_seconds_mean), power.recovery_seconds_max === null ? "" : `the longest ${duration(1e9 * power.recovery_seconds_max)}`],
    ["pages read back", amount(power.pages_verified), "none lost"],
  ]);
}

function bars({ title, text, names, series, columns, rows, label }) {
  return figure({
    title, text, height: `${8 + 2.4 * names.length}rem`, columns, rows,
    option: () => ({
      tooltip: { ...common().tooltip, axisPointer: { type: "shadow" }, valueFormatter: label }, grid: { left: 220, right: 30, top: 48, bottom: 48 },
      xAxis: axis("", { type: "value", axisLabel: { color: style("--faint"), formatter: label, hideOverlap: true } }),
      yAxis: axis("", { type: "category", inverse: true, data: names, axisLabel: { color: style("--ink"), width: 205, overflow: "truncate" } }), series: series(),
    }),
  });
}

function cutSteps(power) {
  if (!power.steps.length) return null;
  const ns = (seconds) => duration(1e9 * seconds);
  return bars({
    title: "What recoveries take", text: `The steps of a recovery in the middle of the work: ${power.steps.map((step) => `${step.name} ${ns(step.mean)} on average, ${ns(step.max)} at most`).join("; ")}.`,
    names: power.steps.map(({ name }) => name), label: ns,
    series: () => [{ name: "mean", type: "bar", data: power.steps.map(({ mean }) => mean) }, { name: "longest", type: "bar", data: power.steps.map(({ max }) => max) }],
    columns: ["step", "mean", "longest"], rows: power.steps.map(({ name, mean, max }) => [name, ns(mean), ns(max)]),
  });
}

function recovered(layer) {
  const { steps, model } = { model: [], ...layer.ftl.recovery };
  if (!steps?.length) return null;
  const ns = (step) => duration(1e9 * (step?.seconds || 0));
  const names = [...new Set([...steps, ...model].map(({ name }) => name))];
  const of = (list, name) => list.find((step) => step.name === name);
  const sum = (list) => duration(1e9 * list.reduce((all, { seconds }) => all + seconds, 0));
  const sides = [["measured", steps], ...(model.length ? [["model", model]] : [])];
  return bars({
    title: `How ${layer.name} comes back`, text: `After the cut at the end: ${sides.map(([side, list]) => `${side} ${sum(list)}`).join(", ")}.`,
    names, label: (seconds) => duration(1e9 * seconds), series: () => sides.map(([name, list]) => ({ name, type: "bar", data: names.map((step) => of(list, step)?.seconds || 0) })),
    columns: ["", "step", "spare reads", "page reads", "page writes", "erases", "time"],
    rows: sides.flatMap(([side, list]) => list.map((step) => [side, step.name, amount(step.spare_reads), amount(step.page_reads), amount(step.page_writes), amount(step.erases), ns(step)])),
  });
}

function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const at = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(value, 1)) / 10));
  return `${amount(value / 1024 ** at)} ${units[at]}`;
}

function memory(layer) {
  const parts = layer.ftl.ram.filter((part) => part.bytes > 0);
  if (!parts.length) return null;
  return bars({
    title: `RAM of ${layer.name}`, text: `${layer.ftl.kind} needs ${bytes(layer.ftl.ram_bytes)} of RAM: ${parts.map((part) => `${part.name} ${bytes(part.bytes)}`).join(", ")}.`,
    names: parts.map(({ name }) => name), label: bytes, series: () => [{ name: "RAM", type: "bar", data: parts.map((part) => part.bytes) }],
    columns: ["structure", "bytes"], rows: parts.map((part) => [part.name, amount(part.bytes)]),
  });
}

function operations(layer) {
  const causes = Object.keys(layer.outgoing);
  if (!causes.length) return null;
  const kinds = [["page writes", (cause) => layer.outgoing[cause].write], ["page reads", (cause) => layer.outgoing[cause].read], ["spare reads", (cause) => layer.ftl.spare_reads[cause]], ["erases", (cause) => layer.outgoing[cause].erase]];
  const of = (kind, cause) => kind(cause) || 0;
  return bars({
    title: `What ${layer.name} does, by cause`, text: `Operations on flash while it was measured: ${causes.map((cause) => `${CAUSES[cause] || cause}: ${kinds.filter(([, kind]) => of(kind, cause)).map(([name, kind]) => `${amount(of(kind, cause))} ${name}`).join(", ")}`).join("; ")}.`,
    names: causes.map((cause) => CAUSES[cause] || cause), label: amount, series: () => kinds.map(([name, kind]) => ({ name, type: "bar", stack: "all", data: causes.map((cause) => of(kind, cause)) })),
    columns: ["cause", ...kinds.map(([name]) => name)], rows: causes.map((cause) => [CAUSES[cause] || cause, ...kinds.map(([, kind]) => amount(of(kind, cause)))]),
  });
}

// Figures of a run with power cuts, or with an FTL that has a recovery.
function powerOf(result) {
  const layers = result.layers.filter((layer) => layer.ftl);
  return [...(result.power ? [cutSteps(result.power)] : []), ...layers.flatMap((layer) => [recovered(layer), memory(layer), operations(layer)])];
}

KINDS.power = {
  section: ({ name, data }, id) => {
    const made = element("section", { id }, element("h2", {}, name), verdict(true, "Nothing that was acknowledged was lost."), cutNumbers(data));
    made.append(...[cutSteps(data)].filter(Boolean));
    return made;
  },
};
