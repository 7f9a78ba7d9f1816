"""What a model of one's own says of itself. (Its kind is base; parts: type, text, temperature; openai.)"""

from crewai import BaseLLM

script = []


class Parrot(BaseLLM):
    def call(self, messages, tools=None, callbacks=None, available_functions=None, **others):
        return "hello"


parrot = Parrot(model="parrot", temperature=0.5)
print(parrot.supports_multimodal(), parrot.get_file_uploader(), parrot.prefer_upload, parrot.llm_type)
print(parrot.format_text_content("hello"))
print(parrot.to_config_dict())
print(parrot.top_p, parrot.max_tokens, parrot.seed, parrot.n, parrot.frequency_penalty, parrot.presence_penalty)
print(parrot.stop, Parrot(model="parrot", top_p=0.3, seed=4).top_p)
