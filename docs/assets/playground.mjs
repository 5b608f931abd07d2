// The playground page: hands the text to the compiler's thread (playground-worker.mjs) and shows what comes back.

const root = document.getElementById("playground-app");
const at = id => document.getElementById(id);
const text = at("playground-text");
const status = root.querySelector(".playground-status");
const tabs = [...root.querySelectorAll("[role=tab]")];
const PAUSE = 300; // milliseconds after the last keystroke

const EXAMPLES = {
  "Sea surface": `netcdf sea_surface {
types:
  byte enum quality { good = 0, doubtful = 1, bad = 2 } ;
dimensions:
  time = UNLIMITED ;
  lat = 180 ;
  lon = 360 ;
variables:
  double time(time) ;
    time:units = "days since 2000-01-01" ;
  float sst(time, lat, lon) ;  // measured by satellite
    sst:units = "K" ;
    sst:_FillValue = -999.f ;
    sst:_ChunkSizes = 1, 90, 90 ;
    sst:_DeflateLevel = 4 ;
  quality flag(time, lat, lon) ;

// global attributes:
  :title = "Sea surface temperature" ;
}
`,
  "Groups": `netcdf stations {
dimensions:
  station = 12 ;
variables:
  string name(station) ;
group: hourly {
  dimensions:
    hour = 24 ;
  variables:
    float wind(station, hour) ;
      wind:units = "m s-1" ;
}
group: daily {
  variables:
    float rain(station) ;
      rain:units = "mm" ;
}
}
`,
  "Compound": `netcdf casts {
types:
  compound position {
    double lat ;
    double lon ;
  } ;
  float(*) profile ;
dimensions:
  cast = 8 ;
variables:
  position where(cast) ;
  profile temperature(cast) ;
}
`,
  "With mistakes": `netcdf mistakes {
dimensions:
  time = UNLIMITED ;
variables:
  float sst(time, lattitude) ;
    sst:units = "K"
  flaot depth(time) ;
}
`,
};

const chosen = { tab: "tab-diagnostics", number: 0, busy: false, again: false };
const worker = new Worker(new URL(root.dataset.worker, location.href), { type: "module" });

function element(name, content, attributes = {}) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...[content].flat());
  return made;
}

function say(message) {
  status.textContent = message;
  status.hidden = !message;
}

function ask() {
  if (chosen.busy) {
    chosen.again = true; // the compiler answers one text at a time, the newest next
    return;
  }
  chosen.busy = true;
  chosen.again = false;
  root.setAttribute("aria-busy", "true");
  const emission = chosen.tab === "tab-keys" ? "keys" : "analysed";
  const question = { target: at("playground-target").value, language: at("playground-language").value };
  worker.postMessage({ number: ++chosen.number, text: text.value, emission, ...question });
}

worker.onmessage = ({ data }) => {
  if (data.failed) {
    say(`The playground cannot run here: ${data.failed}`);
    root.setAttribute("aria-busy", "false");
  }
  if (data.stage !== undefined) say(data.stage && `${data.stage} …`);
  if (data.number === undefined) return;
  chosen.busy = false;
  if (chosen.again) ask();
  else root.setAttribute("aria-busy", "false");
  if (data.fault) say(`The compiler stopped: ${data.fault}`);
  else show(data.result);
};

worker.onerror = event => say(`The playground cannot run here: ${event.message || "its script did not load"}`);

const aside = "Values of data sections are set aside.";

function show(result) {
  say(result.values_aside ? aside : "");
  const count = result.status ? "This is not a valid schema." : "This is a valid schema.";
  const diagnostics = [element("p", count, { class: result.status ? "playground-bad" : "playground-good" })];
  if (result.diagnostics) diagnostics.push(element("pre", coloured(result.diagnostics)));
  at("panel-diagnostics").replaceChildren(...diagnostics);
  const instead = result.status ? "See the diagnostics." : "";
  if (chosen.tab === "tab-tree") at("panel-tree").replaceChildren(...refusal(instead || result.refused) ?? tree(result.records));
  if (chosen.tab === "tab-keys") at("playground-keys").replaceChildren(...refusal(instead || result.refused) ?? [keys(result.records)]);
  const files = Object.entries(result.files).flatMap(([name, content]) => [element("h3", name), element("pre", content)]);
  at("playground-program").replaceChildren(...refusal(instead || result.not_generated) ?? files);
}

