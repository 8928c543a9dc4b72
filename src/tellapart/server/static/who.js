// Who takes part, as the address says it: Prolific's numbers, or the code of a personal link. Where there is one that cannot be used,
// such as a placeholder that the platform did not fill in, the page says so: taken for nobody, several people would be one participant.

const NAME = /^[A-Za-z0-9_-]{1,64}$/;

export function whoever(search) {
  const query = new URLSearchParams(search);
  const named = (name) => (NAME.test(query.get(name) ?? "") ? query.get(name) : null);
  const usable = ["PROLIFIC_PID", "participant"].every((name) => !query.has(name) || named(name) !== null);
  return { usable, person: named("PROLIFIC_PID"), participant: named("participant"), study: named("STUDY_ID"), submission: named("SESSION_ID") };
}
