"""A short-term memory used by hand: saved, searched, with limits, and emptied."""

import os

from crewai.memory.short_term.short_term_memory import ShortTermMemory
from crewai.memory.storage.rag_storage import RAGStorage

place = os.path.join(os.environ["CREWAI_STORAGE_DIR"], "mine")
embedder = {"provider": "openai", "config": {"api_key": "key", "model_name": "text-embedding-3-small"}}
memory = ShortTermMemory(storage=RAGStorage(type="short_term", embedder_config=embedder, path=place))
memory.save("FACT-1 the tide of Brest is six", metadata={"source": "table"})
memory.save(value="FACT-2 apples are red", metadata={"source": "market"})
found = memory.search("the tide of Brest")
print([(entry["content"], entry["metadata"]) for entry in found])
print([entry["content"] for entry in memory.search("the tide of Brest", limit=1, score_threshold=0.1)])
print(len(memory.search("the tide of Brest", limit=5, score_threshold=0.1)))
print(memory.search("the tide of Brest", score_threshold=0.999))
print(all(0 <= entry["score"] <= 1 for entry in found))
memory.reset()
print(memory.search("the tide of Brest"))

script = {}
