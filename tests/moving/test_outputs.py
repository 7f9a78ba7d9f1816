"""Outputs that programs take for texts or dicts are asked for these, where it is certain that they are outputs."""

import pytest

from moving.rewriting import notes_on, rewritten

AWAITED = """from asyncio import run
from crewai import Agent
from crewai.flow.flow import Flow
class Mine(Flow):
    pass
async def main(given):
    flow = Mine()
    print(await flow.kickoff(inputs={}), await Agent().kickoff("x"), await given.kickoff(), flow.kickoff())
run(Mine().kickoff())
"""


def test_an_awaited_kickoff_of_a_flow_or_an_agent_is_the_asynchronous_one():
    done = rewritten(AWAITED)
    assert (
        'await flow.kickoff_async(inputs={}), await Agent().kickoff_async("x"), await given.kickoff(), flow.kickoff()'
        in done
    )
    assert "run(Mine().kickoff_async())" in done


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
    "import json\nprint(json.loads(result))": "import json\nprint(json.loads(result.raw))",
    "import re\nre.sub('a', 'b', result)\nre.search('a', result.raw)": (
        "import re\nre.sub('a', 'b', str(result))\nre.search('a', result.raw)"
    ),
    "Path('a').write_text(result, encoding='utf-8')": "Path('a').write_text(str(result), encoding='utf-8')",
    "with open('a', 'w') as file, place.open() as log:\n    file.write(result), log.write(result)": (
        "with open('a', 'w') as file, place.open() as log:\n    file.write(str(result)), log.write(str(result))"
    ),
    "page.write(result)": "page.write(result)",
    "print(other['final_output'], 'x' + other)": "print(other['final_output'], 'x' + other)",
}


@pytest.mark.parametrize("use", USES)
def test_an_output_is_asked_for_what_is_meant(use: str):
    assert rewritten(f"{HEAD}{use}\n") == f"{HEAD.replace('crewai', 'crewgraph')}{USES[use]}\n"


ASSIGNED_AGAIN = {
    "result = re.sub('x', '', result)\nprint('a' + result)": "result = re.sub('x', '', str(result))\nprint('a' + result)",
    "if again:\n    result = re.sub('x', '', result)": "if again:\n    result = re.sub('x', '', str(result))",
    "result = result['final_output']\nprint(result['final_output'])": (
        "result = result.raw\nprint(result['final_output'])"
    ),
    "result += 'x'\nresult += 'y'": "result = str(result) + 'x'\nresult += 'y'",
    "for _ in range(2):\n    result = re.sub('x', '', result)": "for _ in range(2):\n    result = re.sub('x', '', result)",
    "for _ in range(2):\n    result = crew.kickoff()\n    result = re.sub('x', '', result)": (
        "for _ in range(2):\n    result = crew.kickoff()\n    result = re.sub('x', '', str(result))"
    ),
    "with place():\n    result = ''\nresult = re.sub('x', '', result)": (
        "with place():\n    result = ''\nresult = re.sub('x', '', result)"
    ),
    "try:\n    result = re.sub('x', '', result)\nexcept OSError:\n    print('a' + result)": (
        "try:\n    result = re.sub('x', '', str(result))\nexcept OSError:\n    print('a' + result)"
    ),
}


@pytest.mark.parametrize("use", ASSIGNED_AGAIN)
def test_an_output_is_one_until_its_name_is_assigned_again(use: str):
    head = f"import re\n{HEAD}"
    assert rewritten(f"{head}{use}\n") == f"{head.replace('crewai', 'crewgraph')}{ASSIGNED_AGAIN[use]}\n"


CREWS_THAT_STREAM = {
    "streaming = Crew(tasks=[], stream=True).kickoff()": "streaming.result",
    "streaming = Crew(tasks=[], stream=wanted).kickoff()": "streaming.result",
    "streaming = Crew(**given).kickoff()": "streaming.result",
    "crew = Crew(tasks=[])\ncrew.stream = True\nstreaming = crew.kickoff()": "streaming.result",
    "class Mine(Crew):\n    pass\nstreaming = Mine().kickoff()": "streaming.result",
    "@CrewBase\nclass Trip:\n    @crew\n    def crew(self):\n        return Crew(stream=True)\n"
    "streaming = Trip().crew().kickoff()": "streaming.result",
    "def show(crew: Crew):\n    streaming = crew.kickoff()\n    return streaming.result\nstreaming = show(x)": "streaming.result",
    "streaming = Crew(tasks=[], stream=False).kickoff()": "streaming.raw",
    "streaming = Crew(tasks=[]).kickoff()": "streaming.raw",
    "@CrewBase\nclass Trip:\n    @crew\n    def crew(self):\n        return Crew(tasks=[])\n"
    "streaming = Trip().crew().kickoff()": "streaming.raw",
}


@pytest.mark.parametrize("making", CREWS_THAT_STREAM)
def test_result_is_a_former_name_of_an_output_and_the_result_of_a_stream(making: str):
    head = "from crewai import Crew\nfrom crewai.project import CrewBase, crew\n\n"
    done = rewritten(f"{head}{making}\nprint(streaming.result)\n")
    assert done == f"{head}{making}\nprint({CREWS_THAT_STREAM[making]})\n".replace("crewai", "crewgraph")


def test_what_may_be_a_stream_is_reported_and_what_is_one_gives_outputs():
    text = f"{HEAD}def show(crew: Crew):\n    print(crew.kickoff().result, crew.kickoff().final_output)\n"
    assert notes_on(text) == [
        (6, "if this is the output of a crew that does not stream, `result` is a former name; write `raw`.")
    ]
    text = "from crewai import Crew\n\nprint(Crew(tasks=[], stream=True).kickoff().result.final_output)\n"
    assert rewritten(text).endswith(".kickoff().result.raw)\n") and notes_on(text) == []


def test_a_key_that_is_a_field_of_a_model_is_told_and_stays():
    text = f"""{HEAD}

class Report(BaseModel):
    final_output: str


print(result["final_output"])
"""
    assert rewritten(text).endswith('print(result["final_output"])\n')
    assert notes_on(text) == [
        (11, 'if this is a crew\'s output, `["final_output"]` is from an older version; write `.raw`.')
    ]


RETURNED = """\
from crewai import Crew


class Trip:
    def __init__(self):
        self.team = Crew(agents=[], tasks=[])

    @property
    def last(self):
        return self.run()

    def run(self):
        result = self.team.kickoff()
        return result

    async def soon(self):
        return await self.team.kickoff_async()

    def either(self, known):
        return known if known else self.team.kickoff()


def main():
    if not Trip:
        return None
    return Trip().run()


trip = Trip()
"""

RETURNED_USES = {
    'print("It is: " + trip.run())': 'print("It is: " + str(trip.run()))',
    "print(main().final_output)": "print(main().raw)",
    "print(trip.last.final_output)": "print(trip.last.raw)",
    "result = Trip().run()\nprint(len(result))": "result = Trip().run()\nprint(len(str(result)))",
    "async def f():\n    return 'x' + await trip.soon()": "async def f():\n    return 'x' + str(await trip.soon())",
    "print('x' + trip.either(1))": "print('x' + trip.either(1))",
    "def f(main):\n    return main().split()": "def f(main):\n    return main().split()",
}


@pytest.mark.parametrize("use", RETURNED_USES)
def test_what_functions_return_is_known(use: str):
    assert rewritten(f"{RETURNED}{use}\n") == f"{RETURNED.replace('crewai', 'crewgraph')}{RETURNED_USES[use]}\n"
