// Moving dots: a share of them, the coherence, moves to one side, the others anywhere. Which side?
// A trial is a jsPsych trial; `context.stimulus` is what `dots` in accumulation.py made for it.
import { Choice } from "./static/plugins.js";
import { element } from "./static/words.js";

const COUNT = 120, RADIUS = 2.2, SPEED = 90, LIFE = 0.4, SIZE = 280; // dots, pixels, pixels a second, seconds, pixels

export function trial(context) {
  return {
    type: Choice,
    prompt: context.texts.trial.prompt,
    hint: context.texts.trial.keys,
    options: ["← left", "right →"],
    keys: { ArrowLeft: 0, ArrowRight: 1 },
    draw: (area) => dots(area, context.stimulus),
    deadline: context.deadline,
    save: context.save,
    missed: context.texts.trial.missed,
    feedback: context.feedback,
  };
}

function dots(area, { coherence, side, seed }) {
  const canvas = element("canvas", { width: 2 * SIZE, height: 2 * SIZE, role: "img", "aria-label": "moving dots" });
  canvas.style.width = canvas.style.height = `${SIZE}px`;
  area.append(canvas);
  const pen = canvas.getContext("2d"), random = stream(seed);
  const place = () => { const angle = 2 * Math.PI * random(), far = Math.sqrt(random()) * (SIZE / 2); return { x: far * Math.cos(angle), y: far * Math.sin(angle) }; };
  const born = (age) => ({ ...place(), age, angle: random() < coherence ? (side === 1 ? 0 : Math.PI) : 2 * Math.PI * random() });
  const all = Array.from({ length: COUNT }, () => born(LIFE * random()));
  let last = performance.now(), frame = requestAnimationFrame(step);
  function step(now) {
    const passed = Math.min(0.05, (now - last) / 1000);
    last = now;
    pen.setTransform(2, 0, 0, 2, SIZE, SIZE);
    pen.clearRect(-SIZE / 2, -SIZE / 2, SIZE, SIZE);
    pen.fillStyle = "#1d2733";
    all.forEach((dot, i) => {
      dot.age += passed;
      dot.x += SPEED * passed * Math.cos(dot.angle);
      dot.y += SPEED * passed * Math.sin(dot.angle);
      if (dot.age > LIFE || Math.hypot(dot.x, dot.y) > SIZE / 2) all[i] = born(0);
      pen.beginPath();
      pen.arc(dot.x, dot.y, RADIUS, 0, 2 * Math.PI);
      pen.fill();
    });
    frame = requestAnimationFrame(step);
  }
  return () => { cancelAnimationFrame(frame); pen.clearRect(-SIZE / 2, -SIZE / 2, SIZE, SIZE); };
}

// Random numbers from a seed (mulberry32), so that what was shown can be shown again.
function stream(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
