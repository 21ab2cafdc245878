// The processors of each cluster over time, and which job held them. The components of a job have one colour.

import { count, duration } from "./format.js";
import { colour, LEFT, Plot } from "./plot.js";
import { lanesOf, stateAt } from "./view.js";

// Okabe and Ito's, without those that vanish on white or on black, and a violet.
const JOB_COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8470c9"];
const DARK_TEXT_ON = new Set(["#e69f00", "#cc79a7", "#56b4e9", "#009e73"]);
const GAP = 7;
const AXIS = 18;
const LEAST_ROW = 22;
const LEAST_NAMED_ROW = 10;
// Some browsers draw nothing on a canvas of more than 16,384 pixels; a screen may have two in one of a page's.
const MOST_HEIGHT = 8000;

export function jobColour(job) {
  return JOB_COLOURS[job.id % JOB_COLOURS.length];
}

export class Gantt {
  constructor(box, tip, open, redraw) {
    this.plot = new Plot(box, redraw);
    this.box = box;
    this.tip = tip;
    this.drawn = [];
    this.chosen = null;
    this.version = -1;
    box.addEventListener("pointermove", (event) => this.#hover(event));
    box.addEventListener("pointerleave", () => this.#leave(redraw));
    box.addEventListener("click", (event) => {
      const found = this.#at(event);
      if (found !== null) open(found.job);
    });
    this.redraw = redraw;
  }

  draw(store, time, from, until) {
    if (this.version !== store.version) {
      this.stays = lanesOf(store);
      this.version = store.version;
    }
    this.time = time;
    this.#fit(store);
    const draw = this.plot.begin(from, until);
    const bottom = this.plot.height - AXIS;
    this.plot.drawTimes(draw, 0, bottom, true);
    const rows = this.#rows(store, bottom);
    this.plot.showUntil(draw, time, `${this.version} ${this.chosen}`, (paint) => {
      this.drawn = [];
      for (const row of rows.values()) if (store.hasBackground) this.#drawBackground(paint, row, store.background.get(row.name));
      for (const stay of this.stays) this.#drawStay(paint, rows.get(stay.part.cluster), stay);
    });
    for (const row of rows.values()) this.#drawRow(draw, row);
    this.plot.drawNow(draw, time, 0, bottom);
    this.box.setAttribute("aria-label", `Jobs on the processors of ${count(rows.size, "cluster")} over time; the list of jobs says the same in words.`);
  }

  /** Make the box as high as its clusters need, within what a browser can draw. */
  #fit(store) {
    const wanted = Math.max(store.clusters.length * 62 + AXIS, Math.min(400, 120 + store.processors * 1.1));
    const height = `${Math.round(Math.min(Math.max(wanted, 220), MOST_HEIGHT))}px`;
    if (this.box.style.height !== height) this.box.style.height = height;
  }

  #rows(store, bottom) {
    const shrunk = Math.min(1, bottom / ((LEAST_ROW + GAP) * store.clusters.length));
    const [least, gap] = [shrunk * LEAST_ROW, shrunk * GAP];
    const room = bottom - gap * (store.clusters.length - 1);
    const spare = Math.max(0, room - least * store.clusters.length);
    const rows = new Map();
    let top = 0;
    for (const cluster of store.clusters) {
      const height = least + (spare * cluster.processors) / store.processors;
      rows.set(cluster.name, { name: cluster.name, size: cluster.processors, top, height });
      top += height + gap;
    }
    return rows;
  }

