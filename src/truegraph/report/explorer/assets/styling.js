// How nodes and edges look: colours and shapes of categories, colours of numbers, the legend.
const SERIES = ["blue", "orange", "green", "purple", "red", "teal", "pink", "olive", "brown"];
const SHAPES = [0, 1, 2, 3, 4, 5, 7, 6];
const MOST_CATEGORIES = 20; // the others look like "other"
// From dark to light, so that it reads in grey as well (viridis, sampled).
const SCALE = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];

function cssColour(name) {
  const text = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  return [1, 3, 5].map(at => parseInt(text.slice(at, at + 2), 16));
}

function scaleColour(share) {
  const place = Math.min(Math.max(share, 0), 1) * (SCALE.length - 1);
  const low = Math.min(Math.floor(place), SCALE.length - 2), part = place - low;
  return SCALE[low].map((value, at) => Math.round(value + part * (SCALE[low + 1][at] - value)));
}

function range(values) {
  const sorted = Array.from(values).filter(value => !Number.isNaN(value)).sort((a, b) => a - b);
  if (!sorted.length) return [0, 1];
  const at = share => sorted[Math.round(share * (sorted.length - 1))];
  return at(0.02) < at(0.98) ? [at(0.02), at(0.98)] : [sorted[0], sorted[sorted.length - 1]];
}

// A function from nodes to {colour, shape}, and what the legend says about it.
function nodeStyle(column) {
  const grey = {colour: cssColour("grey"), shape: 0, isNone: true};
  if (!column) return {of: () => grey, rows: []};
  if (!column.categories) {
    const [low, high] = range(column.values);
    const of = node => {
      const value = column.values[node];
      if (Number.isNaN(value)) return grey;
      return {colour: scaleColour(high > low ? (value - low) / (high - low) : 0.5), shape: 0};
    };
    return {of, ends: [low, high]};
  }
  const frequency = new Array(column.categories.length).fill(0);
  let none = 0;
  for (const code of column.values) if (code === NO_VALUE) none++; else frequency[code]++;
  const order = frequency.map((_, code) => code).filter(code => frequency[code] > 0);
  if (order.length > MOST_CATEGORIES) order.sort((a, b) => frequency[b] - frequency[a] || a - b);
  const named = order.slice(0, MOST_CATEGORIES), looks = new Map();
  // nine colours and eight shapes: neighbours in the list differ in both
  named.forEach((code, at) => looks.set(code, {
    colour: cssColour(SERIES[at % SERIES.length]), shape: SHAPES[(at + Math.floor(at / SERIES.length)) % SHAPES.length],
  }));
  const other = {colour: cssColour("grey"), shape: 6};
  const rows = named.map(code => ({name: column.categories[code], count: frequency[code], ...looks.get(code)}));
  const rest = order.slice(MOST_CATEGORIES);
  if (rest.length) rows.push({name: `${rest.length} others`, count: rest.reduce((sum, code) => sum + frequency[code], 0), ...other});
  if (none) rows.push({name: "none", count: none, ...grey});
  return {of: node => column.values[node] === NO_VALUE ? grey : looks.get(column.values[node]) ?? other, rows};
}

const SVG = "http://www.w3.org/2000/svg";
const OUTLINES = {
  0: "M7 1.2a5.8 5.8 0 1 0 .01 0z", 1: "M2 2h10v10H2z", 2: "M7 1.5L13 12H1z", 3: "M7 .8L13.2 7 7 13.2.8 7z",
  4: "M5 1h4v4h4v4H9v4H5V9H1V5h4z", 5: "M3.5 1L7 4.5 10.5 1 13 3.5 9.5 7 13 10.5 10.5 13 7 9.5 3.5 13 1 10.5 4.5 7 1 3.5z",
  6: "M7 1a6 6 0 1 0 .01 0zM7 4a3 3 0 1 1-.01 0z", 7: "M7 12.5L13 2H1z",
};

function mark(look) {
  const svg = document.createElementNS(SVG, "svg"), path = document.createElementNS(SVG, "path");
  svg.setAttribute("width", 14);
  svg.setAttribute("height", 14);
  svg.setAttribute("viewBox", "0 0 14 14");
  svg.setAttribute("aria-hidden", "true");
  path.setAttribute("d", OUTLINES[look.shape]);
  path.setAttribute("fill", `rgb(${look.colour.join(" ")})`);
  path.setAttribute("fill-rule", "evenodd");
  svg.append(path);
  return svg;
}

function showLegend(column, style) {
  const legend = document.getElementById("legend");
  legend.replaceChildren();
  legend.hidden = !column;
  if (!column) return;
  legend.append(element("b", {}, column.name));
  if (style.ends) {
    const stops = [0, 0.25, 0.5, 0.75, 1].map(share => `rgb(${scaleColour(share).join(" ")})`);
    const bar = element("div", {class: "bar"});
    bar.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
    legend.append(element("div", {class: "ends"}, element("span", {}, short(style.ends[0])), bar,
      element("span", {}, short(style.ends[1]))));
    return;
  }
  legend.append(element("ul", {}, ...style.rows.map(row =>
    element("li", {}, mark(row), `${row.name} (${row.count.toLocaleString("en")})`))));
  if (marksGiven(column)) legend.append(element("span", {}, `ringed: label given (${given.length.toLocaleString("en")})`));
}
