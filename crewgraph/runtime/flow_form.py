"""What the class of a flow comes to, made once; where its faults are raised."""

import warnings
from typing import Any

from crewgraph.compiler.flow.graph import FlowForm
from crewgraph.definitions.definition import callers_level
from crewgraph.definitions.flow.flow import Flow
from crewgraph.errors import DefinitionError

__all__ = ["form_of"]

_FORM = "form"


def form_of(flow: "Flow[Any] | type[Flow[Any]]") -> FlowForm:
    """What the class of a flow comes to, made once.

    Raises:
        DefinitionError: it has faults.
    """
    definition = flow.flow_definition()
    form: FlowForm | None = definition.kept.get(_FORM)
    if form is None:
        if definition.faults:
            raise DefinitionError("\n".join(definition.faults))
        for doubt in definition.doubts:
            warnings.warn(doubt, stacklevel=callers_level())
        form = FlowForm.of(definition)
        definition.kept.put(_FORM, form)
    return form
