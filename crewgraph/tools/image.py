"""A tool that adds an image to the conversation, so that the agent can look at it."""

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel, Field

from crewgraph.errors import ToolFailed
from crewgraph.prompts.i18n import default_book
from crewgraph.schema import PlainDict
from crewgraph.tools.base import BaseTool, keep_never
from crewgraph.tools.results import MAX_IMAGE_BYTES, Rendered

_CAPTION = "Here is the image."

_HINT = "Give an http(s) or data URL, or the path of a file below the working directory."

_SIGNATURES = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg", b"GIF87a": "gif", b"GIF89a": "gif"}


class AddImageToolSchema(BaseModel):
    """What the tool takes."""

    image_url: str = Field(
        description="Where the image is: an http(s) or data URL, or a path below the working directory"
    )
    action: str | None = Field(default=None, description="What to look for in the image")


class AddImageTool(BaseTool):
    """Adds an image to the conversation.

    The provider fetches http(s) URLs. Files must be below the working directory, up to 5 MB, and PNG, JPEG, GIF or WebP.
    """

    name: str = Field(default_factory=lambda: _image_texts()["name"])
    description: str = Field(default_factory=lambda: _image_texts()["description"])
    args_schema: type[BaseModel] = AddImageToolSchema
    cache_function: Callable[..., bool] = keep_never

    def _run(self, image_url: str, action: str | None = None, **kwargs: object) -> PlainDict:
        """Return a user message with a text and the image, in OpenAI's format.

        Raises:
            ToolFailed: The image does not exist, or may not be read.
        """
        text = action or _image_texts()["default_action"]
        image = {"type": "image_url", "image_url": {"url": _image_url(image_url.strip())}}
        return {"role": "user", "content": [{"type": "text", "text": text}, image]}

    def _render(self, result: Any) -> Rendered:
        return _CAPTION, result["content"]


def _image_texts() -> dict[str, str]:
    return cast("dict[str, str]", default_book().text("tools", "add_image"))


def _image_url(location: str) -> str:
    scheme = location.partition(":")[0].lower()
    if scheme in ("http", "https"):
        return location
    if scheme == "data":
        if not location[5:].lower().startswith("image/"):
            raise ToolFailed(f"`{location[:40]}` is no image: a data URL of one begins with `data:image/`.")
        return _check_size(location, len(location) * 3 // 4, "the data URL")
    root = Path.cwd().resolve()
    try:
        path = (root / location).resolve()
        if not path.is_relative_to(root):
            raise ToolFailed(
                f"`{location}` is outside of the working directory; only images below it can be looked at."
            )
        if not path.is_file():
            raise ToolFailed(f"`{location}` is no file. {_HINT}")
        _check_size("", path.stat().st_size, f"`{location}`")
        content = path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a name that no file has
        # The message omits the directory, which the model must not see.
        raise ToolFailed(f"`{location}` cannot be read: {getattr(error, 'strerror', '') or error}. {_HINT}") from error
    return f"data:image/{_image_type(location, content)};base64,{base64.b64encode(content).decode()}"


def _check_size(url: str, size: int, label: str) -> str:
    if size > MAX_IMAGE_BYTES:
        raise ToolFailed(
            f"{label} is too large: {size / 1e6:.1f} MB, and at most {MAX_IMAGE_BYTES / 1e6:g} MB can be looked at."
        )
    return url


def _image_type(location: str, content: bytes) -> str:
    """Detect the format from the content, because file names are unreliable."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "webp"
    image_type = next(
        (image_format for beginning, image_format in _SIGNATURES.items() if content.startswith(beginning)), None
    )
    if image_type is None:
        raise ToolFailed(f"`{location}` is no PNG, JPEG, GIF or WebP image.")
    return image_type
