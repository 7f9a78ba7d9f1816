"""What the classes of a file are made of, whether it says crewai or crewgraph."""

from collections.abc import Mapping

import libcst

from crewgraph_compat.moving.names import found
from crewgraph_compat.moving.reading import Reading
from crewgraph_compat.moving.types import OwnClass

__all__ = ["ClassBases", "target_of"]


def target_of(reading: Reading, node: libcst.CSTNode) -> str:
    """The "module:name" of crewgraph that an expression names; empty for anything else."""
    path = reading.path(node) if isinstance(node, (libcst.Name, libcst.Attribute)) else None
    name = None if path is None else found(_as_theirs(path))
    return name.target if name is not None and not name.rest else ""


def _as_theirs(path: str) -> str:
    """A path of crewgraph as one of crewai, so that programs that are rewritten already are read alike."""
    head, dot, rest = path.partition(".")
    return f"crewai{dot}{rest}" if head == "crewgraph" else path


class ClassBases:
    """The classes of a file, each with the class of crewgraph that it is made of."""

    def __init__(self, reading: Reading, classes: Mapping[str, OwnClass]) -> None:
        self._reading = reading
        self._elsewhere = {name: own.base for name, own in classes.items()}
        self.here: dict[str, libcst.ClassDef] = {}
        self._bases: dict[str, str] = {}
        for node in reading.of(libcst.ClassDef):
            targets = [self.of(base.value) for base in node.bases]
            self.here[node.name.value] = node
            self._bases[node.name.value] = next((one for one in targets if one), "")

    def of(self, node: libcst.CSTNode) -> str:
        """The "module:name" of the class of crewgraph that an expression names, or is made of; empty where there is none."""
        if isinstance(node, libcst.Subscript):
            node = node.value
        if target := target_of(self._reading, node):
            return target
        if not isinstance(node, libcst.Name):
            return ""
        return self._bases[node.value] if node.value in self._bases else self._elsewhere.get(node.value, "")

    def parents(self, node: libcst.ClassDef) -> list[libcst.ClassDef]:
        """The classes of this file that a class is made of, with itself."""
        waiting, parents = [node], list[libcst.ClassDef]()
        while waiting:
            one = waiting.pop()
            if one not in parents:
                parents.append(one)
                names = [base.value.value for base in one.bases if isinstance(base.value, libcst.Name)]
                waiting += [self.here[name] for name in names if name in self.here]
        return parents
