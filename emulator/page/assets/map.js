// The multicluster as a map: clusters above and below the wide area, each with its processors by use, and their links.

import { count, duration, trim } from "./format.js";
import { refill, say, svg, table } from "./elements.js";

const WIDTH = 448;
const MOST_IN_ROW = 9;
const MOST_SQUARES = 6000;
const HUB = 30;
const SPOKE = 24;
const FEW = { largestCell: 16, blockHeight: 128 };
const MANY = { largestCell: 8, blockHeight: 40 };
const LABEL = 30;
export const USES = ["executing", "wasted", "local", "dummy", "idle"];

export class ClusterMap {
  constructor(box, linksBox) {
    this.box = box;
    this.linksBox = linksBox;
  }

  /** Draw the clusters of a system, all idle. */
  build(store) {
    const { clusters } = store.system;
    const above = clusters.slice(0, Math.ceil(clusters.length / 2));
    const below = clusters.slice(above.length);
    this.blocks = new Map();
    const inRow = Math.min(MOST_IN_ROW, above.length);
    this.perCell = cellsFor(clusters, WIDTH / inRow - 12, above.length > inRow ? MANY : FEW);
    const hubTop = this.#heightOf(above, inRow);
    const height = hubTop + HUB + this.#heightOf(below, inRow);
    const drawing = svg("svg", { viewBox: `0 0 ${WIDTH} ${height + 2}`, role: "group", "aria-label": "Clusters and the wide area" }, hatch());
    drawing.append(...this.#rows(above, inRow, hubTop, true), ...this.#rows(below, inRow, hubTop + HUB, false));
    drawing.append(svg("rect", { class: "hub", x: 0.5, y: hubTop, width: WIDTH - 1, height: HUB, rx: 4 }));
    drawing.append(svg("text", { x: WIDTH / 2, y: hubTop + HUB / 2 + 4, "text-anchor": "middle" }, hubText(store.system)));
    refill(this.box, drawing);
    this.#links(store);
  }

  #heightOf(clusters, inRow) {
    return rowsOf(clusters, inRow).reduce((sum, row) => sum + this.#rowHeight(row), 0);
  }

  #rowHeight(row) {
    return SPOKE + LABEL + Math.max(...row.map((cluster) => this.perCell.block(cluster).height));
  }

  /** Clusters in rows, from the wide area outwards; `edge` is its edge. */
  #rows(clusters, inRow, edge, isAbove) {
    const drawn = [];
    const wide = WIDTH / Math.min(inRow, clusters.length);
    for (const row of rowsOf(clusters, inRow)) {
      row.forEach((cluster, place) => drawn.push(this.#cluster(cluster, wide * (place + 0.5), edge, isAbove)));
      edge += isAbove ? -this.#rowHeight(row) : this.#rowHeight(row);
    }
    return drawn;
  }

  #cluster(cluster, middle, edge, isAbove) {
    const { columns, cells, height, width } = this.perCell.block(cluster);
    const bottom = isAbove ? edge - SPOKE : edge + SPOKE + LABEL + height;
    const top = bottom - height;
    const group = svg("g", { role: "img" }, svg("title"));
    const { cell } = this.perCell;
    const squares = [];
    for (let place = 0; place < cells; place += 1) {
      const x = middle - width / 2 + cell * (place % columns);
      const y = top + cell * Math.floor(place / columns);
      squares.push(svg("rect", { class: "cell idle", x, y, width: cell - 2, height: cell - 2 }));
    }
    const spoke = svg("line", {
      class: "spoke", x1: middle, x2: middle, y1: isAbove ? bottom : edge, y2: isAbove ? edge : top - LABEL,
    });
    const name = svg("text", { x: middle, y: top - 17, "text-anchor": "middle" }, short(cluster.name, this.perCell.room));
    const busy = svg("text", { class: "soft", x: middle, y: top - 5, "text-anchor": "middle" });
    group.append(spoke, name, busy, ...squares);
    this.blocks.set(cluster.name, { group, squares, spoke, busy, title: group.firstChild, size: cluster.processors, shown: "" });
    return group;
  }

  /** Show the processors by use. */
  update(view) {
    for (const use of view.clusters.values()) {
      const block = this.blocks.get(use.name);
      const sign = `${USES.map((kind) => use[kind]).join(" ")} ${use.carries} ${use.gained} ${use.away ?? ""}`;
      if (block.shown === sign) continue;
      block.shown = sign;
      paint(block, use);
      block.spoke.classList.toggle("carries", use.carries > 0);
      block.group.classList.toggle("away", Boolean(use.away));
      say(block.busy, use.away ? use.away : `${use.size - use.idle} of ${use.size}`);
      const words = `${use.name}: ${use.executing} executing, ${use.wasted} claimed and waiting, ${use.local} of local users, ` +
        `${use.dummy} of dummy jobs, ${use.idle} idle, of ${use.size}; ${use.gained} more are set aside for placed jobs`;
      say(block.title, words);
      block.group.setAttribute("aria-label", words);
    }
  }

