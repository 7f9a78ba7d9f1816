"""What a project uses of CrewAI: features, each with the places where it is used."""

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Feature", "Sort", "Use"]


class Sort(StrEnum):
    """What kind of thing a program uses."""

    imported = "name"
    """It is imported: `crewai.tools.BaseTool`."""

    keyword = "keyword"
    """It is passed to what makes an object: `Crew(memory=)`."""

    attribute = "attribute"
    """It is read, set or called: `CrewOutput.raw`."""

    argument = "argument"
    """It is passed to a method: `Crew.kickoff(inputs=)`."""

    base = "base"
    """A class is made of it: `class(BaseTool)`."""

    override = "override"
    """A class has a version of its own of it: `override BaseTool._run`."""

    bare = "bare"
    """It stands above a function without brackets: `@listen`."""

    dependency = "dependency"
    """The project asks for its package: `crewai[tools]>=1`."""


@dataclass(frozen=True, order=True)
class Feature:
    """One thing that can be used."""

    sort: Sort
    shown: str
    """How it is written, as in the lines above."""

    path: str = ""
    """crewai's dotted path, of names."""

    owner: str = ""
    """ "module:name" of the class in crewgraph that it is of."""

    word: str = ""
    """The keyword, attribute or argument."""

    value: str = ""
    """What a keyword is given, as Python writes it, if that is a constant."""

    of_method: str = ""
    """The method that an argument is passed to."""


@dataclass(frozen=True, order=True)
class Use:
    """A place where a feature is used."""

    file: str
    line: int
    feature: Feature
    cell: int = 0
    """Of a notebook: the cell, from 1, in which the line is counted."""
