# SPDX-License-Identifier: Apache-2.0
"""Start tare-switch for a test of a foreign P4Runtime client, and stop it."""
import contextlib
import pathlib
import socket
import subprocess
import sys
import time

PROGRAMS = pathlib.Path(__file__).resolve().parents[2] / "p4" / "v1model"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextlib.contextmanager
def switch(binary, device_id=1):
    """The address of a switch without a pipeline; it is killed at the end and must still have been alive."""
    port = free_port()
    child = subprocess.Popen([binary, "--no-p4", "--device-id", str(device_id), "--",
                              "--grpc-server-addr", f"127.0.0.1:{port}"])
    try:
        deadline = time.monotonic() + 10
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                if child.poll() is not None or time.monotonic() > deadline:
                    sys.exit(f"tare-switch does not listen (status {child.poll()})")
                time.sleep(0.01)
        yield f"127.0.0.1:{port}"
        if child.poll() is not None:
            sys.exit(f"tare-switch ended with status {child.returncode} during the test")
    finally:
        child.terminate()
        child.wait(10)


def check(condition, what):
    if not condition:
        sys.exit(f"wrong: {what}")
    print(f"ok: {what}")