  #links(store) {
    const rows = linkRows(store);
    const columns = [["from", ""], ["to", ""], ["what", ""], ["asked", "number"], ["before", "number"], ["after", "number"]];
    refill(this.linksBox, rows.length ? table(columns, rows) : null);
    this.linksBox.parentElement.hidden = rows.length === 0;
  }
}

function rowsOf(clusters, inRow) {
  const rows = [];
  for (let first = 0; first < clusters.length; first += inRow) rows.push(clusters.slice(first, first + inRow));
  return rows;
}

/** Squares for clusters: their size, and how many processors one stands for, so that every block fits. */
function cellsFor(clusters, room, { largestCell, blockHeight }) {
  const processors = clusters.reduce((sum, cluster) => sum + cluster.processors, 0);
  let least = 1;
  while (processors / least > MOST_SQUARES) least *= 2;
  for (let each = least; ; each *= 2) {
    for (let cell = largestCell; cell >= 5; cell -= 1) {
      const block = (cluster) => {
        const cells = Math.ceil(cluster.processors / each);
        const most = Math.max(1, Math.floor(room / cell));
        const columns = Math.min(most, columnsFor(cells));
        return { cells, columns, width: columns * cell, height: Math.ceil(cells / columns) * cell };
      };
      if (clusters.every((cluster) => block(cluster).height <= blockHeight)) return { each, cell, room, block };
    }
  }
}

/** Columns of a block that is about as wide as high, with full rows if that is possible. */
function columnsFor(cells) {
  const least = Math.ceil(Math.sqrt(cells));
  for (let columns = least; columns <= 1.8 * least; columns += 1) if (cells % columns === 0) return columns;
  return Math.ceil(Math.sqrt(cells * 1.4));
}

/** Colour the squares in the order of `USES`; a square that stands for several shows the use of its first. */
function paint(block, use) {
  const ends = [];
  let sum = 0;
  for (const kind of USES) {
    sum += use[kind];
    ends.push([kind, sum]);
  }
  block.squares.forEach((square, place) => {
    const processor = (place * use.size) / block.squares.length;
    const kind = (ends.find(([, end]) => processor < end) ?? ["idle"])[0];
    const wanted = `cell ${kind}`;
    if (square.getAttribute("class") !== wanted) square.setAttribute("class", wanted);
  });
}

function hatch() {
  const pattern = { id: "hatch", width: 4, height: 4, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" };
  return svg("defs", {}, svg("pattern", pattern, svg("line", { class: "hatch-line", x1: 1, y1: 0, x2: 1, y2: 4 })));
}

function short(name, room) {
  const most = Math.max(3, Math.floor(room / 5.6));
  return name.length <= most ? name : `${name.slice(0, most - 1)}…`;
}

function hubText(system) {
  const rates = new Set(system.clusters.filter((each) => !each.is_real).flatMap((each) => [each.up_mbit, each.down_mbit]));
  const delays = system.paths.map((path) => path.delay_s);
  if (delays.length === 0) return "wide area";
  const rate = rates.size === 1 ? `${trim([...rates][0])} Mbit/s each` : `${trim(Math.min(...rates))}–${trim(Math.max(...rates))} Mbit/s`;
  const [least, most] = [Math.min(...delays), Math.max(...delays)];
  const delay = least === most ? duration(least) : `${trim(1000 * least, 3)}–${duration(most)}`;
  return `wide area: ${rate}, ${delay} one way`;
}

/** What is asked of each link, and what was measured before and after the run. */
function linkRows(store) {
  const rows = new Map();
  const row = (source, target, what, asked) => {
    const key = `${source} ${target} ${what}`;
    if (!rows.has(key)) rows.set(key, [source, target, what, asked, "", ""]);
    return rows.get(key);
  };
  for (const path of store.system.paths) {
    row(path.source, path.target, "delay", duration(path.delay_s));
    row(path.source, path.target, "rate", `${trim(path.rate_mbit)} Mbit/s`);
    if (path.loss > 0) row(path.source, path.target, "loss", `${trim(100 * path.loss)}%`);
  }
  for (const link of store.links) {
    const [asked, measured] = linkValue(link);
    if (measured === null) continue;
    const found = row(link.source, link.target, link.quantity.replaceAll("_", " "), asked);
    if (found[3] === "") found[3] = asked;
    found[link.moment === "after" ? 5 : 4] = link.within ? measured : `${measured} !`;
  }
  return [...rows.values()];
}

function linkValue(link) {
  if (link.measured_s !== undefined) return [duration(link.asked_s), duration(link.measured_s)];
  if (link.measured_mbit !== undefined) return [`${trim(link.asked_mbit)} Mbit/s`, `${trim(link.measured_mbit)} Mbit/s`];
  if (link.measured_loss !== undefined) return [`${trim(100 * (link.asked_loss ?? 0))}%`, `${trim(100 * link.measured_loss)}%`];
  return ["", null];
}

/** What one square of the map stands for. */
export function keyOf(map) {
  return map.perCell.each === 1 ? "a square is a processor" : `a square is ${count(map.perCell.each, "processor")}`;
}
