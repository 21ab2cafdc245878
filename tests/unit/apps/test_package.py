"""The package as a whole: no module imports itself by way of others."""

from graphlib import TopologicalSorter

import grimp


def test_no_module_imports_itself_by_way_of_others() -> None:
    """Imports within functions and for type checking count, too."""
    graph = grimp.build_graph("apps", cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    TopologicalSorter(imports).prepare()
