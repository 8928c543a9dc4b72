// What came of an answer, in words: the name of an outcome from the texts, or its value.

export function told(context) {
  if (!context.outcomes.length) return null;
  return (outcomes, button, line) => {
    line.textContent = words(context, outcomes).join(" · ");
    const points = outcomes[context.outcomes[0]] ?? 0;
    button.classList.add(points > 0 ? "won" : "lost");
  };
}

export function words(context, outcomes) {
  return context.outcomes.filter((name) => name in outcomes).map((name) => {
    const value = outcomes[name];
    return context.texts.outcomes[name]?.[value] ?? (Number.isInteger(value) ? String(value) : value.toFixed(1));
  });
}
