"""The ``testbed`` command: the only package that prints.

`main` runs it, and `verbs` names the verbs. Each verb is a module of its own name, which adds the verb with
``register(app)``; the other modules hold what several verbs share.
"""
