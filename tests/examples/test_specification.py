"""The examples that the vocabulary is usually taught with, run as they are written, at an endpoint on loopback.

Their texts are programs of a user's; agents that an example takes for granted stand in front of it.
"""

import json
import runpy
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from servers.openai_api import Answer, OpenAIServer, Request

HEAD = "from crewgraph import Agent, Crew, Process, Task, TaskOutput\n"


class Endpoint:
    """An endpoint that answers by what a task is about, and notes what it was asked."""

    def __init__(self) -> None:
        self.answers: dict[str, list[str]] = {}
        self.meeting: threading.Barrier | None = None
        self.together: tuple[str, ...] = ()
        self.asked: list[str] = []
        self._lock = threading.Lock()

    def answer(self, request: Request) -> str | Answer:
        prompt = str(request.body["messages"][-1]["content"])
        task = max((about for about in self.answers if about in prompt), key=lambda about: -prompt.index(about))
        with self._lock:
            self.asked.append(prompt)
            replies = self.answers[task]
            reply = replies.pop(0) if len(replies) > 1 else replies[0]
        if self.meeting is not None and task in self.together:
            self.meeting.wait()
        return reply


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    made = Endpoint()
    with OpenAIServer(made.answer) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "key")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        yield made


def agents(**roles: str) -> str:
    return HEAD + "".join(f'{name} = Agent(role="{role}", goal="g", backstory="b")\n' for name, role in roles.items())


def run(folder: Path, program: str) -> dict[str, Any]:
    path = folder / "program.py"
    path.write_text(program, "utf-8")
    return runpy.run_path(str(path))


REPORT = """
from pydantic import BaseModel, Field

class TrendReport(BaseModel):
    trends: list[str] = Field(description="List of trends")
    analysis: str = Field(description="Overall analysis")
    recommendations: list[str] = Field(description="Recommendations")

task = Task(
    description="Analyze AI trends and provide recommendations",
    expected_output="Structured trend report",
    agent=analyst,
    output_pydantic=TrendReport,
)
"""
TRENDS = json.dumps({"trends": ["a", "b"], "analysis": "good", "recommendations": ["buy"]})


