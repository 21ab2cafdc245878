"""The package as a whole: its docstring names every module, and no module imports itself by way of others."""

import pkgutil
import re
from graphlib import TopologicalSorter

import grimp

import apps


def test_every_module_is_named_and_no_other() -> None:
    modules = {module.name for module in pkgutil.iter_modules(apps.__path__)}
    named = set(re.findall(r"`([a-z_]+)`", apps.__doc__ or ""))
    assert named == modules


def test_no_module_imports_itself_by_way_of_others() -> None:
    """Imports within functions and for type checking count, too."""
    graph = grimp.build_graph("apps", cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    TopologicalSorter(imports).prepare()
