"""Outputs that programs take for texts or dicts are asked for these, where it is certain that they are outputs."""

import pytest

from moving.rewriting import noted, rewritten

HEAD = "from crewai import Crew\n\ncrew = Crew(agents=[], tasks=[])\nresult = crew.kickoff()\n"

USES = {
    'print(result["final_output"], result["tasks_outputs"][0].raw)': "print(result.raw, result.tasks_output[0].raw)",
    "print(crew.kickoff()['final_output'].upper())": "print(crew.kickoff().raw.upper())",
    'print(result["title"])': 'print(result["title"])',
    "print(result[:80], result[0], result[-1])": "print(str(result)[:80], str(result)[0], str(result)[-1])",
    'print("It is: " + result)': 'print("It is: " + str(result))',
    'print(("It is: " + result + "."))': 'print(("It is: " + str(result) + "."))',
    'print(result + ".")': 'print(str(result) + ".")',
    'print("é" + crew.kickoff().tasks_output[0])': 'print("é" + str(crew.kickoff().tasks_output[0]))',
    'print(f"It is {result}" "x")': 'print(f"It is {result}" "x")',
    "print(len(result))": "print(len(str(result)))",
    'print("a" in result, "b" not in result)': 'print("a" in str(result), "b" not in str(result))',
    "print(word in result)": "print(word in result)",
    'result += "." if a else ","  # end': 'result = str(result) + ("." if a else ",")  # end',
    'text = ""\ntext += result': 'text = ""\ntext += str(result)',
    "print(result.split(), result.raw)": "print(str(result).split(), result.raw)",
    "print(len(result.tasks_output), [1] + result.tasks_output, result.tasks_output[:1])": (
        "print(len(result.tasks_output), [1] + result.tasks_output, result.tasks_output[:1])"
    ),
    "several = crew.kickoff_for_each([])\nprint(several[0], len(several), several[0][:9])": (
        "several = crew.kickoff_for_each([])\nprint(several[0], len(several), str(several[0])[:9])"
    ),
    "print(other['final_output'], 'x' + other)": "print(other['final_output'], 'x' + other)",
}


@pytest.mark.parametrize("use", USES)
def test_an_output_is_asked_for_what_is_meant(use: str):
    assert rewritten(f"{HEAD}{use}\n") == f"{HEAD.replace('crewai', 'crewgraph')}{USES[use]}\n"


BY_TURNS = """\
from crewai import Crew


def show(crew: Crew, again: bool):
    result = None
    if again:
        result = crew.kickoff()
    else:
        result = {"final_output": "nothing"}
    print(result["final_output"])
    for result in [crew.kickoff()]:
        print(result.final_output, "x" + result)


def other(crew: Crew):
    result = None
    result = crew.kickoff()
    print(result["final_output"])
"""


def test_what_is_an_output_on_some_ways_only_is_told_and_stays():
    done = rewritten(BY_TURNS)
    assert done == BY_TURNS.replace("crewai", "crewgraph").replace(
        'print(result["final_output"])\n', "print(result.raw)\n"
    ).replace("print(result.raw)", 'print(result["final_output"])', 1)


def test_a_key_that_is_a_field_of_a_model_is_told_and_stays():
    text = f"""{HEAD}

class Report(BaseModel):
    final_output: str


print(result["final_output"])
"""
    assert rewritten(text).endswith('print(result["final_output"])\n')
    assert noted(text) == [
        (11, '`["final_output"]` is of older versions, if it is asked of a crew\'s output; write `.raw`.')
    ]
