"""The report: what is on the page, that the page needs nothing else, and how it looks in a real browser."""

import json
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from evidence import DESIGN, TASK

from tellapart import (
    AEG,
    WSLTS,
    Amortized,
    BayesianOptimization,
    Difference,
    InformationEstimate,
    PosteriorEstimator,
    Question,
    SequenceEncoder,
)
from tellapart.nearby import Moved, Rounded
from tellapart.parts import known_parts
from tellapart.report.citations import SOURCES
from tellapart.report.page import Content, _confusion, recommendation, render
from tellapart.search.base import Baseline, Search
from tellapart.validation.suite import validate

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

INFORMATION = {"nats": 1.3, "se": 0.02, "kind": "lower bound", "n": 1000, "accuracy": 0.8, "accuracy_se": 0.01}
RESULT = {
    "design": DESIGN.tolist(),
    "information": INFORMATION,
    "baseline": {"nats": 1.1, "se": 0.03, "kind": "lower bound", "lowest": 1.0, "highest": 1.2, "gain": {"nats": 0.2, "se": 0.01}},
    "alternatives": [
        {"design": DESIGN.tolist(), **INFORMATION, "behind": {"nats": 0.003, "se": 0.004}, "drawn": False},
        {"design": DESIGN[::-1].tolist(), **INFORMATION, "behind": {"nats": -0.001, "se": 0.002}, "drawn": True},
    ],
    "details": {"method": "amortized", "estimator": "posterior", "encoder": "history", "steps": 6500},
    "trace": [{"step": i, "training": 0.1 * i} for i in range(1, 9)],
}
PROVENANCE = {"tellapart": "0.1.0", "python": "3.11", "packages": {"numpy": "2.0"}, "seconds": 3}
ROUNDED = {"design": [[0.1, 0.5, 0.9], [0.3, 0.3, 0.7]], "information": INFORMATION, "loss": {"nats": 0.0012, "se": 0.0008}}
MOVED = [
    {"block": b, "variable": v, "values": sorted({0.0, DESIGN[b, v], 1.0}), "change": [-0.2, 0.0, -0.3], "se": [0.01, 0.0, 0.01]}
    for b in range(2)
    for v in range(3)
]
CURVE = [{"blocks": b, "trials": t, "nats": 0.065 * b * t, "se": 0.01, "n": 4000} for b in (1, 2) for t in (3, 6, 9, 10)]


def one_of_each_kind(checks):
    """The same with one posterior of each kind, and with one way in which data are missed: each more is one more figure of a kind."""

    def fewer(calibration):
        return replace(calibration, parameters=tuple({part.by: part for part in calibration.parameters}.values()))

    designs = [
        replace(part, calibration=fewer(part.calibration), missed=tuple((data, fewer(one)) for data, one in part.missed[:1]))
        for part in checks.designs
    ]
    return replace(checks, designs=tuple(designs))


@pytest.fixture(scope="module")
def content(about_both):
    estimates = [InformationEstimate(value, 0.02, "lower bound", 1000, 0.8, 0.01) for value in (1.3, 1.1, 1.0, 1.2)]
    habit = Baseline(DESIGN[None].repeat(3, 0), tuple(estimates[1:]), estimates[1], Difference(0.2, 0.01))
    checks = validate(about_both, DESIGN, information=estimates[0], baseline=habit, n=200, n_at=30, n_exact=30, seed=1)
    study = '[study]\nname = "<b>bandit</b>"\n'
    question = Question((WSLTS(), AEG()), "both")
    near = {"rounded": Rounded.from_json(ROUNDED), "moved": [Moved.from_json(one) for one in MOVED]}
    return Content("bandit & co", TASK, question, Amortized(), RESULT, PROVENANCE, one_of_each_kind(checks), CURVE, study, **near)


@pytest.fixture(scope="module")
def page(content):
    return render(content)


@pytest.fixture(scope="module")
def other(content):
    """The page of a study with a prior and failures, of which nothing was checked, rounded or moved."""
    question = Question((WSLTS(), AEG()), "both", prior=(0.8, 0.2))
    return render(replace(content, question=question, failures=[{"model": "aeg"}] * 3, validation=None, rounded=None, moved=()))


