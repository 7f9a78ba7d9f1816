"""What the class of a flow comes to, made once; where its faults are raised."""

import warnings
from typing import Any

from crewgraph.compiler.flow.graph import FlowForm
from crewgraph.definitions.flow.flow import Flow
from crewgraph.deprecations import user_stacklevel
from crewgraph.errors import CompileError, DefinitionError

__all__ = ["form_of"]

_GRANULARITIES = ("method", "flow")


def form_of(flow: "Flow[Any] | type[Flow[Any]]", granularity: str = "method") -> FlowForm:
    """What the class of a flow comes to in some granularity, made once.

    Raises:
        DefinitionError: it has faults.
        CompileError: there is no such granularity.
    """
    if granularity not in _GRANULARITIES:
        raise CompileError(
            f'`granularity` is {granularity!r}; give "method" (a node for each method) or "flow" (one node for all).'
        )
    definition = flow.topology()
    form: FlowForm | None = definition.kept.get(granularity)
    if form is None:
        if definition.faults:
            raise DefinitionError("\n".join(definition.faults))
        for doubt in definition.doubts:
            warnings.warn(doubt, stacklevel=user_stacklevel())
        form = FlowForm.of(definition, granularity)
        definition.kept.put(granularity, form)
    return form
