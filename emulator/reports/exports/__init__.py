"""What the testbed knows, in the formats of other tools: pure rendering, one file a thing that is rendered."""