class Reader(HTMLParser):
    """Collects what the tests ask about."""

    def __init__(self):
        super().__init__()
        self.tags, self.ids, self.links, self.headings, self.open = [], [], [], [], []

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.tags.append((tag, found))
        self.ids += [found["id"]] if "id" in found else []
        self.links += [found[key] for key in ("href", "src") if key in found]
        self.headings += [int(tag[1])] if re.fullmatch(r"h[1-6]", tag) else []


@pytest.fixture(scope="module")
def read(page):
    reader = Reader()
    reader.feed(page)
    return reader


def test_the_recommendation_is_one_sentence_with_the_numbers(content):
    text = recommendation(content)
    begin = "Run the design 0.1,0.5,0.9; 0.3,0.3,0.7. It recognises the model of 80 of 100 people. One person's data tell "
    assert re.match(re.escape(begin) + r"between 1\.26 and \d\.\d\d nats about which model", text)  # the models have likelihoods
    assert recommendation(replace(content, validation=None)).startswith(f"{begin}at least 1.26 nats")
    assert "more than randomly drawn comparison designs (1.10 on average)" in text
    usual = {**RESULT, "baseline": {**RESULT["baseline"], "accuracy": 0.71}}
    assert "of 80 of 100 people, against 71 with randomly drawn" in recommendation(replace(content, result=usual))


@pytest.mark.parametrize(("gain", "words"), [(0.015, "not clearly more than randomly drawn"), (-0.3, "less than randomly drawn")])
def test_the_recommendation_admits_when_no_gain_was_seen(content, gain, words):
    result = {**RESULT, "baseline": {**RESULT["baseline"], "gain": {"nats": gain, "se": 0.01}}}
    assert words in recommendation(replace(content, result=result))


def test_nothing_is_promised_that_was_not_measured(page):
    assert "at their word" not in page
    assert "n 200 simulated participants" in page
    assert "They say nothing about how much information is missed" in page


def test_the_design_to_copy_is_the_one_that_is_said(content, page):
    for row in content.text_of(content.result["design"]).split("; "):
        assert re.search(r"\s*".join(f"<td[^>]*>{value}</td>" for value in row.split(",")), page)


def test_every_section_is_there(read, page):
    sections = {"design", "round", "explore", "information", "curve", "confusion", "recovery", "calibration", "how", "cite", "reproduce"}
    assert sections <= set(read.ids)
    assert "@inproceedings{valentin2021bayesian" in page
    assert "With about 9 trials per block it tells" in page
    assert "&lt;b&gt;bandit&lt;/b&gt;" in page
    assert "bandit &amp; co" in page


def test_the_page_counts_as_people_do_and_says_once_how_tables_count(page):
    assert '<th scope="col">arm 1</th><th scope="col">arm 2</th><th scope="col">arm 3</th>' in page
    assert page.count("Data tables count from 0") == 1
    assert "block 1 is 0 and arm 1 is &#39;arm 0&#39;" in page
    assert page.count("arm 0") == 1


def test_rounding_is_answered(page, other):
    assert "Yes, to 0.1,0.5,0.9; 0.3,0.3,0.7: it tells 0.0012 ± 0.0008 nats less" in page
    assert 'id="round"' not in other


def test_each_number_has_a_figure_that_stands_without_a_script(read, other):
    figures = [found for tag, found in read.tags if tag == "figure" and "data-points" in found]
    assert len(figures) == 6
    points = json.loads(figures[0]["data-points"])
    assert [said for _, _, said in points] == [
        "At 0: 1.100 nats, 0.200 ± 0.010 less than the recommended design",
        "At 0.1: 1.300 nats, the recommended design",
        "At 1: 1.000 nats, 0.300 ± 0.010 less than the recommended design",
    ]
    assert points[2][0] > points[1][0] > points[0][0]
    assert points[2][1] > points[0][1] > points[1][1]  # downwards on a screen
    sliders = [found for tag, found in read.tags if tag == "input"]
    assert all("hidden" in found and found["value"] == "1" for found in sliders)
    labels = {found["for"] for tag, found in read.tags if tag == "label"}
    assert labels == {found["id"] for found in sliders}
    assert "#explorer" not in other


