"""What models share around a request."""

from crewai.llms._finish_reason_utils import extract_choices_finish_reason_and_id
from crewai.llms.base_llm import get_current_call_id, llm_call_context
from crewai.llms.cache import CACHE_BREAKPOINT_KEY, mark_cache_breakpoint, strip_cache_breakpoint

script = []

with llm_call_context() as number:
    print(number == get_current_call_id())

message = {"role": "user", "content": "hello"}
marked = mark_cache_breakpoint(message)
print(CACHE_BREAKPOINT_KEY, marked, message)
print(strip_cache_breakpoint(marked), marked)

print(extract_choices_finish_reason_and_id({"id": "r-1", "choices": [{"finish_reason": "stop"}]}))
print(extract_choices_finish_reason_and_id({"choices": []}))
