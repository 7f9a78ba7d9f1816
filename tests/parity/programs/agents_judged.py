"""An evaluator of one's own judges an agent in a crew, and in a kickoff of its own."""

import time

from crewai import Agent, Crew, Task
from crewai.experimental.evaluation import AgentEvaluator, BaseEvaluator, EvaluationScore, MetricCategory
from crewai.tools import tool


@tool("add")
def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


class ByLength(BaseEvaluator):
    @property
    def metric_category(self):
        return MetricCategory.SEMANTIC_QUALITY

    def evaluate(self, agent, execution_trace, final_output, task=None):
        used = sorted({use["tool"] for use in execution_trace["tool_uses"]})
        return EvaluationScore(score=len(str(final_output)), feedback=f"{agent.role} used {used}, {task is None}")


class Failing(ByLength):
    @property
    def metric_category(self):
        return MetricCategory.GOAL_ALIGNMENT

    def evaluate(self, agent, execution_trace, final_output, task=None):
        raise ValueError("no mark")


agent = Agent(role="Adder", goal="Add", backstory="Adds.", tools=[add])
task = Task(description="Add 2 and 3 DESC-1", expected_output="A number", agent=agent)
crew = Crew(agents=[agent], tasks=[task])
evaluator = AgentEvaluator(agents=[agent], evaluators=[Failing(), ByLength()])


def show():
    time.sleep(0.3)
    for role, results in evaluator.get_evaluation_results().items():
        for result in results:
            ids = (result.agent_id == str(agent.id), result.task_id in (str(task.id), "lite_task"))
            print(role, *ids, {category.value: str(score) for category, score in result.metrics.items()})


crew.kickoff()
show()
evaluator.set_iteration(2)
agent.kickoff("Add 2 and 3 DESC-2")
show()

script = {
    "DESC-1": [{"tool": ["add", {"a": 2, "b": 3}]}, "OUT-1"],
    "DESC-2": [{"tool": ["add", {"a": 2, "b": 3}]}, "OUT-22"],
}
