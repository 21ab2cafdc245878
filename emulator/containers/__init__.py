"""The multicluster as containers: rendered, started, shaped and taken down.

``names`` and ``addresses`` say what everything is called and where it is, ``compose`` renders a topology (all pure);
``images`` (with ``base_image``, ``wheels``, ``caches``) makes what the containers are made of, ``engine`` is Docker as
this project needs it, ``places`` finds a free subnet and port, ``keys`` makes the SSH keys, ``state`` keeps what the
host remembers; ``lifecycle`` brings a testbed up and down, ``readiness`` waits for it, ``inspection`` looks at it,
``doctor`` looks at the host, and ``wan`` is the wide area. ``events`` is what long work tells.
"""
