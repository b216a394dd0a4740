"""All subcommands, in the order in which the help and the documents list them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scrapy_simhash.commands.base import Subcommand
from scrapy_simhash.commands.calibrate import CalibrateCommand
from scrapy_simhash.commands.check import CheckCommand
from scrapy_simhash.commands.copy import CopyCommand
from scrapy_simhash.commands.design import DesignCommand
from scrapy_simhash.commands.explain import ExplainCommand
from scrapy_simhash.commands.export import ExportCommand
from scrapy_simhash.commands.forget import ForgetCommand
from scrapy_simhash.commands.import_ import ImportCommand
from scrapy_simhash.commands.match import MatchCommand
from scrapy_simhash.commands.pack import PackCommand
from scrapy_simhash.commands.parked import ParkedCommand
from scrapy_simhash.commands.rebuild import RebuildCommand
from scrapy_simhash.commands.repair import RepairCommand
from scrapy_simhash.commands.report import ReportCommand
from scrapy_simhash.commands.rules import RulesCommand
from scrapy_simhash.commands.stats import StatsCommand

# Any: each finds something else.
SUBCOMMANDS: Sequence[Subcommand[Any]] = (
    DesignCommand(),
    MatchCommand(),
    PackCommand(),
    CalibrateCommand(),
    StatsCommand(),
    CheckCommand(),
    ExplainCommand(),
    ExportCommand(),
    ImportCommand(),
    CopyCommand(),
    ForgetCommand(),
    RebuildCommand(),
    RepairCommand(),
    ReportCommand(),
    RulesCommand(),
    ParkedCommand(),
)
