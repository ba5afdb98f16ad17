// The state of the page, what the reader does with it, and its record in the address.
const byId = name => document.getElementById(name);
const view = new View();
const usual = {
  colour: (predictions ?? columns.find(column => column.categories) ?? columns[0])?.name ?? "",
  size: columns.some(column => column.name === "nodes") ? "nodes" : "edges", show: "learned", least: 0, node: null, mode: "",
};
const state = {...usual, selected: new Set()};
const threshold = edges.probability ? "probability" : "weight";
let shownCount = 0, lassoPath = null, hovered = -1;

const say = text => { byId("status").textContent = text; };

function isShown(edge) {
  const kind = edges.kind[edge];
  if (state.show === "learned" && !(kind & LEARNED)) return false;
  if (state.show === "observed" && !(kind & OBSERVED)) return false;
  const value = threshold === "probability" ? edges.probability[edge] : edges.mostWeight ? edges.weight[edge] / edges.mostWeight : 0;
  return state.least === 0 || value >= state.least;
}

function edgeLook(edge, isNear) {
  const kind = edges.kind[edge], both = kind === (LEARNED | OBSERVED);
  const sure = edges.probability && !Number.isNaN(edges.probability[edge]) ? edges.probability[edge] : 0.5;
  const weight = edges.mostWeight ? Math.max(edges.weight[edge], 0) / edges.mostWeight : 0;
  const isDifference = state.show === "difference";
  const name = !isDifference ? (isNear ? "ink" : "faint") : both ? "grey" : kind === LEARNED ? "blue" : "red";
  const opacity = isNear ? 0.35 + 0.6 * sure : (state.node === null ? 0.08 + 0.3 * sure : 0.03 + 0.09 * sure) * (isDifference ? 1.8 : 1);
  return {edge, colour: [...palette[name], Math.round(255 * Math.min(opacity, 1))],
    width: (isNear ? 1.2 : 0.5) + 2.6 * weight + (isDifference && both ? 1 : 0), dash: isDifference && kind === OBSERVED};
}

let palette = {};
function drawEdges() {
  palette = Object.fromEntries(["ink", "faint", "grey", "blue", "red"].map(name => [name, cssColour(name)]));
  const lines = [];
  shownCount = 0;
  if (content.drawsAll) for (let edge = 0; edge < edges.count; edge++) {
    if (!isShown(edge)) continue;
    shownCount++;
    if (edges.source[edge] !== state.node && edges.target[edge] !== state.node) lines.push(edgeLook(edge, false));
  }
  if (state.node !== null) for (const edge of edgesOf(state.node)) if (isShown(edge)) lines.push(edgeLook(edge, true));
  view.setLines(lines);
}

function drawNodes() {
  const column = columns.find(one => one.name === state.colour), style = nodeStyle(column);
  const sized = columns.find(one => one.name === state.size && !one.categories);
  const [low, high] = sized ? range(sized.values) : [0, 0];
  const usualSize = count > 20000 ? 3.5 : count > 3000 ? 5 : count > 500 ? 7 : 10;
  const near = new Set(state.node === null ? [] : Array.from(edgesOf(state.node)).filter(isShown).map(edge => otherEnd(edge, state.node)));
  const dots = Array.from({length: count}, (_, node) => {
    const look = style.of(node), value = sized ? sized.values[node] : NaN;
    const share = Number.isNaN(value) || high <= low ? 0.4 : Math.min(Math.max((value - low) / (high - low), 0), 1);
    const isFaint = state.node !== null && node !== state.node && !near.has(node) && !state.selected.has(node);
    return {node, shape: look.shape, colour: [...look.colour, isFaint ? 70 : look.isNone ? 120 : 235], size: usualSize * (0.7 + 1.1 * Math.sqrt(share)) * (node === state.node ? 1.8 : 1)};
  });
  if (state.node !== null) dots.push(dots.splice(state.node, 1)[0]); // on top of the others
  view.rim = cssColour("paper").map(value => value / 255);
  view.setDots(dots);
  showLegend(column, style);
}

