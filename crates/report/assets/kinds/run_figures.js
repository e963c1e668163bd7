// Figures of one run. Each function returns a figure, or nothing if the result has no data for it.

const PHASES = { fill: "fill", overwrite: "overwrites", warm_up: "warm-up", measure: "measured" };

function driveWrites(result) {
  return result.windows.map((window) => window.host_pages / result.device.logical_pages);
}

// Runs of consecutive windows of one phase, which are shaded.
function phases(result) {
  const at = driveWrites(result);
  const stretches = [];
  result.windows.forEach((window, index) => {
    const last = stretches[stretches.length - 1];
    if (last && last.phase === window.phase) last.to = at[index];
    else stretches.push({ phase: window.phase, from: last ? last.to : 0, to: at[index] });
  });
  return stretches;
}

function shading(result) {
  const shade = ({ phase, from, to }, index) => [
    { name: PHASES[phase] || phase, xAxis: from, itemStyle: { color: style("--faint"), opacity: index % 2 ? 0.04 : 0.1 }, label: { color: style("--faint"), position: "insideTop" } },
    { xAxis: to },
  ];
  return { silent: true, data: phases(result).map(shade) };
}

const zoom = () => [{ type: "inside", filterMode: "none" }, { type: "slider", height: 16, bottom: 8, filterMode: "none", textStyle: { color: style("--faint") } }];

function course(result) {
  if (!result.windows.length) return null;
  const at = driveWrites(result);
  const values = result.windows.map((window) => window.write_amplification);
  const theory = result.theory?.write_amplification;
  const mean = result.write_amplification;
  const lines = () => [
    ...(mean == null ? [] : [{ name: "mean", yAxis: mean, lineStyle: { color: colours()[1], type: "solid" }, label: { formatter: "mean", color: style("--ink"), position: "insideEndTop" } }]),
    ...(theory == null ? [] : [{ name: "theory", yAxis: theory, lineStyle: { color: colours()[2], type: "dashed" }, label: { formatter: "theory", color: style("--ink"), position: "insideStartTop" } }]),
  ];
  return figure({
    title: "Write amplification over time",
    text: `Pages programmed for each page of the host, in windows. ${mean == null ? "No mean: it would mean nothing." : `Mean of the measured part: ${amount(mean)}.`}${theory == null ? "" : ` Theory: ${amount(theory)}.`}`,
    option: () => ({
      xAxis: axis("drive writes", { type: "value", max: "dataMax", nameGap: 26, axisLabel: { color: style("--faint"), formatter: amount } }), yAxis: axis("write amplification", { type: "value", scale: true }), dataZoom: zoom(),
      series: [{ name: "write amplification", type: "line", showSymbol: false, data: at.map((x, index) => [x, values[index]]), markArea: shading(result), markLine: { silent: true, symbol: "none", data: lines() } }],
    }),
    columns: ["drive writes", "phase", "write amplification", "host pages", "programs", "erases"],
    rows: result.windows.map((window, index) => [amount(at[index]), PHASES[window.phase] || window.phase, amount(window.write_amplification), amount(window.window_host_pages), amount(window.programs), amount(window.erases)]),
  });
}

function causes(result) {
  return [...new Set((result.causes || []).map((series) => series.layer))].map((layer) => causesOf(result, layer)).filter(Boolean);
}

function causesOf(result, layer) {
  const of = result.causes.filter((series) => series.layer === layer);
  const at = driveWrites(result);
  const host = result.windows.map((window) => window.window_host_pages);
  const per = (series) => series.pages.map((pages, index) => pages / host[index]);
  const total = (series) => series.pages.reduce((sum, pages) => sum + pages, 0);
  const share = (series) => `${CAUSES[series.cause]} ${amount((100 * total(series)) / of.reduce((sum, one) => sum + total(one), 0))} %`;
  return figure({
    title: `What ${layer} writes, and why`,
    text: `Pages that ${layer} writes below for each page of the host. Of all of them: ${of.map(share).join(", ")}.`,
    option: () => ({
      xAxis: axis("drive writes", { type: "value", max: "dataMax", nameGap: 26, axisLabel: { color: style("--faint"), formatter: amount } }), yAxis: axis("pages a page of the host", { type: "value" }), dataZoom: zoom(),
      series: of.map((series) => ({
        name: CAUSES[series.cause], type: "line", stack: "all", areaStyle: { opacity: 0.6 }, showSymbol: false, color: colourOf(series.cause), data: per(series).map((value, index) => [at[index], value]),
      })),
    }),
    columns: ["drive writes", ...of.map((series) => CAUSES[series.cause])],
    rows: at.map((x, index) => [amount(x), ...of.map((series) => amount(series.pages[index] / host[index]))]),
  });
}

