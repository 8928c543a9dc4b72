// One of some options that have names.
import { Choice } from "../plugins.js";
import { told } from "../outcomes.js";

export function trial(context) {
  const { stimulus, texts } = context;
  const names = stimulus.options ?? context.options;
  const options = names.map((name, i) => name || String.fromCharCode(65 + i));
  return {
    type: Choice,
    prompt: stimulus.prompt ?? texts.trial.prompt,
    hint: texts.trial.keys,
    lines: stimulus.lines ?? [],
    options,
    keys: options.length === 2 ? { ArrowLeft: 0, ArrowRight: 1 } : {},
    deadline: context.deadline,
    save: context.save,
    outcome: told(context),
    missed: texts.trial.missed,
    feedback: context.feedback,
  };
}
