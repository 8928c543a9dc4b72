// The jsPsych plugins of tellapart: a page to read, a choice among options, an entry to type.
// Screens build their trials from these or from any other jsPsych plugin.
import { element, paragraphs, wait } from "./words.js";

const { ParameterType } = jsPsychModule;
const parameter = (type, fallback) => ({ type: ParameterType[type], default: fallback, array: Array.isArray(fallback) });
const declare = (name, parameters, data) => ({ name, version: "1.0.0", parameters, data });

// A heading, some text, and buttons. The first button is the usual one: it has the focus, so that Enter goes on.
export class Page {
  static info = declare(
    "tellapart-page",
    {
      heading: parameter("STRING", ""),
      text: parameter("STRING", ""),
      values: parameter("OBJECT", {}),
      buttons: parameter("STRING", []),
      body: parameter("COMPLEX", null), // an element between text and buttons
      link: parameter("STRING", null), // the first button leads there
      careful: parameter("BOOL", false), // nothing has the focus: the choice must be made on purpose
    },
    { button: { type: ParameterType.INT }, rt: { type: ParameterType.INT } }
  );

  constructor(jsPsych) { this.jsPsych = jsPsych; }

  trial(display, trial) {
    const started = performance.now();
    const heading = element("h1", { tabindex: "-1" }, trial.heading);
    const finish = (button) => this.jsPsych.finishTrial({ button, rt: Math.round(performance.now() - started) });
    const buttons = trial.buttons.map((label, i) =>
      i === 0 && trial.link
        ? element("a", { class: "button usual", href: trial.link, rel: "noreferrer", id: "link" }, label)
        : element("button", { type: "button", class: i === 0 ? "button usual" : "button", onclick: () => finish(i) }, label)
    );
    display.append(element("section", { class: "page" }, heading, paragraphs(trial.text, trial.values), trial.body, element("div", { class: "buttons" }, buttons)));
    (trial.careful || !buttons.length || trial.body ? heading : buttons[0]).focus({ preventScroll: true });
    scrollTo(0, 0);
  }
}

// One of some options, by pointer, touch or key. `save` is asked what comes of it, and `outcome` shows that.
export class Choice {
  static info = declare(
    "tellapart-choice",
    {
      prompt: parameter("STRING", ""),
      hint: parameter("STRING", ""),
      lines: parameter("STRING", []),
      look: parameter("STRING", "plain"),
      options: parameter("COMPLEX", []), // texts or elements
      names: parameter("STRING", []), // what options without words are called, for those who do not see them
      keys: parameter("COMPLEX", {}), // further keys: { ArrowLeft: 0 }
      draw: parameter("FUNCTION", null), // draws the stimulus into an element; may give a function that stops it
      deadline: parameter("FLOAT", null), // seconds
      save: parameter("FUNCTION", null),
      outcome: parameter("FUNCTION", null), // shows outcomes: (outcomes, button, line)
      missed: parameter("STRING", ""),
      feedback: parameter("FLOAT", 0), // seconds
    },
    { response: { type: ParameterType.INT }, rt: { type: ParameterType.INT } }
  );

  constructor(jsPsych) { this.jsPsych = jsPsych; }

  trial(display, trial) {
    this.run(display, trial).then((data) => this.jsPsych.finishTrial(data));
  }

  async run(display, trial) {
    const area = element("div", { class: "stimulus" }, trial.lines.map((line) => element("p", {}, line)));
    const line = element("p", { class: "outcome", role: "status", "aria-live": "assertive" });
    const buttons = trial.options.map((option, i) =>
      element("button", { type: "button", class: "option", "aria-label": trial.names[i], "data-place": i }, element("span", { class: "face" }, option), trial.options.length < 10 ? element("kbd", {}, String(i + 1)) : null)
    );
    const group = element("div", { class: `options ${trial.look}`, role: "group", "aria-label": trial.prompt, "data-count": buttons.length }, buttons);
    display.append(element("section", { class: "trial" }, element("p", { class: "prompt" }, trial.prompt), area, group, line, element("p", { class: "hint" }, trial.hint)));
    const stop = trial.draw?.(area);
    const answer = await answered(buttons, { ...trial.keys }, trial.deadline);
    stop?.();
    group.classList.add("done");
    buttons.forEach((button, i) => { button.disabled = true; if (i === answer.place) button.classList.add("chosen"); });
    const saved = trial.save ? await trial.save(answer.place, answer.seconds) : null;
    if (answer.place === null) line.textContent = trial.missed;
    else trial.outcome?.(saved?.outcomes ?? {}, buttons[answer.place], line);
    if (trial.feedback && (answer.place === null || trial.outcome)) await wait(1000 * trial.feedback);
    return { response: answer.place, rt: answer.seconds === null ? null : Math.round(1000 * answer.seconds) };
  }
}

