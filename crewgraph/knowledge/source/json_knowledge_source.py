"""JSON files as a source."""

import json
from pathlib import Path
from typing import Literal

from crewgraph.knowledge.files import decoded, shown
from crewgraph.knowledge.passage import Passage
from crewgraph.knowledge.reading import read_as
from crewgraph.knowledge.source.base_file_knowledge_source import BaseFileKnowledgeSource
from crewgraph.knowledge.tree import told_tree

__all__ = ["JSONKnowledgeSource"]


class JSONKnowledgeSource(BaseFileKnowledgeSource):
    """JSON files: each value becomes a line that says where it stands."""

    source_type: Literal["json"] = "json"

    def read(self, data: bytes, file: Path) -> list[Passage]:
        """The values in a file."""
        name = shown(file, self.root)
        text = decoded(data, name, self.encoding)
        return [Passage(read_as("JSON", name, lambda: told_tree(json.loads(text))))]
