#!/usr/bin/python3
"""What libnbd's tests start as `nbdkit`: a bridge from its standard input, a socket, to the server at SHOAL_SOCKET."""

import ctypes
import os
import signal
import socket
import threading

# It ends with whoever started it, even where that has stopped it meanwhile, as some tests do: PR_SET_PDEATHSIG.
ctypes.CDLL(None).prctl(1, signal.SIGKILL)

server = socket.socket(socket.AF_UNIX)
server.connect(os.environ["SHOAL_SOCKET"])
client = socket.socket(fileno=os.dup(0))


def carry(source, sink):
    try:
        while content := source.recv(65536):
            sink.sendall(content)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # one end has gone, and so does the bridge


back = threading.Thread(target=carry, args=(server, client), daemon=True)
back.start()
carry(client, server)
back.join(3)
