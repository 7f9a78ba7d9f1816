"""A hook of mkdocs: links to files outside the documentation become their paths, for the site has only the pages."""

import re
from pathlib import Path
from typing import Any

_OUTSIDE = re.compile(r"\[([^\]]*)\]\(\.\./([^)]+)\)")
_CHANGELOG = Path(__file__).parent.parent.parent / "CHANGELOG.md"


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Replace `[text](../path)` on a page of the top folder by the text and the path in the repository."""
    if page.file.src_uri == "changelog.md":  # its links start at the top of the repository
        return _CHANGELOG.read_text("utf-8").replace("](docs/", "](")
    return markdown if "/" in page.file.src_uri else _OUTSIDE.sub(r"\1 (`\2`)", markdown)
