"""Tools used by the program itself: run(), names, descriptions of arguments."""

from crewai.tools import BaseTool, tool
from pydantic import BaseModel


@tool("Adder")
def add(first: int, second: int) -> int:
    """Adds numbers."""
    return first + second


class Twice(BaseModel):
    word: str


class Doubler(BaseTool):
    name: str = "Doubler"
    description: str = "Doubles a word."
    args_schema: type[BaseModel] = Twice

    def _run(self, word: str) -> str:
        return word * 2


print(add.run(first=2, second=3))
print(Doubler().run(word="ho"))
print(add.name, Doubler().name)
print(sorted(add.args_schema.model_json_schema()["properties"]))
print(Doubler().max_usage_count, Doubler().result_as_answer, Doubler().current_usage_count)

script = {}
