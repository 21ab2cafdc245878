// One job: its timeline, its times, its components, its verdict, what its application reported, and its output.

import { get } from "./access.js";
import { duration, trim } from "./format.js";
import { element, html, refill, say, svg, table } from "./elements.js";
import { request } from "./lists.js";

const WIDTH = 700;
const MOST_FIELDS = 40;

/** Show a job in the dialog, whole; what is under way lasts until `now`. `isLive`: its output can be read. */
export function openJob(job, isLive, now) {
  const dialog = element("job");
  say(element("job-title"), `Job ${job.id}: ${job.name}`);
  refill(
    element("job-body"),
    html("p", { class: "none" }, `${job.application}${argumentsOf(job)}, ${request(job)}, ${job.state}`),
    job.reason ? html("p", {}, job.reason) : null,
    timeline(job, now),
    html("h3", {}, "Times"),
    times(job),
    ...componentsOf(job),
    ...verdictOf(job),
    ...resultOf(job),
    ...(isLive ? outputOf(job) : []),
  );
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
}

function argumentsOf(job) {
  const stated = Object.entries(job.arguments).map(([name, value]) => `${name} ${value}`);
  return stated.length ? ` (${stated.join(", ")})` : "";
}

/** The phases of a job, one below the other: it waits, its processors are claimed, it starts, it runs. */
function timeline(job, now) {
  const latest = Math.max(job.started ?? 0, job.claimed ?? 0, job.placed ?? 0, job.submitted);
  const end = job.released ?? job.ended ?? Math.max(latest, now);
  const phases = [
    ["queue", "waits in the queue", job.submitted, job.placed ?? job.ended ?? end],
    ["claim", "placed: claiming (PGT)", job.placed, job.claimed ?? job.ended ?? end],
    ["barrier", "claimed: starting (PWT)", job.claimed, job.started ?? job.ended ?? end],
    ["run", "runs", job.started, job.finished ?? job.ended ?? end],
  ].filter(([, , from, until]) => from !== null && until !== null);
  const span = Math.max(end - job.submitted, 1e-9);
  const left = 160;
  const x = (time) => left + ((WIDTH - left - 80) * (time - job.submitted)) / span;
  const line = svg("line", { class: "hatch-line", x1: 1, y1: 0, x2: 1, y2: 4 });
  const pattern = svg("pattern", { id: "barrier", width: 4, height: 4, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, line);
  const drawing = svg("svg", { viewBox: `0 0 ${WIDTH} ${phases.length * 22 + 4}`, role: "img", "aria-label": "Timeline of the job" }, svg("defs", {}, pattern));
  phases.forEach(([kind, words, from, until], place) => {
    const y = 4 + 22 * place;
    const width = Math.max(1.5, x(until) - x(from));
    drawing.append(
      svg("text", { class: "soft", x: left - 8, y: y + 11, "text-anchor": "end" }, words),
      svg("rect", { class: `phase-${kind}`, x: x(from), y, width, height: 14, rx: 2 }),
      svg("text", { x: x(from) + width + 6, y: y + 11 }, duration(until - from)),
    );
  });
  return drawing;
}

function times(job) {
  const between = (from, until) => (from === null || until === null ? null : until - from);
  const facts = [
    ["submitted at", job.submitted],
    ["queue time", between(job.submitted, job.placed)],
    ["PGT (placed to claimed)", between(job.placed, job.claimed)],
    ["PWT (claimed to started)", between(job.claimed, job.started)],
    ["wait time", between(job.submitted, job.started)],
    ["execution time", between(job.started, job.finished)],
    ["response time", between(job.submitted, job.finished)],
    ["FTT (files, estimated)", job.transfer],
    ["ACT (start postponed)", job.additional],
    ["middleware late by", job.late],
  ].filter(([, value]) => value !== null);
  const counted = [["placement tries", job.tries], ["claiming tries", job.claimingTries]];
  if (job.exitCode !== null) counted.push(["exit code", job.exitCode]);
  const entry = (title, value) => html("div", {}, html("dt", {}, title), html("dd", {}, value));
  return html("dl", { class: "times" }, ...facts.map(([title, value]) => entry(title, duration(value))), ...counted.map(([title, value]) => entry(title, String(value))));
}

function componentsOf(job) {
  if (job.parts.length === 0) return [];
  const columns = [["cluster", ""], ["processors", "number"], ["allocation", ""], ["claimed at", "number"]];
  const rows = job.parts.map((part) => [part.cluster, String(part.processors), part.allocation ?? "–", duration(part.claimed)]);
  return [html("h3", {}, "Components"), table(columns, rows)];
}

function verdictOf(job) {
  if (job.verdict === null) return [];
  const reasons = job.reasons.map((reason) => html("li", {}, reason.sentence));
  const word = html("p", {}, job.verdict);
  return [html("h3", {}, "Verdict"), word, html("ul", {}, ...reasons)];
}

function resultOf(job) {
  const fields = Object.entries(job.result ?? {}).filter(([, value]) => ["number", "string", "boolean"].includes(typeof value));
  if (fields.length === 0) return [];
  const entries = fields.slice(0, MOST_FIELDS).map(([name, value]) =>
    html("div", {}, html("dt", {}, name), html("dd", {}, typeof value === "number" ? trim(value, 6) : String(value))));
  return [html("h3", {}, "Reported by the application"), html("dl", { class: "times" }, ...entries)];
}

function outputOf(job) {
  const box = html("div");
  const load = async () => {
    try {
      const written = await get(`/v1/jobs/${job.id}/output`);
      const streams = [["standard output", written.output], ["standard error", written.error]].filter(([, text]) => text);
      refill(box, ...streams.flatMap(([title, text]) => [html("p", { class: "none" }, title), html("pre", { tabindex: "0" }, text)]));
      if (streams.length === 0) refill(box, html("p", { class: "none" }, "It wrote nothing so far."));
    } catch (error) {
      refill(box, html("p", {}, error.message));
    }
  };
  box.append(html("button", { type: "button", onclick: load }, "Show what it wrote"));
  return [html("h3", {}, "Output"), box];
}
