"""JSON files as a source."""

import json
from pathlib import Path
from typing import Literal

from crewgraph.errors import SourceError
from crewgraph.knowledge.files import decoded, shown
from crewgraph.knowledge.passage import Passage
from crewgraph.knowledge.source.base_file_knowledge_source import BaseFileKnowledgeSource
from crewgraph.knowledge.tree import told_tree

__all__ = ["JSONKnowledgeSource"]


class JSONKnowledgeSource(BaseFileKnowledgeSource):
    """JSON files: each value becomes a line that says where it stands."""

    source_type: Literal["json"] = "json"

    def read(self, data: bytes, file: Path) -> list[Passage]:
        """The values in a file."""
        name = shown(file, self.root)
        try:
            return [Passage(told_tree(json.loads(decoded(data, name, self.encoding))))]
        except (json.JSONDecodeError, RecursionError) as error:
            raise SourceError(f"the knowledge source `{name}` is no JSON that can be read: {error}") from error
