"""Crawls that a real scrapyd starts: from eggs, in a folder that has no scrapy.cfg."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from tests.conftest import Site, article, path_of, prose
from tests.indexes import urls_in
from tests.redis_servers import free_port

pytest.importorskip("scrapyd", reason="scrapyd is not installed")

SPIDER = """
from scrapy import Spider

class Links(Spider):
    name = "links"

    def __init__(self, url, **kwargs):
        super().__init__(**kwargs)
        self.start_urls = [url]

    def parse(self, response):
        yield {"url": response.url}
        yield from response.follow_all(xpath="//a")
"""
SETTINGS = """
ADDONS = {"scrapy_simhash.Addon": 500}
SPIDER_MODULES = ["proj.spiders"]
SIMHASH_WORKERS = 0
CONCURRENT_REQUESTS = 1
SCHEDULER_MEMORY_QUEUE = "scrapy.squeues.FifoMemoryQueue"
TELNETCONSOLE_ENABLED = REMOTE_CONTROL_ENABLED = False
CLOSESPIDER_TIMEOUT = 60
"""
EGG = {
    "proj/__init__.py": "",
    "proj/settings.py": SETTINGS,
    "proj/spiders.py": SPIDER,
    "EGG-INFO/PKG-INFO": "Metadata-Version: 2.1\nName: proj\nVersion: 1\n",
    "EGG-INFO/entry_points.txt": "[scrapy]\nsettings = proj.settings\n",
}


class Scrapyd:
    """A server whose files are all in *folder*, its working directory."""

    def __init__(self, folder: Path, port: int, process: subprocess.Popen[str]) -> None:
        self.folder, self.port, self.process = folder, port, process

    def wait_for(self, event: str) -> None:
        """Return when the server has logged *event*."""
        assert self.process.stdout is not None
        log = []
        for line in self.process.stdout:
            log.append(line)
            if event in line:
                return
        raise RuntimeError("".join(log))

    def ask(self, service: str, **values: str | bytes) -> dict[str, Any]:
        url = f"http://127.0.0.1:{self.port}/{service}.json"
        with urlopen(url, urlencode(values).encode() or None) as reply:
            answer: dict[str, Any] = json.load(reply)
        assert answer["status"] == "ok", answer
        return answer

    def crawl(self, project: str, url: str) -> tuple[set[str], dict[str, str]]:
        """Deploy a project and crawl; return the pages that reached the spider, and our stats."""
        egg = io.BytesIO()
        with zipfile.ZipFile(egg, "w") as archive:
            for name, text in EGG.items():
                archive.writestr(name, text)
        self.ask("addversion", project=project, version="1", egg=egg.getvalue())
        job = self.ask("schedule", project=project, _version="1", spider="links", url=url)["jobid"]
        self.wait_for(f"Process finished: project={project!r} spider='links' job={job!r}")
        assert job in [finished["id"] for finished in self.ask("listjobs")["finished"]]
        items = (self.folder / "items" / project / "links" / f"{job}.jl").read_text().splitlines()
        log = (self.folder / "logs" / project / "links" / f"{job}.log").read_text()
        stats = dict(re.findall(r"'simhash/(\w+)': (\d+)[,}]", log))
        return {path_of(json.loads(item)["url"]) for item in items}, stats


@pytest.fixture
def scrapyd(tmp_path: Path) -> Iterator[Scrapyd]:
    port = free_port()
    conf = f"[scrapyd]\nhttp_port = {port}\npoll_interval = 0.05\nitems_dir = items\n"
    (tmp_path / "scrapyd.conf").write_text(conf)
    command, pipe, log = [sys.executable, "-m", "scrapyd"], subprocess.PIPE, subprocess.STDOUT
    with subprocess.Popen(command, cwd=tmp_path, stdout=pipe, stderr=log, text=True) as process:
        limit = threading.Timer(120, process.kill)  # what waits for its log then fails
        limit.start()
        try:
            server = Scrapyd(tmp_path, port, process)
            server.wait_for(f"starting on {port}")
            yield server
        finally:
            limit.cancel()
            process.terminate()
            process.communicate()


def test_each_project_has_an_index_of_its_own(scrapyd: Scrapyd, site: Site, tmp_path: Path) -> None:
    site["/"] = article(prose("start"), ["/a", "/copy", "/b"])
    site["/a"] = site["/copy"] = article(prose("same"))
    site["/b"] = article(prose("other"))
    for project, folder in (("shop", "shop"), ("my shop", "my%20shop")):
        seen, stats = scrapyd.crawl(project, site.url + "/")
        assert [stats.get(name, "0") for name in ("judged", "kept", "dropped")] == ["4", "3", "1"]
        assert seen == {"/", "/a", "/b"}
        index = tmp_path / ".scrapy" / "simhash" / folder / "links.simhash"
        assert {path_of(page) for page in urls_in(index)} == {"/", "/a", "/copy", "/b"}
