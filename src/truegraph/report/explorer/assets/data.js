// What the page shows: arrays out of the block of JSON, and the neighbours of every node.
const content = JSON.parse(document.getElementById("content").textContent);
const NO_VALUE = 65535, LEARNED = 1, OBSERVED = 2;

function unpacked(text, Kind) {
  if (text === null) return null;
  const bytes = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
  return new Kind(bytes.buffer);
}

const count = content.count;
const places = unpacked(content.places, Float32Array);
const columns = content.columns.map(column => ({
  name: column.name,
  categories: column.categories,
  values: unpacked(column.values, column.categories ? Uint16Array : Float32Array),
}));
const edges = {count: content.edges.count};
for (const name of ["source", "target"]) edges[name] = unpacked(content.edges[name], Uint32Array);
for (const name of ["weight", "probability", "lower", "upper", "distance"])
  edges[name] = unpacked(content.edges[name], Float32Array);
edges.kind = unpacked(content.edges.kind, Uint8Array);
edges.shared = unpacked(content.edges.shared, Uint16Array);
edges.mostWeight = edges.weight ? edges.weight.reduce((a, b) => Math.max(a, b), 0) : 0;
const classes = content.classes && {
  ...content.classes,
  codes: unpacked(content.classes.codes, Uint16Array),
  values: unpacked(content.classes.values, Float32Array),
};

// Edges of node i: touching[start[i]] to touching[start[i + 1] - 1].
const start = new Uint32Array(count + 1), touching = new Uint32Array(2 * edges.count);
for (let e = 0; e < edges.count; e++) { start[edges.source[e] + 1]++; start[edges.target[e] + 1]++; }
for (let i = 0; i < count; i++) start[i + 1] += start[i];
{
  const place = start.slice(0, count);
  for (let e = 0; e < edges.count; e++) {
    touching[place[edges.source[e]]++] = e;
    touching[place[edges.target[e]]++] = e;
  }
}

// Nodes whose label was given, marked where predictions colour the others.
const labels = columns.find(column => column.name === "label"), predictions = columns.find(column => column.name === "prediction");
const given = labels && predictions ? Array.from({length: count}, (_, node) => node).filter(node => labels.values[node] !== NO_VALUE) : [];
const marksGiven = column => column === predictions && given.length > 0 && given.length < count;

const nameOf = node => content.names ? content.names[node] : `node ${node}`;
const edgesOf = node => touching.subarray(start[node], start[node + 1]);
const otherEnd = (edge, node) => edges.source[edge] === node ? edges.target[edge] : edges.source[edge];

function valueText(column, node) {
  const value = column.values[node];
  if (column.categories) return value === NO_VALUE ? "none" : column.categories[value];
  return Number.isNaN(value) ? "none" : short(value);
}

function short(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "";
  if (Number.isInteger(value)) return value.toLocaleString("en");
  const size = Math.abs(value);
  return size >= 1e5 || size < 1e-3 ? value.toExponential(digits - 1) : String(Number(value.toPrecision(digits)));
}

// An element with attributes and children; text becomes text, never markup.
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}
