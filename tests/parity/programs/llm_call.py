"""LLM.call by itself: with a text, with messages."""

from crewai import LLM

llm = LLM(model="gpt-4o-mini", temperature=0.5)
print(llm.call("Say DESC-1"))
print(llm.call([{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Say DESC-2"}]))
print(llm.model, llm.temperature, llm.supports_function_calling(), llm.get_context_window_size() > 1000)

script = {"DESC-1": ["OUT-1"], "DESC-2": ["OUT-2"]}
