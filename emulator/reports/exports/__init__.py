"""Runs and topologies in the formats of other tools: pure rendering, one module for each format."""
