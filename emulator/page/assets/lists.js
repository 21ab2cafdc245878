// The queue, the jobs and the lights, in words.

import { count, duration } from "./format.js";
import { html, refill, say, table } from "./elements.js";
import { listedJob } from "./store.js";
import { lightsAt, SIGNS, stateAt, whyItWaits } from "./view.js";

const MOST_QUEUED = 12;
const MOST_JOBS = 40;
const MARKS = { good: "✓", doubt: "?", bad: "✗", unknown: "–" };
const TITLES = { phases: "Phases", host: "Host", links: "Links", background: "Background", jobs: "Jobs" };

/** Shows something only if it is not shown already. */
class Shown {
  constructor() {
    this.sign = null;
  }

  is(sign) {
    const same = this.sign === sign;
    this.sign = sign;
    return same;
  }
}

export class Lists {
  constructor(boxes, open) {
    this.boxes = boxes;
    this.open = open;
    this.queueShown = new Shown();
    this.jobsShown = new Shown();
    this.lightsShown = new Shown();
  }

  update(store, view, isNow) {
    this.#queue(store, view, isNow);
    this.#jobs(store, view);
    this.#lights(store, view);
  }

  #queue(store, view, isNow) {
    const entries = queueOf(store, view, isNow);
    const length = isNow && store.queue !== null ? Math.max(store.queue.length, entries.length) : entries.length;
    const isOrdered = isNow && store.queue !== null;
    say(this.boxes.queueCount, length ? `${count(length, "job")}, in the order of ${isOrdered ? "tries" : "arrival"}` : "");
    const head = entries[0];
    say(this.boxes.why, head === undefined ? "" : `First: ${head.job.id}. ${whyItWaits(head.job, view)}`);
    const rows = entries.slice(0, MOST_QUEUED);
    if (isPressed(this.boxes.queue) || this.queueShown.is(rows.map((row) => `${row.job.id} ${row.tries} ${Math.round(view.time - row.job.submitted)}`).join())) return;
    if (rows.length === 0) {
      refill(this.boxes.queue, html("p", { class: "none" }, "No job waits."));
      return;
    }
    const columns = [["job", "number"], ["name", "text"], ["asks for", ""], ["waited", "number"], [isOrdered ? "tries" : "tries in all", "number"]];
    const cells = rows.map(({ job, tries }) => [this.#link(job), job.name, request(job), duration(view.time - job.submitted), tries]);
    const more = length - rows.length;
    refill(this.boxes.queue, table(columns, cells), more > 0 ? html("p", { class: "none" }, `and ${more} more`) : null);
  }

  #jobs(store, view) {
    say(this.boxes.jobsCount, `${view.running} run, ${view.placed} are placed, ${view.ended} ended`);
    const rows = latest(store, view.time);
    if (isPressed(this.boxes.jobs) || this.jobsShown.is(rows.map(({ job, state }) => `${job.id} ${state} ${job.verdict} ${state === "running" ? Math.round(view.time - job.started) : ""}`).join())) return;
    if (rows.length === 0) {
      refill(this.boxes.jobs, html("p", { class: "none" }, "No job has been submitted."));
      return;
    }
    const columns = [["job", "number"], ["name", "text"], ["state", ""], ["components", ""], ["waited", "number"], ["ran", "number"], ["verdict", ""]];
    const cells = rows.map(({ job, state }) => [
      this.#link(job), job.name, state, placement(job, state), waited(job, view.time), ran(job, view.time), verdict(job, state),
    ]);
    refill(this.boxes.jobs, table(columns, cells));
  }

  #link(job) {
    return html("button", { type: "button", onclick: () => this.open(job), "aria-label": `Job ${job.id}, ${job.name}` }, String(job.id));
  }

  #lights(store, view) {
    const { lights, judged } = lightsAt(store, view.time);
    if (this.lightsShown.is(JSON.stringify([judged, view.ended, lights.map((light) => [light.sign, light.jobs, light.reasons.size])]))) return;
    refill(this.boxes.lights, ...lights.map((light) => lightItem(light, judged)));
    const reasons = lights.flatMap((light) => [...light.reasons].map(([sentence, jobs]) => ({ light, sentence, jobs })));
    reasons.sort((a, b) => Number(b.jobs === 0) - Number(a.jobs === 0)); // those of the whole run come first
    refill(this.boxes.reasons, ...reasons.slice(0, 40).map((reason) =>
      html("li", {}, `${TITLES[reason.light.topic]}: ${reason.sentence}${reason.jobs > 1 ? ` (${reason.jobs} jobs)` : ""}`)));
    if (reasons.length === 0) refill(this.boxes.reasons, html("li", { class: "none" }, unjudged(store, judged)));
  }
}

/** A click is lost if its button is replaced while it is pressed. */
function isPressed(box) {
  return box.querySelector("button:active") !== null;
}

function unjudged(store, judged) {
  if (store.run.is_simulated) return "Simulated: no host and no link can speak against it.";
  if (judged > 0) return `Nothing speaks against the ${count(judged, "job")} judged so far.`;
  return "Jobs are judged where a campaign or a measurement records them.";
}

function lightItem(light, judged) {
  const about = light.sign === "unknown" ? "not judged" : light.jobs ? `${light.jobs} of ${judged} jobs` : light.reasons.size ? "see below" : "no fault";
  const mark = html("span", { class: "sign" }, MARKS[light.sign]);
  return html("li", { class: light.sign }, mark, TITLES[light.topic], html("span", { class: "about" }, about));
}

/** The jobs that wait, in the order of tries if that is known, otherwise in that of their arrival. */
function queueOf(store, view, isNow) {
  const waiting = new Map(view.queued.map((job) => [job.id, job]));
  if (!isNow || store.queue === null) return view.queued.map((job) => ({ job, tries: job.tries || "" }));
  const listed = [];
  for (const entry of store.queue.entries) {
    const job = waiting.get(entry.job) ?? (store.jobs.has(entry.job) ? null : listedJob(entry));
    if (job === null) continue; // it has been placed since
    listed.push({ job, tries: entry.placement_tries });
    waiting.delete(entry.job);
  }
  return [...listed, ...[...waiting.values()].map((job) => ({ job, tries: job.tries || "" }))];
}

/** The jobs that are placed or run, then those that ended last. */
function latest(store, time) {
  const held = [];
  const ended = [];
  for (const job of store.sorted) {
    const state = stateAt(job, time);
    if (state === null) break;
    if (state === "queued") continue;
    (job.ended !== null && time >= job.ended ? ended : held).push({ job, state });
  }
  ended.sort((a, b) => b.job.ended - a.job.ended);
  held.reverse();
  return [...held, ...ended].slice(0, MOST_JOBS);
}

export function request(job) {
  const sizes = job.sizes.join("+");
  return job.request === "fixed" ? job.sizes.map((size, place) => `${size} ${job.wanted[place] ?? ""}`).join("+") : `${sizes} ${job.request}`;
}

function placement(job, state) {
  return state === "cancelled" && job.parts.length === 0 ? "–" : job.parts.map((part) => part.processors).join("+") || "–";
}

function waited(job, time) {
  return duration(Math.min(job.started ?? job.ended ?? time, time) - job.submitted);
}

function ran(job, time) {
  return job.started === null || job.started > time ? "–" : duration(Math.min(job.finished ?? job.ended ?? time, time) - job.started);
}

function verdict(job, state) {
  if (!["finished", "failed", "cancelled"].includes(state) || job.verdict === null) return "";
  const sign = SIGNS[job.verdict] ?? "doubt";
  return html("b", { class: sign }, `${MARKS[sign]} ${job.verdict}`);
}