def test_alternatives_say_how_far_behind_they_are_and_whether_they_were_drawn(page):
    assert "<td>+0.003 ± 0.004</td><td>the search</td>" in page
    assert "<td>-0.001 ± 0.002</td><td>drawn at random</td>" in page


@pytest.fixture
def without_pictures(monkeypatch):
    monkeypatch.setattr("tellapart.report.style.inline", lambda figure, name, title: "")


@pytest.mark.parametrize("known", [True, False])
def test_crosses_are_said_to_be_of_other_participants(content, known, without_pictures):
    """They come from those of the checks, so that one to the left of a lower bound is no contradiction."""
    designs = [replace(part, exact=part.exact and replace(part.exact, exact=known)) for part in content.validation.designs]
    assert any(part.exact for part in designs)
    page = render(replace(content, validation=replace(content.validation, designs=designs)))
    assert ("Crosses: the exact answer, on 30 other participants, so that a cross can lie on either side by chance." in page) == known


def test_settings_are_those_that_were_used(page):
    settings = dict(re.findall(r'<th scope="row">(\w+)</th><td>([^<]*)</td>', page))
    assert settings["steps"] == "6500"
    assert settings["batch"] == "256"
    assert not {"learning_rate", "simulations"} & set(settings)  # 0: left to the search
    assert settings["encoder"] == "&#34;history&#34;"


class Guess(Search):
    """A search that uses neither BoTorch nor one network for all designs."""

    name, words = "guess", "The design was guessed."
    find = build = evaluate = None


def test_the_method_is_told_by_the_search_and_nothing_else_is_claimed(content, without_pictures):
    own = ("nguyen2010estimating", "@misc{guess2026, title = {Guessing}}")
    bare = replace(content, validation=None, result={**RESULT, "details": {"estimator": "nwj"}, "trace": []}, sources=own)
    guessed = render(replace(bare, search=Guess()))
    assert "The design was guessed." in guessed
    assert "balandat2020botorch" not in guessed
    assert "network" not in guessed
    assert "@article{nguyen2010estimating" in guessed
    assert "@misc{guess2026" in guessed
    assert "durkan2019neural" not in guessed
    published = render(replace(bare, search=BayesianOptimization()))
    assert "Bayesian optimization" in published
    assert "over all designs" not in published


def test_every_source_is_named_by_its_key():
    assert all(f"{{{key}," in entry for key, entry in SOURCES.items())
    assert not [part for entry in SOURCES.values() for part in re.findall(r"\\\\", entry)]
    parts = [part for kind in ("search", "estimator", "encoder") for part in known_parts(kind).values()]
    assert {source for part in parts for source in part.sources} <= set(SOURCES)


def test_an_estimator_cites_flows_if_it_has_some():
    models, both = (PosteriorEstimator(Question((WSLTS(), AEG()), goal), SequenceEncoder(TASK)) for goal in ("discriminate", "both"))
    assert models.sources == ("barber2003im", "foster2019variational")
    assert both.sources == (*models.sources, "durkan2019neural")


def test_failures_and_priors_are_said(other):
    assert "3 participants could not be simulated" in other
    assert "wslts (0.8), aeg (0.2)" in other


def test_a_page_without_checks_has_the_design_all_the_same(content, without_pictures):
    bare = render(
        replace(content, validation=None, curve=(), provenance={}, result={**RESULT, "baseline": None, "alternatives": [], "trace": []})
    )
    assert 'id="design"' in bare
    assert 'id="calibration"' not in bare


def test_the_page_holds_everything_it_shows(read, page):
    assert all(link.startswith("#") for link in read.links)
    assert not [tag for tag, _ in read.tags if tag in ("link", "iframe", "img")]
    assert all(found == {} for tag, found in read.tags if tag == "script")
    assert not re.findall(r"fetch\(|import\(|XMLHttp|https?://(?!www\.w3\.org|doi\.org)", page.split("<script>")[1].split("</script>")[0])
    assert "@import" not in page
    assert not re.findall(r"url\((?!#)", page)


