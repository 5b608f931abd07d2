// The quick look works without this file. It adds sliders, replaces the picture without loading the page, draws lines
// that can be zoomed, and shows the value under the pointer or, by arrow keys, in a chosen cell.
"use strict";

const view = document.getElementById("view");
let latest = 0;

function addSliders() {
  for (const field of view.querySelectorAll(".index input[type=number]")) {
    const slider = document.createElement("input");
    slider.type = "range";
    slider.min = field.min;
    slider.max = field.max;
    slider.value = field.value;
    slider.setAttribute("aria-label", `${view.querySelector(`label[for=${field.id}]`).textContent}, slider`);
    slider.addEventListener("input", () => { field.value = slider.value; });
    field.after(slider);
  }
}

async function show() {
  const form = view.querySelector("form");
  if (!form.reportValidity()) return;
  const address = `${form.getAttribute("action")}?${new URLSearchParams(new FormData(form))}`;
  const focused = document.activeElement;
  const isSlider = focused && focused.type === "range";
  const name = focused && (focused.name || focused.previousElementSibling?.name);
  const mine = ++latest;
  view.querySelector(".seen").classList.add("busy");
  let page;
  try {
    const answer = await fetch(address, { headers: { Accept: "text/html" } });
    if (!answer.ok) throw new Error(await answer.text());
    page = new DOMParser().parseFromString(await answer.text(), "text/html");
  } catch (error) {
    if (mine !== latest) return;
    const words = document.createElement("p");
    words.className = "note";
    words.textContent = error.message;
    view.querySelector(".seen").replaceChildren(words);
    view.querySelector(".seen").classList.remove("busy");
    return;
  }
  if (mine !== latest) return;
  for (const part of ["#view", "h1", ".crumbs", "title"]) {
    document.querySelector(part).replaceChildren(...page.querySelector(part).childNodes);
  }
  history.replaceState(null, "", address);
  start();
  const again = name && view.querySelector(`[name="${CSS.escape(name)}"]`);
  if (again) (isSlider ? again.nextElementSibling : again).focus();
}

function start() {
  addSliders();
  const form = view.querySelector("form");
  form.addEventListener("change", event => {
    if (event.target.name === "var" || event.target.closest(".controls")) show();
  });
  form.addEventListener("submit", event => { event.preventDefault(); show(); });
  const drawn = view.querySelector(".drawn");
  if (!drawn) return;
  if (drawn.querySelector(".lines")) drawLine(drawn);
  else addCursor(drawn);
}

