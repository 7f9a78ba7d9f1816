"""A main with argparse, dotenv, logging into a file, environment models, an exit code, and a try around everything."""

import argparse
import json
import logging
import os
import sys
import time
from pathlib import Path

Path(".env").write_text("MODEL=gpt-4o-mini\nREPORT_NAME='day'\nOPENAI_MODEL_NAME=gpt-4o\n")
from dotenv import load_dotenv  # noqa: E402

load_dotenv(".env")

from crewai import LLM, Agent, Crew, Process, Task  # noqa: E402

logging.basicConfig(level=logging.INFO, filename="run.log", format="%(levelname)s %(name)s %(message)s")
logger = logging.getLogger(__name__)


def parse(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("topic", nargs="?", default="ports")
    parser.add_argument("--output", "-o", default="out/report.md")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--n", type=int, default=2)
    return parser.parse_args(argv)


def build(args):
    llm = LLM(
        model=os.environ["MODEL"],
        temperature=float(os.getenv("TEMPERATURE", "0.3")),
        max_tokens=500,
        timeout=30,
        seed=7,
        top_p=0.9,
    )
    researcher = Agent(
        role="Senior {topic} Researcher",
        goal="Uncover {n} things on {topic}",
        backstory="A seasoned one",
        llm=llm,
        verbose=args.verbose,
        max_rpm=100,
        max_retry_limit=1,
        respect_context_window=True,
    )
    default = Agent(role="Reporter", goal="Report", backstory="Reports", verbose=args.verbose, cache=False)
    research = Task(description="Research {topic}, {n} bullets RES-1", expected_output="{n} bullets", agent=researcher)
    report = Task(
        description="Report on {topic} REP-1",
        expected_output="A report",
        agent=default,
        context=[research],
        output_file=args.output,
        create_directory=True,
    )
    return Crew(
        agents=[researcher, default],
        tasks=[research, report],
        process=Process.sequential,
        verbose=args.verbose,
        max_rpm=60,
        output_log_file="crew_log.json",
        full_output=True,
        share_crew=False,
    )


def main(argv=None) -> int:
    args = parse(argv)
    started = time.time()
    crew = build(args)
    try:
        result = crew.kickoff(inputs={"topic": args.topic, "n": args.n})
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        logger.exception("failed")
        print(f"error: {type(error).__name__}", file=sys.stderr)
        return 1
    print(result.raw)
    print(
        json.dumps(
            {
                "tasks": [
                    {"raw": t.raw, "agent": t.agent, "name": t.name, "description": t.description, "summary": t.summary}
                    for t in result.tasks_output
                ]
            },
            indent=1,
        )
    )
    print(crew.usage_metrics.total_tokens == result.token_usage.total_tokens, result.token_usage.prompt_tokens)
    print(dict(result.token_usage)["completion_tokens"])
    print(time.time() - started < 60, Path(args.output).read_text())
    print(result.tasks_output[0].raw in str(crew.tasks[0].output), crew.tasks[0].output.raw)
    print(crew.agents[0].llm.model, crew.agents[0].llm.temperature)
    return 0


code = main(["tides", "-o", "reports/day.md", "--verbose", "--n", "3"])
print(code)
logs = json.loads(Path("crew_log.json").read_text())
print(len(logs), {"task", "agent", "status"} <= set(logs[0]))
sys.exit(main([]))

script = {"RES-1": ["BULLETS-1"], "REP-1": ["REPORT-1", "REPORT-2"]}
