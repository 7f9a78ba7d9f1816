"""The names of this package, each with its module: for type checkers, and for `__init__.py`, which imports them lazily."""

from crewgraph.knowledge.knowledge import Knowledge as Knowledge
from crewgraph.knowledge.passage import KnowledgeConfig as KnowledgeConfig
from crewgraph.knowledge.passage import SearchResult as SearchResult
from crewgraph.knowledge.source.base import BaseFileKnowledgeSource as BaseFileKnowledgeSource
from crewgraph.knowledge.source.base import BaseKnowledgeSource as BaseKnowledgeSource
from crewgraph.knowledge.source.base import StringKnowledgeSource as StringKnowledgeSource
from crewgraph.knowledge.source.base import TextFileKnowledgeSource as TextFileKnowledgeSource
from crewgraph.knowledge.source.documents import CrewDoclingSource as CrewDoclingSource
from crewgraph.knowledge.source.documents import ExcelKnowledgeSource as ExcelKnowledgeSource
from crewgraph.knowledge.source.documents import PDFKnowledgeSource as PDFKnowledgeSource
from crewgraph.knowledge.source.langchain import DocumentsKnowledgeSource as DocumentsKnowledgeSource
from crewgraph.knowledge.source.langchain import RetrieverKnowledgeSource as RetrieverKnowledgeSource
from crewgraph.knowledge.source.text_files import CSVKnowledgeSource as CSVKnowledgeSource
from crewgraph.knowledge.source.text_files import JSONKnowledgeSource as JSONKnowledgeSource
from crewgraph.knowledge.source.text_files import MarkdownKnowledgeSource as MarkdownKnowledgeSource
from crewgraph.knowledge.source.url import URLKnowledgeSource as URLKnowledgeSource
from crewgraph.knowledge.storage import BaseKnowledgeStorage as BaseKnowledgeStorage
from crewgraph.knowledge.storage import KnowledgeStorage as KnowledgeStorage

__all__: list[str]