view.paintOver = brush => {
  const ink = `rgb(${cssColour("ink").join(" ")})`, paper = `rgb(${cssColour("paper").join(" ")} / .82)`;
  brush.font = "12px system-ui, sans-serif";
  brush.strokeStyle = ink;
  brush.lineWidth = 1.5;
  const ring = (node, radius) => { brush.beginPath(); brush.arc(...view.toScreen(node), radius, 0, 7); brush.stroke(); };
  if (given.length <= 5000 && marksGiven(columns.find(one => one.name === state.colour))) given.forEach(node => ring(node, 6));
  if (state.selected.size <= 5000) state.selected.forEach(node => ring(node, 7));
  if (state.mode === "next") content.next.nodes.forEach(node => ring(node, 10));
  const named = state.mode === "next" ? content.next.nodes.slice() : [];
  if (state.node !== null) {
    ring(state.node, 11);
    named.unshift(state.node, ...sortedEdges(state.node).slice(0, 14).map(edge => otherEnd(edge, state.node)));
  }
  if (hovered >= 0) named.unshift(hovered);
  const taken = [];
  for (const node of new Set(named)) {
    const [x, y] = view.toScreen(node), text = nameOf(node).slice(0, 40), wide = brush.measureText(text).width;
    const box = [x + 9, y - 9, x + 15 + wide, y + 9];
    if (taken.some(other => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1])) continue;
    taken.push(box);
    brush.fillStyle = paper;
    brush.fillRect(box[0], box[1], wide + 6, 18);
    brush.fillStyle = ink;
    brush.fillText(text, x + 12, y + 4);
  }
  if (lassoPath) {
    brush.setLineDash([5, 4]);
    brush.beginPath();
    lassoPath.forEach(([x, y], at) => at ? brush.lineTo(x, y) : brush.moveTo(x, y));
    brush.stroke();
    brush.setLineDash([]);
  }
};

function refresh() {
  drawEdges();
  drawNodes();
  if (state.node !== null) showNode(state.node);
  else if (state.mode === "next") showNext();
  else if (byId("search").value) showFound(byId("search").value);
  else showOverview();
  byId("next").setAttribute("aria-pressed", String(state.mode === "next"));
  byId("lasso").setAttribute("aria-pressed", String(state.mode === "lasso"));
  drawing.classList.toggle("lasso", state.mode === "lasso");
  view.request();
}

function hashOf(wanted) {
  const parts = Object.keys(usual).filter(key => wanted[key] !== usual[key] && !(key === "mode" && wanted.mode === "lasso"))
    .map(key => `${key}=${encodeURIComponent(key === "node" ? nameOf(wanted.node) : wanted[key])}`);
  if (wanted.selected?.size) parts.push(`selected=${[...wanted.selected].slice(0, 500).join(",")}`);
  return `#${parts.join("&")}`;
}

function remember(asNew) {
  try { history[asNew ? "pushState" : "replaceState"](null, "", hashOf(state)); } catch { /* a notebook's frame has no address */ }
}

function recall() {
  const given = new Map(location.hash.slice(1).split("&").filter(part => part).map(part => part.split("=").map(decodeURIComponent)));
  const named = name => columns.some(column => column.name === name);
  Object.assign(state, usual);
  if (named(given.get("colour")) || given.get("colour") === "") state.colour = given.get("colour");
  if (named(given.get("size")) || given.get("size") === "") state.size = given.get("size");
  if (["observed", "difference"].includes(given.get("show")) && content.hasObserved) state.show = given.get("show");
  const least = Number(given.get("least"));
  if (least > 0 && least <= 1) state.least = least;
  if (given.get("mode") === "next") state.mode = "next";
  if (given.has("node")) {
    const node = content.names ? content.names.indexOf(given.get("node")) : Number(given.get("node").replace("node ", ""));
    if (Number.isInteger(node) && node >= 0 && node < count) state.node = node;
  }
  const chosen = (given.get("selected") ?? "").split(",").filter(text => text).map(Number);
  state.selected = new Set(chosen.filter(node => Number.isInteger(node) && node >= 0 && node < count));
  byId("colour").value = state.colour;
  byId("size").value = state.size;
  byId("show").value = state.show;
  byId("slider").value = Math.round(100 * state.least);
  byId("slider-value").textContent = state.least.toFixed(2);
  refresh();
}

function change(part, asNew = false) {
  Object.assign(state, part);
  remember(asNew);
  refresh();
}

function select(node, asNew) {
  hovered = -1;
  if (node !== null) {
    const [x, y] = view.toScreen(node), {width, height} = view.size();
    if (x < 20 || y < 20 || x > width - 20 || y > height - 20) [camera.x, camera.y] = [places[2 * node], places[2 * node + 1]];
    say(`${nameOf(node)}: ${edgesOf(node).length} neighbours`);
  }
  change({node}, asNew);
  panel.scrollTop = 0;
}

function inside(path, x, y) {
  let is = false;
  for (let a = 0, b = path.length - 1; a < path.length; b = a++) {
    const [ax, ay] = path[a], [bx, by] = path[b];
    if (ay > y !== by > y && x < (bx - ax) * (y - ay) / (by - ay) + ax) is = !is;
  }
  return is;
}

function endLasso() {
  const path = lassoPath;
  lassoPath = null;
  for (let node = 0; node < count; node++) if (inside(path, ...view.toScreen(node))) state.selected.add(node);
  say(`${state.selected.size} selected`);
  change({mode: "", node: null});
}

// Pointers: one drags or draws, two zoom.
const held = new Map();
let travelled = 0;
const placeOf = event => { const box = drawing.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };

