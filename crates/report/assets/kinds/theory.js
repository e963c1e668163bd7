// Results of theory: numbers, and curves where there are any.

const MODELS = {
  single: "Mean field of one write frontier", double: "Mean field of two write frontiers", fifo: "First-in first-out", greedy: "Greedy cleaning of uniform writes", windowed: "Windowed greedy cleaning of uniform writes", random: "Random cleaning",
  separated: "Each class in blocks of its own", "optimal-choices": "The number of choices with the least write amplification", "solve-spare": "The spare space that a write amplification takes", transient: "The way to the steady state", scenario: "What theory says of a scenario",
};
const ANSWERS = {
  write_amplification: "write amplification", write_amplification_limit: "for very many blocks", write_amplification_steady: "in the steady state", write_amplification_merged: "with merged classes", write_amplification_smooth: "smooth formula", write_amplification_large_blocks: "limit of large blocks",
  write_amplification_greedy: "greedy", write_amplification_fifo: "first-in first-out", choices: "choices", spare_factor: "spare factor", valid_pages_mean: "valid pages of a block, mean", victim_valid_pages_mean: "valid pages of a victim, mean", host_pages_per_victim: "host pages for each victim",
  within_1_percent_after: "drive writes until within 1 %", held_back_pages: "erased pages that wait",
};

function spread(data) {
  const sides = [["blocks", "valid_pages"], ["victims", "victim_valid_pages"]].filter(([, key]) => data[key]);
  if (!sides.length) return null;
  const width = data[`${sides[0][1]}_width`] || 1;
  const levels = data[sides[0][1]].map((_, index) => (width === 1 ? String(index) : `${index * width}–${index * width + width - 1}`));
  return figure({
    title: "Valid pages of blocks and of victims", text: `The share of blocks, and of victims when they are chosen, with so many valid pages${data.valid_pages_mean ? `: ${amount(data.valid_pages_mean)} on average of a block, ${amount(data.victim_valid_pages_mean)} of a victim` : ""}.`,
    option: () => ({
      xAxis: axis("valid pages", { type: "category", data: levels, nameGap: 26 }), yAxis: axis("%", { type: "value" }), dataZoom: zoom(), tooltip: { ...common().tooltip, valueFormatter: (value) => `${amount(value)} %` },
      series: sides.map(([name, key]) => ({ name, type: "bar", barCategoryGap: "5%", data: data[key].map((share) => 100 * share) })),
    }),
    columns: ["valid pages", ...sides.map(([name]) => `% of ${name}`)], rows: levels.map((level, index) => [level, ...sides.map(([, key]) => amount(100 * data[key][index]))]),
  });
}

function moved(data) {
  const shares = data.moved_shares;
  if (!shares || shares.length < 2) return null;
  const names = shares.map((_, index) => `class ${index + 1}`);
  return figure({
    title: "Whose pages are moved", text: `Shares of the moved pages, the hottest class first: ${shares.slice(0, 12).map((share) => `${amount(100 * share)} %`).join(", ")}${shares.length > 12 ? " and so on" : ""}.`,
    option: () => ({ xAxis: axis("", { type: "category", data: names }), yAxis: axis("% of the moved pages", { type: "value" }), grid: { ...common().grid, bottom: 48 }, series: [{ name: "share of moved pages", type: "bar", data: shares.map((share) => 100 * share) }] }),
    columns: ["class", "% of the moved pages"], rows: shares.map((share, index) => [names[index], amount(100 * share)]),
  });
}

function separated(data) {
  if (!data.classes?.length) return null;
  const names = data.classes.map((_, index) => `class ${index + 1}`);
  return figure({
    title: "Write amplification of each class", text: data.classes.map((one, index) => `${names[index]}: ${amount(one.write_amplification)} with a spare factor of ${amount(one.spare_factor)}`).join("; ") + ".",
    option: () => ({ xAxis: axis("", { type: "category", data: names }), yAxis: axis("write amplification", { type: "value" }), grid: { ...common().grid, bottom: 48 }, series: [{ name: "write amplification", type: "bar", data: data.classes.map((one) => one.write_amplification) }] }),
    columns: ["class", "write amplification", "spare factor", "share of the flash"], rows: data.classes.map((one, index) => [names[index], amount(one.write_amplification), amount(one.spare_factor), amount(one.physical_share)]),
  });
}

