// Checks of the page's own decisions, in a browser: `tests/browser/test_page.py` loads this and reads what it writes.

import { enter } from "/page/access.js";
import { duration, clock, tickStep } from "/page/format.js";
import { Gantt } from "/page/gantt.js";
import { Lists } from "/page/lists.js";
import { LiveSource } from "/page/live.js";
import { Player } from "/page/player.js";
import { Steps, stepsOf } from "/page/steps.js";
import { Store } from "/page/store.js";
import { lanesOf, lightsAt, seriesOf, stateAt, viewAt, whyItWaits } from "/page/view.js";

const SYSTEM = {
  topology: "two",
  testbed: "",
  clusters: [
    { name: "east", nodes: 4, processors: 8, is_real: false, up_mbit: 10, down_mbit: 10 },
    { name: "west", nodes: 2, processors: 4, is_real: false, up_mbit: 10, down_mbit: 10 },
  ],
  paths: [],
};

function job(id, sizes, times = {}, more = {}) {
  const clusters = ["east", "west"];
  return {
    id,
    specification: { name: `job-${id}`, application: "poisson", components: sizes, request: more.request ?? "non-fixed", clusters: more.clusters ?? [] },
    state: more.state ?? "queued",
    submitted_s: times.submitted ?? 0,
    placed_s: times.placed,
    claimed_s: times.claimed,
    started_s: times.started,
    finished_s: times.finished,
    released_s: times.released,
    components: times.placed === undefined ? [] : sizes.map((processors, at) => ({ cluster: clusters[at], processors, claimed_s: times.claimed })),
    ...more.fields,
  };
}

const RAN = { submitted: 1, placed: 2, claimed: 4, started: 8, finished: 20, released: 22 };

function store(...views) {
  const made = new Store(SYSTEM);
  made.noteJobs(views);
  return made;
}

/** The lists in boxes of a part of the document, which is there while `look` looks. */
function whileListed(look) {
  const part = document.createElement("div");
  const boxes = {};
  for (const name of ["queue", "queueCount", "why", "jobs", "jobsCount", "lights", "reasons"]) {
    boxes[name] = part.appendChild(document.createElement("div"));
  }
  document.body.append(part);
  try {
    look(new Lists(boxes, () => {}), boxes);
  } finally {
    part.remove();
  }
}