def test_ids_are_unique_and_links_lead_somewhere(read):
    assert len(read.ids) == len(set(read.ids))
    assert {link[1:] for link in read.links} <= set(read.ids)


def test_those_who_listen_or_use_the_keyboard_are_served(read):
    tags = [tag for tag, _ in read.tags]
    assert ("html", {"lang": "en"}) in read.tags
    assert {"header", "nav", "main", "footer"} <= set(tags)
    assert read.headings[0] == 1
    assert read.headings.count(1) == 1
    assert all(later - earlier <= 1 for earlier, later in zip(read.headings, read.headings[1:], strict=False))
    svgs = [found for tag, found in read.tags if tag == "svg"]
    assert len(svgs) == tags.count("figure") == tags.count("figcaption")
    assert all(found["role"] == "img" and found["aria-labelledby"] in read.ids for found in svgs)
    assert tags.count("caption") == tags.count("table")
    assert all("scope" in found for tag, found in read.tags if tag == "th")
    assert all("tabindex" in found for _, found in read.tags if found.get("class") == "scroll")


MEASURE = """() => {
  const wide = [...document.querySelectorAll("svg, p, table, h1, pre")].filter(e => e.getBoundingClientRect().right > innerWidth + 1
    && !e.closest(".scroll")).length;
  const texts = [...document.querySelectorAll("p, td, figcaption")].map(e => parseFloat(getComputedStyle(e).fontSize));
  return {page: document.documentElement.scrollWidth, window: innerWidth, wide, smallest: Math.min(...texts),
    shown: [...document.querySelectorAll("svg")].filter(e => e.getBoundingClientRect().height > 50).length,
    figures: document.querySelectorAll("svg").length};
}"""


@pytest.fixture(scope="module")
def opened(page, tmp_path_factory):
    """The report in a browser, the same for all tests."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if BROWSER is None:
        pytest.skip("no chromium here to open the report with")
    file = tmp_path_factory.mktemp("report") / "report.html"
    file.write_text(page)
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        window = browser.new_page()
        window.goto(file.as_uri())
        yield window
        browser.close()


@pytest.mark.parametrize("width", [1280, 390])
def test_in_a_browser_everything_fits_the_window(opened, width):
    opened.set_viewport_size({"width": width, "height": 900})
    measured = opened.evaluate(MEASURE)
    assert measured["window"] == width
    assert measured["page"] <= width
    assert measured["wide"] == 0
    assert measured["shown"] == measured["figures"] > 10
    assert measured["smallest"] >= 14


def test_in_a_browser_a_slider_reads_out_the_information(opened):
    figure = opened.locator("#explorer figure").first
    slider = figure.locator("input")
    assert slider.is_visible()
    slider.evaluate("slider => { slider.value = 2; slider.dispatchEvent(new Event('input')); }")
    assert "At 1: 1.000 nats, 0.300 ± 0.010 less than the recommended design." in figure.locator("output").inner_text()
    assert 'visibility="visible"' in figure.inner_html()


def test_in_a_browser_the_page_can_be_seen_and_printed(opened):
    opened.set_viewport_size({"width": 390, "height": 900})
    assert len(opened.screenshot()) > 10_000
    unfolded = "() => [...document.querySelectorAll('details')].map(e => e.open)"
    opened.evaluate(f"() => addEventListener('beforeprint', () => {{ window.printed = ({unfolded})(); }})")
    assert opened.pdf().startswith(b"%PDF")
    assert all(opened.evaluate("() => window.printed"))
    assert not any(opened.evaluate(unfolded))
    opened.emulate_media(media="print")
    assert opened.locator("#explorer input").first.is_hidden()
    opened.emulate_media(media="screen")


def test_given_parameters_are_named(content):
    [told] = {re.search(r"at given parameters \((.+?)\)\.", panel.caption)[1] for panel in _confusion(content) if "given" in panel.caption}
    assert told == "wslts.gamma_w = 0.5, wslts.gamma_l = 0.5, wslts.lambda = 1, aeg.epsilon = 0.5, aeg.phi = 0.5"
