// Where the data go. `all` are all rows so far; `done` is true at the end. Change this for a server of your own.
// On JATOS all rows so far are sent after every trial, in the place of those sent before: what is lost on the way is sent again with the next
// trial, and nothing is there twice. At the end they must arrive before the experiment is over. Anywhere else a file is offered at the end.

const onJatos = location.pathname.includes("/publix/");
const jatosReady = onJatos ? load("jatos.js").then(() => new Promise((resolve) => window.jatos.onLoad(resolve))) : null;
const AGAIN = [1, 2, 4, 8, 15, 30];
const wait = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));

export async function save(all, done) {
  if (onJatos) return toJatos(all.map((row) => JSON.stringify(row)).join("\n") + "\n", done);
  if (!done) return;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([csv(all)], { type: "text/csv" }));
  link.download = `${all[0]?.participant ?? "data"}.csv`;
  link.click();
}

async function toJatos(text, done) {
  await jatosReady;
  for (const seconds of done ? [...AGAIN, 0] : [0]) {
    try {
      await window.jatos.submitResultData(text);
      if (done) await window.jatos.endStudyWithoutRedirect?.();
      return;
    } catch (problem) {
      if (done && !seconds) throw problem;
      await wait(seconds);
    }
  }
}

// What a participant typed must not be run as a formula by a spreadsheet that opens the file.
const FORMULA = /^[=+\-@\t\r]/;
const quoted = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

function csv(rows) {
  const names = [...new Set(rows.flatMap(Object.keys))];
  const cell = (value) => (value == null ? "" : quoted(typeof value === "string" && FORMULA.test(value) ? `'${value}` : String(value)));
  return [names, ...rows.map((row) => names.map((name) => row[name]))].map((row) => row.map(cell).join(",")).join("\n") + "\n";
}

function load(source) {
  return new Promise((resolve, reject) => document.head.append(Object.assign(document.createElement("script"), { src: source, onload: resolve, onerror: reject })));
}
