// The page: it enters, reads what there is to see, and shows a moment of it.

import { enter, get } from "./access.js";
import { Charts } from "./charts.js";
import { element, html, refill, say } from "./elements.js";
import { clock, count, duration, tickStep, trim } from "./format.js";
import { Gantt } from "./gantt.js";
import { openJob } from "./jobview.js";
import { Lists } from "./lists.js";
import { LiveSource } from "./live.js";
import { ClusterMap, keyOf, USES } from "./map.js";
import { Player, SPEEDS } from "./player.js";
import { forgetColours } from "./plot.js";
import { Store } from "./store.js";
import { SIGNS, viewAt } from "./view.js";

const LIVE_FRAME_MS = 500;
const REPLAY_FRAME_MS = 33;
const WORDS_MS = 200;
const COLOURS_KEY = "testbed-page-colours";
const USE_WORDS = { executing: "co-allocation", wasted: "claimed, waits", local: "local", dummy: "dummy", idle: "idle" };

class Tip {
  constructor(box) {
    this.box = box;
  }

  show(event, text) {
    say(this.box, text);
    this.box.hidden = false;
    const { width, height } = this.box.getBoundingClientRect();
    this.box.style.left = `${Math.min(event.clientX + 14, window.innerWidth - width - 8)}px`;
    this.box.style.top = `${event.clientY + height + 26 > window.innerHeight ? event.clientY - height - 10 : event.clientY + 16}px`;
  }

  hide() {
    this.box.hidden = true;
  }
}

class Page {
  constructor(store, player, live) {
    this.store = store;
    this.player = player;
    this.live = live;
    this.isNow = live !== null;
    this.due = false;
    this.mapVersion = null;
    this.listedMs = 0;
    const redraw = () => this.schedule();
    const open = (job) => openJob(job, live !== null, this.end);
    this.gantt = new Gantt(element("gantt"), new Tip(element("tip")), open, redraw);
    this.charts = new Charts(element("utilization"), element("waiting"), redraw);
    this.map = new ClusterMap(element("map"), element("links"));
    this.lists = new Lists(
      {
        queue: element("queue"), queueCount: element("queue-count"), why: element("why"), jobs: element("jobs"),
        jobsCount: element("jobs-count"), lights: element("lights"), reasons: element("reasons"),
      },
      open,
    );
    this.#controls();
  }

  /** Draw soon, once, however often this is called. */
  schedule() {
    if (this.due) return;
    this.due = true;
    requestAnimationFrame(() => {
      this.due = false;
      this.draw();
    });
  }

  get time() {
    return this.live !== null && this.isNow ? this.live.nowS() : this.player.timeS;
  }

  get end() {
    return this.live === null ? this.player.endS : Math.max(this.live.nowS(), 1);
  }

  draw() {
    if (this.live !== null) this.player.endS = this.end;
    const wasPlaying = this.player.isPlaying;
    this.player.pass(performance.now() / 1000);
    // A running testbed that was played up to now is followed again.
    if (this.live !== null && wasPlaying && !this.player.isPlaying) this.isNow = true;
    const { store, time } = this;
    const mapVersion = `${store.links.length} ${store.splitsBackground} ${store.hasBackground}`;
    if (this.mapVersion !== mapVersion) {
      this.map.build(store);
      this.#mapKey();
      this.mapVersion = mapVersion;
    }
    const view = viewAt(store, time);
    const [from, until] = this.#shown(time);
    this.gantt.draw(store, time, from, until);
    this.charts.draw(store, time, from, until);
    this.map.update(view);
    this.#lists(view);
    this.#facts(view);
    this.#controlsShow(time);
    if (this.player.isPlaying) setTimeout(() => this.schedule(), REPLAY_FRAME_MS);
  }

