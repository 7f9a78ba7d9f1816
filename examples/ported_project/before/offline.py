"""Stands in for a model where there is no key: it answers as a model did, from the price list's result."""

from crewai import BaseLLM

QUOTE = "19.50 euros per seat and month, less 15 % for 120 seats: 16.575 euros. 120 seats for 12 months: 23,868.00 euros."
OFFER = """Dear Halden Grocers,

a year of the business plan for 120 seats comes to 23,868.00 euros: 16.58 euros per seat and month, with a discount of 15 %.

The offer stands until the end of the month. Shall I send the contract?"""


class Offline(BaseLLM):
    def call(self, messages, tools=None, callbacks=None, available_functions=None, from_task=None, from_agent=None, **more):
        said = messages if isinstance(messages, str) else "\n".join(str(message["content"]) for message in messages)
        if "Write an offer" in said:
            return f"Thought: I know the price.\nFinal Answer: {OFFER}"
        if "15 % discount" in said:
            return f"Thought: I can work it out now.\nFinal Answer: {QUOTE}"
        return 'Thought: I look the price up.\nAction: price_list\nAction Input: {"plan": "business", "seats": 120}'

    def supports_function_calling(self):
        return False
