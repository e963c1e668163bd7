// Figures of a run, and comparison of several runs.

function steadiness(result) {
  const { steady } = result.phases;
  const words = steady ? "The warm-up ended in a steady state." : "No steady state was reached before it was measured.";
  const told = result.warnings.length === 1 ? " There is a warning:" : ` There are ${result.warnings.length} warnings:`;
  return verdict(steady && !result.warnings.length, result.warnings.length ? words + told : words);
}

function keyNumbers(result) {
  const estimate = result.write_amplification_estimate;
  const shown = [
    ["write amplification", amount(result.write_amplification), estimate ? `± ${amount(estimate.ci95_half_width)} (95 %)` : ""],
    ["by theory", result.theory ? amount(result.theory.write_amplification) : null, result.theory?.model || ""],
    ["host writes measured", amount(result.phases.measured_host_pages), `pages; ${amount(result.phases.measured_drive_writes)} drive writes`],
    ["flash programs", amount(result.nand.programs), `pages; ${amount(result.nand.erases)} erases`],
    ["spare factor", amount(result.device.over_provisioning.spare_factor), `over-provisioning ${amount(100 * result.device.over_provisioning.over_provisioning)} %`],
    ["lifetime", result.lifetime ? `${amount(result.lifetime.tbw)} TB` : null, result.lifetime ? `written; ${amount(result.lifetime.dwpd)} drive writes a day` : ""],
    ["erases of a block", amount(result.wear.erases_mean), `${amount(result.wear.erases_min)} to ${amount(result.wear.erases_max)}`],
    ...kinds(result).map(([kind, request]) => [`${kind}, mean`, duration(request.mean_ns), request.percentiles.filter((one) => one.percent === 99).map((one) => `p99 ${duration(one.response_ns)}`).join("")]),
  ];
  return numbers(shown);
}

function runSection({ name, data: result }, id) {
  const made = element("section", { id, "aria-labelledby": `${id}-name` }, element("h2", { id: `${id}-name` }, name), steadiness(result), warningList(result.warnings), keyNumbers(result), result.power ? cutNumbers(result.power) : null);
  const figures = [
    flows(result), course(result), ...causes(result), percentiles(result), madeOf(result), timeline(result), ...victims(result), erases(result), wearMap(result), heat(result), ...powerOf(result),
  ];
  made.append(...figures.filter(Boolean), settings(result.scenario));
  return made;
}

function comparison(documents, id) {
  const runs = documents.map(({ name, data }) => ({ name, result: data }));
  const made = element("section", { id }, element("h2", {}, "Side by side"));
  const rows = runs.map(({ name, result }) => [
    name, amount(result.write_amplification), amount(result.write_amplification_estimate?.ci95_half_width), amount(result.theory?.write_amplification), amount(result.lifetime?.tbw),
    amount(result.wear.erases_deviation), ...["read", "write"].map((kind) => { const request = result.timing?.requests?.[kind]; return request?.requests ? duration(request.mean_ns) : "–"; }), result.phases.steady ? "yes" : "no",
  ]);
  made.append(table(["run", "amplification", "± (95 %)", "theory", "TB of life", "deviation of erases", "read, mean", "write, mean", "steady"], rows));
  made.append(amplifications(runs), together(runs));
  return made;
}

// Pages written to the flash per host page, by layer and cause.
function amplifications(runs) {
  const known = Object.keys(CAUSES);
  const layers = [...new Set(runs.flatMap(({ result }) => result.layers.map((layer) => layer.name)))];
  const value = (result, layer, cause) => {
    const found = result.layers.find((one) => one.name === layer);
    return (found?.outgoing?.[cause]?.write || 0) / (result.phases.measured_host_pages || 1);
  };
  const series = layers.flatMap((layer) => known.filter((cause) => cause !== "host" && runs.some(({ result }) => value(result, layer, cause) > 0)).map((cause) => ({ name: `${layer}: ${CAUSES[cause]}`, of: ({ result }) => value(result, layer, cause) })));
  return figure({
    title: "What each layer adds", text: "Pages that a layer writes for itself, for each page of the host, by cause.", height: `${8 + 2.2 * runs.length}rem`,
    option: () => ({
      tooltip: { ...common().tooltip, axisPointer: { type: "shadow" }, valueFormatter: amount }, grid: { left: 160, right: 24, top: 48, bottom: 48 },
      xAxis: axis("pages a page of the host", { type: "value", nameGap: 26 }), yAxis: axis("", { type: "category", inverse: true, data: runs.map(({ name }) => name), axisLabel: { color: style("--ink"), width: 145, overflow: "truncate" } }),
      series: series.map(({ name, of }) => ({ name, type: "bar", stack: "all", data: runs.map(of) })),
    }),
    columns: ["run", ...series.map(({ name }) => name)], rows: runs.map((run) => [run.name, ...series.map(({ of }) => amount(of(run)))]),
  });
}

function together(runs) {
  const points = ({ result }) => { const at = driveWrites(result); return result.windows.map((window, index) => [at[index], window.write_amplification]); };
  return figure({
    title: "Write amplification over time", text: "Pages programmed for each page of the host, in windows, of all runs.",
    option: () => ({
      xAxis: axis("drive writes", { type: "value", max: "dataMax", nameGap: 26, axisLabel: { color: style("--faint"), formatter: amount } }), yAxis: axis("write amplification", { type: "value", scale: true }), dataZoom: zoom(),
      series: runs.map((run) => ({ name: run.name, type: "line", showSymbol: false, data: points(run) })),
    }),
    columns: ["run", "windows", "first", "last"], rows: runs.map((run) => { const all = points(run); return [run.name, all.length, amount(all[0]?.[1]), amount(all[all.length - 1]?.[1])]; }),
  });
}

KINDS.run = { section: runSection, together: comparison };