  /** Say in words what is shown, a few times a second while time passes. */
  #lists(view) {
    const now = performance.now();
    if (this.player.isPlaying && now - this.listedMs < WORDS_MS) return;
    this.listedMs = now;
    this.lists.update(this.store, view, this.isNow);
  }

  /** The times from which to which the plots go. */
  #shown(time) {
    const width = Number(element("window").value);
    if (width === 0) return [0, this.live !== null ? axisEnd(this.end) : Math.max(this.end, 1)];
    const until = Math.max(width, time + 0.03 * width);
    return [until - width, until];
  }

  #mapKey() {
    const words = USES.map((kind) => [html("span", { class: `swatch ${kind}` }), kind === "local" && !this.store.splitsBackground ? "background" : USE_WORDS[kind]]);
    const isUsed = { dummy: this.store.splitsBackground, local: this.store.hasBackground };
    const shown = words.filter((_, place) => isUsed[USES[place]] !== false);
    refill(element("map-key"), ...shown.flat());
    element("map-key").title = keyOf(this.map);
    const others = document.querySelector('[data-key="others"]');
    others.hidden = others.previousElementSibling.hidden = !this.store.hasBackground;
    for (const kind of ["dummy", "local"]) {
      const word = document.querySelector(`[data-key="${kind}"]`);
      const isShown = this.store.hasBackground && (kind === "local" || this.store.splitsBackground);
      word.hidden = word.previousElementSibling.hidden = !isShown;
      if (kind === "local") say(word, this.store.splitsBackground ? "local jobs" : "background");
    }
  }

  #facts(view) {
    const { run } = this.store;
    say(element("name"), run.name ?? "Multicluster Testbed");
    document.title = `${run.name ?? "page"} - Multicluster Testbed`;
    say(element("what"), [this.store.system.testbed, this.store.system.topology, run.kind, `policy ${run.policy}`, `queue ${run.queue}`].filter(Boolean).join(" · "));
    const used = [...view.clusters.values()].reduce((sum, use) => sum + use.size - use.idle, 0);
    const facts = [
      ["emulated time", clock(view.time)],
      ["K", trim(run.dilation), "dilation: host seconds per emulated second"],
      ["processors", `${used} of ${this.store.processors}`],
      ["jobs ended", run.jobs ? `${view.ended} of ${run.jobs}` : String(view.ended)],
      ["left", this.#left(view), "by the jobs that ended so far"],
    ];
    const boxes = element("facts");
    if (boxes.children.length !== facts.length) {
      refill(boxes, ...facts.map(([title, , why]) => html("div", { title: why }, html("dt", {}, title), html("dd"))));
    }
    facts.forEach(([, value], place) => say(boxes.children[place].lastChild, value));
    this.#verdict(run, view);
  }

  #left(view) {
    const { run } = this.store;
    if (this.live === null) return duration(Math.max(0, this.player.endS - view.time));
    if (!run.jobs || view.ended === 0) return "–";
    return view.ended >= run.jobs ? "none" : `about ${duration((view.time * (run.jobs - view.ended)) / view.ended)}`;
  }

  #verdict(run, view) {
    const box = element("verdict");
    const isOver = this.live === null && view.time >= this.player.endS;
    if (!run.verdict || !isOver) {
      refill(box, run.verdict ? "the run's verdict stands at its end" : "");
      return;
    }
    refill(box, "the run is ", html("b", { class: SIGNS[run.verdict] ?? "doubt" }, run.verdict));
  }

  #controls() {
    const { player } = this;
    element("player").hidden = false;
    element("play").addEventListener("click", () => this.#play());
    element("now").hidden = this.live === null;
    element("now").addEventListener("click", () => {
      this.isNow = true;
      player.isPlaying = false;
      this.schedule();
    });
    const speeds = element("speed");
    refill(speeds, ...SPEEDS.map((speed) => html("option", { value: speed }, `× ${speed}`)));
    speeds.value = String(player.speed);
    speeds.addEventListener("change", () => {
      player.speed = Number(speeds.value);
    });
    const seek = element("seek");
    seek.addEventListener("input", () => this.#seek(Number(seek.value) * this.end));
    element("window").addEventListener("change", () => this.schedule());
    document.addEventListener("keydown", (event) => this.#key(event));
  }

  #play() {
    if (this.isNow && this.live !== null) this.player.timeS = this.live.nowS();
    const wasNow = this.isNow;
    this.isNow = false;
    if (wasNow && this.live !== null) this.player.isPlaying = false;
    else this.player.toggle();
    this.schedule();
  }

  #seek(time) {
    this.isNow = false;
    this.player.seek(time);
    this.schedule();
  }

  #key(event) {
    const typed = event.target.closest("input, select, dialog, summary, pre");
    const isPressed = event.key === " " && event.target.closest("button") !== null;
    if (typed !== null || isPressed || event.ctrlKey || event.metaKey || event.altKey) return;
    const step = (event.shiftKey ? 0.1 : 0.01) * this.end;
    const keys = {
      " ": () => this.#play(),
      ArrowLeft: () => this.#seek(this.time - step),
      ArrowRight: () => this.#seek(this.time + step),
      Home: () => this.#seek(0),
      End: () => (this.live === null ? this.#seek(this.end) : element("now").click()),
    };
    if (keys[event.key] === undefined) return;
    event.preventDefault();
    keys[event.key]();
  }

  #controlsShow(time) {
    const isRunning = this.live !== null && this.isNow ? true : this.player.isPlaying;
    say(element("play"), isRunning ? "Pause" : "Play");
    element("now").disabled = this.isNow;
    const seek = element("seek");
    if (document.activeElement !== seek || this.player.isPlaying) seek.value = String(Math.min(1, time / this.end));
    seek.setAttribute("aria-valuetext", clock(time));
    say(element("clock"), `${clock(time)} of ${clock(this.end)}`);
  }
}

