"""Attempts at other machines and at this one, by every kind of socket."""

import base64
import os
import re
import socket
import struct
from contextlib import suppress
from typing import Final

from portico.adapters.sandbox.probes.trying import CANARY, Held, Marks, attempt, found

_PATIENCE: Final = 1.0
_MPTCP, _SCTP = 262, 132
_FAST_OPEN: Final = 0x20000000
_QUESTION: Final = b"\x00\x01\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x01"
"""Who serves the root of all names."""


@attempt
def loopback(marks: Marks) -> str:
    return _tcp(socket.AF_INET, ("127.0.0.1", marks.tcp))


@attempt
def loopback_of_ipv6(marks: Marks) -> str:
    return _tcp(socket.AF_INET6, ("::1", marks.tcp6))


@attempt
def loopback_as_mapped(marks: Marks) -> str:
    return _tcp(socket.AF_INET6, ("::ffff:127.0.0.1", marks.tcp))


@attempt
def loopback_as_nowhere(marks: Marks) -> str:
    return _tcp(socket.AF_INET, ("0.0.0.0", marks.tcp))  # reached, not offered


@attempt
def loopback_by_many_paths(marks: Marks) -> str:
    """MPTCP, which rules about TCP do not mean."""
    return _tcp(socket.AF_INET, ("127.0.0.1", marks.tcp), protocol=_MPTCP)


@attempt
def loopback_by_fast_open(marks: Marks) -> str:
    """Connects without connecting: by sending."""
    with socket.socket(socket.AF_INET) as open_one:
        for each in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            open_one.setsockopt(socket.SOL_SOCKET, each, struct.pack("ll", 1, 0))
        open_one.sendto(b"x", _FAST_OPEN, ("127.0.0.1", marks.tcp))
        return found(open_one.recv(100))


@attempt
def loopback_by_datagram(marks: Marks) -> str:
    return found(_datagram("127.0.0.1", marks.udp, b"x"))


@attempt
def own_address(marks: Marks) -> str:
    return _tcp(socket.AF_INET, (marks.own_address, marks.tcp))


@attempt
def way_to_metadata(marks: Marks) -> str:
    return _way("169.254.169.254", 80)


@attempt
def way_to_internet(marks: Marks) -> str:
    return _way("198.51.100.1", 443)


@attempt
def way_to_names(marks: Marks) -> str:
    """To whoever answers what the address of a name is."""
    if not marks.names.startswith("127."):
        return _way(marks.names, 53)
    return f"{len(_datagram(marks.names, 53, _QUESTION))} bytes came back"


@attempt
def listen_outside(marks: Marks) -> str:
    """Reached only if those outside can come in: a network of its own is no harm."""
    for bound in (True, False):
        with suppress(OSError), socket.socket(socket.AF_INET) as open_one:
            if bound:
                open_one.bind(("127.0.0.1", 0))
            open_one.listen(1)
            _refuse_own_network(marks)
            return "listens" if bound else "listens, without having asked for a port"
    raise Held("neither with a port nor without")


@attempt
def abstract_socket(marks: Marks) -> str:
    with socket.socket(socket.AF_UNIX) as open_one:
        open_one.settimeout(_PATIENCE)
        open_one.connect(f"\0{marks.abstract}")
        return found(open_one.recv(100))


@attempt
def socket_by_path(marks: Marks) -> str:
    return _unix(f"{marks.outside}/socket")


@attempt
def socket_by_link(marks: Marks) -> str:
    return _unix(f"{marks.workspace}/planted-folder/socket")


@attempt
def database_socket(marks: Marks) -> str:
    return _unix(f"{marks.data}/postgres/.s.PGSQL.5432")


@attempt
def host_of_virtual_machine(marks: Marks) -> str:
    return _made(getattr(socket, "AF_VSOCK", 40), socket.SOCK_STREAM)


