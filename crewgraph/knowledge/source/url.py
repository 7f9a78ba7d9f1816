"""Web pages as a source."""

import re
from pathlib import PurePosixPath
from typing import Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from crewgraph.errors import SourceError
from crewgraph.extras import require
from crewgraph.knowledge.files import FetchedPage, Fetcher, decode_text, parse_url, read_or_fail
from crewgraph.knowledge.passage import Passage, markdown_sections
from crewgraph.knowledge.source.base import BaseKnowledgeSource
from crewgraph.knowledge.source.documents import pdf_pages
from crewgraph.knowledge.source.text_files import json_as_text, json_values, rows_as_text, rows_of_csv

_META_CHARSET = re.compile(rb"<meta[^<>]+?charset=[\"']?([\w-]+)", re.IGNORECASE)
_JSON = ("application/json", "application/jsonl", "application/x-ndjson")
_HEAD = 4096
_REMOVED_TAGS = ("script", "style", "template", "noscript", "nav", "iframe", "svg")


class URLKnowledgeSource(BaseKnowledgeSource):
    """Web pages: HTML, Markdown, text, JSON, CSV or PDF, fetched at the start of a run.

    Only public addresses are fetched, also after redirects; proxies are not used.

    Raises:
        SourceError: an address cannot be fetched, or is not readable.
        SourceRefused: the address, or a redirect, is private.
        MissingExtra: the package that reads HTML or PDF is not installed.
    """

    source_type: Literal["url"] = "url"

    urls: list[str] = Field(default_factory=list[str])
    """The addresses; a single one may be passed as text."""

    allow_private: bool | None = None
    """Whether private addresses are allowed; None for CREWGRAPH_ALLOW_PRIVATE_URLS."""

    timeout: float = Field(default=30, gt=0)
    """Seconds for a page."""

    max_bytes: int = Field(default=10_000_000, gt=0)
    """The maximum size of a page."""

    @field_validator("urls", mode="before")
    @classmethod
    def _one_or_more(cls, value: Any) -> object:
        return [value] if isinstance(value, str) else value

    @model_validator(mode="after")
    def _fetchable(self) -> Self:
        if not self.urls:
            raise ValueError("`URLKnowledgeSource` needs `urls`: an address, or a list of them")
        for url in self.urls:
            parse_url(url)
        return self

    @property
    def title(self) -> str:
        """Its name in messages."""
        return f"{type(self).__name__}({', '.join(self.urls)})"

    def load_content(self) -> dict[str, str]:
        """The text of each page."""
        return {url: "\n\n".join(part.text for part in parts) for url, parts in self._fetch().items()}

    def _fetch(self) -> dict[str, list[Passage]]:
        fetcher = Fetcher(allow_private=self.allow_private, timeout=self.timeout, max_bytes=self.max_bytes)
        return {url: _page_passages(fetcher.fetch(url)) for url in self.urls}

    def _parts(self) -> list[Passage]:
        return [
            Passage(part.text, {"source": url, **part.metadata})
            for url, parts in self._fetch().items()
            for part in parts
        ]


def _page_passages(page: FetchedPage) -> list[Passage]:
    """The passages of a page, by its media type, or else by its suffix."""
    kind = page.kind
    if kind in ("application/octet-stream", "text/plain"):
        kind = _TYPES_BY_SUFFIX.get(PurePosixPath(urlsplit(page.url).path).suffix.lower(), kind)
    if kind == "application/pdf":
        return pdf_pages(page.data, page.url)
    if kind in ("text/html", "application/xhtml+xml"):
        return markdown_sections(read_or_fail("HTML", page.url, lambda: _markdown(page)))
    text = decode_text(page.data, page.url, page.charset)
    if kind == "text/markdown":
        return markdown_sections(text)
    if kind == "text/csv":
        return [Passage(read_or_fail("table", page.url, lambda: rows_as_text(rows_of_csv(text))))]
    if kind in _JSON or kind.endswith("+json"):
        return [Passage(read_or_fail("JSON", page.url, lambda: json_as_text(json_values(text))))]
    if kind.startswith("text/") or kind.endswith(("/xml", "+xml")):
        return [Passage(text)]
    raise SourceError(
        f"the knowledge source `{page.url}` is `{page.kind}`, which is not read; download it, or take another"
    )


_TYPES_BY_SUFFIX = {
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".csv": "text/csv",
    ".json": "application/json",
    ".jsonl": "application/json",
    ".pdf": "application/pdf",
    ".txt": "text/plain",
    ".html": "text/html",
    ".htm": "text/html",
}


def _markdown(page: FetchedPage) -> str:
    """A page as Markdown, without navigation, scripts and the like."""
    declared = _META_CHARSET.search(page.data[:_HEAD])
    text = decode_text(page.data, page.url, page.charset or (declared[1].decode() if declared else None))
    bs4: object = require("bs4", extra="web", purpose=f"the knowledge source `{page.url}`")
    markdownify: object = require("markdownify", extra="web", purpose=f"the knowledge source `{page.url}`")
    tree = bs4.BeautifulSoup(text, "html.parser")
    for part in tree(_REMOVED_TAGS):
        part.decompose()
    title = tree.title.get_text(strip=True) if tree.title else ""
    body = tree.find("main") or tree.body or tree
    markdown: str = markdownify.MarkdownConverter(heading_style="atx", strip=["a", "img"]).convert_soup(body)
    return f"# {title}\n\n{markdown}" if title and not markdown.lstrip().startswith("# ") else markdown
