"""The tools with which an agent delegates work to coworkers or asks them questions."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from pydantic import BaseModel, Field, model_validator

from crewgraph.errors import ToolFailed
from crewgraph.overrides import overridable
from crewgraph.prompts.i18n import I18N, Book, default_book
from crewgraph.schema import is_list, is_mapping
from crewgraph.tools.base import BaseTool, keep_never

_SURROUNDING = " \t\r\n\"'`´“”„‟‘’‚«»‹›[]"
"""Characters that models put around names."""


class _DelegationSchema(BaseModel):
    """What both tools take."""

    context: str = Field(
        default="", description="Everything the coworker needs to know: they know nothing of what you know"
    )
    coworker: str = Field(description="The role of the coworker")

    @model_validator(mode="before")
    @classmethod
    def _normalize(cls, values: Any) -> object:
        return normalize_coworker(values) if is_mapping(values) else values


class DelegateWorkToolSchema(_DelegationSchema):
    """What is to be done, and by whom."""

    task: str = Field(description="The work to be done, and what is expected of the result")


class AskQuestionToolSchema(_DelegationSchema):
    """What is to be answered, and by whom."""

    question: str = Field(description="The question")


class CoworkerTool(BaseTool):
    """Base class of the tools that delegate to a coworker.

    In a crew, the coworker's work is part of the calling agent's work: traced, counted and recorded with it.
    """

    _key: ClassVar[str]
    _subject: ClassVar[str]
    """The argument that contains the request."""

    description: str = ""
    agents: list[Any] = Field(default_factory=list[Any])
    """The coworkers."""

    i18n: I18N = Field(default_factory=I18N, exclude=True, repr=False)
    """Prompts for its description."""

    cache_function: Callable[..., bool] = keep_never

    @model_validator(mode="after")
    def _set_description(self) -> "CoworkerTool":
        if not self.description:
            self.description = self.described([agent.template("role") or "" for agent in self.agents], self.i18n.book)
        return self

    def described(self, roles: Iterable[str], book: Book | None = None) -> str:
        """Return the description for models, with the coworkers' roles as they are named in the run."""
        names = ", ".join(" ".join(role.split()) for role in roles)
        return (book or default_book()).filled("tools", self._key, coworkers=names)

    def request_of(self, args: Mapping[str, Any]) -> tuple[str, str]:
        """Return the request and its context."""
        return str(args[self._subject]), str(args.get("context") or "")

    @overridable
    def _run(self, *args: Any, **kwargs: object) -> str:
        """Delegate the work outside of a crew's run.

        Raises:
            ToolFailed: If there is no such coworker.
            Exception: Any error of the coworker.
        """
        arguments = self.args_schema.model_validate(
            dict(zip((self._subject, "context", "coworker"), args, strict=False)) | kwargs
        )
        from crewgraph.definitions.task.task import TaskDefinition

        book, request = default_book(), arguments.model_dump()
        index = find_coworker(request["coworker"], [agent.role for agent in self.agents])
        if index is None:
            coworkers = "\n".join(f"- {agent.role}" for agent in self.agents)
            raise ToolFailed(book.error("agent_tool_unexisting_coworker", coworkers=coworkers))
        agent, (description, context) = self.agents[index], self.request_of(request)
        task = TaskDefinition.public_class(
            description=description, expected_output=book.slice("manager_request"), agent=agent
        )
        return agent.execute_task(task, context)


class DelegateTaskTool(CoworkerTool):
    """Hands a piece of work to a coworker."""

    _key: ClassVar[str] = "delegate_work"
    _subject: ClassVar[str] = "task"

    name: str = "Delegate work to coworker"
    args_schema: type[BaseModel] = DelegateWorkToolSchema


class AskQuestionTool(CoworkerTool):
    """Asks a coworker something."""

    _key: ClassVar[str] = "ask_question"
    _subject: ClassVar[str] = "question"

    name: str = "Ask question to coworker"
    args_schema: type[BaseModel] = AskQuestionToolSchema


class AgentTools:
    """The tools for collaborating with coworkers.

    Args:
        agents: The coworkers.
        i18n: Prompts for the tools' descriptions.
    """

    def __init__(self, agents: Sequence[object], i18n: Any = None) -> None:
        self.agents, self.i18n = list(agents), i18n

    def tools(self) -> list[BaseTool]:
        """Return the tools for delegating work and for asking questions."""
        kinds = (DelegateTaskTool, AskQuestionTool)
        return [kind(agents=self.agents, i18n=self.i18n or I18N()) for kind in kinds]


def normalize_coworker(arguments: Mapping[str, object]) -> dict[str, Any]:
    """Normalize the `coworker` argument, since models also write `co_worker` or a list of one."""
    normalized = dict(arguments)
    if "co_worker" in normalized:
        normalized.setdefault("coworker", normalized.pop("co_worker"))
    coworker = normalized.get("coworker")
    if is_list(coworker) and len(coworker) == 1:
        normalized["coworker"] = coworker[0]
    return normalized


def find_coworker(name: str, roles: Sequence[str]) -> int | None:
    """Return the index of the coworker that a model names; None if there is none.

    Args:
        name: The name that the model wrote; case, quotes and whitespace are ignored.
        roles: The coworkers' roles.
    """
    normalized = _normalize_role(name)
    return next((n for n, role in enumerate(roles) if _normalize_role(role) == normalized), None)


def _normalize_role(role: str) -> str:
    return re.sub(r"\s+", " ", role.strip(_SURROUNDING)).casefold()
