// What a run looks like at a time: pure functions of the store.

import { count } from "./format.js";
import { stepsOf } from "./steps.js";

/** The state of a job at `time`; null before it was submitted. */
export function stateAt(job, time) {
  if (time < job.submitted) return null;
  if (job.ended !== null && time >= job.ended) return job.state;
  if (job.started !== null && time >= job.started) return "running";
  if (job.claimed !== null && time >= job.claimed) return "starting";
  if (job.placed !== null && time >= job.placed) return "claiming";
  return "queued";
}

/** From when until when a component held its processors; null if it never did. */
export function heldBy(job, part) {
  if (part.claimed === null) return null;
  return [part.claimed, job.released ?? job.ended ?? Infinity];
}

/** Everything the page shows at `time`. */
export function viewAt(store, time) {
  const clusters = new Map(
    store.clusters.map((cluster) => {
      const held = store.background.get(cluster.name);
      const use = { name: cluster.name, size: cluster.processors, executing: 0, wasted: 0, gained: 0, carries: 0 };
      return [cluster.name, { ...use, dummy: held.dummy.at(time), local: held.local.at(time), away: store.away.get(cluster.name) }];
    }),
  );
  const view = { time, clusters, queued: [], placed: 0, running: 0, ended: 0, submitted: 0, states: new Map() };
  for (const job of store.sorted) {
    const state = stateAt(job, time);
    if (state === null) break;
    view.submitted += 1;
    countJob(view, job, state);
    addParts(view, job, state, time);
  }
  for (const use of clusters.values()) {
    use.idle = Math.max(0, use.size - use.executing - use.wasted - use.dummy - use.local);
  }
  return view;
}

function countJob(view, job, state) {
  if (state === "queued") view.queued.push(job);
  else if (state === "running") view.running += 1;
  else if (state === "claiming" || state === "starting") view.placed += 1;
  else view.ended += 1;
}

function addParts(view, job, state, time) {
  const spans = state === "running" && new Set(job.parts.map((part) => part.cluster)).size > 1;
  for (const part of job.parts) {
    const use = view.clusters.get(part.cluster);
    const held = heldBy(job, part);
    if (use === undefined) continue;
    if (held !== null && held[0] <= time && time < held[1]) {
      use[state === "running" ? "executing" : "wasted"] += part.processors;
      if (spans) use.carries += part.processors;
    } else if (state === "claiming") {
      use.gained += part.processors;
    }
  }
}

/** Processors over time by kind of use, and the number of jobs that wait. */
export function seriesOf(store) {
  const executing = [];
  const wasted = [];
  const waiting = [];
  for (const job of store.sorted) {
    const until = job.placed ?? job.ended ?? Infinity;
    waiting.push([job.submitted, 1]);
    if (until < Infinity) waiting.push([until, -1]);
    for (const part of job.parts) {
      const held = heldBy(job, part);
      if (held === null) continue;
      const ran = job.started === null ? null : [job.started, job.finished ?? job.ended ?? Infinity];
      addPeriod(wasted, held[0], ran === null ? held[1] : ran[0], part.processors);
      if (ran !== null) addPeriod(executing, ran[0], ran[1], part.processors);
    }
  }
  return { executing: stepsOf(executing), wasted: stepsOf(wasted), waiting: stepsOf(waiting), ...backgroundOf(store) };
}

function addPeriod(changes, begin, end, by) {
  if (!(end > begin)) return;
  changes.push([begin, by]);
  if (end < Infinity) changes.push([end, -by]);
}

function backgroundOf(store) {
  const sums = { dummy: [], local: [] };
  for (const held of store.background.values()) {
    for (const kind of ["dummy", "local"]) {
      const { times, values } = held[kind];
      times.forEach((time, place) => sums[kind].push([time, values[place] - (place > 0 ? values[place - 1] : 0)]));
    }
  }
  return { dummy: stepsOf(sums.dummy), local: stepsOf(sums.local) };
}

/** Which processors of its cluster each component gets in the chart: the lowest that are free at its claim. */
export function lanesOf(store) {
  const stays = [];
  for (const job of store.sorted) {
    for (const part of job.parts) {
      const held = heldBy(job, part);
      if (held !== null && store.sizes.has(part.cluster)) stays.push({ job, part, from: held[0], until: held[1], blocks: [] });
    }
  }
  stays.sort((a, b) => a.from - b.from || a.job.id - b.job.id);
  const free = new Map([...store.sizes].map(([name, size]) => [name, new Float64Array(size)]));
  for (const stay of stays) stay.blocks = blocksOf(takeLanes(free.get(stay.part.cluster), stay));
  return stays;
}

function takeLanes(freeFrom, stay) {
  const lanes = [];
  for (let lane = 0; lane < freeFrom.length && lanes.length < stay.part.processors; lane += 1) {
    if (freeFrom[lane] <= stay.from) {
      lanes.push(lane);
      freeFrom[lane] = stay.until;
    }
  }
  return lanes;
}

