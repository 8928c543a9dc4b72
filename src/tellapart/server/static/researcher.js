// The researcher's page: the state of the experiment as the server tells it, within a second or two.
import { element } from "./words.js";

const by = (id) => document.getElementById(id);
const post = (path, body = {}) => fetch(`researcher/${path}`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
const percent = (share) => `${Math.round(100 * share)} %`;
let paused = false;
let events = null;

async function enter(token) {
  const response = await post("login", { token });
  by("login").hidden = by("wrong").hidden = response.ok;
  by("wrong").textContent = response.status === 429 ? "Too many wrong tokens. Wait a minute." : "This is not the token.";
  if (response.ok) await begin();
}

async function begin() {
  const response = await fetch("researcher/state");
  by("login").hidden = response.ok;
  by("live").hidden = !response.ok;
  if (!response.ok) return by("token").focus();
  show(await response.json());
  events?.close();
  events = new EventSource("researcher/events");
  events.onopen = () => { by("connection").textContent = "live"; };
  events.onmessage = (event) => show(JSON.parse(event.data));
  events.onerror = () => { by("connection").textContent = "no connection; trying again …"; };
}

function show(state) {
  document.title = `${state.finished} finished · ${state.study}`;
  by("study").textContent = state.study;
  paused = state.paused;
  by("recruiting").textContent = paused ? "Resume recruiting" : "Pause recruiting";
  by("recruiting").className = paused ? "go" : "stop";
  const of = state.cap ? ` of ${state.cap}` : "";
  const tiles = [["started", state.started], ["active now", state.active], ["away", state.away], ["left", state.left], [`finished${of}`, state.finished], ["screened out", state.screened_out], ["declined", state.declined]];
  by("tiles").replaceChildren(...tiles.map(([name, count]) => element("div", { class: "tile", "data-name": name.split(" ")[0] }, element("b", {}, String(count)), element("span", {}, name))));
  const simulated = state.conditions.filter((row) => row.simulated).reduce((sum, row) => sum + row.active + row.away + row.left + row.finished + row.screened_out, 0);
  if (simulated) by("tiles").append(element("p", { class: "soft apart" }, `${simulated} simulated ${simulated === 1 ? "person is" : "people are"} counted apart, below.`));
  conditions(state.conditions);
  models(state.models, state.conditions.some((row) => row.finished));
  people(state.people, state.models.names);
}

function conditions(rows) {
  const names = ["active", "away", "left", "finished", "screened_out"];
  table(by("conditions"), ["condition", ...names.map((name) => name.replace("_", " "))], rows.map((row) => [row.condition + (row.simulated ? " (simulated)" : ""), ...names.map((name) => row[name])]));
}

function models({ names, mean, participants, simulated, unlike, note }, finished) {
  const none = finished ? "What those who finished did is being read." : "Nobody has finished yet.";
  if (note || !mean.length) return by("models").replaceChildren(element("p", { class: "soft" }, note || none));
  const bars = names.flatMap((name, i) => {
    const filled = element("i", {});
    filled.style.width = `${100 * mean[i]}%`; // with a space before the sign it would be no width
    return [element("span", {}, name), element("i", {}, filled), element("span", {}, percent(mean[i]))];
  });
  const odd = unlike === null ? "" : ` ${unlike} unlike anything that the models produce.`;
  const words = `Mean probability over ${participants} ${simulated ? "simulated people" : "people"} who finished.${odd}`;
  by("models").replaceChildren(element("div", { class: "bars" }, bars), element("p", { class: "soft" }, words));
}

function people(rows, names) {
  by("listed").textContent = rows.length === 200 ? "(the latest 200)" : "";
  const cells = rows.map((row) => [
    row.participant + (row.simulated ? " (simulated)" : ""), row.condition, row.status, row.trials,
    mark(row.missed, row.missed > 0.1 * row.trials),
    row.median === undefined ? "" : mark(`${row.median.toFixed(2)} s`, row.median < 0.2),
    row.fast === undefined ? "" : mark(percent(row.fast), row.fast > 0.1),
    row.unlike === undefined ? "" : mark(row.unlike ? "unlike" : "like", row.unlike),
    ...(row.probabilities ?? names.map(() => null)).map((share) => (share === null ? "" : share.toFixed(2))),
  ]);
  table(by("people"), ["participant", "condition", "status", "trials", "missed", "median time", "under 0.15 s", "models", ...names], cells);
}

const mark = (text, wrong) => ({ text: String(text), wrong });

function table(place, head, rows) {
  const cell = (value) => (value?.text === undefined ? element("td", {}, String(value)) : element("td", { class: value.wrong ? "flag" : "" }, value.text));
  place.replaceChildren(element("thead", {}, element("tr", {}, head.map((name) => element("th", { scope: "col" }, name)))), element("tbody", {}, rows.map((row) => element("tr", {}, row.map(cell)))));
}

by("enter").addEventListener("click", () => enter(by("token").value));
by("token").addEventListener("keydown", (event) => { if (event.key === "Enter") enter(by("token").value); });
by("recruiting").addEventListener("click", () => post("recruiting", { paused: !paused }));
by("logout").addEventListener("click", async () => { await post("logout"); events?.close(); location.reload(); });

const given = new URLSearchParams(location.hash.slice(1)).get("token");
if (given) { history.replaceState(null, "", location.pathname); enter(given); } else begin();
