// Page: for each kind with several comparable documents a comparison, then a section for each document.

const { documents } = JSON.parse(document.getElementById("data").textContent);

function sections() {
  const made = [];
  for (const [kind, { together }] of Object.entries(KINDS)) {
    const of = documents.filter((one) => one.kind === kind);
    if (together && of.length > 1) made.push([`${kind}-together`, "Side by side", together(of, `${kind}-together`)]);
  }
  documents.forEach((one, index) => made.push([`document-${index + 1}`, one.name, KINDS[one.kind].section(one, `document-${index + 1}`)]));
  return made;
}

const made = sections();
document.getElementById("content").append(...made.map(([, , section]) => section));
document.getElementById("contents").append(element("ul", {}, ...made.map(([id, name]) => element("li", {}, element("a", { href: `#${id}` }, name)))));
follow();