const CHECKS = {
  "a job passes through its states by its timestamps alone"() {
    const [known] = store(job(1, [4, 2], RAN, { state: "finished" })).sorted;
    const states = [0.5, 1, 2, 4, 8, 20].map((time) => stateAt(known, time));
    equal(states, [null, "queued", "claiming", "starting", "running", "finished"]);
  },
  "processors are counted by use at any time"() {
    const known = store(job(1, [4, 2], RAN, { state: "finished" }));
    known.noteBackground(0, "east", 1, 2);
    const east = (time) => {
      const use = viewAt(known, time).clusters.get("east");
      return [use.executing, use.wasted, use.gained, use.dummy, use.local, use.idle];
    };
    equal(east(3), [0, 0, 4, 1, 2, 5]);
    equal(east(5), [0, 4, 0, 1, 2, 1]);
    equal(east(10), [4, 0, 0, 1, 2, 1]);
    equal(east(21), [0, 4, 0, 1, 2, 1]);
    equal(east(23), [0, 0, 0, 1, 2, 5]);
  },
  "looking back and forth gives the same view"() {
    const known = store(job(1, [4], RAN, { state: "finished" }), job(2, [4], { submitted: 3 }));
    const count = (time) => [viewAt(known, time).queued.length, viewAt(known, time).running, viewAt(known, time).ended];
    equal([count(30), count(10), count(2.5), count(10)], [[1, 0, 1], [1, 1, 0], [0, 0, 0], [1, 1, 0]]);
  },
  "a live job and the same job recorded look alike"() {
    const live = new Store(SYSTEM);
    live.noteJob(job(1, [4], { submitted: 1 }), 1);
    live.noteJob(job(1, [4], { submitted: 1, placed: 2 }, { state: "claiming" }), 2);
    live.noteJob(job(1, [4], RAN, { state: "finished" }), 20);
    const recorded = store(job(1, [4], RAN, { state: "finished" }));
    equal(live.sorted, recorded.sorted);
  },
  "a job that failed without a finish ended when that became known"() {
    const live = new Store(SYSTEM);
    live.noteJob(job(1, [4], { submitted: 1 }), 1);
    live.noteJob(job(1, [4], { submitted: 1 }, { state: "cancelled" }), 9);
    equal([stateAt(live.sorted[0], 8), stateAt(live.sorted[0], 9)], ["queued", "cancelled"]);
  },
  "components get the lowest free processors, and a job's never twice"() {
    const known = store(
      job(1, [4], RAN, { state: "finished" }),
      job(2, [4], { ...RAN, claimed: 5 }, { state: "finished" }),
      job(3, [8], { ...RAN, claimed: 23, started: 24, finished: 30, released: 31 }, { state: "finished" }),
    );
    equal(lanesOf(known).map((stay) => stay.blocks), [[[0, 4]], [[4, 4]], [[0, 8]]]);
  },
  "the series are the exact means of what jobs held"() {
    const series = seriesOf(store(job(1, [4], RAN, { state: "finished" }), job(2, [2], { submitted: 6 })));
    equal([series.executing.mean(0, 24), series.wasted.mean(4, 8), series.waiting.mean(1, 2), series.waiting.at(7)], [2, 4, 1, 1]);
  },
  "a value in steps has a mean over any period"() {
    const steps = stepsOf([[0, 2], [10, -2], [5, 4]]);
    equal([steps.at(-1), steps.at(0), steps.at(5), steps.at(10)], [0, 2, 6, 4]);
    equal([steps.mean(0, 10), steps.mean(5, 15), steps.mean(-5, 5), steps.most(0, 7)], [4, 5, 1, 6]);
    equal(new Steps().mean(0, 1), 0);
  },
  "the first job's lack is named"() {
    const known = store(
      job(1, [6], RAN, { state: "finished" }),
      job(2, [13]), job(3, [4, 4, 2]), job(4, [3, 3], {}, { request: "fixed", clusters: ["east", "west"] }),
      job(5, [3, 3], {}, { request: "unordered" }), job(6, [2, 2], {}, { request: "unordered" }),
      job(7, [5], {}, { request: "total" }),
    );
    const view = viewAt(known, 10);
    const why = (id) => whyItWaits(known.jobs.get(id), view);
    contains(why(2), "only 6 are idle in all clusters");
    contains(why(3), "only 6 are idle");
    contains(why(4), "3 processors of east, where 2 are idle");
    contains(why(5), "A component of 3 fits nowhere beside the others (it asks for 3+3); west has most idle: 4");
    contains(why(6), "waits for its turn");
    contains(why(7), "Its 5 processors fit into no cluster; west has most idle: 4");
  },
  "lights turn on when jobs end, and say why"() {
    const reasons = [{ topic: "host", sentence: "busy" }];
    const fields = { verdict: "suspect", reasons };
    const known = store(job(1, [4], RAN, { state: "finished", fields }), job(2, [4], RAN, { state: "finished", fields: { verdict: "valid" } }));
    const sign = (time, topic) => lightsAt(known, time).lights.find((light) => light.topic === topic).sign;
    equal([sign(19, "host"), sign(20, "host"), sign(20, "phases"), sign(20, "background")], ["unknown", "doubt", "good", "unknown"]);
  },
  "what speaks against the whole run counts from its end on"() {
    const known = store(job(1, [4], RAN, { state: "finished", fields: { verdict: "valid" } }));
    known.noteBackground(0, "east", 1, 2);
    known.endS = 20;
    known.run = { verdict: "void", reasons: [{ topic: "background", sentence: "out of its band" }, { topic: "jobs", sentence: "only 1 of 4" }] };
    const light = (time, topic) => lightsAt(known, time).lights.find((each) => each.topic === topic);
    equal(["background", "jobs"].map((topic) => light(19, topic).sign), ["unknown", "unknown"]);
    equal(["background", "jobs", "host"].map((topic) => light(20, topic).sign), ["bad", "bad", "good"]);
    equal([...light(20, "background").reasons], [["out of its band", 0]]);
    known.run.reasons = [{ topic: "jobs", sentence: "the run has not ended" }];
    equal(["background", "jobs"].map((topic) => light(20, topic).sign), ["unknown", "bad"]);
  },
  "a light that jobs have turned on keeps its sign whatever the run is"() {
    const fields = { verdict: "suspect", reasons: [{ topic: "host", sentence: "busy" }] };
    const known = store(job(1, [4], RAN, { state: "finished", fields }));
    known.endS = 20;
    known.run = { verdict: "void", reasons: [{ topic: "host", sentence: "of 1 job 1 is suspect" }, { topic: "links", sentence: "off" }] };
    const sign = (topic) => lightsAt(known, 20).lights.find((light) => light.topic === topic).sign;
    equal([sign("host"), sign("links")], ["doubt", "bad"]);
  },
  "a background has no fault once its run was judged without one"() {
    const known = store(job(1, [4], RAN, { state: "finished", fields: { verdict: "valid" } }));
    known.noteBackground(0, "east", 1, 2);
    const sign = () => lightsAt(known, 30).lights.find((light) => light.topic === "background").sign;
    equal(sign(), "unknown");
    known.endS = 25;
    known.run = { verdict: "valid", reasons: [] };
    equal(sign(), "good");
  },
  "a check after a run that was watched counts once the run has ended"() {
    const known = store(job(1, [4], RAN, { state: "finished" }));
    known.checks = [{ moment: "after", verdict: "void", reasons: [{ topic: "links", sentence: "off" }] }];
    const sign = () => lightsAt(known, 30).lights.find((light) => light.topic === "links").sign;
    equal(sign(), "unknown");
    known.noteEvent({ sequence: 9, kind: "run-ended", time_s: 25 });
    equal(sign(), "bad");
  },
  "what a failed claim had taken is idle again"() {
    const known = store();
    const claiming = job(1, [4, 2], { submitted: 1, placed: 2 }, { state: "claiming" });
    claiming.components[0].claimed_s = 3;
    known.noteEvent({ sequence: 1, kind: "component-claimed", time_s: 3, job: claiming });
    equal(viewAt(known, 3).clusters.get("east").wasted, 4);
    known.noteEvent({ sequence: 2, kind: "claim-failed", time_s: 5, job: claiming });
    const use = viewAt(known, 5).clusters.get("east");
    equal([use.wasted, use.idle], [0, 8]);
  },
  "a check of the links counts from when it was made"() {
    const known = store(job(1, [4], RAN, { state: "finished" }));
    known.endS = 20;
    known.checks = [{ moment: "after", verdict: "void", reasons: [{ topic: "links", sentence: "off" }] }];
    const sign = (time) => lightsAt(known, time).lights.find((light) => light.topic === "links").sign;
    equal([sign(19), sign(20)], ["unknown", "bad"]);
  },
  "notes say what the broker cannot know"() {
    const nothing = { jobs: null, band: null, verdict: null, background: null, check: null, link: null };
    const known = store(job(1, [4], RAN, { state: "finished" }));
    known.note({ ...nothing, jobs: 9, band: [0.1, 0.2] });
    known.note({ ...nothing, verdict: { job: 1, verdict: "void", reasons: [] } });
    known.note({ ...nothing, verdict: { job: 2, verdict: "valid", reasons: [] } });
    known.noteJob(job(2, [4], RAN, { state: "finished" }), 20);
    known.note({ ...nothing, background: { time_s: 3, cluster: "west", dummy: 1, local: 2 } });
    equal([known.run.jobs, known.run.band, known.sorted.map((each) => each.verdict)], [9, [0.1, 0.2], ["void", "valid"]]);
    equal(viewAt(known, 5).clusters.get("west").idle, 1);
  },
  "a job's button keeps the focus while time passes"() {
    const known = store(job(1, [4], { submitted: 1, placed: 2, claimed: 4, started: 8 }, { state: "running" }), job(2, [4]));
    whileListed((lists, boxes) => {
      lists.update(known, viewAt(known, 10), false);
      const button = boxes.jobs.querySelector("button");
      button.focus();
      lists.update(known, viewAt(known, 11), false);
      equal([document.activeElement === button, document.activeElement.getAttribute("aria-label")], [false, "Job 1, job-1"]);
    });
  },
  "a job that only the queue knows is listed, and said to be the first"() {
    const known = store(job(7, [4], RAN, { state: "finished" }), job(8, [4], { submitted: 9 }));
    const entry = (number, request) => ({
      job: number, name: `job-${number}`, application: "poisson", request, components: [9, 1], submitted_s: 5, placement_tries: 3,
    });
    const why = (request) => {
      known.queue = { length: 4000, entries: [entry(2, request), entry(7, request)] };
      let said;
      whileListed((lists, boxes) => {
        lists.update(known, viewAt(known, 30), true);
        equal([...boxes.queue.querySelectorAll("button")].map((each) => each.textContent), ["2", "8"]);
        said = boxes.why.textContent;
      });
      return said;
    };
    contains(why("non-fixed"), "First: 2. A component of 9 fits nowhere");
    contains(why("fixed"), "First: 2. It asks for clusters by name");
  },
  "time stands still while the broker is not heard"() {
    const live = new LiveSource(store(), () => {}, () => {});
    live.run = { host_origin_s: 1000, request: { dilation: 2 } };
    live.hostMomentS = 1050;
    live.hostOffsetS = 1060 - Date.now() / 1000;
    live.isHeard = true;
    equal(Math.round(live.nowS()), 30);
    live.isHeard = false;
    equal(live.nowS(), 25);
  },
  "a thousand clusters fit into what a browser draws"() {
    const clusters = Array.from({ length: 1024 }, (_, number) => ({ ...SYSTEM.clusters[0], name: `c${number}` }));
    const known = new Store({ ...SYSTEM, clusters });
    const components = [{ cluster: "c1023", processors: 8, claimed_s: 4 }];
    known.noteJobs([job(1, [8], RAN, { state: "finished", fields: { components } })]);
    const box = document.createElement("div");
    box.style.width = "800px";
    document.body.append(box);
    try {
      const gantt = new Gantt(box, null, () => {}, () => {});
      gantt.draw(known, 30, 0, 30);
      const [left, top, width, height] = gantt.drawn[0].box;
      const place = [left + width / 2, top + height / 2].map((pixels) => Math.round(pixels * (window.devicePixelRatio || 1)));
      const paint = gantt.plot.canvas.getContext("2d").getImageData(...place, 1, 1).data;
      equal([box.clientHeight, top + height < 8000, paint[3] > 0], [8000, true, true]);
    } finally {
      box.remove();
    }
  },
  async "a session lasts as long as its page where the browser keeps no data of sites"() {
    const [storage, fetched] = [Object.getOwnPropertyDescriptor(window, "sessionStorage"), window.fetch];
    const get = () => {
      throw new Error("blocked");
    };
    Object.defineProperty(window, "sessionStorage", { configurable: true, get });
    window.fetch = async () => new Response(JSON.stringify({ session: "s", shows: "run" }));
    try {
      location.hash = "code";
      equal([await enter(), await enter()], ["run", "run"]);
    } finally {
      Object.defineProperty(window, "sessionStorage", storage);
      window.fetch = fetched;
    }
  },
  "a player passes time at its speed, and stops at the end"() {
    const player = new Player(100);
    player.speed = 10;
    player.toggle();
    player.pass(0);
    player.pass(3);
    equal([player.timeS, player.isPlaying], [30, true]);
    player.pass(60);
    equal([player.timeS, player.isPlaying], [100, false]);
    player.toggle();
    equal([player.timeS, player.isPlaying], [0, true]);
  },
  "times are written as people read them"() {
    equal([0, 0.0017, 7, 83, 5000, 90000, null].map(duration), ["0 s", "1.7 ms", "7.0 s", "1 min 23 s", "1 h 23 min", "1 d 1 h", "–"]);
    equal([clock(3723), clock(90000)], ["1:02:03", "1 d 1:00:00"]);
    equal([tickStep(100, 10), tickStep(7200, 8), tickStep(1e7, 5)], [10, 900, 2073600]);
  },
};

function equal(found, wanted) {
  const [a, b] = [JSON.stringify(found), JSON.stringify(wanted)];
  if (a !== b) throw new Error(`${a} is not ${b}`);
}

function contains(text, part) {
  if (!text.includes(part)) throw new Error(`${JSON.stringify(text)} does not say ${JSON.stringify(part)}`);
}

for (const [name, check] of Object.entries(CHECKS)) {
  let said = "ok";
  try {
    await check();
  } catch (error) {
    said = String(error.message);
  }
  const line = document.createElement("li");
  line.textContent = `${said} | ${name}`;
  document.body.append(line);
}
document.title = "checked";
