"""The HTML page in a real browser, used with mouse and keys."""

from pathlib import Path
from typing import Any

import pytest
from servers.browser import Browser, Page

from crewgraph.flow import Flow
from plot.flows import LoopFlow, MyFlow, crowd
from plot.test_plot import NASTY, Nasty

DECIDE = '.method[data-name="decide"] text'
PATH = '.way[data-from="decide"][data-to="handle_a"]'


@pytest.fixture
def page(browser: Browser, tmp_path: Path) -> Page:
    return opened(browser, MyFlow, tmp_path)


def opened(browser: Browser, flow: type[Flow[Any]], folder: Path, scheme: str = "light") -> Page:
    return browser.open(Path(flow.plot(folder / "flow")), scheme=scheme)


def details(page: Page) -> str | None:
    visible = page.value(
        "document.getElementById('details').hidden ? null : document.getElementById('details').innerText"
    )
    return None if visible is None else str(visible)


def scale(page: Page) -> float:
    return page.value("document.querySelector('.scene').getCTM().a")


@pytest.mark.parametrize("flow", [MyFlow, LoopFlow, Nasty, crowd(100)])
def test_it_is_shown_without_network_and_without_complaints(flow: type[Flow[Any]], browser: Browser, tmp_path: Path):
    page = opened(browser, flow, tmp_path)
    assert page.addresses() == [(tmp_path / "flow.html").as_uri()]
    assert page.complaints() == []
    assert page.value("document.querySelectorAll('.method').length") == len(flow.topology().methods)
    assert len(page.screenshot()) > 5_000


def test_names_fit_into_their_shapes(browser: Browser, tmp_path: Path):
    page = opened(browser, crowd(100), tmp_path)
    wide = page.value(
        "[...document.querySelectorAll('.method')].filter(m => { const s = m.querySelector('.shape').getBBox();"
        "return [...m.querySelectorAll('text')].some(t => t.getBBox().width > s.width - 8) }).map(m => m.dataset.name)"
    )
    assert wide == []


def test_a_small_flow_is_shown_whole_and_a_large_one_readable(browser: Browser, tmp_path: Path):
    inside = (
        "[...document.querySelectorAll('.method')].filter(m => { const b = m.getBoundingClientRect();"
        "return b.left >= 0 && b.right <= innerWidth && b.top >= 0 && b.bottom <= innerHeight }).length"
    )
    small = opened(browser, MyFlow, tmp_path)
    assert small.value(inside) == 5
    large = opened(browser, crowd(100), tmp_path)
    assert scale(large) >= 0.7
    large.click(*large.middle("#whole"))
    assert large.value(inside) == 102


def test_the_wheel_zooms_where_the_mouse_is(page: Page):
    x, y = page.middle(DECIDE)
    before = scale(page)
    page.mouse("Wheel", x, y, deltaX=0, deltaY=-200)
    assert scale(page) > before * 1.2
    assert page.middle(DECIDE) == pytest.approx((x, y), abs=2)
    page.click(*page.middle("#further"))
    page.click(*page.middle("#whole"))
    assert scale(page) == pytest.approx(before)


def test_the_sheet_is_dragged(page: Page):
    x, y = page.middle(DECIDE)
    page.drag((300, 600), (40, -30))
    assert page.middle(DECIDE) == pytest.approx((x + 40, y - 30), abs=1)
    assert details(page) is None


def test_a_method_is_dragged_with_the_ends_of_its_ways(page: Page):
    decide, other = page.middle(DECIDE), page.middle('.method[data-name="process"] text')
    ends = f"[...document.querySelector('{PATH}').getAttribute('d').match(/-?[\\d.]+/g)].map(Number)"
    before = page.value(ends)
    page.drag(decide, (25, 60))
    after = page.value(ends)
    assert page.middle(DECIDE) == pytest.approx((decide[0] + 25, decide[1] + 60), abs=1)
    assert page.middle('.method[data-name="process"] text') == pytest.approx(other)
    moved = (25 / scale(page), 60 / scale(page))
    assert (after[0] - before[0], after[1] - before[1]) == pytest.approx(moved, abs=1)
    assert after[-2:] == before[-2:]
    assert details(page) is None


def test_a_click_shows_details_and_escape_closes_them(page: Page):
    page.click(*page.middle('.method[data-name="process"] text'))
    visible = details(page)
    assert visible is not None
    assert "def process(result: str) -> str" in visible
    assert "start" in visible.partition("Waits for")[2]
    page.key("Escape")
    assert details(page) is None
    page.click(*page.middle(DECIDE))
    assert "path_a, path_b" in (details(page) or "")
    page.click(300, 600)
    assert details(page) is None


def test_pointing_shows_the_docstring_as_text(browser: Browser, tmp_path: Path):
    page = opened(browser, Nasty, tmp_path)
    assert page.value("document.getElementById('hint').hidden") is True
    page.mouse("Moved", *page.middle('.method[data-name="begin"] text'))
    assert NASTY in page.value("document.getElementById('hint').textContent")
    assert page.value("document.querySelectorAll('b').length") == 0
    assert page.complaints() == []


def test_keys_reach_everything(page: Page):
    page.key("Tab")
    page.key("Tab")
    assert page.value("document.activeElement.dataset.name") == "init"
    assert page.value("document.activeElement.getAttribute('aria-label')") == "init: start method"
    assert "Where it begins." in page.value("document.getElementById('hint').textContent")
    page.key("Enter", "\r")
    assert "def init() -> str" in (details(page) or "")
    before = scale(page)
    page.key("+", "+")
    assert scale(page) == pytest.approx(before * 1.25)
    page.key("0", "0")
    assert scale(page) == pytest.approx(before)


def test_it_is_light_and_dark(browser: Browser, tmp_path: Path):
    colour = "getComputedStyle(document.body).backgroundColor"
    assert opened(browser, MyFlow, tmp_path, scheme="light").value(colour) == "rgb(255, 255, 255)"
    assert opened(browser, MyFlow, tmp_path, scheme="dark").value(colour) == "rgb(20, 23, 31)"


def test_the_drawing_of_a_notebook_fits_its_cell(browser: Browser, tmp_path: Path):
    cell = tmp_path / "cell.html"
    visible = MyFlow()._repr_html_()  # pyright: ignore[reportPrivateUsage]
    cell.write_text(f"<!DOCTYPE html><meta charset='utf-8'><div style='width:600px'>{visible}</div>", "utf-8")
    page = browser.open(cell)
    assert page.value("document.querySelector('svg').getBoundingClientRect().width") <= 600
    assert page.complaints() == []