const refusal = said => (said ? [element("pre", coloured(said))] : null);

function coloured(said) {
  const line = each => {
    const kind = /^(error|warning|note)\[/.exec(each);
    return kind ? element("span", each, { class: `playground-${kind[1]}` }) : each;
  };
  return said.trimEnd().split("\n").flatMap(each => [line(each), "\n"]);
}

function details(record) {
  const { path, node, span, ...rest } = record;
  const parts = Object.entries(rest).map(([name, value]) => `${name} ${shown(value)}`);
  return parts.join(" · ");
}

function shown(value) {
  if (Array.isArray(value)) return value.length ? value.map(shown).join(", ") : "()";
  if (value && typeof value === "object") {
    const { type, ...rest } = value; // a constant: its type is that of the node
    return "text" in rest ? `"${rest.text}"` : Object.values(rest).map(shown).join(" ");
  }
  return String(value);
}

function selecting(span, content, attributes = {}) {
  const button = element("button", content, { type: "button", class: "playground-place", ...attributes });
  button.addEventListener("click", () => {
    const [first, last] = span.bytes.map(offset => characters(offset));
    text.focus();
    text.setSelectionRange(first, last);
    const lineHeight = parseFloat(getComputedStyle(text).lineHeight);
    text.scrollTop = Math.max(0, (span.start.line - 4) * lineHeight);
  });
  return button;
}

// Places count bytes of UTF-8, a text area counts units of UTF-16.
const characters = offset => new TextDecoder().decode(new TextEncoder().encode(text.value).slice(0, offset)).length;

function tree(records) {
  return records.map(record => {
    const { path, node, span } = record;
    const depth = path === "/" ? 0 : path.replace("/@", "@").split(/[/@.]/).length - 1;
    const label = [element("b", node), " ", element("code", path)];
    const row = element("div", [span ? selecting(span, label) : element("span", label), element("small", details(record))]);
    row.className = "playground-node";
    row.style.setProperty("--depth", depth);
    return row;
  });
}

function keys(records) {
  const rows = records.map(({ key, kind, node, size, span }) =>
    element("tr", [
      element("td", span ? selecting(span, element("code", key)) : element("code", key)),
      element("td", kind),
      element("td", element("code", node)),
      element("td", size === undefined ? "" : String(size), { class: "playground-number" }),
    ]),
  );
  const head = element("tr", ["Key", "Kind", "Node", "Bytes"].map(name => element("th", name, { scope: "col" })));
  return element("table", [element("thead", head), element("tbody", rows)], { class: "playground-table" });
}

function choose(tab, focus = false) {
  chosen.tab = tab.id;
  for (const each of tabs) {
    const is = each === tab;
    each.setAttribute("aria-selected", String(is));
    each.tabIndex = is ? 0 : -1;
    at(each.getAttribute("aria-controls")).hidden = !is;
  }
  if (focus) tab.focus();
  ask();
}

for (const tab of tabs) {
  tab.addEventListener("click", () => choose(tab));
  tab.addEventListener("keydown", event => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) choose(tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length], true);
  });
}

const example = at("playground-example");
for (const name of Object.keys(EXAMPLES)) example.append(element("option", name));
example.addEventListener("change", () => {
  text.value = EXAMPLES[example.value];
  ask();
});

let timer;
text.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(ask, PAUSE);
});
for (const id of ["playground-target", "playground-language"]) at(id).addEventListener("change", ask);

text.value = EXAMPLES[example.value];
choose(tabs[0]);
