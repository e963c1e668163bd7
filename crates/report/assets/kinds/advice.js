// Advice: the savings of each change with intervals, the commands that repeat the comparison, and the costs of the
// change.

const VERDICTS = { saves: "saves", costs: "costs", unsteady: "not steady", insignificant: "no difference that can be told", meaningless: "means nothing", failed: "failed" };
const PRICE_UNITS = { bytes: (value) => bytes(value), runs: (value) => `${amount(value)} runs`, pages: (value) => `${amount(value)} pages` };

const percent = (share) => (typeof share === "number" ? `${amount(100 * share)} %` : "–");

function priceText({ layer, resource, unit, before, after }) {
  const say = PRICE_UNITS[unit] || amount;
  return `${layer ? `${layer}: ` : ""}${resource} ${say(before)} → ${say(after)}`;
}

function savings(title, tried) {
  const shown = tried.filter(({ saving }) => saving);
  if (!shown.length) return null;
  const groups = Object.keys(VERDICTS).filter((verdict) => shown.some((one) => one.verdict === verdict));
  const colourOfVerdict = (verdict) => ({ saves: style("--good"), costs: style("--bad") })[verdict] || style("--faint");
  const point = (one) => ({ x: 100 * one.saving.mean, y: shown.indexOf(one), half: 100 * (one.saving.family_half_width || 0) });
  return figure({
    title, text: `Write amplification saved, with 95 % intervals that hold for all of them at once: ${shown.slice(0, 6).map((one) => `${one.description} ${percent(one.saving.mean)} ± ${percent(one.saving.family_half_width)}`).join("; ")}${shown.length > 6 ? "; and so on" : ""}.`,
    height: `${9 + 2 * shown.length}rem`,
    option: () => ({
      tooltip: { ...common().tooltip, trigger: "item", formatter: ({ data: [value, at] }) => `${encode(shown[at]?.description)}: ${amount(value)} %` }, grid: { left: 330, right: 30, top: 48, bottom: 48 },
      xAxis: axis("% of the write amplification saved", { type: "value", nameGap: 26 }),
      yAxis: axis("", { type: "category", inverse: true, data: shown.map(({ description }) => description), axisLabel: { color: style("--ink"), width: 315, overflow: "truncate" } }),
      series: groups.flatMap((verdict) => {
        const points = shown.filter((one) => one.verdict === verdict).map(point);
        return [
          { name: VERDICTS[verdict], type: "scatter", symbolSize: 10, color: colourOfVerdict(verdict), data: points.map(({ x, y }) => [x, y]), markLine: verdict === groups[0] ? { silent: true, symbol: "none", data: [{ xAxis: 0, lineStyle: { color: style("--ink") }, label: { show: false } }] } : undefined },
          whiskers(points, colourOfVerdict(verdict), "x"),
        ];
      }),
    }),
    columns: ["change", "saving", "±", "verdict"], rows: shown.map((one) => [one.description, percent(one.saving.mean), percent(one.saving.family_half_width), VERDICTS[one.verdict] || one.verdict]),
  });
}

function layersOf(base, best) {
  const sides = [["as it is", base], ...(best ? [["best", best]] : [])];
  const names = base.layers.map(({ name }) => name);
  if (!names.length) return null;
  const of = (figures, name) => figures.layers.find((layer) => layer.name === name)?.write_amplification ?? null;
  return figure({
    title: "Where it amplifies", text: `Write amplification of each layer: ${sides.map(([side, figures]) => `${side}, ${names.map((name) => `${name} ${amount(of(figures, name))}`).join(", ")}`).join("; ")}.`,
    height: `${10 + 3 * names.length}rem`,
    option: () => ({
      tooltip: { ...common().tooltip, axisPointer: { type: "shadow" }, valueFormatter: amount }, grid: { left: 160, right: 30, top: 48, bottom: 48 }, xAxis: axis("write amplification", { type: "value", nameGap: 26 }),
      yAxis: axis("", { type: "category", inverse: true, data: names }), series: sides.map(([name, figures]) => ({ name, type: "bar", data: names.map((layer) => of(figures, layer)) })),
    }),
    columns: ["layer", ...sides.map(([name]) => name)], rows: names.map((name) => [name, ...sides.map(([, figures]) => amount(of(figures, name)))]),
  });
}

