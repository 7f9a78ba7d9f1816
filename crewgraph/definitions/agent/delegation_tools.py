"""The tools with which an agent delegates work to coworkers or asks them questions."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast

from pydantic import BaseModel, Field, model_validator

from crewgraph.lazy import lazy
from crewgraph.overrides import overridable
from crewgraph.prompts.book import Book, english
from crewgraph.prompts.i18n import I18N
from crewgraph.tools.base import BaseTool

if TYPE_CHECKING:
    from crewgraph.runtime.agent.standalone import handed_over
else:
    handed_over = lazy("crewgraph.runtime.agent.standalone:handed_over")

__all__ = [
    "DEFAULT_MAX_DELEGATIONS",
    "AgentTools",
    "AskQuestionTool",
    "AskQuestionToolSchema",
    "CoworkerTool",
    "DelegateTaskTool",
    "DelegateWorkToolSchema",
    "find_coworker",
    "normalize_coworker",
]


DEFAULT_MAX_DELEGATIONS = 10
"""How often an agent may hand over work for one task, where its crew says nothing else."""

_SURROUNDING = " \t\r\n\"'`´“”„‟‘’‚«»‹›[]"
"""What models put around a name."""


def _never(_arguments: Any = None, _result: Any = None) -> bool:
    return False  # somebody asked again is to look again


class _DelegationSchema(BaseModel):
    """What both tools take."""

    context: str = Field(
        default="", description="Everything the coworker needs to know: they know nothing of what you know"
    )
    coworker: str = Field(description="The role of the coworker")

    @model_validator(mode="before")
    @classmethod
    def _normalize(cls, values: Any) -> Any:
        return normalize_coworker(cast("Mapping[str, Any]", values)) if isinstance(values, Mapping) else values


class DelegateWorkToolSchema(_DelegationSchema):
    """What is to be done, and by whom."""

    task: str = Field(description="The work to be done, and what is expected of the result")


class AskQuestionToolSchema(_DelegationSchema):
    """What is to be answered, and by whom."""

    question: str = Field(description="The question")


class CoworkerTool(BaseTool):
    """Has a coworker do something.

    In a crew, the coworker's work is a part of the work of whoever uses the tool: seen, counted and kept with it.
    """

    _key: ClassVar[str]
    _subject: ClassVar[str]
    """The argument that says what is wanted."""

    description: str = ""
    agents: list[Any] = Field(default_factory=list[Any])
    """The coworkers."""

    i18n: I18N = Field(default_factory=I18N, exclude=True, repr=False)
    """Texts of its own for its description."""

    cache_function: Callable[..., bool] = _never

    @model_validator(mode="after")
    def _set_description(self) -> "CoworkerTool":
        if not self.description:
            self.description = self.described([agent.template("role") or "" for agent in self.agents], self.i18n.book)
        return self

    def described(self, roles: Iterable[str], book: Book | None = None) -> str:
        """What a model is told of it, with the roles of the coworkers as they are called in a run."""
        listed = ", ".join(" ".join(role.split()) for role in roles)
        return (book or english()).filled("tools", self._key, coworkers=listed)

    def sanitize_agent_name(self, name: str) -> str:
        """A coworker's name as it is compared: without quotes and superfluous blanks, in small letters."""
        return " ".join(name.split()).replace('"', "").casefold()

    def wanted(self, args: Mapping[str, Any]) -> tuple[str, str]:
        """What the coworker is to do, and what they are told."""
        return str(args[self._subject]), str(args.get("context") or "")

    @overridable
    def _run(self, *args: Any, **kwargs: Any) -> str:
        """Have it done, outside of a crew's run.

        Raises:
            ToolFailed: there is no such coworker.
            Exception: what the coworker's work raised.
        """
        given = self.args_schema.model_validate(
            dict(zip((self._subject, "context", "coworker"), args, strict=False)) | kwargs
        )
        return handed_over(self, given.model_dump())


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
    """The tools for working with some coworkers.

    Args:
        agents: the coworkers.
        i18n: texts of one's own for the tools' descriptions.
    """

    def __init__(self, agents: Sequence[Any], i18n: Any = None) -> None:
        self.agents, self.i18n = list(agents), i18n

    def tools(self) -> list[BaseTool]:
        """One for handing over work, one for questions."""
        kinds = (DelegateTaskTool, AskQuestionTool)
        return [kind(agents=self.agents, i18n=self.i18n or I18N()) for kind in kinds]


def normalize_coworker(written: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments in which the coworker is named as the tools want it: models write `co_worker`, or a list of one."""
    given = dict(written)
    if "co_worker" in given:
        given.setdefault("coworker", given.pop("co_worker"))
    named = given.get("coworker")
    if isinstance(named, list) and len(cast("list[Any]", named)) == 1:
        given["coworker"] = named[0]
    return given


def find_coworker(written: str, roles: Sequence[str]) -> int | None:
    """The position of the coworker whom a model means; None where there is none of that name.

    Args:
        written: what the model wrote; case, quotes and white space do not matter.
        roles: what the coworkers are called.
    """
    wanted = _normalize_role(written)
    return next((n for n, role in enumerate(roles) if _normalize_role(role) == wanted), None)


def _normalize_role(role: str) -> str:
    return re.sub(r"\s+", " ", role.strip(_SURROUNDING)).casefold()
