"""Keywords and attributes with former names get those of today; what has no effect is taken out, or told."""

import pytest

from moving.rewriting import notes_on, rewritten

HEAD = "from crewai import Agent, Crew, Task\n"

CALLS = {
    "Crew(agents=[], verbose=2)": "Crew(agents=[], verbose=True)",
    "Crew(verbose=0, agents=[])": "Crew(verbose=False, agents=[])",
    "Agent(role='r', verbose=1)": "Agent(role='r', verbose=True)",
    "Crew(verbose=level)": "Crew(verbose=level)",
    "Task(description='d', max_retries=2)": "Task(description='d', guardrail_max_retries=2)",
    "Task(max_retries=2, guardrail_max_retries=3)": "Task(max_retries=2, guardrail_max_retries=3)",
    "Task(description='d', verbose=True)": "Task(description='d')",
    "Task(verbose=True, description='d')": "Task(description='d')",
    "Agent(\n    role='r',\n    personality='kind',  # very\n    goal='g',\n)": "Agent(\n    role='r',\n    goal='g',\n)",
    "Crew(agents=[], full_output=True)": "Crew(agents=[])",
    "Crew(agents=[], full_output=True,\n     tasks=[])": "Crew(agents=[],\n     tasks=[])",
    "Crew(agents=[], llm=made())": "Crew(agents=[], llm=made())",
    "Agent(allow_delegration=True)": "Agent(allow_delegration=True)",
    "Agent(**given)": "Agent(**given)",
}


@pytest.mark.parametrize("call", CALLS)
def test_a_call_says_what_it_would_say_today(call: str):
    assert rewritten(f"{HEAD}{call}\n") == f"{HEAD.replace('crewai', 'crewgraph')}{CALLS[call]}\n"


def test_a_keyword_that_never_had_an_effect_is_reported_when_it_goes_and_when_it_stays():
    reported = dict(notes_on(f"{HEAD}Task(verbose=True)\nAgent(allow_delegration=True)\nCrew(foo=made())\n"))
    assert reported[2].endswith("it was removed. Give it to the agent or the crew: `Crew(..., verbose=True)`.")
    assert reported[3].endswith("it was kept. Did you mean `allow_delegation`?")
    assert reported[4].endswith("it was kept because evaluating its value may have side effects.")


MODELS = {
    "LLM(model='m', azure=True)": "LLM(model='azure/m')",
    "LLM(azure=True, model='m', api_version='1')": "LLM(model='azure/m', api_version='1')",
    "LLM('m', azure=True)": "LLM('azure/m')",
    "LLM(model='azure/m', azure=True)": "LLM(model='azure/m')",
    "LLM(model='m', azure=False)": "LLM(model='m')",
    "LLM(model=name, azure=True)": 'LLM(model=name, provider="azure")',
    "LLM(model='a/m', azure=True)": "LLM(model='a/m', provider=\"azure\")",
    "LLM(model='m', provider='openai', azure=True)": "LLM(model='m', provider='openai')",
    "LLM(model='m', format='json')": 'LLM(model=\'m\', response_format={"type": "json_object"})',
    "LLM(model='m', format=\"json\", response_format=Form)": "LLM(model='m', response_format=Form)",
    "LLM(model='m', format='yaml')": "LLM(model='m', format='yaml')",
}


@pytest.mark.parametrize("call", MODELS)
def test_a_model_is_made_as_it_is_today(call: str):
    assert rewritten(f"from crewai import LLM\n{call}\n") == f"from crewgraph import LLM\n{MODELS[call]}\n"


def test_a_model_that_may_be_of_azure_is_reported():
    text = "from crewai import LLM\nLLM(model='m', azure=is_azure)\n"
    assert rewritten(text) == text.replace("crewai", "crewgraph")
    [(line, reported)] = notes_on(text)
    assert line == 2 and reported.startswith(
        "the LLM keyword `azure` is from an older version: write the provider before the name"
    )


def test_keywords_of_a_custom_class_are_its_own():
    text = "from crewai import Task\n\n\nclass Mine(Task):\n    colour: str = ''\n\n\nMine(colour='red', description='d')\n"
    assert "Mine(colour='red', description='d')" in rewritten(text)


def test_attributes_of_outputs_have_their_names_of_today():
    text = f"""{HEAD}
def show(crew: Crew, other):
    result = crew.kickoff()
    print(result.final_output, result.tasks_output[0].raw_output, "é", result.exported_output, other.result)
    print(result.strip().upper(), crew.kickoff().get("x"), other.strip())


Task(description="d", expected_output="e").execute(context="c").upper()
"""
    done = rewritten(text)
    assert 'print(result.raw, result.tasks_output[0].raw, "é", result.exported_output, other.result)' in done
    assert 'print(str(result).strip().upper(), crew.kickoff().to_dict().get("x"), other.strip())' in done
    assert 'Task(description="d", expected_output="e").execute_sync(context="c").raw.upper()' in done
    assert notes_on(text) == [
        (5, "the output attribute `exported_output` is a former name; write `pydantic, json_dict or raw`.")
    ]
