"""The blocks of README and docs run, and print what the pages say; `docs.pages` has how blocks are marked.

The model that the pages name answers at a loopback endpoint.
"""

import re
from pathlib import Path
from typing import Any

import pytest
from servers.openai_api import OpenAIServer, Request, call

from crewgraph.compiler.preflight import refused_keywords
from docs.pages import PAGES, ROOT, Block, blocks, run, says

ANSWERS: dict[str, Any] = {
    "Find the main complaints about Acme Desk": "1. SSO login loop (42 tickets)\n2. CSV export times out (17 tickets)",
    "Nobody in our office can log in": "urgent",
    "I was charged twice": "billing",
    "Read the total of this invoice": "240 EUR",
    "Decide whether we pay it": "pay",
    "Summarize the findings": "SSO login loops lead this week with 42 tickets; CSV exports that time out follow with 17.",
    "Where is order 7?": "Order 7 was shipped on Monday.",
    "What happened to order 7?": call("order_status", {"order": "7"}),
    "Refund order 7 if": call("refund", {"order": "7", "euros": 90}),
    "Answer the customer": "Order 7 is on its way.",
}


def answer(request: Request) -> Any:
    """What a model might say to the tasks on the pages."""
    if request.body["messages"][-1]["role"] == "tool":
        return request.last
    said = "\n".join(str(message.get("content")) for message in request.body["messages"])
    return next((text for asked, text in reversed(ANSWERS.items()) if asked in said), f"echo: {request.last}")


def programs() -> list[Path]:
    return [page for page in PAGES if blocks(page.read_text("utf-8"))]


@pytest.mark.parametrize("page", programs(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_blocks_of_a_page_run_and_print_what_the_page_says(
    page: Path, tmp_path: Path, request: pytest.FixtureRequest
):
    more = {"CREWGRAPH_QUEUE": request.getfixturevalue("postgres").dsn} if page.name == "queue.md" else {}
    with OpenAIServer(answer) as server:
        blocks = run(page, tmp_path, OPENAI_API_KEY="test", OPENAI_BASE_URL=server.url, **more)
    wrong = [
        f"{page.name}:{block.line} says\n{block.printed}\nand prints\n{printed}"
        for block, printed in blocks
        if block.printed is not None and not says(block.printed, printed)
    ]
    assert wrong == []


def test_every_page_is_one_of_the_programs_or_holds_no_python():
    assert {page.name for page in programs()} >= {"README.md", "durability.md", "langgraph.md", "tools.md", "events.md"}
    assert [page.name for page in PAGES if "```py\n" in page.read_text("utf-8")] == []


def test_no_block_is_wider_than_the_site_shows():
    fenced = re.compile(r"^ *```.*?\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
    wide = [
        f"{page.name}: {line}"
        for page in PAGES
        for block in fenced.findall(page.read_text("utf-8"))
        for line in block.splitlines()
        if len(line) > 84
    ]
    assert wide == []


def test_no_page_shows_how_the_tests_set_it_up():
    shown = [page.name for page in PAGES if re.search(r"\.write_text\(|import subprocess", page.read_text("utf-8"))]
    assert shown == []


def test_a_block_is_found_with_its_line_and_with_what_it_prints():
    page = (
        "# A\n\n```python\nprint(1)\n```\n\n```text\n1\n```\n\n```python\nprint(2)\n```\nIt prints\n\n```text\n2\n```\n"
    )
    assert blocks(page) == [Block(4, "print(1)", "1"), Block(12, "print(2)", None)]
    drawn = "```python\nprint(crew.to_mermaid())\n```\n\n```mermaid\nflowchart LR\n```\n"
    assert blocks(drawn) == [Block(2, "print(crew.to_mermaid())", "flowchart LR")]
    done = '```yaml title="a.yaml"\nb: 1\n```\n\n```console\n$ cat \\\n  a.yaml\nb: 1\n$ pwd\n```\n'
    assert [block.printed for block in blocks(done)] == [None, "b: 1\n"]
    assert blocks(done)[0].code == "_page.show_file('a.yaml', 'b: 1\\n')"


def test_links_between_the_pages_lead_somewhere():
    broken = [
        f"{page.name}: {target}"
        for page in [*PAGES, ROOT / "AGENTS.md", ROOT / "CHANGELOG.md"]
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text("utf-8"))
        if not (page.parent / target).exists()
    ]
    assert broken == []


def test_the_pages_list_exactly_what_is_refused():
    rules = [keyword for keywords in refused_keywords().values() for keyword in keywords]
    page = (ROOT / "docs" / "differences.md").read_text("utf-8")
    table = page.partition("## Not offered, and refused")[2].partition("```python")[0]
    listed = {word for row in table.splitlines() if row.startswith("| `") for word in re.findall(r"`([^`]+)`", row)}
    assert listed - {"Crew", "Agent", "Task", "allow_delegation"} == set(rules)
