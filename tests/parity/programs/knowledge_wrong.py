"""Sources that cannot be: files that are not there, a folder, nothing at all, no JSON."""

import os

from crewai.knowledge.source.json_knowledge_source import JSONKnowledgeSource
from crewai.knowledge.source.string_knowledge_source import StringKnowledgeSource
from crewai.knowledge.source.text_file_knowledge_source import TextFileKnowledgeSource

os.makedirs("knowledge/folder", exist_ok=True)
with open("knowledge/broken.json", "w") as file:
    file.write("{")


def tried(name, make):
    try:
        make()
        print(name, "made")
    except Exception as error:
        print(name, isinstance(error, FileNotFoundError), isinstance(error, OSError), isinstance(error, ValueError))


tried("missing", lambda: TextFileKnowledgeSource(file_paths=["none.txt"]))
tried("folder", lambda: TextFileKnowledgeSource(file_paths=["folder"]))
tried("nothing", lambda: TextFileKnowledgeSource(file_paths=[]))
tried("no argument", lambda: TextFileKnowledgeSource())
tried("no json", lambda: JSONKnowledgeSource(file_paths=["broken.json"]))
tried("no content", lambda: StringKnowledgeSource())
tried("a number", lambda: StringKnowledgeSource(content=3))
tried("twice the folder", lambda: TextFileKnowledgeSource(file_paths=["knowledge/broken.json"]))

script = {}