drawing.addEventListener("pointerdown", event => {
  drawing.setPointerCapture(event.pointerId);
  held.set(event.pointerId, placeOf(event));
  travelled = 0;
  if (state.mode === "lasso" && held.size === 1) lassoPath = [placeOf(event)];
});
drawing.addEventListener("pointermove", event => {
  const now = placeOf(event), before = held.get(event.pointerId);
  if (!before) {
    const node = view.nearest(...now, 12);
    if (node !== hovered) { hovered = node; view.request(); }
    return;
  }
  travelled += Math.hypot(now[0] - before[0], now[1] - before[1]);
  if (lassoPath) lassoPath.push(now);
  else if (held.size === 1) { camera.x -= (now[0] - before[0]) / camera.scale; camera.y += (now[1] - before[1]) / camera.scale; }
  else {
    const other = [...held].find(([id]) => id !== event.pointerId)[1];
    const [was, is] = [before, now].map(([x, y]) => Math.hypot(x - other[0], y - other[1]));
    if (was > 1) view.zoom(is / was, (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
  }
  held.set(event.pointerId, now);
  view.request();
});
drawing.addEventListener("pointerup", event => {
  held.delete(event.pointerId);
  if (lassoPath) endLasso();
  else if (travelled < 5) {
    const node = view.nearest(...placeOf(event), event.pointerType === "touch" ? 26 : 14);
    select(node < 0 ? null : node, true);
  }
});
drawing.addEventListener("pointercancel", event => { held.delete(event.pointerId); lassoPath = null; });
drawing.addEventListener("wheel", event => { event.preventDefault(); view.zoom(Math.exp(-event.deltaY / 400), ...placeOf(event)); }, {passive: false});

const pan = (x, y) => { camera.x += x * 60 / camera.scale; camera.y += y * 60 / camera.scale; view.request(); };
const middle = () => { const {width, height} = view.size(); return [width / 2, height / 2]; };
const toggle = mode => change({mode: state.mode === mode ? "" : mode, node: mode === "next" ? null : state.node});
const KEYS = {
  ArrowLeft: () => pan(-1, 0), ArrowRight: () => pan(1, 0), ArrowUp: () => pan(0, 1), ArrowDown: () => pan(0, -1),
  "+": () => view.zoom(1.3, ...middle()), "=": () => view.zoom(1.3, ...middle()), "-": () => view.zoom(1 / 1.3, ...middle()),
  0: () => view.fit(), l: () => toggle("lasso"),
  Enter: () => { const node = view.nearest(...middle(), 1e9); if (node >= 0) select(node, true); },
  n: () => { const list = content.next.nodes; if (list.length) select(list[(list.indexOf(state.node) + 1) % list.length], true); },
};
drawing.addEventListener("keydown", event => {
  if (!KEYS[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  KEYS[event.key]();
});
document.addEventListener("keydown", event => {
  const isTyping = ["INPUT", "SELECT", "TEXTAREA"].includes(document.activeElement?.tagName);
  if (event.key === "/" && !isTyping) { event.preventDefault(); byId("search").focus(); }
  if (event.key === "Escape") { byId("search").value = ""; lassoPath = null; change({node: null, mode: ""}); }
});

byId("search").addEventListener("input", event => { state.node = null; state.mode = ""; event.target.value ? showFound(event.target.value) : refresh(); });
byId("controls").addEventListener("submit", event => {
  event.preventDefault();
  const found = byId("search").value ? showFound(byId("search").value) : [];
  if (found.length) select(found[0], true);
});
byId("colour").addEventListener("change", event => change({colour: event.target.value}));
byId("size").addEventListener("change", event => change({size: event.target.value}));
byId("show").addEventListener("change", event => change({show: event.target.value}));
byId("slider").addEventListener("input", event => {
  byId("slider-value").textContent = (event.target.value / 100).toFixed(2);
  change({least: event.target.value / 100});
});
byId("lasso").addEventListener("click", () => toggle("lasso"));
byId("next").addEventListener("click", () => toggle("next"));
byId("fit").addEventListener("click", () => view.fit());
byId("help-button").addEventListener("click", event => {
  const isOpen = event.target.getAttribute("aria-expanded") === "true";
  event.target.setAttribute("aria-expanded", String(!isOpen));
  byId("help").hidden = isOpen;
  view.request();
});
window.addEventListener("popstate", recall);
new ResizeObserver(() => view.request()).observe(drawing);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", refresh);

for (const column of columns) {
  byId("colour").append(element("option", {value: column.name}, column.name));
  if (!column.categories) byId("size").append(element("option", {value: column.name}, column.name));
}
byId("colour").append(element("option", {value: ""}, "nothing"));
byId("size").append(element("option", {value: ""}, "all equal"));
byId("show-label").hidden = !content.hasObserved;
byId("next").hidden = !content.next.nodes.length;
byId("slider-label").hidden = !content.drawsAll && !edges.probability;
byId("slider-name").textContent = threshold === "probability" ? "Probability at least" : "Weight at least";
recall();
view.fit(); // the legend has its place by now
