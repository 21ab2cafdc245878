// A canvas over time: its size, its colours, its axis. All plots share one left margin, so that times stand above each other.
// What was drawn is kept: a later moment of the same period shows more of it, and nothing is drawn again.

import { tick, tickStep } from "./format.js";
import { html } from "./elements.js";

export const LEFT = 92;
const RIGHT = 10;

export class Plot {
  constructor(box, redraw) {
    this.box = box;
    this.canvas = html("canvas");
    box.replaceChildren(this.canvas);
    new ResizeObserver(redraw).observe(box);
  }

  /** Begin to draw the time from `from` to `until`: an empty canvas in the size of its box. */
  begin(from, until) {
    const scale = window.devicePixelRatio || 1;
    this.width = this.box.clientWidth;
    this.height = this.box.clientHeight;
    if (this.canvas.width !== Math.round(this.width * scale) || this.canvas.height !== Math.round(this.height * scale)) {
      this.canvas.width = Math.round(this.width * scale);
      this.canvas.height = Math.round(this.height * scale);
    }
    this.from = from;
    this.until = Math.max(until, from + 1e-9);
    return prepared(this.canvas, scale);
  }

  /** Show what `paint` draws of the whole period, up to `time`; it is painted again only for another `key`. */
  showUntil(draw, time, key, paint) {
    const whole = `${key} ${this.from} ${this.until} ${this.canvas.width} ${this.canvas.height} ${colour("--ink")}`;
    if (this.kept === undefined) this.kept = html("canvas");
    if (this.keptFor !== whole) {
      this.kept.width = this.canvas.width;
      this.kept.height = this.canvas.height;
      this.keptFor = whole;
      paint(prepared(this.kept, window.devicePixelRatio || 1));
    }
    const width = Math.round(Math.min(this.x(time), this.width) * (this.canvas.width / this.width));
    if (width <= 0) return;
    draw.save();
    draw.setTransform(1, 0, 0, 1, 0, 0);
    draw.drawImage(this.kept, 0, 0, width, this.kept.height, 0, 0, width, this.kept.height);
    draw.restore();
  }

  get inner() {
    return Math.max(1, this.width - LEFT - RIGHT);
  }

  /** Where a time stands, in pixels. */
  x(time) {
    return LEFT + (this.inner * (time - this.from)) / (this.until - this.from);
  }

  /** The time at a place in pixels. */
  timeAt(x) {
    return this.from + ((x - LEFT) * (this.until - this.from)) / this.inner;
  }

  /** Draw the grid of times from `top` to `bottom`, with numbers below if asked. */
  drawTimes(draw, top, bottom, withNumbers) {
    const step = tickStep(this.until - this.from, this.inner / 90);
    draw.strokeStyle = colour("--grid");
    draw.fillStyle = colour("--soft");
    draw.textAlign = "center";
    draw.lineWidth = 1;
    for (let time = Math.ceil(this.from / step) * step; time <= this.until; time += step) {
      const x = Math.round(this.x(time)) + 0.5;
      line(draw, x, top, x, bottom);
      if (withNumbers && x > LEFT + 8 && x < this.width - 24) draw.fillText(tick(time, step), x, bottom + 9);
      else if (withNumbers && x <= LEFT + 8) {
        draw.textAlign = "left";
        draw.fillText(tick(time, step), LEFT, bottom + 9);
        draw.textAlign = "center";
      }
    }
  }

  /** Draw the line of the time that is looked at. */
  drawNow(draw, time, top, bottom) {
    if (time < this.from || time > this.until) return;
    const x = Math.round(this.x(time)) + 0.5;
    draw.strokeStyle = colour("--soft");
    draw.lineWidth = 1;
    line(draw, x, top, x, bottom);
  }
}

function prepared(canvas, scale) {
  const draw = canvas.getContext("2d");
  draw.setTransform(scale, 0, 0, scale, 0, 0);
  draw.clearRect(0, 0, canvas.width, canvas.height);
  draw.font = '11px system-ui, "Segoe UI", "DejaVu Sans", sans-serif';
  draw.textBaseline = "middle";
  return draw;
}

export function line(draw, x1, y1, x2, y2) {
  draw.beginPath();
  draw.moveTo(x1, y1);
  draw.lineTo(x2, y2);
  draw.stroke();
}

let colours = new Map();

/** A colour of the page's style, as it is in the present theme. */
export function colour(name) {
  if (!colours.has(name)) colours.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
  return colours.get(name);
}

/** Forget the colours, because the theme changed. */
export function forgetColours() {
  colours = new Map();
}

/** A pattern of slanted lines, for what must not be told by colour alone. */
export function hatched(draw, ink) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const on = tile.getContext("2d");
  on.strokeStyle = ink;
  on.lineWidth = 2;
  for (const shift of [-6, 0, 6]) line(on, shift, 6, shift + 6, 0);
  return draw.createPattern(tile, "repeat");
}
