"""CEL, the Common Expression Language: small expressions on plain data, which cannot reach Python. `cel-python` reads them."""

from crewgraph.cel.expressions import Parsed, evaluated, labels_of, parsed, roots_of
from crewgraph.cel.templates import Part, parts_of

__all__ = ["Parsed", "Part", "evaluated", "labels_of", "parsed", "parts_of", "roots_of"]
