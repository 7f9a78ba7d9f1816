"""Parts of flows that programs use by name: actions, topology, types, states and streams."""
