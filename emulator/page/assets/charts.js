// Utilization by kind of use against the background's band, and the number of jobs that wait.

import { percent } from "./format.js";
import { colour, hatched, LEFT, line, Plot } from "./plot.js";
import { seriesOf } from "./view.js";

const AXIS = 18;
const KINDS = ["dummy", "local", "executing", "wasted"];
const INKS = { dummy: "--dummy", local: "--local", executing: "--run", wasted: "--held" };

export class Charts {
  constructor(utilization, waiting, redraw) {
    this.use = new Plot(utilization, redraw);
    this.waiting = new Plot(waiting, redraw);
    this.version = -1;
  }

  draw(store, time, from, until) {
    if (this.version !== store.version) {
      this.series = seriesOf(store);
      this.version = store.version;
    }
    this.#drawUse(store, time, from, until);
    this.#drawWaiting(time, from, until);
  }

  #drawUse(store, time, from, until) {
    const plot = this.use;
    const draw = plot.begin(from, until);
    const bottom = plot.height - AXIS;
    const y = (share) => bottom - share * (bottom - 6);
    plot.drawTimes(draw, y(1), bottom, true);
    this.#shares(draw, y, [0, 0.25, 0.5, 0.75, 1], (share) => `${100 * share}%`);
    plot.showUntil(draw, time, this.version, (paint) => this.#paintUse(paint, plot, store.processors, y));
    if (store.run.band && store.hasBackground) this.#band(draw, plot, store.run.band, y);
    plot.drawNow(draw, time, y(1), bottom);
    const now = KINDS.map((kind) => `${kind} ${percent(this.series[kind].at(time) / store.processors)}`);
    plot.box.setAttribute("aria-label", `Utilization now: ${now.join(", ")}.`);
  }

  #paintUse(paint, plot, processors, y) {
    const columns = columnsOf(plot);
    let below = columns.map(() => 0);
    for (const kind of KINDS) {
      const shares = columns.map((column) => this.series[kind].mean(column.from, column.until) / processors);
      const above = shares.map((share, place) => below[place] + share);
      fill(paint, columns, below, above, y, kind === "wasted" ? hatched(paint, colour(INKS[kind])) : colour(INKS[kind]));
      below = above;
    }
  }

  #band(draw, plot, [low, high], y) {
    draw.strokeStyle = colour("--ink");
    draw.setLineDash([5, 4]);
    draw.lineWidth = 1;
    for (const share of [low, high]) line(draw, LEFT, y(share), plot.width - 10, y(share));
    draw.setLineDash([]);
    const text = `background's band ${Math.round(100 * low)}–${Math.round(100 * high)}%`;
    draw.textAlign = "left";
    const width = draw.measureText(text).width;
    draw.fillStyle = colour("--panel");
    draw.fillRect(LEFT + 4, y(high) - 15, width + 8, 13);
    draw.fillStyle = colour("--ink");
    draw.fillText(text, LEFT + 8, y(high) - 8);
  }

  #drawWaiting(time, from, until) {
    const plot = this.waiting;
    const draw = plot.begin(from, until);
    const bottom = plot.height - AXIS;
    const most = Math.max(4, niceAbove(this.series.waiting.most(from, until)));
    const y = (jobs) => bottom - (jobs / most) * (bottom - 6);
    plot.drawTimes(draw, y(most), bottom, true);
    this.#shares(draw, y, [0, most / 2, most], (jobs) => String(jobs));
    plot.showUntil(draw, time, this.version, (paint) => {
      const columns = columnsOf(plot);
      const counts = columns.map((column) => this.series.waiting.most(column.from, column.until));
      fill(paint, columns, columns.map(() => 0), counts, y, colour("--waiting"));
    });
    plot.drawNow(draw, time, y(most), bottom);
    plot.box.setAttribute("aria-label", `${this.series.waiting.at(time)} jobs wait now.`);
  }

  #shares(draw, y, marks, text) {
    draw.textAlign = "right";
    for (const mark of marks) {
      draw.fillStyle = colour("--soft");
      draw.fillText(text(mark), LEFT - 8, Math.max(6, y(mark)));
      draw.strokeStyle = colour("--grid");
      draw.lineWidth = 1;
      line(draw, LEFT, Math.round(y(mark)) + 0.5, this.use.width - 10, Math.round(y(mark)) + 0.5);
    }
  }
}

/** The columns of pixels, each with the period that it stands for. */
function columnsOf(plot) {
  const columns = [];
  for (let x = LEFT; x < LEFT + plot.inner; x += 1) {
    columns.push({ x, width: 1, from: plot.timeAt(x), until: plot.timeAt(x + 1) });
  }
  return columns;
}

function fill(draw, columns, below, above, y, ink) {
  if (columns.length === 0) return;
  draw.fillStyle = ink;
  draw.beginPath();
  draw.moveTo(columns[0].x, y(below[0]));
  columns.forEach((column, place) => {
    draw.lineTo(column.x, y(above[place]));
    draw.lineTo(column.x + column.width, y(above[place]));
  });
  for (let place = columns.length - 1; place >= 0; place -= 1) {
    draw.lineTo(columns[place].x + columns[place].width, y(below[place]));
    draw.lineTo(columns[place].x, y(below[place]));
  }
  draw.closePath();
  draw.fill();
}

/** The next even number of the kind 2, 4, 10, 20, 40, 100 above a count. */
function niceAbove(number) {
  let power = 1;
  for (;;) {
    for (const step of [2, 4, 10]) if (step * power >= number) return step * power;
    power *= 10;
  }
}
