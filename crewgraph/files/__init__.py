"""Files that runs are given: what they are, how a run keeps them, how models are shown them."""
