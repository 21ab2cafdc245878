"""What a wheel of the testbed has beside the repository's folders: a ``.pth`` file, and on request compiled modules.

In the repository, ``apps``, ``workloads``, ``images`` and ``compose`` are folders beside ``emulator``. At the top of
site-packages such names would collide with those of other projects. So a wheel puts all of them into one folder,
``multicluster_testbed``, and the ``.pth`` file adds this folder to Python's path, as an installation in place adds the
repository. With ``TESTBED_COMPILED_WHEEL=yes`` the wheel also holds the compiled simulator, and is for one version of
Python and one platform.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = "multicluster_testbed"
COMPILED_VARIABLE = "TESTBED_COMPILED_WHEEL"


class WheelHook(BuildHookInterface):  # type: ignore[type-arg]
    """The hook that hatchling calls for each wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files to a wheel of the given version; an installation in place needs none of them."""
        if version != "standard":
            return
        added = build_data["force_include"]
        added[str(Path(self.root, "distribution", f"{FOLDER}.pth"))] = f"{FOLDER}.pth"
        if os.environ.get(COMPILED_VARIABLE) == "yes":
            folder = self._compiled()
            added[str(folder)] = f"{FOLDER}/.compiled/{folder.name}"
            build_data["pure_python"] = False
            build_data["infer_tag"] = True

    def _compiled(self) -> Path:
        """Compile the simulator, if that has not been done, and return the folder with the compiled modules."""
        subprocess.run([sys.executable, "-m", "emulator.simulator.compile"], cwd=self.root, check=True)
        asked = "from emulator.compiled import built_folder; print(built_folder())"
        found = subprocess.run([sys.executable, "-c", asked], cwd=self.root, check=True, stdout=subprocess.PIPE)
        return Path(found.stdout.decode().strip())