def test_a_structured_output_in_a_crew(endpoint: Endpoint, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    endpoint.answers = {"Analyze AI trends": [TRENDS]}
    end = """
result = Crew(agents=[analyst], tasks=[task]).kickoff()
print(result.pydantic.trends)
print(result.pydantic.analysis)
"""
    run(tmp_path, agents(analyst="Analyst") + REPORT + end)
    assert capsys.readouterr().out == "['a', 'b']\ngood\n"


def test_a_chain_of_tasks_with_contexts(endpoint: Endpoint, tmp_path: Path):
    endpoint.answers = {
        "Collect data about": ["raw data"],
        "Analyze the collected data": ["the analysis"],
        "Generate final report": ["the report"],
    }
    program = """
collect_task = Task(
    description="Collect data about {topic}",
    expected_output="Raw data",
    agent=collector,
)

analyze_task = Task(
    description="Analyze the collected data",
    expected_output="Analysis report",
    agent=analyst,
    context=[collect_task],
)

report_task = Task(
    description="Generate final report",
    expected_output="Comprehensive report",
    agent=writer,
)

crew = Crew(
    agents=[collector, analyst, writer],
    tasks=[collect_task, analyze_task, report_task],
)

result = crew.kickoff(inputs={"topic": "Climate Change"})
"""
    made = run(tmp_path, agents(collector="Collector", analyst="Analyst", writer="Writer") + program)
    assert made["result"].raw == "the report"
    assert "Collect data about Climate Change" in endpoint.asked[0]
    assert "raw data" in endpoint.asked[1]
    assert "raw data" in endpoint.asked[2]
    assert "the analysis" in endpoint.asked[2]
    assert made["collect_task"].description == "Collect data about Climate Change"


GUARDED = """
def validate_report_quality(output: TaskOutput) -> tuple[bool, str]:
    content = output.raw

    if len(content) < 500:
        return False, "Report too short, needs at least 500 characters"

    required_keywords = ["analysis", "conclusion", "recommendation"]
    missing_keywords = [kw for kw in required_keywords if kw not in content.lower()]
    if missing_keywords:
        return False, f"Missing required sections: {', '.join(missing_keywords)}"

    return True, content

task = Task(
    description="Write a comprehensive report on {topic}",
    expected_output="A well-structured report",
    agent=writer,
    guardrail=validate_report_quality,
    guardrail_max_retries=3,
)
result = Crew(agents=[writer], tasks=[task]).kickoff(inputs={"topic": "rain"})
"""


def test_a_guardrail(endpoint: Endpoint, tmp_path: Path):
    good = "Analysis. Conclusion. Recommendation. " * 20
    endpoint.answers = {"Write a comprehensive report": ["short", "long " * 200, good]}
    made = run(tmp_path, agents(writer="Writer") + GUARDED)
    assert made["result"].raw == good.strip()
    assert made["task"].retry_count == 2
    assert "Report too short, needs at least 500 characters" in endpoint.asked[1]
    assert "Missing required sections: analysis, conclusion, recommendation" in endpoint.asked[2]


def test_a_guardrail_that_is_a_text(endpoint: Endpoint, tmp_path: Path):
    verdicts = ['{"valid": false, "feedback": "it mentions no cons"}', '{"valid": true}']
    endpoint.answers = {
        "The text was written for this task": verdicts,
        "Write a product review": ["It is great.", "It is great, but heavy."],
    }
    program = """
task = Task(
    description="Write a product review",
    expected_output="A fair and balanced review",
    agent=writer,
    guardrail="The output must be objective and mention both pros and cons",
    guardrail_max_retries=2,
)
result = task.execute_sync()
"""
    made = run(tmp_path, agents(writer="Writer") + program)
    assert (made["result"].raw, made["task"].retry_count) == ("It is great, but heavy.", 1)
    assert ["The text:\nIt is great" in asked for asked in endpoint.asked] == [False, True, False, True]
    assert "it mentions no cons" in endpoint.asked[2]


ARTICLE = """
from pydantic import BaseModel, Field

class ArticleSummary(BaseModel):
    title: str = Field(description="Article title")
    author: str = Field(description="Article author")
    summary: str = Field(description="Brief summary")
    key_points: list[str] = Field(description="Key takeaways")
    sentiment: str = Field(description="Overall sentiment")
"""
SUMMARY = {"title": "Boats", "author": "A. Sailor", "summary": "s", "key_points": ["a", "b"], "sentiment": "calm"}


def test_a_custom_converter(endpoint: Endpoint, tmp_path: Path):
    endpoint.answers = {"as fields": [json.dumps(SUMMARY)], "Summarize the article": ["Boats, by A. Sailor"]}
    program = """
import json
from crewgraph import Converter

class FieldsConverter(Converter):
    def to_pydantic(self, current_attempt=1):
        response = self.llm.call([{"role": "user", "content": f"as fields: {self.text}"}])
        return self.model.model_validate(json.loads(response))

task = Task(
    description="Summarize the article",
    expected_output="A structured summary",
    output_pydantic=ArticleSummary,
    converter_cls=FieldsConverter,
    agent=researcher,
)
result = task.execute_sync()
"""
    made = run(tmp_path, "import crewgraph\n" + agents(researcher="Researcher") + ARTICLE + program)
    assert made["result"].pydantic.author == "A. Sailor"
    assert endpoint.asked[1] == "as fields: Boats, by A. Sailor"
    assert made["result"].usage.successful_requests == 2


def test_a_sequential_crew(endpoint: Endpoint, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    endpoint.answers = {"Research the latest AI Safety": ["five findings"], "Write a blog post": ["# A post"]}
    program = """
from crewgraph import Crew, Agent, Task, Process

researcher = Agent(
    role="Research Analyst",
    goal="Find and analyze relevant information",
    backstory="Expert researcher with attention to detail",
    verbose=True,
)

writer = Agent(
    role="Content Writer",
    goal="Write engaging content based on research",
    backstory="Skilled writer with journalism background",
    verbose=True,
)

research_task = Task(
    description="Research the latest {topic} trends in 2024",
    expected_output="A comprehensive research report with 5 key findings",
    agent=researcher,
)

write_task = Task(
    description="Write a blog post based on the research",
    expected_output="A 500-word blog post in Markdown format",
    agent=writer,
    markdown=True,
)

crew = Crew(
    agents=[researcher, writer],
    tasks=[research_task, write_task],
    process=Process.sequential,
    verbose=True,
)

result = crew.kickoff(inputs={"topic": "AI Safety"})
print(result.raw)
print(f"Total tokens used: {result.token_usage.total_tokens}")
"""
    made = run(tmp_path, program)
    shown = capsys.readouterr().out.splitlines()
    assert shown[-2:] == ["# A post", f"Total tokens used: {made['result'].token_usage.total_tokens}"]
    assert any("Research Analyst" in line for line in shown)
    assert made["result"].token_usage.total_tokens > 50
    assert "five findings" in endpoint.asked[1]
    assert "Markdown" in endpoint.asked[1]


def test_a_crew_of_asynchronous_researchers(endpoint: Endpoint, tmp_path: Path):
    sources = ("academic papers", "industry reports", "social media")
    endpoint.answers = {f"Research Climate Change from {source}": [f"from {source}"] for source in sources}
    endpoint.together = tuple(endpoint.answers)
    endpoint.meeting = threading.Barrier(3, timeout=60)
    endpoint.answers["Synthesize all research findings"] = ["the synthesis"]
    program = """
task1 = Task(
    description="Research {topic} from academic papers",
    expected_output="Academic research summary",
    agent=academic_researcher,
    async_execution=True,
)
task2 = Task(
    description="Research {topic} from industry reports",
    expected_output="Industry insights",
    agent=industry_analyst,
    async_execution=True,
)
task3 = Task(
    description="Research {topic} from social media",
    expected_output="Public sentiment analysis",
    agent=social_media_analyst,
    async_execution=True,
)
synthesis_task = Task(
    description="Synthesize all research findings",
    expected_output="Comprehensive synthesis report",
    agent=synthesizer,
    async_execution=False,
)
crew = Crew(
    agents=[academic_researcher, industry_analyst, social_media_analyst, synthesizer],
    tasks=[task1, task2, task3, synthesis_task],
)
result = crew.kickoff(inputs={"topic": "Climate Change"})
"""
    names = ("academic_researcher", "industry_analyst", "social_media_analyst", "synthesizer")
    made = run(tmp_path, agents(**{name: name for name in names}) + program)
    assert made["result"].raw == "the synthesis"
    assert [one.raw for one in made["result"].tasks_output[:3]] == [f"from {source}" for source in sources]
    assert all(f"from {source}" in endpoint.asked[3] for source in sources)


PROJECT = """
from crewgraph import Agent, Crew, CrewOutput, Process, Task
from crewgraph.project import CrewBase, agent, task, crew, before_kickoff, after_kickoff
from crewgraph.tools import BaseTool

class SerperDevTool(BaseTool):
    name: str = "search"
    description: str = "Searches the web."

    def _run(self, query: str) -> str:
        return f"about {query}"

@CrewBase
class ResearchCrew:
    \"\"\"Research crew with decorators\"\"\"

    # 配置文件路径
    agents_config = "config/agents.yaml"
    tasks_config = "config/tasks.yaml"

    @before_kickoff
    def setup_environment(self):
        \"\"\"启动前回调\"\"\"
        print("🚀 Setting up research environment...")

    @agent
    def researcher(self) -> Agent:
        return Agent(
            config=self.agents_config['researcher'],
            tools=[SerperDevTool()],
            verbose=True,
            memory=True,
        )

    @agent
    def analyst(self) -> Agent:
        return Agent(
            config=self.agents_config['analyst'],
            verbose=True,
            memory=True,
        )

    @task
    def research_task(self) -> Task:
        return Task(
            config=self.tasks_config['research_task'],
            agent=self.researcher(),
        )

    @task
    def analysis_task(self) -> Task:
        return Task(
            config=self.tasks_config['analysis_task'],
            agent=self.analyst(),
            context=[self.research_task()],
        )

    @crew
    def crew(self) -> Crew:
        return Crew(
            agents=self.agents,  # 自动收集所有 @agent
            tasks=self.tasks,  # 自动收集所有 @task
            process=Process.sequential,
            memory=True,
            verbose=True,
        )

    @after_kickoff
    def cleanup_and_report(self, output: CrewOutput):
        \"\"\"完成后回调\"\"\"
        print(f"✅ Research completed!")
        print(f"📊 Token usage: {output.token_usage.total_tokens}")
        print(f"📝 Generated {len(output.tasks_output)} task outputs")

# 使用
research_crew = ResearchCrew()
result = research_crew.crew().kickoff(inputs={"topic": "Quantum Computing"})
"""

PROJECT_AGENTS = """
researcher:
  role: "{topic} 研究员"
  goal: 收集关于 {topic} 的信息
  backstory: 经验丰富
analyst:
  role: 分析师
  goal: 分析信息
  backstory: 注重细节
"""

PROJECT_TASKS = """
research_task:
  description: 研究 {topic}
  expected_output: 事实列表
analysis_task:
  description: 分析研究结果
  expected_output: 分析报告
"""


@pytest.fixture
def project(endpoint: Endpoint, tmp_path: Path) -> Path:
    endpoint.answers = {"研究 Quantum Computing": ["three facts"], "分析研究结果": ["the analysis"]}
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "agents.yaml").write_text(PROJECT_AGENTS, "utf-8")
    (tmp_path / "config" / "tasks.yaml").write_text(PROJECT_TASKS, "utf-8")
    return tmp_path


def test_a_crew_base_class_with_decorators(endpoint: Endpoint, project: Path, capsys: pytest.CaptureFixture[str]):
    made = run(project, PROJECT)
    shown = capsys.readouterr().out.splitlines()
    assert made["result"].raw == "the analysis"
    assert shown[0] == "🚀 Setting up research environment..."
    end = shown.index("✅ Research completed!")
    assert shown[end : end + 3] == [
        "✅ Research completed!",
        f"📊 Token usage: {made['result'].token_usage.total_tokens}",
        "📝 Generated 2 task outputs",
    ]
    assert made["research_crew"].crew().name == "ResearchCrew"
    assert "Quantum Computing 研究员" in made["result"].tasks_output[0].agent
    assert "three facts" in endpoint.asked[2]
    stored = made["research_crew"].crew().short_term_memory.search("研究 Quantum Computing", score_threshold=0)
    assert sorted(one["content"] for one in stored) == ["the analysis", "three facts"]


MEMORY_TEAM = """
research_task = Task(description="Research {topic}", expected_output="facts", agent=researcher)
analysis_task = Task(description="Analyze what was found", expected_output="an analysis", agent=analyst)
"""

MEMORY_USED = """
crew = Crew(
    agents=[researcher, analyst],
    tasks=[research_task, analysis_task],
    memory=True,  # 启用所有记忆类型
    embedder={"provider": "openai", "config": {"model": "text-embedding-3-small"}},
)
# Agent 自动使用记忆
result = crew.kickoff(inputs={"topic": "AI Trends"})
# 手动查询记忆
relevant_memories = crew.short_term_memory.search(
    query="What are the key AI trends?",
    limit=5,
    score_threshold=0.7,
)
# 清理记忆
crew.reset_memories("short_term")  # 仅清理短期记忆
left = crew.entity_memory.search("London")
crew.reset_memories("all")  # 清理所有记忆
"""


@pytest.fixture
def remembering(endpoint: Endpoint) -> Endpoint:
    """An endpoint whose researcher writes of London, and that embeds texts by the words in them."""
    endpoint.answers = {
        "Research AI": ["The key AI trends: agents. Ada Lovelace of London."],
        "Analyze": ["the analysis"],
    }
    return endpoint


def team(program: str) -> str:
    return agents(researcher="Researcher", analyst="Analyst") + MEMORY_TEAM + program


def test_memories_are_used_searched_and_reset(remembering: Endpoint, tmp_path: Path):
    made = run(tmp_path, team(MEMORY_USED))
    found = [one["content"] for one in made["relevant_memories"]]
    assert found[0] == "The key AI trends: agents. Ada Lovelace of London."
    assert all(0.7 <= one["score"] <= 1 for one in made["relevant_memories"])
    assert any("London" in one["content"] for one in made["left"])
    crew = made["crew"]
    memories = (crew.short_term_memory, crew.entity_memory)
    assert [memory.search("AI trends in London", score_threshold=0) for memory in memories] == [[], []]
    assert crew.long_term_memory.search("Research AI Trends") == []


def test_what_is_not_offered_yet_is_refused_by_name(endpoint: Endpoint, tmp_path: Path):
    program = """
data_collector.from_repository = "collector"
task = Task(description="Collect market data", expected_output="Raw market data", agent=data_collector)
Crew(agents=[data_collector], tasks=[task]).kickoff()
"""
    with pytest.raises(ValueError, match="does not offer `"):
        run(tmp_path, agents(data_collector="Data Collector") + program)
    assert endpoint.asked == []
