// Where the data go. `rows` are new, `all` are all so far; `done` is true at the end. Change this for a server of your own.
// On JATOS every trial is sent as it happens. Anywhere else a file is offered at the end.

const onJatos = location.pathname.includes("/publix/");
const jatosReady = onJatos ? load("jatos.js").then(() => new Promise((resolve) => window.jatos.onLoad(resolve))) : null;

export async function save(rows, all, done) {
  if (onJatos) {
    await jatosReady;
    if (rows.length) await window.jatos.appendResultData(rows.map((row) => JSON.stringify(row)).join("\n") + "\n");
    if (done) await window.jatos.endStudyWithoutRedirect?.();
    return;
  }
  if (!done) return;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([csv(all)], { type: "text/csv" }));
  link.download = `${all[0]?.participant ?? "data"}.csv`;
  link.click();
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
