"""A UDP flow of constant rate: `udp.py SECONDS ADDRESS BPS` sends it, `udp.py SECONDS` prints when packets arrive."""

import json
import socket
import sys
import time

PORT, PAYLOAD, HEADERS = 5202, 972, 28


def send(seconds, address, bps):
    """Packets at equal distances; what is late is sent at once."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.connect((address, PORT))
        gap, begin = 8 * (PAYLOAD + HEADERS) / bps, time.monotonic()
        for number in range(int(seconds / gap)):
            time.sleep(max(0.0, begin + number * gap - time.monotonic()))
            sender.send(bytes(PAYLOAD))


def receive(seconds):
    """Times of arrivals until none has come for five seconds."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("", PORT))
        at = []
        receiver.settimeout(4 * seconds)
        while True:
            try:
                receiver.recv(2 * PAYLOAD)
            except TimeoutError:
                break
            at.append(time.time())
            receiver.settimeout(5)
    print(json.dumps({"first": at[0] if at else 0.0, "at": at}))


if __name__ == "__main__":
    if len(sys.argv) == 4:
        send(float(sys.argv[1]), sys.argv[2], float(sys.argv[3]))
    else:
        receive(float(sys.argv[1]))
