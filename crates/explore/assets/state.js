// Current values of the controls. A link stores the differences from the scenario, and the key of the curve's axis.

const { controls } = JSON.parse(document.getElementById("data").textContent);
const byKey = new Map(controls.map((control) => [control.key, control]));
const standing = new Map(controls.map((control) => [control.key, control.initial ?? control.start]));
const touched = new Set();
let along = "device.spare_factor";

const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);
const controller = (control) => (control.condition ? byKey.get(control.condition.key) : null);
// True if a control has an effect with the current values of the other controls.
const applies = (control) => !control.condition || (applies(controller(control)) && control.condition.is_one_of.includes(standing.get(control.condition.key)));

// True if a control must be sent to the server, because its value, or the value of its parent, differs from the
// scenario.
function differs(control) {
  if (!applies(control)) return false;
  const parent = controller(control);
  if (parent && differs(parent)) return true;
  return control.initial === null ? touched.has(control.key) : !same(standing.get(control.key), control.initial);
}

const chosen = () => controls.filter(differs).map((control) => [control.key, standing.get(control.key)]);
const axisControl = () => { const control = byKey.get(along); return control && control.is_number && applies(control) ? control : byKey.get("device.spare_factor"); };
const chosenBeside = (key) => chosen().filter(([known]) => known !== key);

function set(key, value) {
  standing.set(key, value);
  touched.add(key);
}

function link() {
  const parts = new URLSearchParams(chosen().map(([key, value]) => [key, JSON.stringify(value)]));
  parts.set("along", along);
  return `#${parts}`;
}

// Applies the settings of a link, as far as its controls and values exist; links are untrusted input.
function follow_link(hash) {
  for (const control of controls) standing.set(control.key, control.initial ?? control.start);
  touched.clear();
  for (const [key, text] of new URLSearchParams(hash.replace(/^#/, ""))) {
    if (key === "along" && byKey.get(text)?.is_number) along = text;
    const known = byKey.get(key)?.values.find((value) => JSON.stringify(value) === text);
    if (known !== undefined) set(key, known);
  }
}
