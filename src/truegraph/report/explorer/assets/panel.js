// The panel: a node with its neighbours, what the search found, what to label next, a selection.
const panel = document.getElementById("panel");
const MOST_ROWS = 200, MOST_FOUND = 60;
const SORTABLE = [["node", null], ["weight", "weight"], ["prob\u00adability", "probability"],
  ["90 % interval", "lower"], ["distance", "distance"]];
let sortedBy = "weight", falling = true;

function nodeLink(node) {
  return element("a", {href: hashOf({...state, node}), "data-node": node,
    onclick: event => { event.preventDefault(); select(node, true); }}, nameOf(node));
}

function kindText(edge) {
  if (!content.hasObserved) return "";
  return ["", "learned only", "observed only", "learned and observed"][edges.kind[edge]];
}

function sharedText(edge) {
  if (!edges.shared) return "";
  const found = Array.from(edges.shared.subarray(3 * edge, 3 * edge + 3)).filter(at => at !== NO_VALUE);
  return found.length ? `share ${found.map(at => content.featureNames[at]).join(", ")}` : "";
}

function sortedEdges(node) {
  const values = edges[sortedBy], found = Array.from(edgesOf(node)).filter(isShown);
  const order = (a, b) => {
    if (!values) return nameOf(otherEnd(a, node)).localeCompare(nameOf(otherEnd(b, node)), "en", {numeric: true});
    const [one, two] = [values[a], values[b]].map(value => Number.isNaN(value) ? -Infinity : value);
    return one - two || otherEnd(b, node) - otherEnd(a, node);
  };
  return found.sort((a, b) => falling ? order(b, a) : order(a, b));
}

function neighbourTable(node) {
  const shown = SORTABLE.filter(([, field]) => field === null || edges[field]);
  const head = shown.map(([title, field]) => {
    const isSorted = sortedBy === (field ?? "node");
    const sort = isSorted ? (falling ? "descending" : "ascending") : null;
    return element("th", {scope: "col", "aria-sort": sort}, element("button", {type: "button", onclick: () => {
      falling = isSorted ? !falling : field !== null;
      sortedBy = field ?? "node";
      showNode(node);
      panel.querySelector(`th[aria-sort] button`).focus();
    }}, title));
  });
  const rows = sortedEdges(node).slice(0, MOST_ROWS).map(edge => {
    const other = otherEnd(edge, node), note = [kindText(edge), sharedText(edge)].filter(text => text).join("; ");
    const first = element("td", {}, nodeLink(other));
    if (note) first.append(element("span", {class: "shared"}, note));
    const cells = shown.slice(1).map(([, field]) => element("td", {}, field !== "lower" ? short(edges[field][edge])
      : Number.isNaN(edges.lower[edge]) ? "" : `${short(edges.lower[edge], 2)} to ${short(edges.upper[edge], 2)}`));
    return element("tr", {}, first, ...cells);
  });
  return element("div", {class: "scroll", tabindex: "0"}, element("table", {},
    element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows)));
}

function chances(node) {
  if (!classes) return [];
  const rows = Array.from({length: classes.perNode}, (_, rank) => {
    const at = node * classes.perNode + rank, bar = element("i");
    bar.style.width = `${100 * classes.values[at]}%`;
    return element("div", {class: "chance"}, element("span", {}, classes.names[classes.codes[at]]), bar,
      element("span", {}, classes.values[at].toFixed(3)));
  });
  return [element("h3", {}, "Class probabilities"), ...rows];
}

