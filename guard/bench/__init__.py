"""The proof: how well policies find loops on labelled runs, and at what price."""
