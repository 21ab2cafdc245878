"""The ``testbed`` command: the only package that prints.

``main`` holds the application and turns errors into sentences and exit codes; each other file holds the verbs of one
concern and adds them with its ``register(app)``; ``tables`` shows rows as a table or as JSON.
"""
