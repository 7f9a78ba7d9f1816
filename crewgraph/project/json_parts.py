"""Agents and tasks, as files and programs describe them in JSON."""

import difflib
from collections.abc import Mapping
from typing import Any, cast

from pydantic import BaseModel

from crewgraph.definitions.agent import Agent, BaseAgent
from crewgraph.definitions.section import Section
from crewgraph.definitions.task import ConditionalTask, Task
from crewgraph.errors import DefinitionError, Fault
from crewgraph.llm.resolve import llm_named
from crewgraph.project.python_names import PythonNames

__all__ = ["JSONParts"]

_MODELS = ("llm", "function_calling_llm", "manager_llm", "planning_llm", "chat_llm")


class JSONParts:
    """Makes agents and tasks of what files hold."""

    def __init__(self, python: PythonNames) -> None:
        self._python = python

    def agent(self, values: Mapping[str, Any], name: str, place: str) -> Any:
        settings: Any = values.get("settings") or {}
        if not isinstance(settings, dict):
            raise DefinitionError(f"{place}: `settings` of `{name}` is no object")
        given = {key: value for key, value in values.items() if key not in ("settings", "type")}
        kind = self._kind(values.get("type") or "Agent", {"Agent": Agent}, BaseAgent, f"{place}: `{name}`")
        return kind(config=self._section(kind, given | cast("dict[str, Any]", settings), name, place))

    def task(
        self, values: Mapping[str, Any], name: str, place: str, agents: Mapping[str, Any], before: Mapping[str, Task]
    ) -> Task:
        given = dict(values)
        where = f"{place}: `{name}`"
        kinds = {"Task": Task, "ConditionalTask": ConditionalTask}
        kind = self._kind(given.pop("type", None) or "Task", kinds, Task, where)
        if given.get("agent") is not None:
            given["agent"] = _named(given["agent"], agents, f"{where}: `agent`", "agent that the crew lists")
        if given.get("context") is not None:
            if not isinstance(given["context"], list):
                raise DefinitionError(f"{where}: `context` is no list of names of tasks")
            names = cast("list[Any]", given["context"])
            given["context"] = [_named(one, before, f"{where}: `context`", "task before it") for one in names]
        section = self._section(kind, given, name, place)
        return kind(config=section)

    def _kind(self, given: Any, kinds: Mapping[str, Any], base: type[Any], where: str) -> Any:
        """The class that a `type` names: one of ours, or one of the project's own that is made of it."""
        if isinstance(given, str) and given in kinds:
            return kinds[given]
        if not isinstance(given, Mapping) or list(cast("Mapping[str, Any]", given)) != ["python"]:
            raise DefinitionError(f"{where} is of an unknown type; there are {', '.join(kinds)}")
        made = self._python.attribute(str(cast("Mapping[str, Any]", given)["python"]), where)
        if not isinstance(made, type) or not issubclass(made, base):
            raise DefinitionError(f"{where}: `type` names {made!r:.60}, which is no subclass of `{base.__name__}`")
        return made

    def _section(self, kind: type[BaseModel], given: Mapping[str, Any], name: str, place: str) -> Section:
        return Section(self.fields(kind, given, f"{place}: `{name}`"), name=name, place=place)

    def fields(self, kind: type[BaseModel], given: Mapping[str, Any], where: str) -> dict[str, Any]:
        """Values by field, with objects in the place of names.

        Raises:
            DefinitionError: a key is no field, or a name leads nowhere.
        """
        unknown = [key for key in given if key not in kind.model_fields]
        if unknown:
            raise DefinitionError([_unknown(kind, key, where) for key in unknown])
        return {key: self._value(key, value, f"{where}: `{key}`") for key, value in given.items()}

    def _value(self, key: str, value: Any, where: str) -> Any:
        if isinstance(value, list):
            values = cast("list[Any]", value)
            if key == "tools":
                return [self._python.tool(one, where) if isinstance(one, str) else one for one in values]
            return [self._value("", one, where) for one in values]
        if not isinstance(value, dict):
            return value
        values = cast("dict[str, Any]", value)
        if list(values) == ["python"]:
            return self._python.attribute(str(values["python"]), where)
        return llm_named(values) if key in _MODELS else values


def _named(name: Any, among: Mapping[str, Any], where: str, what: str) -> Any:
    if not isinstance(name, str) or name not in among:
        there = f"there are {', '.join(f'`{one}`' for one in among)}" if among else "there is none"
        raise DefinitionError(f"{where}: {name!r} is no {what}; {there}")
    return among[name]


def _unknown(kind: type[BaseModel], key: str, where: str) -> Fault:
    near = difflib.get_close_matches(key, list(kind.model_fields), n=1)
    remedy = f"Did you mean `{near[0]}`?" if near else "Take it out."
    return Fault(where=where, what=f"`{kind.__name__}` has no `{key}`.", remedy=remedy, code="unknown_key")