function blocksOf(lanes) {
  const blocks = [];
  for (const lane of lanes) {
    const last = blocks[blocks.length - 1];
    if (last !== undefined && last[0] + last[1] === lane) last[1] += 1;
    else blocks.push([lane, 1]);
  }
  return blocks;
}

/** Why a waiting job does not start, by the processors that are idle: one sentence. */
export function whyItWaits(job, view) {
  const idle = [...view.clusters.values()].map((use) => ({ name: use.name, idle: use.idle })).sort((a, b) => b.idle - a.idle);
  const all = idle.reduce((sum, use) => sum + use.idle, 0);
  if (job.request === "fixed") return whyFixed(job, view);
  if (all < job.processors) return `It asks for ${count(job.processors, "processor")}; only ${all} are idle in all clusters.`;
  return job.request === "flexible" ? FITS : whyComponents(job, idle);
}

const UNLISTED = "It asks for clusters by name, which the queue does not list.";
const FITS = "Its processors are idle: it waits for its turn, its policy, or the next scan of the queue.";

function whyFixed(job, view) {
  if (job.wanted.length === 0) return UNLISTED;
  const asked = new Map();
  job.wanted.forEach((name, place) => asked.set(name, (asked.get(name) ?? 0) + job.sizes[place]));
  for (const [name, size] of asked) {
    const idle = view.clusters.get(name)?.idle ?? 0;
    if (idle < size) return `It asks for ${count(size, "processor")} of ${name}, where ${idle} are idle.`;
  }
  return FITS;
}

function whyComponents(job, idle) {
  const left = idle.map((use) => ({ ...use }));
  for (const size of [...job.sizes].sort((a, b) => b - a)) {
    left.sort((a, b) => b.idle - a.idle);
    if (left[0].idle < size) {
      const most = `${idle[0].name} has most idle: ${idle[0].idle}`;
      if (job.sizes.length === 1) return `Its ${count(size, "processor")} fit into no cluster; ${most}.`;
      return `A component of ${size} fits nowhere beside the others (it asks for ${job.sizes.join("+")}); ${most}.`;
    }
    if (job.request === "unordered") left.shift();
    else left[0].idle -= size;
    if (left.length === 0) break;
  }
  return FITS;
}

/**
 * A light for each topic: how the jobs that ended until `time` were judged, from its end on also the run, and why.
 * A reason has the number of its jobs; those of the run and of a check have none.
 */
export function lightsAt(store, time) {
  const lights = new Map(TOPICS.map((topic) => [topic, { topic, sign: "unknown", jobs: 0, reasons: new Map() }]));
  const isOver = time >= (store.endS ?? Infinity);
  const isRunJudged = isOver && Boolean(store.run.verdict);
  let judged = 0;
  for (const job of store.sorted) {
    if (job.verdict === null || job.ended === null || job.ended > time) continue;
    judged += 1;
    for (const topic of new Set(job.reasons.map((reason) => reason.topic))) note(lights.get(topic), job, topic);
  }
  for (const check of store.checks) {
    if (check.moment !== "before" && !isOver) continue;
    const light = lights.get("links");
    if (check.verdict !== "valid") {
      light.sign = worse(light.sign, SIGNS[check.verdict]);
      for (const reason of check.reasons) light.reasons.set(reason.sentence, 0);
    } else light.sign = worse(light.sign, "good");
  }
  if (isRunJudged) noteRun(lights, store.run);
  for (const light of lights.values()) {
    // The background is judged with the whole run, and only where there is one.
    const isJudged = light.topic === "background" ? isRunJudged && hasEnded(store.run) && store.hasBackground : judged > 0;
    if (isJudged && !store.run.is_simulated) light.sign = worse(light.sign, "good");
  }
  return { lights: [...lights.values()], judged };
}

export const TOPICS = ["phases", "host", "links", "background", "jobs"];
export const SIGNS = { valid: "good", suspect: "doubt", void: "bad" };
const NOT_ENDED = "the run has not ended";
const ORDER = ["unknown", "good", "doubt", "bad"];

function note(light, job, topic) {
  if (light === undefined) return;
  light.jobs += 1;
  light.sign = worse(light.sign, SIGNS[job.verdict] ?? "doubt");
  for (const reason of job.reasons) {
    if (reason.topic === topic) light.reasons.set(reason.sentence, (light.reasons.get(reason.sentence) ?? 0) + 1);
  }
}

function noteRun(lights, run) {
  for (const { topic, sentence } of run.reasons ?? []) {
    const light = lights.get(topic);
    if (light === undefined) continue;
    // A reason of the run does not say how grave it is; where jobs or a check do, theirs is the sign.
    if (light.sign === "unknown" || light.sign === "good") light.sign = SIGNS[run.verdict] ?? "doubt";
    if (!light.reasons.has(sentence)) light.reasons.set(sentence, 0);
  }
}

/** Whether a recorded run came to its end, and was judged then. */
function hasEnded(run) {
  return !(run.reasons ?? []).some((reason) => reason.sentence === NOT_ENDED);
}

function worse(a, b) {
  return ORDER.indexOf(a) >= ORDER.indexOf(b) ? a : b;
}