function showNode(node) {
  const listed = some => element("dl", {}, ...some.flatMap(column => [element("dt", {}, column.name), element("dd", {}, valueText(column, node))]));
  const known = columns.length - content.features, features = columns.slice(known);
  const near = Array.from(edgesOf(node)).filter(isShown).length;
  const chosen = state.selected.has(node);
  panel.replaceChildren(
    element("h2", {}, nameOf(node)),
    element("div", {class: "row"},
      element("button", {type: "button", id: "close", onclick: () => select(null, true)}, "Close"),
      element("button", {type: "button", id: "keep", "aria-pressed": String(chosen), onclick: () => {
        if (!state.selected.delete(node)) state.selected.add(node);
        refresh();
      }}, chosen ? "In the selection" : "Add to selection"),
      element("button", {type: "button", onclick: () => view.fit([node, ...Array.from(edgesOf(node), e => otherEnd(e, node))])}, "Zoom to neighbours")),
    listed(columns.slice(0, known)), ...chances(node),
    ...(features.length ? [element("details", {}, element("summary", {}, `${features.length} features`), listed(features))] : []),
    ...members(node),
    element("h3", {}, `${near.toLocaleString("en")} neighbours`),
    ...(near ? [neighbourTable(node)] : []),
    ...(near > MOST_ROWS ? [element("p", {class: "faint"}, `The first ${MOST_ROWS} of ${near}.`)] : []),
    ...(edges.lower ? [element("p", {class: "faint"}, "A weight can lie outside its interval: the learned graph is the mode of all weights together, the interval is the middle of one weight's own distribution.")] : []),
    ...selectionPart());
}

function members(node) {
  if (!content.members) return [];
  return [element("h3", {}, "Largest nodes"), element("ul", {}, ...content.members[node].map(name => element("li", {}, name)))];
}

function showOverview() {
  const shown = content.drawsAll ? `${shownCount.toLocaleString("en")} edges drawn` : "edges of the selected node are drawn";
  panel.replaceChildren(
    element("h2", {}, `${count.toLocaleString("en")} ${content.unit}s`),
    element("p", {}, `${edges.count.toLocaleString("en")} edges in all, ${shown}. Select a ${content.unit} in the picture, or search.`),
    ...content.notes.map(note => element("p", {class: "faint"}, note)), ...selectionPart());
}

function showFound(text) {
  const wanted = text.toLowerCase(), found = [];
  for (let node = 0; node < count && found.length < 5000; node++)
    if (nameOf(node).toLowerCase().includes(wanted)) found.push(node);
  found.sort((a, b) => nameOf(a).length - nameOf(b).length || a - b);
  say(`${found.length} found`);
  panel.replaceChildren(element("h2", {}, `${found.length.toLocaleString("en")} found for "${text}"`),
    element("div", {class: "row"}, element("button", {type: "button", onclick: () => {
      found.forEach(node => state.selected.add(node));
      refresh();
    }}, "Add all to selection")),
    element("ul", {id: "found"}, ...found.slice(0, MOST_FOUND).map(node => element("li", {}, nodeLink(node)))),
    ...(found.length > MOST_FOUND ? [element("p", {class: "faint"}, `The first ${MOST_FOUND}.`)] : []));
  return found;
}

function showNext() {
  panel.replaceChildren(element("h2", {}, "Label these next"),
    element("p", {class: "faint"}, content.next.reason),
    element("ol", {id: "to-label"}, ...content.next.nodes.map(node => element("li", {}, nodeLink(node)))),
    element("div", {class: "row"}, element("button", {type: "button", onclick: () => {
      content.next.nodes.forEach(node => state.selected.add(node));
      refresh();
    }}, "Add all to selection")), ...selectionPart());
}

function selectionPart() {
  if (!state.selected.size) return [];
  const number = state.selected.size.toLocaleString("en");
  return [element("h3", {}, `${number} selected`), element("div", {class: "row"},
    element("button", {type: "button", id: "csv", onclick: saveCsv}, `Save ${number} as CSV`),
    element("button", {type: "button", id: "clear", onclick: () => { state.selected.clear(); refresh(); }}, "Clear selection"))];
}

// A cell that begins like a formula is not to be run by a spreadsheet.
function csvCell(value) {
  const text = String(value), safe = /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function csvText() {
  const head = [content.unit, ...columns.map(column => column.name)];
  const rows = [...state.selected].sort((a, b) => a - b).map(node => [content.names ? nameOf(node) : node,
    ...columns.map(column => {
      const value = column.values[node];
      if (column.categories) return value === NO_VALUE ? "" : column.categories[value];
      return Number.isNaN(value) ? "" : value;
    })]);
  return [head, ...rows].map(row => row.map(csvCell).join(",")).join("\n") + "\n";
}

function saveCsv() {
  const address = URL.createObjectURL(new Blob([csvText()], {type: "text/csv"}));
  element("a", {href: address, download: "selection.csv"}).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