// When what was drawn is on the screen. Answers count from then, but none is lost that comes before.
function onset() {
  const from = { at: performance.now() };
  requestAnimationFrame(() => requestAnimationFrame((now) => { from.at = now; }));
  return from;
}

function answered(buttons, keys, deadline) {
  const started = onset();
  buttons.forEach((_, i) => { if (i < 9) keys[String(i + 1)] = i; });
  return new Promise((resolve) => {
    const timer = deadline === null ? null : setTimeout(() => end(null, null), 1000 * deadline);
    const pressed = (event) => {
      if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || !(event.key in keys)) return;
      event.preventDefault();
      end(keys[event.key], event.timeStamp);
    };
    const end = (place, at) => {
      clearTimeout(timer);
      document.removeEventListener("keydown", pressed);
      resolve({ place, seconds: place === null ? null : Math.max(0, (at || performance.now()) - started.at) / 1000 });
    };
    document.addEventListener("keydown", pressed);
    buttons.forEach((button, i) => button.addEventListener("click", (event) => end(i, event.timeStamp), { once: true }));
  });
}

// A number or a text to type.
export class Entry {
  static info = declare(
    "tellapart-entry",
    {
      prompt: parameter("STRING", ""),
      lines: parameter("STRING", []),
      kind: parameter("STRING", "number"), // or "text"
      digits: parameter("BOOL", false), // a keypad for a text of digits
      submit: parameter("STRING", "OK"),
      draw: parameter("FUNCTION", null),
      deadline: parameter("FLOAT", null),
      save: parameter("FUNCTION", null),
      outcome: parameter("FUNCTION", null),
      missed: parameter("STRING", ""),
      feedback: parameter("FLOAT", 0),
    },
    { response: { type: ParameterType.STRING }, rt: { type: ParameterType.INT } }
  );

  constructor(jsPsych) { this.jsPsych = jsPsych; }

  trial(display, trial) {
    this.run(display, trial).then((data) => this.jsPsych.finishTrial(data));
  }

  async run(display, trial) {
    const area = element("div", { class: "stimulus" }, trial.lines.map((line) => element("p", {}, line)));
    const line = element("p", { class: "outcome", role: "status", "aria-live": "assertive" });
    const mode = trial.kind === "number" ? "decimal" : trial.digits ? "numeric" : "text";
    const input = element("input", { type: "text", inputmode: mode, "aria-label": trial.prompt, autocomplete: "off", autocapitalize: "off", spellcheck: "false", maxlength: "100" });
    const button = element("button", { type: "button", class: "button usual" }, trial.submit);
    display.append(element("section", { class: "trial" }, element("p", { class: "prompt" }, trial.prompt), area, element("div", { class: "entry" }, input, button), line));
    const stop = trial.draw?.(area);
    input.focus();
    const answer = await entered(input, button, trial);
    stop?.();
    input.disabled = button.disabled = true;
    const saved = trial.save ? await trial.save(answer.value, answer.seconds) : null;
    if (answer.value === null) line.textContent = trial.missed;
    else trial.outcome?.(saved?.outcomes ?? {}, button, line);
    if (trial.feedback && (answer.value === null || trial.outcome)) await wait(1000 * trial.feedback);
    return { response: answer.value, rt: answer.seconds === null ? null : Math.round(1000 * answer.seconds) };
  }
}

function entered(input, button, trial) {
  const started = onset();
  return new Promise((resolve) => {
    const end = (value) => { clearTimeout(timer); resolve({ value, seconds: value === null ? null : Math.max(0, performance.now() - started.at) / 1000 }); };
    const timer = trial.deadline === null ? null : setTimeout(() => end(null), 1000 * trial.deadline);
    const submit = () => {
      const text = input.value.trim();
      const value = trial.kind === "number" ? Number(text.replace(",", ".")) : text;
      if (trial.kind === "number" && (text === "" || !Number.isFinite(value))) { input.setAttribute("aria-invalid", "true"); input.focus(); return; }
      end(value);
    };
    button.addEventListener("click", submit);
    input.addEventListener("keydown", (event) => { if (event.key === "Enter") submit(); });
  });
}
