"""The multicluster as containers: rendered, started, shaped and taken down.

``compose`` renders a topology into a Compose file (pure), ``images`` makes what the containers are made of, ``engine``
is Docker as this project needs it, ``state`` keeps what the host remembers of a standing testbed, ``lifecycle`` brings
one up and down, ``status`` looks at it, ``doctor`` looks at the host, and ``wan`` is the wide area.
"""