/** The end of an axis that holds `end`, with room to grow, so that the axis moves rarely. */
function axisEnd(end) {
  const step = tickStep(Math.max(end, 10), 6) / 2;
  return (Math.floor(end / step) + 1) * step;
}

function chooseTheme() {
  const button = element("theme");
  const names = ["system", "light", "dark"];
  const show = (name) => {
    if (name === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
    say(button, `Colours: ${name}`);
    forgetColours();
    window.dispatchEvent(new Event("resize"));
  };
  const kept = keptColours();
  show(names.includes(kept) ? kept : "system");
  button.addEventListener("click", () => {
    const name = names[(names.indexOf(button.textContent.split(" ")[1]) + 1) % names.length];
    keepColours(name);
    show(name);
  });
}

function keptColours() {
  try {
    return localStorage.getItem(COLOURS_KEY);
  } catch {
    return null; // The browser keeps no data of sites.
  }
}

function keepColours(name) {
  try {
    localStorage.setItem(COLOURS_KEY, name);
  } catch {
    // They last until the page is loaded again.
  }
}

function notice(sentence) {
  element("notice").hidden = !sentence;
  say(element("notice"), sentence);
}

async function showRecord() {
  const record = await get("/v1/page/record", 120);
  const store = new Store(record.system);
  store.clear(record.run);
  store.splitsBackground = record.background.length > 0;
  store.endS = record.end_s;
  store.links = record.links;
  store.checks = record.checks;
  store.evidence = record.evidence;
  store.noteJobs(record.jobs, record.end_s);
  for (const row of record.background) store.noteBackground(...row);
  const player = new Player(Math.max(record.end_s, 1e-3));
  player.speed = Player.speedFor(record.end_s);
  const page = begin(store, player, null);
  element("connection").className = "replay";
  say(element("connection"), `recorded run, ${count(record.jobs.length, "job")}`);
  const stated = new URLSearchParams(location.search).get("t");
  const share = stated === null ? 1 : Number(stated);
  player.seek((Number.isFinite(share) ? share : 1) * player.endS);
  page.schedule();
}

async function showTestbed() {
  const store = new Store(await get("/v1/page/system"));
  store.clear({ name: store.system.testbed, policy: "", queue: "", dilation: null, jobs: null });
  let lostSince = null;
  let page = null;
  const said = (status, sentence) => {
    const box = element("connection");
    if (status !== "lost") lostSince = null;
    else lostSince ??= Date.now();
    box.className = status === "live" ? "" : "lost";
    const words = { live: "live", over: "ended", lost: `no answer since ${Math.round((Date.now() - (lostSince ?? 0)) / 1000)} s; trying again` };
    say(box, words[status]);
    notice(sentence);
  };
  const live = new LiveSource(store, () => page?.schedule(), said);
  page = begin(store, new Player(1), live);
  setInterval(() => {
    if (!document.hidden) page.schedule();
  }, LIVE_FRAME_MS);
  await live.watch();
}

function begin(store, player, live) {
  element("main").hidden = false;
  const page = new Page(store, player, live);
  window.addEventListener("resize", () => page.schedule());
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    forgetColours();
    page.schedule();
  });
  return page;
}

chooseTheme();
try {
  await ((await enter()) === "run" ? showRecord() : showTestbed());
} catch (error) {
  say(element("connection"), "");
  element("connection").className = "lost";
  notice(error.message);
}
