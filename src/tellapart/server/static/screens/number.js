// A number or a text to type.
import { Entry } from "../plugins.js";
import { told } from "../outcomes.js";

export function trial(context) {
  const { stimulus, texts } = context;
  return {
    type: Entry,
    kind: context.answer,
    prompt: stimulus.prompt ?? texts.trial.prompt,
    lines: stimulus.lines ?? [],
    submit: texts.trial.submit,
    deadline: context.deadline,
    save: context.save,
    outcome: told(context),
    missed: texts.trial.missed,
    feedback: context.feedback,
  };
}