function path(data) {
  if (!data.path?.length) return null;
  const steady = data.write_amplification_steady;
  const isSimulated = data.path.some((point) => typeof point.simulated === "number");
  const series = (key) => data.path.map((point) => [point.drive_writes, point[key] ?? null]);
  return figure({
    title: "The way to the steady state", text: `Write amplification in stretches of the path, from ${amount(data.path[0].write_amplification)} to ${amount(data.path[data.path.length - 1].write_amplification)}; ${amount(steady)} in the steady state.`,
    option: () => ({
      xAxis: axis("drive writes", { type: "value", max: "dataMax", nameGap: 26 }), yAxis: axis("write amplification", { type: "value", scale: true }), dataZoom: zoom(), tooltip: { ...common().tooltip, valueFormatter: amount },
      series: [
        { name: "theory", type: "line", showSymbol: false, data: series("write_amplification"), markLine: { silent: true, symbol: "none", data: typeof steady === "number" ? [{ yAxis: steady, lineStyle: { type: "dashed" }, label: { formatter: "steady", color: style("--ink"), position: "insideEndTop" } }] : [] } },
        ...(isSimulated ? [{ name: "simulated", type: "line", symbolSize: 5, data: series("simulated") }] : []),
      ],
    }),
    columns: ["drive writes", "theory", "simulated", "difference %", "erased %"], rows: data.path.map((point) => [amount(point.drive_writes), amount(point.write_amplification), amount(point.simulated), amount(point.difference_percent), amount(100 * point.erased)]),
  });
}

function scan(data) {
  if (!data.scan?.length) return null;
  return figure({
    title: "Write amplification by the number of choices", text: `The least, ${amount(data.write_amplification)}, is at ${amount(data.choices)} choices; from ${amount(data.flat_from)} to ${amount(data.flat_to)} it is within 0.1 % of that.${data.at_the_end ? " The best is the last that was tried; more may be better still." : ""}`,
    option: () => ({
      xAxis: axis("choices", { type: "value", min: 1, max: "dataMax", nameGap: 26 }), yAxis: axis("write amplification", { type: "value", scale: true }), dataZoom: zoom(), tooltip: { ...common().tooltip, valueFormatter: amount },
      series: [{ name: "write amplification", type: "line", showSymbol: false, data: data.scan.map((value, index) => [index + 1, value]), markLine: { silent: true, symbol: "none", data: [{ xAxis: data.choices, label: { formatter: "best", color: style("--ink") } }] } }],
    }),
    columns: ["choices", "write amplification"], rows: data.scan.map((value, index) => [index + 1, amount(value)]),
  });
}

function curve(data) {
  if (!data.curve?.length) return null;
  const own = data.parameters.spare_factor ?? data.over_provisioning?.spare_factor;
  const at = [data.curve[0], data.curve[data.curve.length - 1]];
  return figure({
    title: "Write amplification by spare space", text: `The same model with other spare space: ${at.map((point) => `${amount(point.write_amplification)} at a spare factor of ${amount(point.spare_factor)}`).join(", ")}.`,
    option: () => ({
      xAxis: axis("spare factor", { type: "value", min: 0, max: "dataMax", nameGap: 26 }), yAxis: axis("write amplification", { type: "value", scale: true }), dataZoom: zoom(), tooltip: { ...common().tooltip, valueFormatter: amount },
      series: [{ name: "write amplification", type: "line", symbolSize: 5, data: data.curve.map((point) => [point.spare_factor, point.write_amplification]), markLine: { silent: true, symbol: "none", data: own ? [{ xAxis: own, label: { formatter: "here", color: style("--ink") } }] : [] } }],
    }),
    columns: ["spare factor", "write amplification"], rows: data.curve.map((point) => [amount(point.spare_factor), amount(point.write_amplification)]),
  });
}

function theorySection({ name, data }, id) {
  const answers = Object.entries(ANSWERS).filter(([key]) => typeof data[key] === "number").map(([key, label]) => [label, amount(data[key])]);
  const made = element("section", { id }, element("h2", {}, name), element("p", {}, `${MODELS[data.model] || data.model}, by calculation alone: nothing was simulated${data.parameters.blocks ? " but what is marked so" : ""}.`));
  if (data.theory_model) made.append(element("p", {}, `${data.theory_model}, of the layer ${data.layer}.`));
  made.append(numbers(answers), ...[warningList(data.notes || []), ...[curve, scan, path, spread, moved, separated].map((make) => make(data))].filter(Boolean));
  made.append(element("h3", {}, "Parameters"), table(["parameter", "value"], Object.entries({ ...data.parameters, ...data.over_provisioning }).map(([key, value]) => [key, typeof value === "string" ? value : JSON.stringify(value)])));
  const scenario = settings(data.scenario);
  if (scenario) made.append(scenario);
  return made;
}

KINDS.theory = { section: theorySection };
