import socket

from eventcargo.service.config import ServeConfig
from eventcargo.service.server import open_socket


def test_answers_are_sent_without_waiting_for_an_acknowledgement() -> None:
    with open_socket(ServeConfig(port=0)) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