// Flows of writes through the stack, drawn to scale: the writes of a lower layer consist of the writes from above and
// those that the layer adds.
function flows(result) {
  const links = [];
  const written = (counts) => counts?.write || 0;
  const sent = (layer) => Object.values(layer.outgoing).reduce((sum, counts) => sum + written(counts), 0);
  const below = new Set(result.layers.map((layer) => layer.on));
  for (const layer of result.layers) {
    const isTop = !result.layers.some((other) => other.on === layer.name);
    if (isTop || result.tenants?.length) {
      const from = result.layers.filter((other) => other.on === layer.name).reduce((sum, other) => sum + sent(other), 0);
      const value = written(layer.incoming) - (isTop ? 0 : from);
      if (value > 0) links.push({ source: "the host", target: layer.name, value });
    }
    for (const [cause, counts] of Object.entries(layer.outgoing)) {
      if (cause !== "host" && written(counts) > 0) links.push({ source: `${layer.name}: ${CAUSES[cause]}`, target: layer.name, value: written(counts), cause });
    }
    if (sent(layer) > 0) links.push({ source: layer.name, target: layer.on || "the flash", value: sent(layer) });
  }
  if (!links.length) return null;
  const cause = Object.fromEntries(links.filter((link) => link.cause).map((link) => [link.source, link.cause]));
  const names = [...new Set(links.flatMap((link) => [link.source, link.target]))];
  const colour = (name) => (cause[name] ? colourOf(cause[name]) : name === "the flash" ? style("--faint") : colourOf("host"));
  const per = (value) => amount(value / result.phases.measured_host_pages);
  return figure({
    title: "Where writes come from",
    text: `Pages written while it was measured, to scale, from the host through ${below.size > 1 ? "the layers" : "the FTL"} to the flash; what a layer writes for itself joins on its way.`,
    height: `${Math.max(16, 5 * names.length)}rem`,
    option: () => ({
      tooltip: { ...common().tooltip, trigger: "item", formatter: (item) => (item.dataType === "edge" ? `${encode(item.data.source)} → ${encode(item.data.target)}: ${per(item.data.value)} pages a page of the host` : encode(item.name)) },
      series: [{
        type: "sankey", left: 10, right: 130, top: 20, bottom: 20, nodeGap: 18, draggable: false, emphasis: { focus: "adjacency" }, lineStyle: { color: "source", opacity: 0.35 },
        label: { color: style("--ink") }, data: names.map((name) => ({ name, itemStyle: { color: colour(name) } })), links,
      }],
    }),
    columns: ["from", "to", "pages", "pages a page of the host"],
    rows: links.map((link) => [link.source, link.target, amount(link.value), per(link.value)]),
  });
}

function victims(result) {
  return result.layers.filter((layer) => layer.victims > 0 && layer.victim_valid_pages?.length).map((layer) => {
    const shares = layer.victim_valid_pages.map((count) => (100 * count) / layer.victims);
    return figure({
      title: `Victims of ${layer.name}`,
      text: `How many pages were still valid in the ${amount(layer.victims)} ${layer.on ? "segments" : "blocks"} that ${layer.name} cleaned: ${amount(layer.victim_valid_pages_mean)} on average.`,
      option: () => ({
        xAxis: axis("valid pages", { type: "category", data: shares.map((_, index) => index), nameGap: 26 }), yAxis: axis("% of victims", { type: "value" }), dataZoom: zoom(),
        series: [{ name: "% of victims", type: "bar", barCategoryGap: "5%", data: shares }],
      }),
      columns: ["valid pages", "victims", "%"],
      rows: shares.map((share, index) => [index, amount(layer.victim_valid_pages[index]), amount(share)]),
    });
  });
}