  #drawRow(draw, row) {
    draw.strokeStyle = colour("--line");
    draw.lineWidth = 1;
    draw.strokeRect(LEFT - 0.5, row.top + 0.5, this.plot.inner + 1, row.height - 1);
    if (row.height < LEAST_NAMED_ROW) return;
    draw.textAlign = "right";
    draw.fillStyle = colour("--ink");
    const middle = row.top + row.height / 2;
    const twoLines = row.height >= 30;
    draw.fillText(shortened(draw, row.name, LEFT - 14), LEFT - 8, twoLines ? middle - 7 : middle);
    if (twoLines) {
      draw.fillStyle = colour("--soft");
      draw.fillText(String(row.size), LEFT - 8, middle + 7);
    }
  }

  /** Draw the background load of a cluster from the top down. */
  #drawBackground(draw, row, held) {
    const end = this.plot.x(this.plot.until);
    draw.fillStyle = colour("--dummy");
    draw.globalAlpha = 0.55;
    for (let x = LEFT; x < end; x += 1) {
      const [from, until] = [this.plot.timeAt(x), this.plot.timeAt(x + 1)];
      const share = (held.dummy.mean(from, until) + held.local.mean(from, until)) / row.size;
      if (share > 0) draw.fillRect(x, row.top, 1, share * row.height);
    }
    draw.globalAlpha = 1;
  }

  #drawStay(draw, row, stay) {
    const { job, from } = stay;
    const until = Math.min(stay.until, this.plot.until);
    if (until <= this.plot.from || from >= this.plot.until) return;
    const ink = jobColour(job);
    const ran = job.started === null ? null : [job.started, Math.min(job.finished ?? job.ended ?? Infinity, until)];
    const unit = row.height / row.size;
    const faded = this.chosen !== null && this.chosen !== job.id;
    for (const [lane, height] of stay.blocks) {
      const box = this.#box(row, unit, lane, height, from, until);
      draw.globalAlpha = faded ? 0.12 : 0.35;
      draw.fillStyle = ink;
      draw.fillRect(...box);
      if (ran !== null && ran[1] > ran[0]) {
        const bar = this.#box(row, unit, lane, height, ran[0], ran[1]);
        draw.globalAlpha = faded ? 0.3 : 1;
        draw.fillRect(...bar);
        this.#number(draw, job, ink, bar);
      }
      draw.globalAlpha = 1;
      if (this.chosen === job.id) {
        draw.strokeStyle = colour("--ink");
        draw.lineWidth = 2;
        draw.strokeRect(...box);
      }
      this.drawn.push({ job, box });
    }
  }

  #box(row, unit, lane, height, from, until) {
    const left = Math.max(LEFT, this.plot.x(from));
    const right = Math.min(this.plot.x(this.plot.until), this.plot.x(until));
    const top = row.top + row.height - unit * (lane + height);
    const seam = unit * height > 3 ? 0.5 : 0;
    return [left, top + seam, Math.max(1, right - left), Math.max(1, unit * height - 2 * seam)];
  }

  #number(draw, job, ink, [left, top, width, height]) {
    const text = String(job.id);
    if (height < 9 || width < 8 + 7 * text.length) return;
    draw.textAlign = "center";
    draw.fillStyle = DARK_TEXT_ON.has(ink) ? "#101010" : "#ffffff";
    draw.fillText(text, left + width / 2, top + height / 2);
    draw.fillStyle = ink;
  }

  #at(event) {
    const { left, top } = this.box.getBoundingClientRect();
    const [x, y] = [event.clientX - left, event.clientY - top];
    if (x > this.plot.x(this.time)) return null;
    for (let place = this.drawn.length - 1; place >= 0; place -= 1) {
      const [boxLeft, boxTop, width, height] = this.drawn[place].box;
      if (x >= boxLeft && x <= boxLeft + width && y >= boxTop && y <= boxTop + height) return this.drawn[place];
    }
    return null;
  }

  #hover(event) {
    const found = this.#at(event);
    const chosen = found === null ? null : found.job.id;
    this.box.style.cursor = found === null ? "default" : "pointer";
    if (chosen !== this.chosen) {
      this.chosen = chosen;
      this.redraw();
    }
    if (found === null) this.tip.hide();
    else this.tip.show(event, described(found.job, this.time));
  }

  #leave(redraw) {
    this.tip.hide();
    if (this.chosen !== null) {
      this.chosen = null;
      redraw();
    }
  }
}

function described(job, time) {
  const parts = job.parts.map((part) => `${part.processors} ${part.cluster}`).join(" + ");
  const lines = [`${job.id}  ${job.name}`, `${job.application}: ${parts}`, stateAt(job, time) ?? ""];
  if (job.started !== null && job.started <= time) lines.push(`waited ${duration(job.started - job.submitted)}`);
  if (job.finished !== null && job.finished <= time) lines.push(`ran ${duration(job.finished - job.started)}`);
  return lines.join("\n");
}

function shortened(draw, text, width) {
  if (draw.measureText(text).width <= width) return text;
  let cut = text;
  while (cut.length > 1 && draw.measureText(`${cut}…`).width > width) cut = cut.slice(0, -1);
  return `${cut}…`;
}

