"""Parts of flows that programs name: actions, topology, types, states, streams."""
