// Memory: pairs of a word and a number are shown one after the other, then there are sums to check for some seconds, then the test.
// `introduction` is what `lesson` in retention.py made for the block, `stimulus` what `pairs` made for the trial.
import { Entry } from "./static/plugins.js";
import { element } from "./static/words.js";

const LEARNING = 2000; // milliseconds for each pair

export function introduction({ introduction, texts }) {
  const learning = introduction.pairs.map(([cue, number]) => ({
    type: jsPsychHtmlKeyboardResponse, // any jsPsych plugin will do
    stimulus: `<p class="pair">${cue} — <strong>${number}</strong></p>`,
    choices: "NO_KEYS",
    trial_duration: LEARNING,
    post_trial_gap: 200,
  }));
  return [...learning, { type: Sums, seconds: introduction.seconds, prompt: texts.own.distraction, words: [texts.own.right, texts.own.wrong] }];
}

export function trial({ stimulus, texts, save, deadline }) {
  return { type: Entry, kind: "text", digits: true, prompt: texts.trial.prompt, lines: [`${stimulus.cue} — ?`], submit: texts.trial.submit, save, deadline };
}

// Sums to check, until the time is over.
class Sums {
  static info = {
    name: "sums",
    version: "1.0.0",
    parameters: {
      seconds: { type: jsPsychModule.ParameterType.FLOAT, default: 1 },
      prompt: { type: jsPsychModule.ParameterType.STRING, default: "" },
      words: { type: jsPsychModule.ParameterType.STRING, array: true, default: ["right", "wrong"] },
    },
    data: {},
  };

  constructor(jsPsych) { this.jsPsych = jsPsych; }

  trial(display, trial) {
    const sum = element("p", { class: "pair" });
    const next = () => {
      const [a, b, off] = [9, 9, 3].map((most) => 1 + Math.floor(most * Math.random()));
      sum.textContent = `${a} + ${b} = ${Math.random() < 0.5 ? a + b : a + b + off}`;
    };
    const buttons = trial.words.map((word) => element("button", { type: "button", class: "button", onclick: next }, word));
    display.append(element("section", { class: "trial" }, element("p", { class: "prompt" }, trial.prompt), sum, element("div", { class: "buttons" }, buttons)));
    next();
    setTimeout(() => this.jsPsych.finishTrial({}), 1000 * trial.seconds);
  }
}
