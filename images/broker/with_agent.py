"""Connect to the user's ssh-agent and run a command that inherits the connection: with_agent.py SOCKET COMMAND...

An agent talks to its own user and to root only. So root connects, and the command may be another user's. Without an
agent at the socket the command runs all the same: whoever needs the agent then says that it is gone.
"""

from __future__ import annotations

import os
import socket
import sys

socket_path, *command = sys.argv[1:]
connection = socket.socket(socket.AF_UNIX)
try:
    connection.connect(socket_path)
except OSError as error:
    print(f"broker: no ssh-agent answers at {socket_path}: {error}", file=sys.stderr)
else:
    connection.set_inheritable(True)
    os.environ["TESTBED_AGENT_DESCRIPTOR"] = str(connection.fileno())
os.execvp(command[0], command)
