// Figures of a timed run: percentiles, parts of response times, and their course over time.

const PARTS = {
  queue: "queue of the host", link: "link", controller: "controller", hash: "hashing", hash_wait: "wait for the hash engine", buffer: "write buffer", cleaning: "cleaning before it",
  die_wait: "wait for the die", suspend: "suspension", channel_wait: "wait for the channel", flash: "flash", transfer: "transfer", flush: "flush", outage: "outage",
};

function kinds(result) {
  return Object.entries(result.timing?.requests || {}).filter(([, request]) => request.requests > 0);
}

function percentiles(result) {
  const of = kinds(result);
  if (!of.length) return null;
  const steps = of[0][1].percentiles.map(({ percent }) => percent);
  return figure({
    title: "Response times",
    text: of.map(([kind, request]) => `${kind}: mean ${duration(request.mean_ns)}, ${request.percentiles.map((one) => `p${one.percent} ${duration(one.response_ns)}`).join(", ")}.`).join(" "),
    option: () => ({
      tooltip: { ...common().tooltip, valueFormatter: (value) => duration(value) },
      xAxis: axis("percentile", { type: "category", data: steps.map((step) => `p${step}`), nameGap: 26 }),
      yAxis: axis("response time", { type: "log", nameGap: 56, axisLabel: { color: style("--faint"), formatter: (value) => duration(value) } }), grid: { ...common().grid, bottom: 48 },
      series: of.map(([kind, request]) => ({ name: kind, type: "line", symbolSize: 8, data: request.percentiles.map((one) => one.response_ns) })),
    }),
    columns: ["requests", "mean", ...steps.flatMap((step) => [`p${step}`, "of it cleaning"]), "longest"],
    rows: of.map(([kind, request]) => [`${kind}: ${amount(request.requests)}`, duration(request.mean_ns), ...request.percentiles.flatMap((one) => [duration(one.response_ns), `${amount(100 * one.cleaning_share)} %`]), duration(request.max_ns)]),
  });
}

// Parts of the mean response time, with cleaning as a separate cause; parts of 0 are omitted.
function partsOf(request) {
  return Object.entries(PARTS).flatMap(([part, name]) => {
    const all = request.parts_ns?.[`${part}_ns`] || 0;
    const blamed = part === "cleaning" ? all : request.parts_ns?.[`${part}_of_which_cleaning_ns`] || 0;
    return [{ name, ns: all - blamed }, { name: part === "cleaning" ? name : `${name}, for cleaning`, ns: blamed }];
  });
}

function madeOf(result) {
  const bars = kinds(result).map(([kind, request]) => ({ kind, mean: request.mean_ns, parts: partsOf(request) }));
  const known = [...new Set(bars.flatMap(({ parts }) => parts.filter(({ ns }) => ns > 0).map(({ name }) => name)))];
  if (!known.length) return null;
  const of = (bar, name) => bar.parts.filter((part) => part.name === name).reduce((sum, { ns }) => sum + ns, 0);
  return figure({
    title: "What response times are made of",
    text: bars.map((bar) => `${bar.kind}, ${duration(bar.mean)} on average: ${known.filter((name) => of(bar, name) > 0).map((name) => `${name} ${amount((100 * of(bar, name)) / bar.mean)} %`).join(", ")}.`).join(" "),
    height: `${9 + 3 * bars.length}rem`,
    option: () => ({
      tooltip: { ...common().tooltip, axisPointer: { type: "shadow" }, valueFormatter: duration }, grid: { left: 70, right: 24, top: 48, bottom: 48 },
      xAxis: axis("mean response time", { type: "value", max: "dataMax", nameGap: 26, axisLabel: { color: style("--faint"), formatter: duration } }),
      yAxis: axis("", { type: "category", inverse: true, data: bars.map(({ kind }) => kind) }),
      series: known.map((name) => ({ name, type: "bar", stack: "all", barMaxWidth: 40, data: bars.map((bar) => of(bar, name)) })),
    }),
    columns: ["requests", ...known], rows: bars.map((bar) => [bar.kind, ...known.map((name) => duration(of(bar, name)))]),
  });
}

function timeline(result) {
  const line = result.timing?.timeline;
  const last = (line?.bins || []).findLastIndex((bin) => bin.requests > 0);
  if (last < 0) return null;
  const bins = line.bins.slice(0, last + 1);
  const dies = Math.max(1, result.timing.dies?.length || 1);
  const at = (index) => (index * line.bin_ns) / 1e9;
  const mean = (bin) => (bin.requests ? bin.response_sum_ns / bin.requests : null);
  const cleaning = (bin) => (100 * bin.cleaning_busy_ns) / (dies * line.bin_ns);
  return figure({
    title: "Response times over the measurement",
    text: "The mean and the longest in each stretch of time, and the share of the dies' time that cleaning took.",
    option: () => ({
      tooltip: { ...common().tooltip }, dataZoom: zoom(), grid: { ...common().grid, right: 70 }, xAxis: axis("seconds", { type: "value", max: "dataMax", nameGap: 26, axisLabel: { color: style("--faint"), formatter: amount } }),
      yAxis: [axis("response time", { type: "log", nameGap: 56, axisLabel: { color: style("--faint"), formatter: (value) => duration(value) } }), axis("% of the dies' time", { type: "value", min: 0, splitLine: { show: false } })],
      series: [
        { name: "mean", type: "line", showSymbol: false, data: bins.map((bin, index) => [at(index), mean(bin)]), tooltip: { valueFormatter: duration } },
        { name: "longest", type: "line", showSymbol: false, data: bins.map((bin, index) => [at(index), bin.response_max_ns || null]), tooltip: { valueFormatter: duration } },
        { name: "cleaning", type: "line", step: "end", showSymbol: false, yAxisIndex: 1, areaStyle: { opacity: 0.2 }, lineStyle: { width: 1 }, data: bins.map((bin, index) => [at(index), cleaning(bin)]), tooltip: { valueFormatter: (value) => `${amount(value)} %` } },
      ],
    }),
    columns: ["seconds", "requests", "mean", "longest", "cleaning %", "victims"],
    rows: bins.map((bin, index) => [amount(at(index)), amount(bin.requests), bin.requests ? duration(mean(bin)) : "–", duration(bin.response_max_ns), amount(cleaning(bin)), amount(bin.victims)]),
  });
}
