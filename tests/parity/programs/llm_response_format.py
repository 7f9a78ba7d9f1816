"""LLM(response_format=) called by itself."""

from crewai import LLM
from pydantic import BaseModel


class Dog(BaseModel):
    name: str
    breed: str


llm = LLM(model="gpt-4o-mini", response_format=Dog)
answer = llm.call("A dog DESC-1")
print(type(answer).__name__, answer)

script = {"DESC-1": [{"json": {"name": "NAME-1", "breed": "BREED-1"}, "else": "a dog"}]}
