// Arms that pay: machines that look alike but for a sign, new signs in each block. The sign belongs to the place, not to the arm.
import { Choice } from "../plugins.js";
import { element } from "../words.js";
import { told, words } from "../outcomes.js";

const SIGNS = ["◆", "●", "▲", "■", "★", "✚", "⬟", "◐", "✦"];

export function trial(context) {
  const { texts, position, options } = context;
  const count = options.length;
  const signs = options.map((_, i) => SIGNS[(position * count + i) % SIGNS.length]);
  const show = told(context);
  return {
    type: Choice,
    prompt: texts.trial.prompt,
    hint: texts.trial.keys,
    look: "bandit",
    options: signs.map((sign, i) => element("span", { class: `sign tint-${(position * count + i) % 6}`, "aria-hidden": "true" }, sign)),
    names: options.map((_, i) => String(i + 1)),
    keys: count === 2 ? { ArrowLeft: 0, ArrowRight: 1 } : {},
    deadline: context.deadline,
    save: context.save,
    outcome: show && ((outcomes, button, line) => {
      show(outcomes, button, line);
      button.querySelector(".face").append(element("span", { class: "pay" }, words(context, outcomes)[0] ?? ""));
    }),
    missed: texts.trial.missed,
    feedback: context.feedback,
  };
}
