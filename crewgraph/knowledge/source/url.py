"""Pages of the web as a source."""

import json
import re
from pathlib import PurePosixPath
from typing import Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from crewgraph.errors import SourceError
from crewgraph.extras import require
from crewgraph.knowledge.files import FetchedPage, Fetcher, checked_url, decoded, read_as
from crewgraph.knowledge.formats import rows_of_csv, told_rows, told_tree
from crewgraph.knowledge.passage import Passage, sections
from crewgraph.knowledge.source.base import BaseKnowledgeSource
from crewgraph.knowledge.source.documents import pages_of

__all__ = ["URLKnowledgeSource"]


_DECLARED = re.compile(rb"<meta[^>]+charset=[\"']?([\w-]+)", re.IGNORECASE)
_HEAD = 4096
_LEFT_OUT = ("script", "style", "template", "noscript", "nav", "iframe", "svg")


class URLKnowledgeSource(BaseKnowledgeSource):
    """Pages of the web: HTML, Markdown, text, JSON, CSV or PDF, fetched at the beginning of a run.

    Only public addresses are asked, also where a page has moved; no proxy is used.

    Raises:
        SourceError: an address cannot be fetched, or there is nothing to be read.
        SourceRefused: it is a private address, or leads to one.
        MissingExtra: the package that reads HTML or PDF is not installed.
    """

    source_type: Literal["url"] = "url"

    urls: list[str] = Field(default_factory=list[str])
    """The addresses; one may be given as a text."""

    allow_private: bool | None = None
    """Whether addresses of this machine and of private networks may be asked; CREWGRAPH_ALLOW_PRIVATE_URLS where None."""

    timeout: float = Field(default=30, gt=0)
    """Seconds for a page."""

    max_bytes: int = Field(default=10_000_000, gt=0)
    """The most bytes of a page."""

    @field_validator("urls", mode="before")
    @classmethod
    def _one_or_more(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value

    @model_validator(mode="after")
    def _fetchable(self) -> Self:
        if not self.urls:
            raise ValueError("`URLKnowledgeSource` needs `urls`: an address, or a list of them")
        for url in self.urls:
            checked_url(url)
        return self

    @property
    def title(self) -> str:
        """What it is called in messages."""
        return f"{type(self).__name__}({', '.join(self.urls)})"

    def load_content(self) -> dict[str, str]:
        """The text of each page."""
        return {url: "\n\n".join(one.text for one in parts) for url, parts in self._fetched().items()}

    def _fetched(self) -> dict[str, list[Passage]]:
        fetcher = Fetcher(allow_private=self.allow_private, timeout=self.timeout, max_bytes=self.max_bytes)
        return {url: _read(fetcher.fetch(url)) for url in self.urls}

    def _parts(self) -> list[Passage]:
        return [
            Passage(one.text, {"source": url, **one.metadata})
            for url, parts in self._fetched().items()
            for one in parts
        ]


def _read(page: FetchedPage) -> list[Passage]:
    """What stands on a page, by what its server says it is, else by the end of its name."""
    kind = page.kind
    if kind in ("application/octet-stream", "text/plain"):
        kind = _KINDS.get(PurePosixPath(urlsplit(page.url).path).suffix.lower(), kind)
    if kind == "application/pdf":
        return pages_of(page.data, page.url)
    if kind in ("text/html", "application/xhtml+xml"):
        return sections(read_as("HTML", page.url, lambda: _markdown(page)))
    text = decoded(page.data, page.url, page.charset)
    if kind == "text/markdown":
        return sections(text)
    if kind == "text/csv":
        return [Passage(read_as("table", page.url, lambda: told_rows(rows_of_csv(text))))]
    if kind == "application/json" or kind.endswith("+json"):
        return [Passage(read_as("JSON", page.url, lambda: told_tree(json.loads(text))))]
    if kind.startswith("text/") or kind.endswith(("/xml", "+xml")):
        return [Passage(text)]
    raise SourceError(
        f"the knowledge source `{page.url}` is `{page.kind}`, which is not read; download it, or take another"
    )


_KINDS = {
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".csv": "text/csv",
    ".json": "application/json",
    ".pdf": "application/pdf",
    ".txt": "text/plain",
    ".html": "text/html",
    ".htm": "text/html",
}


def _markdown(page: FetchedPage) -> str:
    """A page without what is no text for readers."""
    declared = _DECLARED.search(page.data[:_HEAD])
    text = decoded(page.data, page.url, page.charset or (declared[1].decode() if declared else None))
    bs4: Any = require("bs4", extra="web", purpose=f"the knowledge source `{page.url}`")
    markdownify: Any = require("markdownify", extra="web", purpose=f"the knowledge source `{page.url}`")
    tree = bs4.BeautifulSoup(text, "html.parser")
    for part in tree(_LEFT_OUT):
        part.decompose()
    title = tree.title.get_text(strip=True) if tree.title else ""
    body = tree.find("main") or tree.body or tree
    written: str = markdownify.MarkdownConverter(heading_style="atx", strip=["a", "img"]).convert_soup(body)
    return f"# {title}\n\n{written}" if title and not written.lstrip().startswith("# ") else written
