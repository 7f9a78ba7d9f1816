"""An agent with tools, its crew, and evaluators."""

from collections.abc import Sequence
from typing import Any

from crewgraph import Agent, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.contrib.evaluation import BaseEvaluator, EvaluationScore, MetricCategory
from crewgraph.tools.base import tool

__all__ = ["Fixed", "Judge", "clerk", "crew_of", "named"]

MARK = '{"score": 8, "feedback": "Complete."}'


@tool
def calculator(term: str) -> str:
    """Work out a term."""
    return str(6 * 7) if term == "6*7" else f"{term}?"


@tool
def broken(term: str) -> str:
    """Never works."""
    raise ValueError(f"no {term}")


def clerk(*answers: Any, **fields: Any) -> Agent:
    script = answers or (ToolUse("calculator", {"term": "6*7"}), "It is 42.")
    fields = {"role": "Clerk", "tools": [calculator, broken], **fields}
    return Agent(goal="Be right", backstory="Careful.", llm=ScriptedLLM(list(script), repeat_last=True), **fields)


def crew_of(*agents: Agent, **fields: Any) -> Crew:
    tasks = [Task(description="How much is {term}?", expected_output="A number", agent=agent) for agent in agents]
    return Crew(agents=[*agents], tasks=tasks, **fields)


class Judge(ScriptedLLM):
    """Replies with a score to every request, and records the requests."""

    def __init__(self, reply: str = MARK) -> None:
        self.asked: list[str] = []

        def marked(messages: Any) -> str:
            self.asked.append("\n".join(str(message["content"]) for message in messages))
            return reply

        super().__init__(marked)


class Fixed(BaseEvaluator):
    """Returns scores from a list, and records its arguments."""

    def __init__(self, *marks: float | None | Exception, of: MetricCategory = MetricCategory.GOAL_ALIGNMENT) -> None:
        super().__init__()
        self.marks, self.category, self.given = [*marks], of, list[tuple[dict[str, Any], Any, Any]]()

    @property
    def metric_category(self) -> MetricCategory:
        return self.category

    def evaluate(
        self, agent: Any, execution_trace: dict[str, Any], final_output: Any, task: Any = None
    ) -> EvaluationScore:
        self.given.append((execution_trace, final_output, task))
        mark = self.marks[0] if len(self.marks) == 1 else self.marks.pop(0)
        if isinstance(mark, Exception):
            raise mark
        return EvaluationScore(score=mark, feedback=f"It is worth {mark}.")


def named(uses: Sequence[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Return name, arguments and success of each tool use."""
    return [(use["tool"], use["args"], use["success"]) for use in uses]
