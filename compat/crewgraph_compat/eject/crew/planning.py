"""The plan of a crew: a node in which a model plans every task before the first begins."""

from collections.abc import Sequence

from crewgraph.compiler.agent.models import first_llm
from crewgraph.compiler.task.binding import TaskBinding
from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph_compat.eject.writing.parts import ProgramWriters
from crewgraph_compat.eject.writing.sheet import fill_slots, slot_template, string_literal

_CLASS, _PROMPT, _NODE = 1, 4, 8

_PLANS = '''
class {plan}(BaseModel):
    """The plan for a task."""

    task_number: int
    plan: str


class {plans}(BaseModel):
    """A plan for each task."""

    list_of_plans_per_task: list[{plan}]
'''

_FUNCTION = '''
def {node}(state: {state}) -> dict[str, list[str]]:
    """Let a model plan every task."""
    messages = [SystemMessage({system}), HumanMessage({prompt})]
    answer = {model}.with_structured_output({plans}, method="function_calling").invoke(messages)
    plans = {{plan.task_number: plan.plan for plan in {plans}.model_validate(answer).list_of_plans_per_task}}
    return {{"plans": [plans.get(number, "") for number in range(1, {count})]}}
'''


class CrewPlanNode:
    """Write the node that plans.

    Args:
        crew: the crew.
        tasks: its tasks.
        parts: the program and the writers of its parts.
        inputs: the names of the crew's inputs.
    """

    def __init__(
        self, crew: CrewDefinition, tasks: Sequence[TaskBinding], parts: ProgramWriters, inputs: Sequence[str]
    ) -> None:
        self._crew, self._tasks, self._parts = crew, tasks, parts
        self._values = {name: f'state["{name.replace("-", "_")}"]' for name in inputs}
        self._model = parts.models.name(first_llm(crew, crew.planning_llm), f"the planner of crew `{crew.name}`")
        self.node = ""

    def write(self, state: str) -> None:
        """Write the node.

        Args:
            state: the class of the state.
        """
        parts, book, sheet = self._parts, self._parts.book, self._parts.sheet
        self.node = sheet.names.new("plan_tasks", "_node")
        sheet.use("langchain_core.messages", "HumanMessage", "SystemMessage")
        sheet.use("pydantic", "BaseModel")
        if (plans := sheet.helper("CrewPlan")) is None:
            plan, plans = sheet.names.new("TaskPlan"), sheet.names.new("CrewPlan")
            sheet.name_helper("CrewPlan", plans)
            sheet.add(_PLANS.format(plan=plan, plans=plans), _CLASS)
        texts = {name: book.slice(f"planner_{name}") for name in ("role", "goal", "backstory")}
        system = f"{book.slice('role_playing', **texts)}\n\n{book.slice('planning_result')}"
        text = book.slice("planning_task", tasks="\n\n".join(map(self._described, range(len(self._tasks)))))
        prompt = parts.constant("PLANNER_PROMPT", string_literal(slot_template(text, self._values)), _PROMPT)
        sheet.add(
            _FUNCTION.format(
                node=self.node,
                state=state,
                system=parts.constant("PLANNER_SYSTEM_PROMPT", string_literal(system), _PROMPT),
                prompt=fill_slots(prompt, text, self._values),
                model=self._model,
                plans=plans,
                count=len(self._tasks) + 1,
            ),
            _NODE,
        )

    def _described(self, number: int) -> str:
        binding = self._tasks[number]
        task, agent = binding.task, binding.task.agent or binding.agent
        return self._parts.book.slice(
            "planning_of_task",
            number=str(number + 1),
            description=task.template("description") or "",
            expected_output=task.template("expected_output") or "",
            role=agent.template("role") or "",
            goal=agent.template("goal") or "",
            tools=", ".join(binding.tools) or "none",
        )
