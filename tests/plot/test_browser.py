"""The HTML page in a real browser, used with mouse and keys."""

from pathlib import Path
from typing import Any

import pytest
from servers.browser import Browser, Page

from crewgraph.flow import Flow
from plot.flows import LoopFlow, MyFlow, crowd
from plot.test_plot import Nasty

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
