"""Screenshots of the pages for the documentation.

    python docs/figures/screens.py              the participant's screens of the examples, and the researcher's page
    python docs/figures/screens.py money        the report and the analysis of the tutorial's study, which is in that folder

Needs chromium. People are simulated; designs are randomly drawn.
"""

import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import sync_playwright

import tellapart as ta
from tellapart.server.app import create_app
from tellapart.server.database import Database, sqlite_url
from tellapart.server.plan import make_plan
from tellapart.server.serving import in_background
from tellapart.server.simulated import Simulation

HERE, EXAMPLES = Path(__file__).parent, Path(ta.__file__).parent / "examples"
PHONE, WIDE = {"width": 390, "height": 640}, {"width": 1280, "height": 640}
SHEETS = (("bandit", "phone"), ("bandit", "wide"), ("discounting", "phone"), ("accumulation", "wide"), ("retention", "phone"))


def main(tutorial=None):
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        if tutorial:
            top(browser, Path(tutorial) / "run" / "report.html", HERE / "tutorial-report.png")
            top(browser, Path(tutorial) / "analysis.html", HERE / "tutorial-analysis.png")
        else:
            experiments(browser, Path(folder))
        browser.close()


def experiments(browser, folder):
    for name, kind in SHEETS:
        with served(name, folder, fresh=kind) as (address, _):
            sheet(screens(browser, address, PHONE if kind == "phone" else WIDE), HERE / f"screen-{name}-{kind}.png")
    with served("discounting", folder, fresh="researcher") as (address, app):
        Simulation(app.state.sessions, address, "token", np.random.default_rng(1)).run(24)
        app.state.analyst.look()
        researcher(browser, address, HERE / "researcher.png")


def top(browser, page, out):
    """The first screen of a page that is a file."""
    context = browser.new_context(viewport={"width": 1000, "height": 720}, color_scheme="light")
    shown = context.new_page()
    shown.goto(page.resolve().as_uri())
    shown.screenshot(path=out)
    save(Image.open(out).convert("RGB"), out)
    context.close()


class served:
    """An example, served on a free port."""

    def __init__(self, name, folder, fresh=""):
        study = ta.Study.from_file(EXAMPLES / name)
        design = study.task.baseline(1, np.random.default_rng(3))[0]
        database = Database(sqlite_url(folder / f"{name}{fresh}.sqlite"))
        self._app = create_app(make_plan(study, [design], EXAMPLES / name), database, "token", seed=2)
        self._server = in_background(self._app, "127.0.0.1", 0)

    def __enter__(self):
        return self._server.__enter__(), self._app

    def __exit__(self, *error):
        return self._server.__exit__(*error)


def screens(browser, address, size):
    """Instructions, a trial, its feedback or the next one, the page before a block."""
    context = browser.new_context(viewport=size, device_scale_factor=1)
    page, taken = context.new_page(), []

    def take():
        taken.append(Path(tempfile.mkstemp(suffix=".png")[1]))
        page.screenshot(path=taken[-1])

    page.goto(address)
    page.get_by_role("button", name="I agree").click()
    page.get_by_role("heading", name="How it works").wait_for()
    page.mouse.move(0, 0)
    take()
    while page.get_by_role("heading", name="How it works").count():
        page.get_by_role("button", name="Next").click()
        page.wait_for_timeout(150)
    page.get_by_role("button", name="Practise").click()
    page.mouse.move(0, 0)
    for _ in range(60):
        if page.locator(".options:not(.done) .option").count():
            page.wait_for_timeout(250)
            take()
            page.keyboard.press("2")
            page.wait_for_timeout(350)
            if page.locator(".options.done").count():
                take()
            break
        if page.locator(".entry input").count():
            page.locator(".entry input").fill("47")
            take()
            break
        if len(taken) < 3 and page.locator(".pair, .trial").count():
            take()
        page.wait_for_timeout(1500)
    start = page.get_by_role("button", name="Start")
    for _ in range(60):
        if start.count():
            take()
            break
        if page.locator(".options:not(.done) .option").count():
            page.keyboard.press("1")
        elif page.locator(".entry input").count():
            page.keyboard.press("Enter")
        page.wait_for_timeout(100)
    context.close()
    return taken[:4]


def sheet(files, out):
    """Pictures side by side, with a line between them."""
    pictures = [Image.open(file).convert("RGB") for file in files]
    across = 2 if pictures[0].width > 600 else len(pictures)
    pictures = pictures[: len(pictures) // across * across]
    width, height = (size + 4 for size in pictures[0].size)
    whole = Image.new("RGB", (across * width - 4, len(pictures) // across * height - 4), "#b8c2cc")
    for i, picture in enumerate(pictures):
        whole.paste(picture, ((i % across) * width, (i // across) * height))
    save(whole.resize((whole.width * 5 // 8, whole.height * 5 // 8), Image.LANCZOS), out)
    for file in files:
        file.unlink()


def save(picture, out):
    """A small file."""
    picture.quantize(255, method=Image.Quantize.FASTOCTREE).save(out, optimize=True)


def researcher(browser, address, out):
    context = browser.new_context(viewport={"width": 1200, "height": 860}, color_scheme="light")
    page = context.new_page()
    page.goto(f"{address}/researcher#token=token")
    page.locator("#people td").first.wait_for()
    page.wait_for_timeout(5000)
    page.screenshot(path=out)
    save(Image.open(out).convert("RGB"), out)
    context.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
