"use strict";
// Draws one head large: the map with its words, and lines from a word to what it looks at. All text goes in as text.
const LEVELS = 17;
const make = (name, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
};
const level = (weight) => Math.round(Math.min(1, Math.max(0, weight)) * (LEVELS - 1));
const shade = (element, weight) => {
  const found = level(weight);
  element.style.background = `var(--alignment-${found})`;
  element.classList.toggle("deep", found > LEVELS / 2);
};
const percent = (weight) => `${(100 * weight).toFixed(weight < 0.0995 ? 1 : 0)}%`;

function begin(view) {
  const kinds = JSON.parse(view.querySelector("script").textContent);
  const place = view.querySelector(".large");
  const selects = Object.fromEntries(["kind", "layer", "head"].map((name) => [name, make("select", { name })]));
  const told = make("div", { className: "told" });
  told.setAttribute("aria-live", "polite");
  const views = make("div", { className: "views" });
  const labels = Object.entries(selects).map(([name, select]) => make("label", {}, `${name} `, select));
  place.append(make("div", { className: "choice" }, ...labels), told, views);
  let picked = null; // a row or a column that stays chosen: {side, number}

  const kind = () => kinds.find((one) => one.kind === selects.kind.value);
  const fill = (select, count) => {
    const kept = select.value;
    select.replaceChildren(make("option", { value: "", textContent: "average" }));
    for (let n = 1; n <= count; n++) select.append(make("option", { value: n, textContent: n }));
    select.value = kept && kept <= count ? kept : "";
  };

  // Weights of what is chosen, the mean where that is several heads; in the page they are whole thousandths.
  function weights() {
    const { layer, head } = selects;
    const layers = layer.value ? [kind().layers[layer.value - 1]] : kind().layers;
    const maps = layers.flatMap((heads) => (head.value ? [heads[head.value - 1]] : heads));
    const width = kind().columns.length;
    return kind().rows.map((_, row) =>
      kind().columns.map((_, column) =>
        maps.reduce((sum, map) => sum + map[row * width + column], 0) / maps.length / 1000));
  }

  function word(text, side, number) {
    const button = make("button", { type: "button", textContent: text });
    button.dataset.side = side;
    button.dataset.number = number;
    button.addEventListener("mouseenter", () => show({ side, number }));
    button.addEventListener("mouseleave", () => show(picked));
    button.addEventListener("focus", () => show({ side, number }));
    button.addEventListener("click", () => {
      picked = picked && picked.side === side && picked.number === number ? null : { side, number };
      show(picked);
    });
    return button;
  }

  function table(found) {
    const heads = kind().columns.map((text, n) => make("th", {}, word(text, "column", n)));
    const rows = found.map((row, n) => {
      const cells = row.map((weight, column) => {
        const cell = make("td", { title: `${kind().rows[n]} → ${kind().columns[column]}: ${percent(weight)}` });
        cell.style.background = `var(--alignment-${level(weight)})`;
        return cell;
      });
      return make("tr", {}, make("th", {}, word(kind().rows[n], "row", n)), ...cells);
    });
    return make("table", { className: "map" },
      make("thead", {}, make("tr", {}, make("th"), ...heads)), make("tbody", {}, ...rows));
  }

  function lines() {
    const list = (name, side, words) => make("ul", { className: name },
      ...words.map((text, n) => make("li", {}, word(text, side, n), make("small"))));
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("height", 24 * Math.max(kind().rows.length, kind().columns.length));
    const from = list("from", "row", kind().rows);
    from.querySelectorAll("li").forEach((one) => one.prepend(one.querySelector("small")));
    return make("div", { className: "lines" }, from, svg, list("to", "column", kind().columns));
  }

  let found = [];
  function draw() {
    fill(selects.layer, kind().layers.length);
    fill(selects.head, selects.layer.value ? kind().layers[selects.layer.value - 1].length : 0);
    selects.head.disabled = !selects.layer.value;
    found = weights();
    picked = null;
    views.replaceChildren(table(found), lines());
    for (const button of view.querySelectorAll(".head-grid button")) {
      const { kind, layer, head } = button.dataset;
      const same = kind === selects.kind.value && layer === selects.layer.value && head === selects.head.value;
      button.setAttribute("aria-pressed", same);
    }
    show(null);
  }

  // Where a row looks, or who looks at a column; with nothing chosen, all lines at once.
  function show(chosen) {
    const svg = views.querySelector(".lines svg");
    svg.replaceChildren();
    const line = (row, column, weight) => {
      if (weight < 0.01) return;
      const drawn = document.createElementNS(svg.namespaceURI, "line");
      const at = { x1: 4, y1: 24 * row + 12, x2: 176, y2: 24 * column + 12 };
      for (const [name, value] of Object.entries(at)) drawn.setAttribute(name, value);
      drawn.setAttribute("stroke-width", 1 + 4 * weight);
      drawn.setAttribute("stroke-opacity", Math.min(1, 0.08 + 0.92 * weight));
      svg.append(drawn);
    };
    const takes = (row, column) => !chosen || (chosen.side === "row" ? row : column) === chosen.number;
    found.forEach((row, n) => row.forEach((weight, column) => takes(n, column) && line(n, column, weight)));
    views.querySelectorAll(".map tbody tr").forEach((row, n) =>
      row.querySelectorAll("td").forEach((cell, column) => cell.classList.toggle("dim", !takes(n, column))));
    for (const button of views.querySelectorAll("button")) mark(button, chosen);
    told.textContent = chosen ? sentence(chosen) : "Point at a word to see where it looks, or who looks at it; a click keeps it.";
  }

  function mark(button, chosen) {
    const { side } = button.dataset, number = Number(button.dataset.number);
    const other = chosen && side !== chosen.side;
    const weight = other ? (side === "column" ? found[chosen.number][number] : found[number][chosen.number]) : 0;
    button.classList.toggle("picked", Boolean(chosen) && !other && number === chosen.number);
    if (other) shade(button, weight);
    else { button.style.background = ""; button.classList.remove("deep"); }
    const small = button.parentElement.querySelector("small");
    if (small) small.textContent = other && weight >= 0.005 ? percent(weight) : "";
  }

  function sentence({ side, number }) {
    const row = side === "row", words = row ? kind().columns : kind().rows;
    const each = words.map((text, n) => [text, row ? found[number][n] : found[n][number]]);
    const most = each.filter(([, weight]) => weight >= 0.01).sort((one, other) => other[1] - one[1]).slice(0, 6);
    const said = most.map(([text, weight]) => `${text} ${percent(weight)}`).join(", ") || "nothing";
    return row ? `${kind().rows[number]} looks at ${said}` : `${kind().columns[number]} is looked at by ${said}`;
  }

  for (const one of kinds) selects.kind.append(make("option", { value: one.kind, textContent: `${one.kind}: ${one.title}` }));
  for (const select of Object.values(selects)) select.addEventListener("change", draw);
  for (const button of view.querySelectorAll(".head-grid button")) {
    button.addEventListener("click", () => {
      const { kind: of, layer, head } = button.dataset;
      selects.kind.value = of;
      fill(selects.layer, kind().layers.length);
      selects.layer.value = layer;
      fill(selects.head, kind().layers[layer - 1].length);
      selects.head.value = head;
      draw();
      place.scrollIntoView({ block: "nearest" });
    });
  }
  view.classList.add("scripted");
  draw();
}

document.querySelectorAll(".heads-view").forEach(begin);
