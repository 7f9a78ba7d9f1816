"""A hook of mkdocs: links to files outside the documentation become their paths, for the site has only the pages."""

import re
from typing import Any

_OUTSIDE = re.compile(r"\[([^\]]*)\]\(\.\./([^)]+)\)")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Replace `[text](../path)` on a page of the top folder by the text and the path in the repository."""
    return markdown if "/" in page.file.src_uri else _OUTSIDE.sub(r"\1 (`\2`)", markdown)
