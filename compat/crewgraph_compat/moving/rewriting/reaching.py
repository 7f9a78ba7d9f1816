"""Find the assignment whose value a name has where it is used: `result = crew.kickoff()`, then `result = str(result)`."""

from collections.abc import Callable, Sequence

import libcst

_BLOCKS = (libcst.IndentedBlock, libcst.SimpleStatementSuite, libcst.SimpleStatementLine, libcst.Module)
_LOOPS = (libcst.For, libcst.While, libcst.CompFor)
_SCOPES = (libcst.FunctionDef, libcst.Lambda, libcst.ClassDef)

_Parent = Callable[[libcst.CSTNode], libcst.CSTNode | None]


def reaching_assignment(
    parent: _Parent, node: libcst.Name, assigned: Sequence[libcst.CSTNode]
) -> libcst.CSTNode | None:
    """Return the one assignment whose value a name certainly has at a node.

    The statements before the node are read backwards, up to the first that assigns the name.

    Args:
        parent: Returns the parent of a node.
        node: The name where it is used.
        assigned: All assignments of the name that are visible there.

    Returns:
        One of `assigned`; None if several values are possible, or if that is unknown.
    """
    if len({_scope_of(parent, item) for item in (node, *assigned)}) > 1:
        return None  # another function may have assigned it in between
    child: libcst.CSTNode = node
    above = parent(child)
    while above is not None and not isinstance(above, _SCOPES):
        if isinstance(above, _LOOPS) and _assigning(parent, above, assigned):
            return None
        statement = _last_assigning(parent, above, child, assigned)
        if statement is not None:
            inside = _assigning(parent, statement, assigned)
            return inside[0] if len(inside) == 1 and _is_plain(parent, inside[0], statement) else None
        if not isinstance(above, (libcst.Assign, libcst.AnnAssign, *_BLOCKS)) and _is_assigned_elsewhere(
            parent, above, child, assigned
        ):
            return None
        child, above = above, parent(above)
    return None


def _last_assigning(
    parent: _Parent, above: libcst.CSTNode, child: libcst.CSTNode, assigned: Sequence[libcst.CSTNode]
) -> libcst.CSTNode | None:
    """Return the last statement of a block that assigns the name and stands before another statement."""
    if not isinstance(above, _BLOCKS):
        return None
    statements: list[libcst.CSTNode] = [*above.body]
    before = statements[: next(index for index, item in enumerate(statements) if item is child)]
    return next((item for item in reversed(before) if _assigning(parent, item, assigned)), None)


def _scope_of(parent: _Parent, node: libcst.CSTNode) -> libcst.CSTNode | None:
    above = parent(node)
    while above is not None and not isinstance(above, _SCOPES):
        above = parent(above)
    return above


def _assigning(parent: _Parent, node: libcst.CSTNode, assigned: Sequence[libcst.CSTNode]) -> list[libcst.CSTNode]:
    """Return the assignments that stand inside a node."""
    return [item for item in assigned if _is_inside(parent, item, node)]


def _is_inside(parent: _Parent, item: libcst.CSTNode, node: libcst.CSTNode) -> bool:
    above: libcst.CSTNode | None = item
    while above is not None and above is not node:
        above = parent(above)
    return above is not None


def _is_plain(parent: _Parent, item: libcst.CSTNode, statement: libcst.CSTNode) -> bool:
    """Whether a statement always makes an assignment: `x = 1`, not one inside of `if`, nor one with a walrus."""
    above = parent(item)
    if isinstance(above, libcst.AssignTarget):
        above = parent(above)
    if not isinstance(above, (libcst.Assign, libcst.AnnAssign, libcst.AugAssign)):
        return False
    return above is statement or parent(above) is statement and isinstance(statement, libcst.SimpleStatementLine)


def _is_assigned_elsewhere(
    parent: _Parent, above: libcst.CSTNode, child: libcst.CSTNode, assigned: Sequence[libcst.CSTNode]
) -> bool:
    """Whether another part of the same statement may assign the name before it is used: a target, a walrus, a `try`."""
    others = [above.test] if isinstance(above, libcst.If) else [item for item in above.children if item is not child]
    return any(_assigning(parent, item, assigned) for item in others)
