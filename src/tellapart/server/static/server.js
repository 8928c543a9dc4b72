// The server, as the page knows it. Everything is asked until it is heard; answers wait in an outbox on this device until the server
// has said that they are kept.
import { whoever } from "./who.js";

const PATIENCE = 10_000; // milliseconds for one request, beyond what the server itself waits for
const ALIVE = 15_000; // between signs of life

export class Refusal extends Error {
  constructor({ reason, link = null, place = null }) {
    super(reason);
    Object.assign(this, { reason, link, place });
  }
}

// Storage that survives the tab; where the browser forbids it or it is full, memory.
class Keep {
  constructor(prefix) {
    this.prefix = prefix;
    this.memory = new Map(); // what is not in storage, or not as it is now
  }
  get(name) {
    if (this.memory.has(name)) return this.memory.get(name);
    try { return JSON.parse(localStorage.getItem(this.prefix + name)); } catch { return null; /* forbidden or damaged */ }
  }
  set(name, value) {
    try { localStorage.setItem(this.prefix + name, JSON.stringify(value)); this.memory.delete(name); } catch { this.memory.set(name, value); }
  }
}

export class Server {
  constructor() {
    const { usable, person, participant, study, submission } = whoever(location.search);
    this.usable = usable;
    this.device = new Keep("tellapart:");
    if (!this.device.get("browser")) this.device.set("browser", fresh());
    this.who = { browser: this.device.get("browser") };
    if (participant) this.who.participant = participant;
    if (person) this.who.prolific = { person, study, submission };
    this.keep = new Keep(`tellapart:${location.pathname}:${person ?? participant ?? "browser"}:`);
    this.key = null;
    this.patience = PATIENCE;
    this.waiting = new Map();
    this.onnetwork = () => {};
  }

  async experiment() {
    const experiment = await this.ask("api/experiment");
    this.patience = PATIENCE + 1000 * experiment.waits;
    return experiment;
  }
  consented() { return this.keep.get("consented") === true; }
  forget() { ["consented", "session", "outbox"].forEach((name) => this.keep.set(name, null)); }

  async start() {
    await this.sendOld();
    const started = await this.ask("api/start", { consent: true, again: this.consented(), ...this.who });
    this.keep.set("consented", true);
    this.keep.set("session", { key: started.key, label: started.label });
    this.key = started.key;
    this.label = started.label;
    this.stayAlive();
    if (started.status === "taking part") await this.flush();
    return started;
  }

  // Answers that a closed tab left behind are sent first, under the key that they were given under.
  async sendOld() {
    const old = this.keep.get("session");
    if (!old) return;
    Object.assign(this, old);
    await this.flush().catch(() => {});
  }

  // Who declines again is not counted again.
  async decline() {
    const answer = await this.ask("api/decline", { again: this.keep.get("declined") === true });
    this.keep.set("declined", true);
    return answer;
  }

  questions(answers, failures) { return this.ask("api/questions", { answers, failures }); }
  practice() { return this.ask("api/practice", {}); }

  async block() {
    await this.flush();
    return (await this.ask("api/block", {})).block;
  }

  async finish() {
    await this.flush();
    return this.ask("api/finish", {});
  }

  // Put an answer into the outbox; what the server says of it comes later.
  save(position, attempt, trial, answer, seconds) {
    const entry = { label: this.label, position, attempt, trial, answer, seconds };
    this.keep.set("outbox", [...this.outbox().filter((other) => id(other) !== id(entry)), entry]);
    const saved = new Promise((resolve, reject) => this.waiting.set(id(entry), { resolve, reject }));
    saved.catch(() => {}); // whoever waits hears of it; nobody need wait
    this.flush().catch(() => {});
    return saved;
  }

  outbox() {
    return (this.keep.get("outbox") ?? []).filter((entry) => entry.label === this.label);
  }

  // Send the outbox, oldest first. One sender at a time; who calls meanwhile waits for it.
  flush() {
    this.sending ??= this.send().finally(() => { this.sending = null; });
    return this.sending;
  }

  async send() {
    let most = 50; // of the longest answers, less than the server takes at once
    for (let box = this.outbox(); box.length; box = this.outbox()) {
      const batch = box.filter((entry) => entry.position === box[0].position && entry.attempt === box[0].attempt).slice(0, most);
      const { position, attempt } = batch[0];
      const trials = batch.map(({ trial, answer, seconds }) => ({ trial, answer, seconds }));
      try {
        const saved = await this.ask("api/trials", { position, attempt, trials });
        batch.forEach((entry, i) => this.settle(entry, "resolve", { ...saved, outcomes: saved.outcomes[i] }));
      } catch (refusal) {
        if (!(refusal instanceof Refusal) || refusal.reason === "elsewhere") throw this.stop(refusal);
        if (refusal.reason === "invalid" && batch.length > 1) {
          most = 1; // one of them cannot be kept: those before it can
          continue;
        }
        // The server is elsewhere in the experiment and knows better: of this block nothing that comes after can be kept either.
        box.filter((entry) => entry.position === position && entry.attempt === attempt).forEach((entry) => this.settle(entry, "reject", refusal));
      }
    }
  }

  stop(error) {
    this.keep.set("outbox", this.outbox().filter((entry) => !this.waiting.has(id(entry)))); // the other tab goes on from where the server is
    this.waiting.forEach(({ reject }) => reject(error));
    this.waiting.clear();
    return error;
  }

  settle(entry, how, value) {
    this.keep.set("outbox", this.outbox().filter((other) => id(other) !== id(entry)));
    this.waiting.get(id(entry))?.[how](value);
    this.waiting.delete(id(entry));
  }

  stayAlive() {
    if (this.alive) return;
    const tell = (away) => this.key && fetch("api/seen", this.request({ away }, { keepalive: true })).catch(() => {});
    this.alive = setInterval(() => document.visibilityState === "visible" && tell(false), ALIVE);
    addEventListener("pagehide", () => tell(true));
  }

  request(body, more = {}) {
    const headers = body === undefined ? {} : { "content-type": "application/json" };
    if (this.key) headers.authorization = `Bearer ${this.key}`;
    return { method: body === undefined ? "GET" : "POST", headers, body: body === undefined ? undefined : JSON.stringify(body), cache: "no-store", credentials: "omit", ...more };
  }

  // Ask until there is an answer. A refusal is an answer; silence, overload and faults of the server are not.
  async ask(path, body) {
    for (let failures = 0; ; failures++) {
      try {
        const response = await fetch(path, this.request(body, { signal: AbortSignal.timeout(this.patience) }));
        const content = await response.json();
        if (failures) this.onnetwork(true);
        if (response.ok) return content;
        if (content.reason && !["failed", "too_often"].includes(content.reason)) throw new Refusal(content);
        if (failures > 1) this.onnetwork(false); // a fault that lasts is not passed over in silence
      } catch (error) {
        if (error instanceof Refusal) throw error;
        this.onnetwork(false);
      }
      await later(Math.min(8000, 300 * 2 ** failures) * (0.75 + Math.random() / 2));
    }
  }
}

const id = ({ position, attempt, trial }) => `${position}/${attempt}/${trial}`;

function fresh() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// Wait, but not longer than until the network is back.
function later(milliseconds) {
  return new Promise((resolve) => {
    const end = () => { clearTimeout(timer); removeEventListener("online", end); resolve(); };
    const timer = setTimeout(end, milliseconds);
    addEventListener("online", end);
  });
}
