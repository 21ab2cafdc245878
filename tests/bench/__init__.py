"""Speed, measured side by side in one run: the engine against SimPy and AccaSim. Nothing here asserts a time."""
