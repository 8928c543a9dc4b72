// Taking part, from consent to the last page. `host` says where answers go: this server, or a page that stands alone.
import { Page } from "./plugins.js";
import { Stage } from "./stage.js";
import { element, fill } from "./words.js";

export async function run(host) {
  const experiment = await host.experiment();
  const { texts } = experiment;
  document.title = texts.title;
  document.documentElement.lang = texts.language;
  host.onnetwork = (well) => notice(well ? texts.network.back : texts.network.lost, well);
  const page = new Taking(host, experiment, await import(new URL(experiment.screen.script, document.baseURI)));
  try {
    await page.takePart();
  } catch (problem) {
    await page.refuse(problem);
  }
}

class Taking {
  constructor(host, experiment, screen) {
    Object.assign(this, { host, experiment, screen, texts: experiment.texts, points: 0 });
    this.stage = new Stage(document.getElementById("stage"));
  }

  async takePart() {
    if (!this.host.usable) return this.end("link", null);
    const started = await this.start();
    if (!started) return;
    if (started.status === "finished") return this.last(started.link);
    if (started.position || started.trial || started.again) await this.welcomeBack(started);
    else await this.prepare(started);
    await this.blocks();
    bar(null);
    await this.page("debrief", [this.texts.debrief.go_on]);
    const { link } = await this.finish();
    return this.last(link);
  }

  async start() {
    if (!this.host.consented() && !(await this.consent())) return null;
    try {
      return await this.host.start();
    } catch (refusal) {
      if (refusal.reason !== "forgotten") throw refusal;
      this.host.forget();
      return this.start();
    }
  }

  async consent() {
    const { agree, decline } = this.texts.consent;
    const { button } = await this.page("consent", [agree, decline], { careful: true });
    if (button === 0) return true;
    const { link } = await this.host.decline();
    await this.end("declined", link);
    return false;
  }

  async prepare({ passed, failures = 0 }) {
    await this.instructions();
    for (; !passed; failures++) {
      passed = await this.askQuestions(failures);
      if (!passed) await this.instructions();
    }
    if (this.experiment.practice > 0) await this.practise();
  }

  async instructions() {
    const { pages, heading, next, back } = this.texts.instructions;
    for (let i = 0; i < pages.length; ) {
      const count = pages.length > 1 ? ` (${i + 1}/${pages.length})` : "";
      const { button } = await this.show({ heading: heading + count, text: pages[i], buttons: i ? [next, back] : [next] });
      i += button === 1 ? -1 : 1;
    }
  }

  async askQuestions(failures) {
    const { questions, question } = this.texts;
    const given = question.map(() => null);
    const body = element("div", { class: "questions" }, question.map(({ ask, options }, q) =>
      element("fieldset", {}, element("legend", {}, fill(ask, this.values())), options.map((option, i) =>
        element("label", {}, element("input", { type: "radio", name: `question-${q}`, value: i, onchange: () => { given[q] = i; } }), fill(option, this.values()))))));
    do await this.show({ heading: questions.heading, text: "", body, buttons: [questions.submit] });
    while (given.includes(null));
    const { passed } = await this.host.questions(given, failures);
    if (!passed) await this.show({ heading: questions.heading, text: questions.wrong, buttons: [this.texts.instructions.next] });
    return passed;
  }

  async practise() {
    const given = await this.host.practice();
    await this.page("practice", [this.texts.practice.start]);
    await this.introduce(given.introduction, { practice: true });
    for (const [t, stimulus] of given.stimuli.entries()) {
      bar({ at: t, of: given.stimuli.length, where: fill(this.texts.practice.heading, this.values()) });
      const save = async (answer) => ({ outcomes: given.outcomes[t]?.[answer] ?? {} });
      await this.stage.show(this.screen.trial(this.context({ stimulus, options: given.options, position: 99, trial: t, trials: given.stimuli.length, save, practice: true })));
    }
    bar(null);
    this.practised = true;
  }

  async blocks() {
    for (let block = await this.host.block(), first = true; block; block = await this.host.block(), first = false) {
      this.points = block.points;
      if (this.experiment.screen.breaks ? block.trial === 0 : first && this.practised) await this.pause(block, first);
      await this.introduce(block.introduction, { block });
      await this.play(block);
    }
  }

  // Before a block: after the practice it says that it counts now, after a block that there is time to rest.
  async pause({ position, blocks, trials }, first) {
    bar(null);
    const { block, pause, practice } = this.texts;
    const values = { block: position + 1, done: position, blocks, trials };
    const before = first ? (this.practised ? practice.done : "") : pause.text;
    await this.show({ heading: block.heading, text: `${before}\n\n${block.text}`, buttons: [first ? block.start : pause.go_on], values });
  }

  // The trials of a block, until its end or until the server turns out to be elsewhere.
  async play(block) {
    const shown = new Map(block.stimuli.map((stimulus, i) => [block.trial + i, stimulus]));
    try {
      for (let t = block.trial; t < block.trials; t++) {
        this.progress(block, t);
        await this.trial(block, t, shown);
      }
      await this.host.flush();
      this.complain(); // an answer that nobody waited for may have been refused
    } catch (refusal) {
      if (refusal.reason !== "order") throw refusal;
    }
  }

