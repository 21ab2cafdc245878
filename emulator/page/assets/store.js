// All that is known of a run: jobs with their timestamps, the background load, checks, verdicts. Nothing of a moment is
// kept: what the page shows at a time follows from these (see view.js). So a live run and a recorded one are the same
// to the page, and any moment of either can be looked at.

import { Steps } from "./steps.js";

const FINAL = new Set(["finished", "failed", "cancelled"]);

export class Store {
  constructor(system) {
    this.system = system;
    this.clusters = system.clusters;
    this.sizes = new Map(system.clusters.map((cluster) => [cluster.name, cluster.processors]));
    this.processors = system.clusters.reduce((sum, cluster) => sum + cluster.processors, 0);
    this.clear({});
  }

  /** Forget everything but the system, for another run. */
  clear(run) {
    this.run = run;
    this.jobs = new Map();
    this.sorted = [];
    this.forgetBackground();
    this.splitsBackground = false;
    this.idle = new Map();
    this.away = new Map();
    this.verdicts = new Map();
    this.links = [];
    this.checks = [];
    this.evidence = [];
    this.queue = null;
    this.messages = [];
    this.endS = null;
    this.latestS = 0;
    this.version = 0;
  }

  /** Take note of a job as the API or a record shows it; `timeS` is when it was so, if known. */
  noteJob(view, timeS = null) {
    const job = Object.assign(jobOf(view, this.jobs.get(view.id), timeS), this.verdicts.get(view.id));
    if (!this.jobs.has(view.id)) this.#insert(job);
    else this.sorted[this.sorted.indexOf(this.jobs.get(view.id))] = job;
    this.jobs.set(view.id, job);
    for (const time of [job.submitted, job.placed, job.claimed, job.started, job.finished, job.released, timeS]) {
      if (time !== null && time > this.latestS) this.latestS = time;
    }
    this.version += 1;
    return job;
  }

  /** Take note of many jobs at once; `endS` is the end of a recorded run. */
  noteJobs(views, endS = null) {
    for (const view of views) {
      const job = Object.assign(jobOf(view, undefined, null, endS), this.verdicts.get(view.id));
      this.jobs.set(view.id, job);
      for (const time of [job.submitted, job.placed, job.claimed, job.started, job.finished, job.released]) {
        if (time !== null && time > this.latestS) this.latestS = time;
      }
    }
    this.sorted = [...this.jobs.values()].sort((a, b) => a.submitted - b.submitted || a.id - b.id);
    this.version += 1;
  }

  /** Take note of an event of the run. */
  noteEvent(event) {
    if (event.job) this.noteJob(event.kind === "claim-failed" ? withoutClaims(event.job) : event.job, event.time_s);
    else this.latestS = Math.max(this.latestS, event.time_s);
    if (event.kind === "run-ended") this.endS = event.time_s;
  }

  /** Take note of a fact that only the run's recorder knows. */
  note(fact) {
    if (fact.jobs !== null) this.run.jobs = fact.jobs;
    if (fact.band !== null) this.run.band = fact.band;
    if (fact.link !== null) this.links.push(fact.link);
    if (fact.check !== null) this.checks.push(fact.check);
    if (fact.verdict !== null) this.#noteVerdict(fact.verdict);
    if (fact.background !== null) {
      this.splitsBackground = true;
      this.noteBackground(fact.background.time_s, fact.background.cluster, fact.background.dummy, fact.background.local);
    }
  }

  #noteVerdict({ job, verdict, reasons }) {
    this.verdicts.set(job, { verdict, reasons });
    const known = this.jobs.get(job);
    if (known !== undefined) Object.assign(known, { verdict, reasons });
  }

  /** Forget the background load. */
  forgetBackground() {
    this.background = new Map(this.clusters.map((cluster) => [cluster.name, { dummy: new Steps(), local: new Steps() }]));
    this.hasBackground = false;
  }

  /** Take note that dummy and local jobs hold processors of a cluster from `timeS` on. */
  noteBackground(timeS, cluster, dummy, local) {
    const held = this.background.get(cluster);
    if (held === undefined) return;
    held.dummy.set(timeS, dummy);
    held.local.set(timeS, local);
    this.hasBackground = true;
    this.version += 1;
  }

  #insert(job) {
    let place = this.sorted.length;
    while (place > 0 && this.sorted[place - 1].submitted > job.submitted) place -= 1;
    this.sorted.splice(place, 0, job);
  }
}

/** A view of a job whose claim failed: the event still says what had been claimed, which is held no more. */
function withoutClaims(view) {
  return { ...view, components: view.components.map((part) => ({ ...part, claimed_s: null, allocation: null })) };
}

/** A waiting job of which only its entry in the queue is known: not the clusters that a fixed request names. */
export function listedJob(entry) {
  const { name, application, request, components, submitted_s, placement_tries } = entry;
  const specification = { name, application, request, components };
  return jobOf({ id: entry.job, specification, state: "queued", submitted_s, placement_tries }, undefined, null);
}

/** A job with plain names. A job that has ended without a finish ended when that became known. */
function jobOf(view, before, timeS, endS = null) {
  const asked = view.specification;
  const isFinal = FINAL.has(view.state);
  const finished = view.finished_s ?? null;
  const released = view.released_s ?? before?.released ?? null;
  const last = view.placed_s == null ? (endS ?? view.submitted_s) : (view.started_s ?? view.claimed_s ?? view.placed_s);
  const ended = isFinal ? (finished ?? released ?? view.ended_s ?? before?.ended ?? timeS ?? last) : null;
  return {
    id: view.id,
    name: asked.name,
    application: asked.application,
    arguments: asked.arguments ?? {},
    request: asked.request,
    sizes: asked.components,
    processors: asked.components.reduce((sum, size) => sum + size, 0),
    wanted: asked.clusters ?? [],
    file: asked.file ?? null,
    home: asked.queue ?? null,
    state: view.state,
    isFinal,
    reason: view.reason ?? "",
    tries: view.placement_tries ?? 0,
    claimingTries: view.claiming_tries ?? 0,
    parts: (view.components ?? []).map((part) => ({
      cluster: part.cluster,
      processors: part.processors,
      allocation: part.allocation ?? null,
      claimed: part.claimed_s ?? null,
    })),
    submitted: view.submitted_s,
    placed: view.placed_s ?? null,
    transfer: view.estimated_transfer_s ?? null,
    claimDue: view.claim_due_s ?? null,
    planned: view.planned_start_s ?? null,
    additional: view.additional_claiming_s ?? null,
    claimed: view.claimed_s ?? null,
    started: view.started_s ?? null,
    finished,
    released,
    ended,
    late: view.overhead_late_s ?? null,
    exitCode: view.exit_code ?? null,
    result: view.result ?? null,
    verdict: view.verdict ?? before?.verdict ?? null,
    reasons: view.reasons ?? before?.reasons ?? [],
  };
}
