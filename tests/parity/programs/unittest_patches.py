"""A user's own tests: unittest with patches of models, agents, crews and tools."""

import unittest
from unittest.mock import MagicMock, Mock, call, patch

from crewai import LLM, Agent, Crew, Task
from crewai.crews.crew_output import CrewOutput
from crewai.tasks.task_output import TaskOutput
from crewai.tools import BaseTool
from crewai.types.usage_metrics import UsageMetrics
from pydantic import BaseModel


class Out(BaseModel):
    answer: str
    score: int = 0


class Search(BaseTool):
    name: str = "search"
    description: str = "Searches"

    def _run(self, q: str) -> str:
        return f"real {q}"


class Service:
    def __init__(self, llm=None):
        self.llm = llm or LLM(model="gpt-4o-mini", temperature=0.2)
        self.agent = Agent(role="Clerk", goal="g", backstory="b", llm=self.llm, tools=[Search()])
        self.task = Task(description="Answer {q} DESC-1", expected_output="text", agent=self.agent)

    def crew(self):
        return Crew(agents=[self.agent], tasks=[self.task])

    def ask(self, q):
        return self.crew().kickoff(inputs={"q": q})


class Tests(unittest.TestCase):
    def test_patch_kickoff(self):
        fake = CrewOutput(raw="fake", tasks_output=[], token_usage=UsageMetrics())
        with patch("crewai.Crew.kickoff", return_value=fake) as k:
            out = Service().ask("x")
            print(out.raw, k.call_args == call(inputs={"q": "x"}))

    def test_patch_kickoff_autospec(self):
        with patch.object(Crew, "kickoff", autospec=True) as k:
            k.return_value = MagicMock(raw="mocked")
            out = Service().ask("x")
            print(out.raw, k.call_args.kwargs == {"inputs": {"q": "x"}})

    def test_patch_execute_task(self):
        with patch.object(Agent, "execute_task", return_value="from the agent") as e:
            out = Service().ask("q1")
            print(out.raw, e.call_count, out.tasks_output[0].agent)
            kwargs = e.call_args.kwargs
            print({"task", "context", "tools"} == set(kwargs), kwargs["task"].description)

    def test_patch_execute_task_json(self):
        s = Service()
        s.task.output_pydantic = Out
        with patch.object(Agent, "execute_task", return_value='{"answer": "yes", "score": 4}'):
            out = s.ask("q1")
            print(out.pydantic, out.json_dict, out["score"])

    def test_patch_task_sync(self):
        fake = TaskOutput(description="d", raw="task fake", agent="Clerk")
        with patch.object(Task, "execute_sync", return_value=fake) as ex:
            out = Service().ask("z")
            print(out.raw, ex.call_count)

    def test_model_magicmock(self):
        llm = MagicMock(spec=LLM)
        llm.call.return_value = "Thought: I now know\nFinal Answer: magic"
        llm.supports_stop_words.return_value = True
        try:
            s = Service(llm)
            print(type(s.agent.llm).__name__)
        except Exception as e:
            print(type(e).__name__)

    def test_monkeypatch_instance(self):
        s = Service()
        crew = s.crew()
        broken = patch.object(type(crew), "kickoff", Mock(side_effect=RuntimeError("BOOM-1")))
        with broken, self.assertRaisesRegex(RuntimeError, "BOOM"):
            crew.kickoff(inputs={"q": "1"})
        print("real again", crew.kickoff(inputs={"q": "1"}).raw)

    def test_raises(self):
        with patch.object(Agent, "execute_task", side_effect=ValueError("BAD-1")):
            with self.assertRaises(ValueError) as e:
                Service().ask("x")
            print(e.exception)

    def test_missing(self):
        try:
            Service().crew().kickoff(inputs={"other": 1})
        except Exception as e:
            print("missing", isinstance(e, (KeyError, ValueError)))

    def test_patch_agent_class_in_module(self):
        with patch(__name__ + ".Agent") as A, patch(__name__ + ".Crew") as C, patch(__name__ + ".Task") as T:
            C.return_value.kickoff.return_value = Mock(raw="all mocked")
            print(Service(llm="x").ask("q").raw, A.call_count, T.call_args.kwargs["description"])


suite = unittest.defaultTestLoader.loadTestsFromTestCase(Tests)
result_ = unittest.TextTestRunner(verbosity=0).run(suite)
print(result_.testsRun, [f"{t}" for t, _ in result_.failures], [(f"{t}", e[-300:]) for t, e in result_.errors])

script = {"DESC-1": ["OUT-1"], "*": ["OUT-2"]}
