"""`import crewai` in a new interpreter: crewgraph takes the place of crewai there, too.

While crewgraph stands in for crewai, the folder above is on `sys.path`, which multiprocessing passes on to the interpreters that
it starts ("spawn", "forkserver"). In the process itself, the import finder comes first.
"""

import sys
from importlib import import_module

from crewgraph_compat.surface.installation import install

del sys.modules[__name__]
install()
import_module(__name__)