// Changed options of software, shown as removed and added lines.
function optionLines(options) {
  return options.map(({ software, layer, location, before, after }) => `@@ ${software}${software === layer ? "" : ` (${layer})`}: ${location}\n${before ? `-${before}\n` : ""}+${after}`).join("\n");
}

function commands(tried) {
  return tried.flatMap((one) => [
    element("h4", {}, one.description), ...(one.command ? [pasted(one.command)] : []), ...(one.options.length ? [element("p", {}, "In the software's own words:"), pasted(optionLines(one.options))] : []),
  ]);
}

function triedTable(tried) {
  return table(["change", "write amplification", "saving", "±", "verdict", "at the price of", "lifetime"], tried.map((one) => [
    one.description, amount(one.write_amplification), percent(one.saving?.mean), percent(one.saving?.family_half_width), one.problem && one.verdict !== "saves" ? `${VERDICTS[one.verdict] || one.verdict}: ${one.problem}` : VERDICTS[one.verdict] || one.verdict,
    one.prices.map(priceText).join(", ") || "–", one.tbw_ratio ? `× ${amount(one.tbw_ratio)}` : "–",
  ]));
}

function adviceSection({ name, data }, id) {
  const { base, changes, combinations } = data;
  const saves = (one) => one.verdict === "saves";
  const best = [...combinations].reverse().find((one) => one.rank === 1) || changes.find(saves);
  const words = base.problem ? `As it is, ${base.problem}; no saving is to be trusted.` : best ? `Best, saving ${percent(best.saving?.mean)} ± ${percent(best.saving?.family_half_width)}: ${best.description}.` : "Nothing that was tried can be told to save wear.";
  const made = element("section", { id }, element("h2", {}, name), verdict(!base.problem && best, words));
  const problems = changes.concat(combinations).filter((one) => one.verdict === "failed" || one.verdict === "unsteady").map((one) => `${one.description}: ${one.problem || VERDICTS[one.verdict]}`);
  made.append(...[warningList(problems)].filter(Boolean), numbers([
    ["as it is", amount(base.write_amplification), base.steady ? "write amplification, steady" : "write amplification, not steady"], ["best", best ? amount(best.write_amplification) : null, best?.prices.map(priceText).join(", ")], ["lifetime as it is", base.tbw ? `${amount(base.tbw)} TB` : null],
    ["changes tried", amount(changes.length), `${amount(combinations.length)} combinations, ${amount(data.replicas)} seeds each`],
  ]));
  made.append(...[savings("What each change saves", changes), savings("What changes save together", combinations), layersOf(base, best)].filter(Boolean));
  if (changes.length) made.append(element("h3", {}, "Changes"), triedTable(changes));
  if (combinations.length) made.append(element("h3", {}, "Together"), triedTable(combinations));
  const worth = [...new Set([best, ...changes.filter(saves)])].filter(Boolean);
  if (worth.length) made.append(element("h3", {}, "To repeat what saves"), ...commands(worth));
  const other = changes.concat(combinations).filter((one) => !worth.includes(one));
  if (other.length) made.append(folded("Commands of all other changes", ...commands(other)));
  if (data.skipped.length) made.append(folded(`${data.skipped.length} changes do not fit this stack`, table(["change", "why"], data.skipped.map((one) => [one.description, one.reason]))));
  const scenario = settings(data.scenario, "The scenario as it is, with every default filled in");
  if (scenario) made.append(scenario);
  return made;
}

KINDS.advice = { section: adviceSection };
