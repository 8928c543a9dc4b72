"""Draw docs/figures/architecture.svg, how data flow from a study to its conclusions: `python docs/figures/architecture.py`.

Boxes have a ground of their own and lines a middle grey, so that the picture can be read on light and on dark pages.
"""

from pathlib import Path
from xml.sax.saxutils import escape

WIDTH, HEIGHT, GAP, LINE = 232, 76, 30, "#74808d"
LEFT, RIGHT, CHANNEL = 24, 304, 280
STAGES = {  # what is done: in a few words, and where in src/tellapart
    "study": ("task, models, question, seed", "study, question, tasks, models"),
    "simulate": ("participants whose truth is known", "models, bandits, workers"),
    "encode": ("each trial, given those before it", "networks"),
    "estimate": ("how probable is the truth now?", "estimators, training, information"),
    "search": ("which design tells most?", "search, paper, run, journal"),
    "validate": ("is it right? what is missing?", "validation, information"),
    "report": ("one page: design and evidence", "report"),
    "serve": ("people take part in a browser", "server, adaptive"),
    "export": ("one row per trial", "server/exports"),
    "analyse": ("who follows which theory?", "data, posterior, groups, report"),
}
COLOURS = {"study": "#fbe8d8", "serve": "#fbe8d8", "export": "#fbe8d8", "analyse": "#fbe8d8"}


def place(number):
    """The upper left corner of a stage's box: down the left column, then down the right one."""
    return (LEFT if number < 5 else RIGHT), 14 + (number % 5) * (HEIGHT + GAP)


def box(number, name, words, where):
    x, y = place(number)
    lines = ((name, 24, "bold 17px"), (words, 45, "13px"), (where, 64, "italic 12px"))
    texts = "".join(
        f'<text x="{x + WIDTH / 2}" y="{y + down}" text-anchor="middle" style="font:{font} sans-serif" fill="#1b2530">{escape(text)}</text>'
        for text, down, font in lines
    )
    colour = COLOURS.get(name, "#dcebf7")
    return f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="8" fill="{colour}" stroke="{LINE}"/>{texts}'


def arrow(*points):
    path = "M" + " L".join(f"{x} {y}" for x, y in points)
    return f'<path d="{path}" fill="none" stroke="{LINE}" stroke-width="2" marker-end="url(#head)"/>'


def label(x, y, text, anchor="start"):
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" style="font:12px sans-serif" fill="{LINE}">{escape(text)}</text>'


def arrows():
    middle = HEIGHT / 2
    for number, text in (
        (0, ""),
        (1, "behavior"),
        (2, "summaries"),
        (3, "nats ±"),
        (5, "checks"),
        (7, "participants.sqlite"),
        (8, "data.csv"),
    ):
        x, y = place(number)
        yield arrow((x + WIDTH / 2, y + HEIGHT), (x + WIDTH / 2, y + HEIGHT + GAP - 4))
        yield label(x + WIDTH / 2 + 10, y + HEIGHT + GAP / 2 + 3, text)
    (_, simulate), (_, search) = place(1), place(4)
    yield arrow((LEFT, search + middle), (10, search + middle), (10, simulate + middle), (LEFT - 4, simulate + middle))  # the next designs
    for number in (5, 7, 9):  # the run goes to validate, serve and analyse
        end = place(number)[1] + middle
        yield arrow((LEFT + WIDTH, search + middle), (CHANNEL, search + middle), (CHANNEL, end), (RIGHT - 4, end))
    yield label(LEFT + WIDTH / 2, search + HEIGHT + 20, "run/ keeps the design, the network, the seeds", "middle")
    yield label(RIGHT + WIDTH / 2, search + HEIGHT + 20, "or any table of data that you have", "middle")


def main():
    boxes = [box(number, name, *words) for number, (name, words) in enumerate(STAGES.items())]
    marker = '<marker id="head" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="5" markerHeight="5" orient="auto">'
    head = f'<defs>{marker}<path d="M0 0 L8 4 L0 8 z" fill="{LINE}"/></marker></defs>'
    size = f'width="{RIGHT + WIDTH + 12}" viewBox="0 0 {RIGHT + WIDTH + 12} {place(4)[1] + HEIGHT + 30}"'
    title = "<title>How data flow: study, simulate, encode, estimate, search, validate, report, serve, export, analyse</title>"
    svg = "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">', title, head, *arrows(), *boxes, "</svg>\n"])
    (Path(__file__).parent / "architecture.svg").write_text(svg, "utf-8")


if __name__ == "__main__":
    main()
