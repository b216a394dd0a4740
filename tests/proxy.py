"""A proxy between a client and a server that can delay or lose answers, or cut connections."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from types import TracebackType


class Proxy:
    """Passes data between clients of :attr:`port` and the server; answers wait *delay* seconds.

    *connections* counts the connections made.  The next *swallowed* answers are lost, with their
    connections.
    """

    def __init__(self, server_port: int) -> None:
        self.server_port = server_port
        self.delay = 0.0
        self.swallowed = 0
        self.connections = 0
        self._is_cut = False
        self._writers: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def cut(self) -> None:
        """Close all connections now, and every new one as soon as it is made."""
        self._is_cut = True
        self._loop.call_soon_threadsafe(self._close_all)

    def mend(self) -> None:
        self._is_cut = False

    def __enter__(self) -> Proxy:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()

    def _run(self) -> None:
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        self._ended = asyncio.Event()
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._ended.wait()
        server.close()
        self._close_all()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _close_all(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.add(writer)
        with suppress(OSError):
            if not self._is_cut:
                to_server = await asyncio.open_connection("127.0.0.1", self.server_port)
                self._writers.add(to_server[1])
                await asyncio.gather(
                    self._pass_on(reader, to_server[1]), self._answer(to_server[0], writer)
                )
        writer.transport.abort()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(1 << 16):
                writer.write(data)
        writer.transport.abort()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(1 << 16):
                if self.swallowed:
                    self.swallowed -= 1
                    break
                await asyncio.sleep(self.delay)
                writer.write(data)
        writer.transport.abort()