@attempt
def network_of_kernel(marks: Marks) -> str:
    """Netlink: reached if it tells of an interface beside its own loopback."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0):
        if len(socket.if_nameindex()) < 2:
            raise Held("there is nothing but its own")
    return "saw the interfaces"


@attempt
def raw_packets(marks: Marks) -> str:
    return _made(socket.AF_PACKET, socket.SOCK_RAW)


@attempt
def raw_addresses(marks: Marks) -> str:
    return _made(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)


@attempt
def ciphers_of_kernel(marks: Marks) -> str:
    return _made(socket.AF_ALG, socket.SOCK_SEQPACKET)


@attempt
def other_families(marks: Marks) -> str:
    """Seldom used, seldom looked at: X.25, RDS, TIPC, Bluetooth, XDP and their like."""
    for family in (3, 4, 5, 9, 21, 23, 30, 31, 35, 43, 44):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET, 3):
            with suppress(OSError):
                return f"{_made(family, kind)} of family {family}"
    raise Held("none could be made")


@attempt
def loopback_by_other_streams(marks: Marks) -> str:
    return _tcp(socket.AF_INET, ("127.0.0.1", marks.tcp), protocol=_SCTP)


@attempt
def proxy_to_loopback(marks: Marks) -> str:
    return _through_proxy(f"127.0.0.1:{marks.tcp}")


@attempt
def proxy_to_own_address(marks: Marks) -> str:
    return _through_proxy(f"{marks.own_address}:{marks.tcp}")


@attempt
def proxy_to_mapped_address(marks: Marks) -> str:
    return _through_proxy(f"[::ffff:127.0.0.1]:{marks.tcp}")


@attempt
def proxy_to_metadata(marks: Marks) -> str:
    return _through_proxy("169.254.169.254:80")


@attempt
def proxy_to_local_name(marks: Marks) -> str:
    return _through_proxy(f"localhost:{marks.tcp}")


@attempt
def proxy_by_whole_address(marks: Marks) -> str:
    asked = f"GET http://127.0.0.1:{marks.tcp}/ HTTP/1.1\r\nHost: 127.0.0.1:{marks.tcp}\r\n"
    return _proxy_says(asked, wanted=CANARY.encode())


@attempt
def another_at_the_port_of_the_proxy(marks: Marks) -> str:
    """Past the proxy: somebody else may listen where its port is the same. That nobody does here
    is told by whoever was reached."""
    _refuse_own_network(marks)
    with socket.socket(socket.AF_INET) as open_one:
        open_one.settimeout(_PATIENCE)
        with suppress(ConnectionRefusedError):
            open_one.connect(("127.0.0.2", int(_proxy()[3])))
    return "there is a way"


@attempt
def socket_in_given_folder(marks: Marks) -> str:
    return _unix(f"{marks.given}/socket")


def _refuse_own_network(marks: Marks) -> None:
    """One that may not be looked at is not one of its own."""
    try:
        with open("/proc/net/tcp", encoding="ascii") as file:
            seen = file.read()
    except OSError:
        return
    if f":{marks.tcp:04X} " not in seen:
        raise Held("in a network of its own")


def _tcp(family: int, address: tuple[str, int], *, protocol: int = 0) -> str:
    with socket.socket(family, socket.SOCK_STREAM, protocol) as open_one:
        open_one.settimeout(_PATIENCE)
        open_one.connect(address)
        return found(open_one.recv(100))


def _datagram(address: str, port: int, content: bytes) -> bytes:
    """Connected, so that it is told at once if nobody is there."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as open_one:
        open_one.settimeout(_PATIENCE)
        open_one.connect((address, port))
        open_one.send(content)
        return open_one.recv(100)


def _way(address: str, port: int) -> str:
    """Connecting a datagram socket sends nothing: it only looks for a way."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as open_one:
        open_one.connect((address, port))
    return "there is a way"


def _unix(path: str) -> str:
    """By way of its folder: the path itself may be longer than an address may be."""
    with socket.socket(socket.AF_UNIX) as open_one:
        open_one.settimeout(_PATIENCE)
        folder, name = os.path.split(path)
        open_one.connect(f"/proc/self/fd/{os.open(folder, os.O_PATH)}/{name}")
        return found(open_one.recv(100))


def _made(family: int, kind: int, protocol: int = 0) -> str:
    with socket.socket(family, kind, protocol):
        return "made a socket"


def _through_proxy(place: str) -> str:
    return _proxy_says(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n", wanted=b" 200 ")


def _proxy() -> re.Match[str]:
    """Its word, its address and its port."""
    address = os.environ.get("HTTP_PROXY") or os.environ.get("http_proxy")
    named = re.fullmatch(r"https?://(?:([^@]*)@)?([^:/]+):(\d+)/?", address or "")
    if named is None:
        raise LookupError("there is no proxy to ask")
    return named


def _proxy_says(asked: str, *, wanted: bytes) -> str:
    named = _proxy()
    shown = base64.b64encode((named[1] or "").encode()).decode()
    with socket.create_connection((named[2], int(named[3])), 5) as open_one:
        open_one.sendall(f"{asked}Proxy-Authorization: Basic {shown}\r\n\r\n".encode())
        said = b""
        with suppress(TimeoutError):
            while (more := open_one.recv(1000)) and len(said) < 10_000 and wanted not in said:
                said += more
    if not said:
        raise Held("it hung up")
    if wanted not in said + more:
        raise Held(said.split(b"\r\n")[0].decode(errors="replace")[:60])
    return "it leads there"
