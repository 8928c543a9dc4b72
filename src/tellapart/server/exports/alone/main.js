// The experiment without tellapart's server: conditions by lot, outcomes by the browser, data by save.js.
import { run } from "./static/flow.js";
import { whoever } from "./static/who.js";
import { save } from "./save.js";

const WHO = whoever(location.search);
const KEEP = `tellapart:${location.pathname}:${WHO.person ?? WHO.participant ?? "browser"}:`;

class Alone {
  usable = WHO.usable;

  async experiment() {
    this.all = await (await fetch("experiment.json")).json();
    try { this.state = JSON.parse(localStorage.getItem(KEEP + "state") ?? "null"); } catch { this.state = null; /* forbidden or damaged */ }
    return { ...this.all, conditions: undefined, texts: { ...this.all.texts, answers: undefined } };
  }

  consented() { return this.state !== null; }

  async start() {
    const resumed = this.state !== null;
    if (this.state?.out) throw this.out();
    if (!resumed) {
      const person = WHO.person ?? WHO.participant ?? Array.from(crypto.getRandomValues(new Uint8Array(6)), (b) => b.toString(16).padStart(2, "0")).join("");
      const pick = (list) => Math.floor(Math.random() * list.length);
      const condition = pick(this.all.conditions);
      this.state = { person, condition, sequence: pick(this.all.conditions[condition].sequences), position: 0, trial: 0, points: 0, rows: [], passed: !this.all.texts.answers.length, tries: 0, done: false };
    }
    this.label = this.state.person;
    const again = resumed && this.state.trial > 0 && !this.state.done;
    if (again) this.beginBlockAgain();
    this.keep();
    const { position, trial, passed, done } = this.state;
    return { status: done ? "finished" : "taking part", position, trial, resumed, again, passed, link: done ? this.all.links.completion : null };
  }

  // A block that was interrupted is played from its first trial: what was shown in between is not known.
  beginBlockAgain() {
    const { state } = this, [paid] = this.all.screen.outcomes;
    state.rows = state.rows.filter((row) => row.position < state.position);
    state.points = state.rows.reduce((sum, row) => sum + (row[paid] ?? 0), 0);
    state.trial = 0;
  }

  async decline() { return { link: this.all.links.no_consent }; }
  async practice() { return this.all.rehearsal; }
  async flush() {}

  async questions(answers) {
    const passed = JSON.stringify(answers) === JSON.stringify(this.all.texts.answers);
    this.state.passed = passed;
    this.state.tries += 1;
    this.state.out = !passed && this.state.tries >= this.all.tries;
    this.keep();
    if (this.state.out) throw this.out();
    return { passed };
  }

  out() { return Object.assign(new Error(), { reason: "screened_out", link: this.all.links.screen_out }); }

  get blocks() { return this.all.conditions[this.state.condition].sequences[this.state.sequence]; }

  async block() {
    while (this.blocks[this.state.position]?.trials === 0) this.state.position += 1; // the design puts no trial there
    const block = this.blocks[this.state.position];
    return block ? { ...block, position: this.state.position, attempt: 0, trial: this.state.trial, blocks: this.blocks.length, points: this.state.points } : null;
  }

  async save(position, attempt, trial, answer, seconds) {
    const { state } = this, block = this.blocks[position], outcomes = {};
    const means = answer === null ? {} : { ...(block.means[trial]?.[answer] ?? { [this.all.screen.field]: answer }) };
    if (this.all.screen.seconds && answer !== null) means[this.all.screen.seconds] = seconds;
    if (block.pay && answer !== null) outcomes[this.all.screen.outcomes[0]] = Number(Math.random() < block.pay[answer]);
    const design = Object.fromEntries(this.all.variables.map((name, i) => [`design.${name}`, block.row[i]]));
    const row = { participant: state.person, block: block.block, trial, ...means, ...outcomes, response_seconds: seconds, condition: this.all.conditions[state.condition].name, position, ...design, shown: JSON.stringify(block.stimuli[trial]) };
    state.rows.push(row);
    state.points += outcomes[this.all.screen.outcomes[0]] ?? 0;
    state.trial = trial + 1;
    if (state.trial >= block.trials) Object.assign(state, { position: position + 1, trial: 0 });
    this.keep();
    await save(state.rows, false);
    return { outcomes };
  }

  async finish() {
    this.state.done = true;
    this.keep();
    await save(this.state.rows, true);
    return { trials: this.state.rows.length, link: this.all.links.completion };
  }

  keep() { // where storage is full or forbidden, the page goes on and only a reload begins anew
    try { localStorage.setItem(KEEP + "state", JSON.stringify(this.state)); } catch { /* see above */ }
  }
}

run(new Alone());
