"""What run directories say: ``summary`` computes the figures of a run, ``tables`` lays several runs side by side."""
