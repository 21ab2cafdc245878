"""The API of a broker, served on a port of this host."""

from __future__ import annotations

import threading

from emulator.broker.http.api import create_app
from emulator.broker.http.connections import server
from tests.unit.broker.broker_setup import BrokerSetup

TOKEN = "right"


class Server:
    """The API of a broker on a port of this host."""

    def __init__(self, setup: BrokerSetup, port: int = 0) -> None:
        self._server = server(create_app(setup.broker, setup.journal, TOKEN), "127.0.0.1", port)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        setup.until(lambda: self._server.started)
        self.port = self._server.servers[0].sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join()
