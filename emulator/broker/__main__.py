"""``python -m emulator.broker SETTINGS``: the broker's process, as its container runs it."""

from __future__ import annotations

import ctypes
import gc
import logging
import signal
import sys
from pathlib import Path
from types import FrameType

from emulator.broker.http.api import create_app
from emulator.broker.http.connections import server
from emulator.broker.http.page import LivePage
from emulator.broker.service import Broker
from emulator.broker.state.journal import Journal
from emulator.clusters.slurm import SlurmCluster
from emulator.clusters.ssh_file_server import SshFileServer
from emulator.model.documents import read_document
from emulator.model.errors import InvalidInput, TestbedError
from emulator.model.escapes import escaped
from emulator.model.settings import BrokerSettings
from emulator.model.topology import Topology

DEFAULT_SETTINGS = Path("/run/broker/broker.json")
_PR_CAP_AMBIENT, _CLEAR_ALL = 47, 4


class OneLineFormatter(logging.Formatter):
    """A log formatter that writes a record and its traceback on one line, so that no user's text can pass for one."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line."""
        return escaped(super().format(record))


def _start_logging() -> None:
    """Send warnings and errors of all libraries to standard error, a line each."""
    handler = logging.StreamHandler()
    handler.setFormatter(OneLineFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])


def _keep_capabilities() -> None:
    """Keep what capabilities this process has from the programs that it starts, which would inherit them."""
    ctypes.CDLL(None).prctl(_PR_CAP_AMBIENT, _CLEAR_ALL, 0, 0, 0)


def spare_collections() -> None:
    """Collect unreachable cycles seldom: to look at all objects of thousands of waiting jobs delays every answer."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def _exit(number: int, frame: FrameType | None) -> None:
    sys.exit(0)


def main(settings_file: Path) -> None:
    """Serve until the process is stopped, then release all processors; the next broker goes on with the queue.

    Raises:
        InvalidInput: if the settings or the topology are invalid, or name different clusters, or the token is empty.
    """
    _start_logging()
    _keep_capabilities()
    spare_collections()
    settings = read_document(settings_file, BrokerSettings)
    topology = read_document(settings.topology_file, Topology)
    if [head.cluster for head in settings.heads] != topology.cluster_names:
        raise InvalidInput(
            f"{settings_file}: heads: they must be those of {', '.join(topology.cluster_names)}, in order."
        )
    token = read_token(settings.token_file)
    journal = Journal(settings.journal_file)
    managers = [SlurmCluster(head, settings) for head in settings.heads]
    file_servers = [SshFileServer(head, settings) for head in settings.heads]
    broker = Broker(topology, managers, settings, journal, file_servers)
    # The server hands the signal on once it has stopped: only an exception lets all else be closed then.
    signal.signal(signal.SIGTERM, _exit)
    broker.open()
    try:
        app = create_app(broker, journal, token, LivePage.of(settings.page_folder), settings.testbed)
        server(app, "0.0.0.0", settings.listen_port).run()
    finally:
        broker.close()
        for file_server in file_servers:
            file_server.close()
        journal.close()


def read_token(file: Path) -> str:
    """Read the token that clients must have.

    Raises:
        InvalidInput: if there is none.
    """
    token = file.read_text(encoding="utf-8").strip()
    if not token:
        raise InvalidInput(f"{file}: is empty (`testbed up` makes a new token).")
    return token


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_SETTINGS)
    except TestbedError as error:
        sys.exit(f"broker: {error}")
