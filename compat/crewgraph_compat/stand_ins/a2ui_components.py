"""The components of A2UI's standard catalog, version 0.8."""

from typing import Literal

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

__all__ = [
    "COMPONENTS",
    "Action",
    "ActionBoundValue",
    "ActionContextEntry",
    "ArrayBinding",
    "AudioPlayer",
    "BooleanBinding",
    "Button",
    "Card",
    "CheckBox",
    "ChildTemplate",
    "ChildrenDef",
    "Column",
    "DateTimeInput",
    "Divider",
    "Icon",
    "IconBinding",
    "Image",
    "List",
    "Modal",
    "MultipleChoice",
    "MultipleChoiceOption",
    "NumberBinding",
    "Row",
    "Slider",
    "StringBinding",
    "TabItem",
    "Tabs",
    "Text",
    "TextField",
    "Video",
]

_Along = Literal["center", "end", "spaceAround", "spaceBetween", "spaceEvenly", "start"]
_Across = Literal["start", "center", "end", "stretch"]
_Direction = Literal["vertical", "horizontal"]
_IconName = Literal[
    "accountCircle", "add", "arrowBack", "arrowForward", "attachFile", "calendarToday", "call", "camera", "check",
    "close", "delete", "download", "edit", "event", "error", "favorite", "favoriteOff", "folder", "help", "home",
    "info", "locationOn", "lock", "lockOpen", "mail", "menu", "moreVert", "moreHoriz", "notificationsOff",
    "notifications", "payment", "person", "phone", "photo", "print", "refresh", "search", "send", "settings", "share",
    "shoppingCart", "star", "starHalf", "starOff", "upload", "visibility", "visibilityOff", "warning",
]  # fmt: skip


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", alias_generator=to_camel, populate_by_name=True)


class StringBinding(_Part):
    """A text, or where it is in the data."""

    literal_string: str | None = None
    path: str | None = None


class NumberBinding(_Part):
    """A number, or where it is in the data."""

    literal_number: float | None = None
    path: str | None = None


class BooleanBinding(_Part):
    """Yes or no, or where it is in the data."""

    literal_boolean: bool | None = None
    path: str | None = None


class ArrayBinding(_Part):
    """Texts, or where they are in the data."""

    literal_array: list[str] | None = None
    path: str | None = None


class IconBinding(_Part):
    """The name of an icon, or where it is in the data."""

    literal_string: _IconName | None = None
    path: str | None = None


class ActionBoundValue(_Part):
    """A value, or where it is in the data."""

    path: str | None = None
    literal_string: str | None = None
    literal_number: float | None = None
    literal_boolean: bool | None = None


class ActionContextEntry(_Part):
    """What an action carries along."""

    key: str
    value: ActionBoundValue


class Action(_Part):
    """What a component does."""

    name: str
    context: list[ActionContextEntry] | None = None


class ChildTemplate(_Part):
    """A component that is repeated for each entry of the data."""

    component_id: str
    data_binding: str


class ChildrenDef(_Part):
    """What is inside."""

    explicit_list: list[str] | None = None
    template: ChildTemplate | None = None


class Text(_Part):
    """A text."""

    text: StringBinding
    usage_hint: Literal["h1", "h2", "h3", "h4", "h5", "caption", "body"] | None = None


class Image(_Part):
    """A picture."""

    url: StringBinding
    fit: Literal["contain", "cover", "fill", "none", "scale-down"] | None = None
    usage_hint: Literal["icon", "avatar", "smallFeature", "mediumFeature", "largeFeature", "header"] | None = None


class Icon(_Part):
    """An icon."""

    name: IconBinding


class Video(_Part):
    """A film."""

    url: StringBinding


class AudioPlayer(_Part):
    """Something to listen to."""

    url: StringBinding
    description: StringBinding | None = None


class Row(_Part):
    """Components side by side."""

    children: ChildrenDef
    distribution: _Along | None = None
    alignment: _Across | None = None


class Column(_Part):
    """Components one below the other."""

    children: ChildrenDef
    distribution: _Along | None = None
    alignment: _Across | None = None


class List(_Part):
    """Components in a list."""

    children: ChildrenDef
    direction: _Direction | None = None
    alignment: _Across | None = None


class Card(_Part):
    """A component in a frame."""

    child: str


class TabItem(_Part):
    """One of several pages."""

    title: StringBinding
    child: str


class Tabs(_Part):
    """Several pages."""

    tab_items: list[TabItem]


class Divider(_Part):
    """A line."""

    axis: _Direction | None = None


class Modal(_Part):
    """Something that lies above all else."""

    entry_point_child: str
    content_child: str


class Button(_Part):
    """Something to press."""

    child: str
    primary: bool | None = None
    action: Action


class CheckBox(_Part):
    """Yes or no."""

    label: StringBinding
    value: BooleanBinding


class TextField(_Part):
    """A text to be written."""

    label: StringBinding
    text: StringBinding | None = None
    text_field_type: Literal["date", "longText", "number", "shortText", "obscured"] | None = None
    validation_regexp: str | None = None


class DateTimeInput(_Part):
    """A date or a time to be chosen."""

    value: StringBinding
    enable_date: bool | None = None
    enable_time: bool | None = None


class MultipleChoiceOption(_Part):
    """One of several."""

    label: StringBinding
    value: str


class MultipleChoice(_Part):
    """Some of several."""

    selections: ArrayBinding
    options: list[MultipleChoiceOption]
    max_allowed_selections: int | None = None
    variant: Literal["checkbox", "chips"] | None = None
    filterable: bool | None = None


class Slider(_Part):
    """A number to be chosen."""

    value: NumberBinding
    min_value: float | None = None
    max_value: float | None = None


COMPONENTS: dict[str, type[BaseModel]] = {
    kind.__name__: kind
    for kind in (
        *(AudioPlayer, Button, Card, CheckBox, Column, DateTimeInput, Divider, Icon, Image, List, Modal),
        *(MultipleChoice, Row, Slider, Tabs, Text, TextField, Video),
    )
}
"""The components by their names."""