async function valuesOf(drawn) {
  const answer = await fetch(drawn.dataset.values, { headers: { Accept: "application/json" } });
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function brief(value) {
  const number = Number(value === null ? NaN : value.toPrecision(6)), size = Math.abs(number);
  return value === null ? "missing" : size >= 1e6 || (size && size < 1e-4) ? number.toExponential().replace("e+", "e") : String(number);
}

async function drawLine(drawn) {
  const told = await valuesOf(drawn).catch(() => null);  // the picture of the server stays
  if (!told || !drawn.isConnected || told.values.length < 2) return;
  const labels = told.x.labels;
  let xs = told.x.values, ys = told.values;
  if (xs[0] > xs[xs.length - 1]) { xs = xs.toReversed(); ys = ys.toReversed(); labels?.reverse(); }
  if (xs.some((each, place) => place && !(each > xs[place - 1]))) return;
  const nearest = value => {
    let low = 0, high = xs.length - 1;
    while (high - low > 1) { const middle = (low + high) >> 1; if (xs[middle] <= value) low = middle; else high = middle; }
    return value - xs[low] < xs[high] - value ? low : high;
  };
  const place = document.createElement("div");
  const height = Math.round(Math.min(400, Math.max(260, drawn.clientWidth * 0.45)));
  const axis = {
    stroke: color("--dim"), grid: { stroke: color("--line"), width: 1 }, ticks: { stroke: color("--axis"), width: 1 },
    font: "13px system-ui, sans-serif", labelFont: "13px system-ui, sans-serif", labelSize: 22,
  };
  const chart = new uPlot({
    width: drawn.clientWidth, height, padding: [10, labels ? 48 : 20, 0, 0],
    scales: { x: { time: false } },
    legend: { live: true },
    cursor: { drag: { x: true, y: false } },
    axes: [
      { ...axis, label: told.x.title, space: labels ? 8 * Math.max(...labels.map(each => each.length)) + 16 : 60,
        ...(told.x.steps && told.x.values.length && { incrs: [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, ...told.x.steps] }),
        values: (_, splits) => splits.map(each => labels ? labels[nearest(each)] : brief(each)) },
      { ...axis, size: 66, values: (_, splits) => splits.map(brief) },
    ],
    series: [
      { label: told.x.title, value: (_, each) => each === null ? "–" : labels ? labels[nearest(each)] : brief(each) },
      { label: told.title, stroke: color("--accent"), width: 1.75, spanGaps: false,
        points: { show: xs.length <= 60 }, value: (_, each, __, place) => place == null ? "–" : brief(each) },
    ],
  }, [xs, ys], place);
  const old = drawn.querySelector(".lines");
  const title = old.querySelector(".title").cloneNode(true);
  place.setAttribute("role", "img");
  place.setAttribute("aria-label", old.querySelector(".frame").getAttribute("aria-label"));
  const frame = document.createElement("div");
  frame.className = "chart";
  const help = document.createElement("p");
  help.className = "help";
  help.textContent = "Drag to zoom, click twice to see everything.";
  frame.append(title, place, help);
  old.replaceWith(frame);
  new ResizeObserver(() => {
    if (drawn.isConnected) chart.setSize({ width: frame.clientWidth, height });
  }).observe(frame);
}

function addCursor(drawn) {
  const picture = drawn.querySelector(".frame");
  const box = document.createElement("div");
  box.className = "hover";
  box.hidden = true;
  const mark = document.createElement("div");
  mark.className = "mark";
  mark.hidden = true;
  const spoken = document.createElement("p");
  spoken.className = "help";
  spoken.setAttribute("aria-live", "polite");
  spoken.textContent = "Point at the picture for values, or choose a cell with the arrow keys.";
  drawn.append(box, mark, spoken);
  picture.setAttribute("tabindex", "0");
  let asked = null, told = null, cell = null;
  const load = async () => {
    asked ??= valuesOf(drawn);
    try { told = await asked; } catch (error) { spoken.textContent = error.message; }
  };
  const at = axis => place => (axis.labels ? axis.labels[place] : brief(axis.values[place]));
  const tell = speak => {
    const [rows, columns] = told.shape;
    const column = told.x_backward ? columns - 1 - cell[0] : cell[0];
    const row = told.y_backward ? rows - 1 - cell[1] : cell[1];
    const words = `${brief(told.values[row][column])}\n${told.x.title} ${at(told.x)(column)}\n${told.y.title} ${at(told.y)(row)}`;
    const frame = picture.getBoundingClientRect(), own = drawn.getBoundingClientRect();
    const x = frame.left - own.left + (cell[0] + 0.5) / columns * frame.width;
    const y = frame.top - own.top + (cell[1] + 0.5) / rows * frame.height;
    box.textContent = words;
    box.hidden = mark.hidden = false;
    for (const each of [box, mark]) { each.style.left = `${x}px`; each.style.top = `${y}px`; }
    const half = box.offsetWidth / 2;
    box.style.left = `${Math.min(Math.max(x, half), drawn.clientWidth - half)}px`;
    if (speak) spoken.textContent = words.replaceAll("\n", ", ");
  };
  const hide = () => { box.hidden = mark.hidden = true; };
  picture.addEventListener("pointermove", async event => {
    await load();
    if (!told) return;
    const frame = picture.getBoundingClientRect(), [rows, columns] = told.shape;
    const limit = (value, most) => Math.min(most - 1, Math.max(0, Math.floor(value * most)));
    cell = [limit((event.clientX - frame.left) / frame.width, columns), limit((event.clientY - frame.top) / frame.height, rows)];
    tell(false);
  });
  picture.addEventListener("pointerleave", hide);
  picture.addEventListener("blur", hide);
  picture.addEventListener("keydown", async event => {
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    await load();
    if (!told) return;
    const [rows, columns] = told.shape, far = event.shiftKey ? 10 : 1;
    cell = cell ?? [columns >> 1, rows >> 1];
    cell = [Math.min(columns - 1, Math.max(0, cell[0] + far * step[0])), Math.min(rows - 1, Math.max(0, cell[1] + far * step[1]))];
    tell(true);
  });
}

start();
