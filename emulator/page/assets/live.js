// A running testbed: the broker's status, jobs and events. A page that is not visible asks nothing.

import { get, Lost, Refused } from "./access.js";

const STATUS_EVERY_MS = 1000;
const EVENTS_EVERY_MS = 250;
const HELD_HOST_S = 15;
const MOST_JOBS = 3000;
const JOBS_IN_A_PAGE = 1000;

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

export class LiveSource {
  /** `changed()` is called when the store has changed, `said(status, sentence)` when the connection has. */
  constructor(store, changed, said) {
    this.store = store;
    this.changed = changed;
    this.said = said;
    this.run = null;
    this.afterEvent = 0;
    this.afterNote = 0;
    this.lastJob = 0;
    this.hostOffsetS = 0;
    this.hostMomentS = 0;
    this.isHeard = false;
    this.generation = 0;
    this.others = new Map();
  }

  /** Watch for as long as the page is open. */
  async watch() {
    let failures = 0;
    for (;;) {
      await visible();
      try {
        await this.#status();
        failures = 0;
        this.isHeard = true;
        this.said("live", "");
      } catch (error) {
        if (this.isHeard) this.hostMomentS = Date.now() / 1000 + this.hostOffsetS;
        this.isHeard = false;
        if (error instanceof Refused && error.status === 401) {
          this.generation += 1;
          this.said("over", "The broker was started again, or this session is too old. `testbed page` prints a new link.");
          return;
        }
        failures += 1;
        this.said("lost", error instanceof Lost ? "" : error.message);
      }
      await pause(Math.min(STATUS_EVERY_MS * (1 + failures), 6000));
    }
  }

  /** The run's emulated time; while the broker is not heard, that at which it fell silent. */
  nowS() {
    if (this.run === null || this.run.host_origin_s === null || this.run.host_origin_s === undefined) return 0;
    if (this.store.endS !== null) return this.store.latestS;
    const hostS = this.isHeard ? Date.now() / 1000 + this.hostOffsetS : this.hostMomentS;
    return Math.max(this.store.latestS, (hostS - this.run.host_origin_s) / this.run.request.dilation);
  }

  async #status() {
    const knownEvent = this.afterEvent;
    const now = await get("/v1/page/now");
    this.hostMomentS = now.host_moment_s;
    this.hostOffsetS = now.host_moment_s - Date.now() / 1000;
    if (this.#isAnother(now, knownEvent)) await this.#begin(now);
    this.lastJob = now.last_job;
    if (now.run.id === this.run.id) {
      this.run = now.run;
      this.store.queue = { length: now.queue_length, entries: now.queue };
    } else this.store.queue = null;
    await this.#notes();
    if (!this.store.splitsBackground) this.#noteClusters(now.clusters);
    this.#noteAway(now.clusters);
    this.changed();
  }

  /** Read what the run's recorder told the broker. */
  async #notes() {
    for (;;) {
      const page = await get(`/v1/page/notes?run=${this.run.id}&after=${this.afterNote}`);
      for (const fact of page.notes) {
        // The first fact about the background replaces what was worked out from idle processors.
        if (fact.background !== null && !this.store.splitsBackground) this.store.forgetBackground();
        this.store.note(fact);
      }
      this.afterNote = page.next;
      if (page.notes.length === 0) return;
    }
  }

  #noteAway(clusters) {
    for (const cluster of clusters) this.store.away.set(cluster.name, cluster.reachable ? undefined : "does not answer");
  }

  /**
   * A run that has ended stays in view until something else happens. A broker that knows less than was known when it was
   * asked is another one; events may arrive before its answer.
   */
  #isAnother(now, knownEvent) {
    if (this.run === null || now.last_event < knownEvent) return true;
    if (now.run.id === this.run.id) return false;
    return now.run.id > this.run.id || now.last_job > this.lastJob;
  }

  async #begin(now) {
    this.generation += 1;
    this.run = now.run;
    this.afterEvent = now.last_event;
    this.afterNote = 0;
    const request = now.run.request;
    this.store.clear({
      id: now.run.id, name: now.run.id === 0 ? "outside of runs" : request.name, policy: request.policy, queue: request.queue,
      dilation: request.dilation, time_scale: request.time_scale, jobs: null, band: null, verdict: null, reasons: [],
    });
    try {
      await this.#jobs(now);
    } catch (error) {
      this.run = null; // so that the next status begins anew
      throw error;
    }
    this.#follow(this.generation);
  }

  /** Read the last jobs of the run. */
  async #jobs(now) {
    let after = Math.max(0, now.last_job - MOST_JOBS);
    for (;;) {
      const jobs = await get(`/v1/jobs?run=${now.run.id}&after=${after}&limit=${JOBS_IN_A_PAGE}`);
      this.store.noteJobs(jobs);
      if (jobs.length < JOBS_IN_A_PAGE) return;
      after = jobs[jobs.length - 1].id;
    }
  }

  async #follow(generation) {
    const run = this.run.id;
    while (generation === this.generation) {
      await visible();
      try {
        const path = `/v1/events?run=${run}&after=${this.afterEvent}&wait_s=${HELD_HOST_S}`;
        const events = await get(path, HELD_HOST_S + 10);
        if (generation !== this.generation) return;
        for (const event of events) this.#note(event);
        if (events.length) this.changed();
        await pause(EVENTS_EVERY_MS);
      } catch {
        // The status says what is wrong; what was missed is read as soon as the broker answers.
        await pause(STATUS_EVERY_MS);
      }
    }
  }

  #note(event) {
    this.afterEvent = event.sequence;
    this.store.noteEvent(event);
    if (event.kind === "run-started") this.run.host_origin_s = event.host_moment_s - event.time_s * this.run.request.dilation;
  }

  /** What is neither idle nor held by jobs is others'. A reading may be older than a job's end: two must agree. */
  #noteClusters(clusters) {
    const time = this.nowS();
    const held = this.#held();
    for (const cluster of clusters) {
      const others = cluster.reachable ? Math.max(0, cluster.processors - cluster.idle - (held.get(cluster.name) ?? 0)) : 0;
      const before = this.others.get(cluster.name) ?? 0;
      this.others.set(cluster.name, others);
      if (Math.min(others, before) > 0 || this.store.hasBackground) {
        this.store.noteBackground(time, cluster.name, 0, Math.min(others, before));
      }
    }
  }

  #held() {
    const held = new Map();
    for (const job of this.store.sorted) {
      if (job.isFinal && job.released !== null) continue;
      for (const part of job.parts) {
        if (part.claimed !== null && !job.isFinal) held.set(part.cluster, (held.get(part.cluster) ?? 0) + part.processors);
      }
    }
    return held;
  }
}

function visible() {
  if (!document.hidden) return Promise.resolve();
  return new Promise((done) => {
    const look = () => {
      if (document.hidden) return;
      document.removeEventListener("visibilitychange", look);
      done();
    };
    document.addEventListener("visibilitychange", look);
  });
}