  progress({ position, blocks, trials }, t) {
    const { block, trial } = this.texts;
    const parts = this.experiment.screen.breaks ? `${fill(block.heading, { ...this.values(), block: position + 1, done: position, blocks, trials })} · ` : "";
    const count = this.experiment.screen.breaks ? { trial: t + 1, trials } : { trial: position * trials + t + 1, trials: blocks * trials };
    const points = this.experiment.screen.outcomes.length ? fill(trial.points, { points: round(this.points) }) : "";
    bar({ at: position + t / trials, of: blocks, where: parts + fill(trial.progress, count), points });
  }

  async trial(block, t, shown) {
    const outcomes = this.experiment.screen.outcomes;
    let saved = null;
    const save = async (answer, seconds) => {
      saved = this.host.save(block.position, block.attempt, t, answer, seconds).catch((problem) => { this.problem = problem; return { outcomes: {} }; });
      if (!outcomes.length) return { outcomes: {} }; // nothing to wait for: it is in the outbox
      const result = await saved;
      if (result.stimulus) shown.set(t + 1, result.stimulus);
      this.points += result.outcomes[outcomes[0]] ?? 0;
      return result;
    };
    const context = this.context({ stimulus: shown.get(t) ?? {}, options: block.options, position: block.position, trial: t, trials: block.trials, save, practice: false });
    const data = await this.stage.show(this.screen.trial(context));
    if (!saved) await save(data.response ?? null, data.rt == null ? null : data.rt / 1000); // a screen that leaves saving to us
    this.complain();
  }

  // Raise what became of an answer, once.
  complain() {
    const { problem } = this;
    this.problem = null;
    if (problem) throw problem;
  }

  async introduce(introduction, more) {
    if (!introduction || !this.screen.introduction) return;
    const trials = this.screen.introduction({ ...this.context(more), introduction });
    for (const trial of [trials].flat()) await this.stage.show(trial);
  }

  context(more) {
    const { answer, deadline, feedback, outcomes } = this.experiment.screen;
    return { texts: this.texts, answer, deadline, feedback, outcomes, points: this.points, jsPsych: this.stage.jsPsych, ...more };
  }

  async finish() {
    for (;;) {
      try {
        return await this.host.finish();
      } catch (refusal) {
        if (refusal.reason !== "incomplete") throw refusal;
        await this.blocks();
      }
    }
  }

  async welcomeBack(started) {
    const { heading, text, again, go_on } = this.texts.resume;
    await this.show({ heading, text: started.again ? again : text, buttons: [go_on] });
  }

  page(name, buttons, more = {}) {
    return this.show({ heading: this.texts[name].heading, text: this.texts[name].text, buttons, ...more });
  }

  // The numbers that every page knows.
  values() {
    return { blocks: this.experiment.blocks, trials: this.experiment.trials, points: round(this.points) };
  }

  show({ heading, values = {}, ...rest }) {
    const all = { ...this.values(), ...values };
    return this.stage.show({ type: Page, heading: fill(heading, all), values: all, ...rest });
  }

  last(link) {
    bar(null);
    const body = element("p", { class: "small" }, fill(this.texts.finished.code, { label: this.host.label }));
    return link ? this.page("finished", [this.texts.finished.link], { link, body }) : this.show({ heading: this.texts.finished.heading, text: `${this.texts.finished.text}\n\n${this.texts.finished.close}`, buttons: [], body });
  }

  end(name, link, label = this.texts.finished.link) {
    bar(null);
    return this.page(name, link ? [label] : [], { link });
  }

  refuse(problem) {
    if (problem.reason === "over") return this.last(problem.link);
    if (["full", "paused", "expired", "screened_out"].includes(problem.reason)) return this.end(problem.reason, problem.link);
    const name = problem.reason === "elsewhere" ? "elsewhere" : "failed";
    if (name === "failed") console.error(problem);
    bar(null);
    const label = name === "elsewhere" ? this.texts.elsewhere.here : this.texts.failed.again;
    return this.page(name, [label], { on_finish: () => location.reload() });
  }
}

const round = (value) => Math.round(10 * value) / 10;

function bar(state) {
  const header = document.getElementById("bar");
  header.hidden = state === null;
  if (state === null) return;
  const share = Math.round((100 * state.at) / state.of);
  const progress = document.getElementById("progress");
  progress.setAttribute("aria-valuenow", share);
  progress.firstElementChild.style.width = `${share}%`;
  document.getElementById("where").textContent = state.where;
  document.getElementById("points").textContent = state.points ?? "";
}

let hiding;
function notice(text, brief) {
  const line = document.getElementById("notice");
  line.textContent = text;
  line.hidden = false;
  clearTimeout(hiding);
  if (brief) hiding = setTimeout(() => { line.hidden = true; }, 2500);
}