function erases(result) {
  const { histogram, erases_mean: mean, erases_deviation: deviation } = result.wear;
  if (!histogram) return null;
  const from = histogram.blocks.map((_, index) => histogram.first + index * histogram.width);
  const name = (first) => (histogram.width === 1 ? String(first) : `${first}–${first + histogram.width - 1}`);
  return figure({
    title: "Erases of the blocks",
    text: `Since the drive was new: ${amount(mean)} on average, standard deviation ${amount(deviation)}, from ${amount(result.wear.erases_min)} to ${amount(result.wear.erases_max)}.`,
    option: () => ({
      xAxis: axis("erases", { type: "category", data: from.map(name), nameGap: 26 }), yAxis: axis("blocks", { type: "value" }),
      grid: { ...common().grid, bottom: 48 }, series: [{ name: "blocks", type: "bar", barCategoryGap: "5%", data: histogram.blocks }],
    }),
    columns: ["erases", "blocks"], rows: from.map((first, index) => [name(first), amount(histogram.blocks[index])]),
  });
}

// Erases by region of the drive over time.
function heat(result) {
  const { erase_heat_map: heat } = result;
  if (!heat || heat.erases.length < 2 || heat.erases[0].length < 2) return null;
  const { blocks } = result.device;
  const from = heat.erases[0].map((_, region) => region * heat.blocks_in_region);
  const size = from.map((first) => Math.min(heat.blocks_in_region, blocks - first));
  const at = heat.host_pages.map((pages) => amount(pages / result.device.logical_pages));
  const cells = heat.erases.flatMap((row, x) => row.map((erases, y) => [x, y, erases / size[y]]));
  const values = cells.map(([, , value]) => value);
  const whole = from.map((_, y) => heat.erases.reduce((sum, row) => sum + row[y], 0) / size[y]);
  const [least, most] = [Math.min(...whole), Math.max(...whole)];
  return figure({
    title: "Where it is erased, over time",
    text: `Erases of a block in each ${heat.windows_per_interval === 1 ? "window" : `stretch of ${heat.windows_per_interval} windows`}, in regions of ${heat.blocks_in_region} neighbouring ${heat.blocks_in_region === 1 ? "block" : "blocks"}. Over the whole run, from ${amount(least)} (from block ${from[whole.indexOf(least)]}) to ${amount(most)} (from block ${from[whole.indexOf(most)]}) a block.`,
    option: () => ({
      tooltip: { ...common().tooltip, trigger: "item", formatter: ({ value: [x, y, value] }) => `until ${at[x]} drive writes, from block ${from[y]}: ${amount(value)} erases a block` },
      grid: { left: 80, right: 90, top: 10, bottom: 48 }, legend: { show: false }, xAxis: axis("drive writes", { type: "category", data: at, nameGap: 26 }), yAxis: axis("from block", { type: "category", data: from, nameGap: 60 }),
      visualMap: scale(0, Math.max(...values)), series: [{ type: "heatmap", progressive: 0, data: cells }],
    }),
    columns: ["until drive writes", ...from.map((first) => `from block ${first}`)], rows: heat.erases.map((row, x) => [at[x], ...row.map(amount)]),
  });
}

function wearMap(result) {
  const map = result.wear.map;
  if (!map || map.erases.length < 2) return null;
  const wide = Math.ceil(Math.sqrt(map.erases.length * 2.5));
  const [least, most] = [Math.min(...map.erases), Math.max(...map.erases)];
  const each = map.blocks_in_group === 1 ? "a block" : `${map.blocks_in_group} neighbouring blocks`;
  return figure({
    title: "Wear over the drive",
    text: `Each square is ${each}, row by row in the order of their numbers; its colour is how often ${map.blocks_in_group === 1 ? "it was" : "they were"} erased, ${amount(least)} to ${amount(most)}.`,
    option: () => ({
      tooltip: { ...common().tooltip, trigger: "item", formatter: ({ data }) => `from block ${(data[1] * wide + data[0]) * map.blocks_in_group}: ${amount(data[2])} erases` },
      grid: { left: 10, right: 90, top: 10, bottom: 10 }, legend: { show: false },
      xAxis: { type: "category", show: false, data: [...Array(wide).keys()] },
      yAxis: { type: "category", show: false, inverse: true, data: [...Array(Math.ceil(map.erases.length / wide)).keys()] },
      visualMap: scale(least, Math.max(most, least + 1)),
      series: [{ type: "heatmap", progressive: 0, itemStyle: { borderWidth: 1, borderColor: style("--paper") }, data: map.erases.map((value, index) => [index % wide, Math.floor(index / wide), value]) }],
    }),
    columns: ["from block", "erases"], rows: map.erases.map((value, index) => [index * map.blocks_in_group, amount(value)]),
  });
}
