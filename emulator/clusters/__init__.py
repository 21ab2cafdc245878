"""Local resource managers: what the broker may ask of a cluster, and how a Slurm behind SSH answers.

protocol    the questions: idle processors, claim, release, run inside an allocation, watch
slurm       Slurm's answers, in its own commands
ssh         one lasting SSH connection that carries them
"""
