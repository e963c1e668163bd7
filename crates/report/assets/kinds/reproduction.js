// Items of papers: plots, and claims with printed and measured values.

const JUDGED = { reproduced: "reproduced", partly: "partly reproduced", not_reproduced: "not reproduced", impossible: "impossible here", undecided: "not decided" };

// Ratios of measured to printed values for those claims that are about numbers.
function ratios({ item, claims }) {
  const shown = claims.filter(({ printed, measured }) => printed && typeof measured === "number");
  if (!shown.length) return null;
  const ratio = ({ printed, measured }) => measured / printed;
  return figure({
    title: "Ours over the paper's", text: shown.map((claim) => `${claim.says}: ${amount(claim.measured)} where ${amount(claim.printed)} is printed`).join("; ") + ".",
    height: `${8 + 2.2 * shown.length}rem`,
    option: () => ({
      tooltip: { ...common().tooltip, trigger: "item", formatter: ({ data: [value, at] }) => `${encode(shown[at]?.says)}: × ${amount(value)}` }, grid: { left: 330, right: 30, top: 40, bottom: 48 },
      xAxis: axis("ours / printed", { type: "value", scale: true, nameGap: 26 }), yAxis: axis("", { type: "category", inverse: true, data: shown.map(({ says }) => says), axisLabel: { color: style("--ink"), width: 315, overflow: "truncate" } }),
      series: [{ name: item, type: "scatter", symbolSize: 10, data: shown.map((claim, index) => [ratio(claim), index]), markLine: { silent: true, symbol: "none", data: [{ xAxis: 1, label: { formatter: "as printed", color: style("--ink") } }] } }],
    }),
    columns: ["claim", "printed", "ours", "ours / printed"], rows: shown.map((claim) => [claim.says, amount(claim.printed), amount(claim.measured), amount(ratio(claim))]),
  });
}

// Plot, which is inserted as an image, so that no script in the SVG can run.
function plot({ name, svg }, tables) {
  const image = element("img", { class: "plot", alt: `${name}; its numbers are in the tables below it`, src: `data:image/svg+xml,${encodeURIComponent(svg)}` });
  return element("figure", {}, element("h3", {}, name), image, ...tables.map(dataTable));
}

function dataTable({ name, columns, rows, left_out: more }) {
  return folded(`${name}${more ? ` (the first ${rows.length} of ${rows.length + more} rows)` : ""}`, table(columns, rows));
}

function record(one, data, id) {
  const of = (list) => list.filter(({ item }) => item === one.item);
  const whole = one.verdict === "reproduced";
  const made = element("section", { id }, element("h3", {}, one.title ? `${one.item}: ${one.title}` : one.item), verdict(whole, `${JUDGED[one.verdict] || one.verdict}${one.effort === "quick" ? ", by the quick settings" : ""}`));
  if (one.says) made.append(element("p", {}, one.says));
  if (one.command) made.append(pasted(one.command));
  made.append(table(["claim", "printed", "ours", "holds in", "except", "verdict"], one.claims.map((claim) => [`${claim.ours ? "ours: " : ""}${claim.says}`, amount(claim.printed), amount(claim.measured), `${amount(claim.holds_in)} of ${amount(claim.cases)}`, claim.exceptions || "–", JUDGED[claim.verdict] || claim.verdict])));
  const numbersOf = ratios(one);
  if (numbersOf) made.append(numbersOf);
  const tables = of(data.tables || []);
  made.append(...of(data.plots).map((one) => plot(one, tables)));
  if (!of(data.plots).length) made.append(...tables.map(dataTable));
  return made;
}

function reproductionSection({ name, data }, id) {
  const { records } = data;
  const of = (verdict) => records.filter((one) => one.verdict === verdict).length;
  const counts = Object.entries(JUDGED).filter(([verdict]) => of(verdict)).map(([verdict, words]) => `${of(verdict)} ${words}`);
  const left = data.left_out || [];
  const notes = [...(data.failed || []), ...(left.length ? [`No room on this page for ${left.length} files, which are in the folder: ${left.slice(0, 8).join(", ")}${left.length > 8 ? " and more" : ""}.`] : [])];
  const made = element("section", { id }, element("h2", {}, name), verdict(records.every((one) => one.verdict === "reproduced"), `${records.length} ${records.length === 1 ? "item" : "items"}: ${counts.join(", ")}.`), ...[warningList(notes)].filter(Boolean));
  if (records.length > 1) {
    made.append(element("p", {}, "Items: ", ...records.flatMap((one, index) => [element("a", { href: `#${id}-${index + 1}` }, one.item), " "])));
  }
  made.append(...records.map((one, index) => record(one, data, `${id}-${index + 1}`)));
  return made;
}

KINDS.reproduction = { section: reproductionSection };
