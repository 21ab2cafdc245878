"""The package's own page says where each of its files belongs, and names none that is not there."""

import pkgutil
import re

import apps


def test_every_module_is_named_and_no_other() -> None:
    modules = {module.name for module in pkgutil.iter_modules(apps.__path__)}
    named = set(re.findall(r"`([a-z_]+)`", apps.__doc__ or ""))
    assert named == modules
