"""The small mistakes that mutants.py makes in a source: one at a time, in its text.

A mistake is a span of the text and what takes its place.  Python is changed by its syntax tree, Lua
and SQL by patterns.  Nothing is changed that no test needs to notice: docstrings, annotations, log
messages, the texts of errors, ``__str__`` and ``__repr__``.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple


class Mutation(NamedTuple):
    """What takes the place of the bytes ``begin:end`` of a source."""

    begin: int
    end: int
    new: bytes
    # The first line of the function that it is in; 0: it is in none.
    function: int

    def apply(self, source: bytes) -> bytes:
        return source[: self.begin] + self.new + source[self.end :]


COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
}
FUNCTIONS = {"min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list"}
# Swapping their arguments is no mistake, or one of types only.
SYMMETRIC = {"min", "max", "zip", "isinstance", "issubclass", "cast", "TypeVar"}
# Without these arguments nothing but a check, a name or the shape of a log line changes.
SAID_ONLY = {"strict", "extra", "name", "daemon", "exc_info"}
LOGGING = {"debug", "info", "warning", "error", "exception", "log"}
NOT_CHANGED = {"__str__", "__repr__"}

# What a pattern finds, and what takes its place.
Patterns = list[tuple[str, "str | Callable[[re.Match[str]], str]"]]
LUA: Patterns = [
    (r"==", "~="),
    (r"~=", "=="),
    (r"<=", "<"),
    (r"<(?!=)", "<="),
    (r">=", ">"),
    (r">(?!=)", ">="),
    (r"\band\b", "or"),
    (r"\bor\b", "and"),
    (r"\bnot ", ""),
    (r"\btrue\b", "false"),
    (r"\bfalse\b", "true"),
    (r"\bbreak\b", ""),
    (r" \+ ", " - "),
    (r" - ", " + "),
    (r"(?<![\w.%])\d+(?![\w.])", lambda found: str(int(found[0]) + 1)),
    (r"[\w.#\[\]]+ (==|~=|<=?|>=?) [\w.#\[\]']+", "true"),
    (r"[\w.#\[\]]+ (==|~=|<=?|>=?) [\w.#\[\]']+", "false"),
    # Whole statements.
    (r"(?m)^ *[a-z_.]+\([^()]*(\([^()]*\)[^()]*)*\)$", ""),
    (r"(?m)^ *[\w.\[\]# +]+ = (?!function)[^{(]*$", ""),
]
SQL: Patterns = [
    (r"(?<![<>!=])=", "!="),
    (r"<(?!=)", "<="),
    (r"<=", "<"),
    (r">(?!=)", ">="),
    (r">=", ">"),
    (r"\bAND\b", "OR"),
    (r"\bOR (IGNORE|REPLACE)\b", ""),
    (r"\bIS NULL\b", "IS NOT NULL"),
    (r"\bIS NOT NULL\b", "IS NULL"),
    (r"\bORDER BY (\w+)", lambda found: f"ORDER BY -{found[1]}"),
    (r"\bmax\(", "min("),
    (r"\bmin\(", "max("),
    (r" \+ 1\b", " + 2"),
]
IS_SQL = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b")


def mutations(name: str, source: bytes) -> list[Mutation]:
    """Return all mutations of a source, in the order of its text; *name* says its language."""
    found = _of_lua(source.decode()) if name.endswith(".lua") else _Python(source).all()
    return sorted(set(found))


def _of_lua(text: str) -> Iterator[Mutation]:
    """Yield the mutations of a script; what is in comments and strings is hidden from them."""

    def hide(found: re.Match[str]) -> str:
        whole = found[0]
        return " " * len(whole) if whole[0] == "-" else f"'{'s' * (len(whole) - 2)}'"

    hidden = re.sub(r"--[^\n]*|'(\\.|[^'\\\n])*'", hide, text)
    for begin, end, new in _by_patterns(LUA, hidden):
        yield Mutation(len(text[:begin].encode()), len(text[:end].encode()), new.encode(), 0)


def _by_patterns(
    patterns: Iterable[tuple[str, object]], text: str
) -> Iterator[tuple[int, int, str]]:
    for pattern, replacement in patterns:
        for found in re.finditer(pattern, text):
            new = replacement(found) if callable(replacement) else str(replacement)
            yield found.start(), found.end(), new


class _Python:
    """The mutations of one Python source."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._starts = [0]
        for line in source.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def all(self) -> Iterator[Mutation]:
        for statement in ast.parse(self._source).body:
            yield from self._constant(statement)
            yield from self._visit(statement, 0)

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
        begin = self._starts[node.lineno - 1] + node.col_offset
        return begin, self._starts[end_line - 1] + end_column

    def _new(self, node: ast.expr | ast.stmt, new: str, function: int) -> Mutation:
        return Mutation(*self._span(node), new.encode(), function)

    def _constant(self, statement: ast.stmt) -> Iterator[Mutation]:
        """A bound of a module, raised so far that there is none."""
        if isinstance(statement, ast.Assign) and _is_number(statement.value):
            new = f"({ast.unparse(statement.value)}) * 1000"
            yield self._new(statement.value, new, 0)

    def _visit(self, node: ast.AST, function: int) -> Iterator[Mutation]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name in NOT_CHANGED:
                return
            function = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            defaults = (one for one in [*node.args.defaults, *node.args.kw_defaults] if one)
            children: Iterable[ast.AST] = [*defaults, *_without_docstring(node.body)]
        elif isinstance(node, ast.ClassDef):
            children = _without_docstring(node.body)
        elif isinstance(node, ast.AnnAssign):
            children = [node.value] if node.value else []
        elif _is_for_types(node) or _is_log(node):
            return
        elif isinstance(node, ast.Raise | ast.JoinedStr):
            children = []  # texts; before Python 3.12, parts of the latter have false positions
        elif not function and isinstance(node, ast.Assign) and _is_number(node.value):
            children = []
        else:
            children = ast.iter_child_nodes(node)
        if isinstance(node, ast.stmt):
            yield from self._of_statement(node, function)
        elif isinstance(node, ast.expr):
            for new in _of_expression(node):
                yield self._new(node, f"({ast.unparse(new)})", function)
            yield from self._of_sql(node, function)
        elif isinstance(node, ast.comprehension):
            for test in node.ifs:
                yield from self._negated(test, function)
        elif isinstance(node, ast.ExceptHandler):
            first, last = node.body[0], node.body[-1]
            if not isinstance(first, ast.Raise):
                begin, end = self._span(first)[0], self._span(last)[1]
                yield Mutation(begin, end, b"raise", function)
        for child in children:
            yield from self._visit(child, function)

    def _negated(self, test: ast.expr, function: int) -> Iterator[Mutation]:
        """A condition turned round, unless a mutation of an operator in it does the same."""
        if isinstance(test, ast.Compare):
            is_same = isinstance(test.ops[0], ast.Eq | ast.NotEq | ast.Is | ast.IsNot | ast.In)
        else:
            is_same = isinstance(test, ast.Constant | ast.UnaryOp)
        if not is_same:
            yield self._new(test, f"(not ({ast.unparse(test)}))", function)

    def _of_statement(self, node: ast.stmt, function: int) -> Iterator[Mutation]:
        if isinstance(node, ast.If | ast.While):
            yield from self._negated(node.test, function)
        elif isinstance(node, ast.Return):
            if node.value is not None and ast.unparse(node.value) != "None":
                yield self._new(node, "return None", function)
        elif isinstance(node, ast.AugAssign):
            if type(node.op) in OPERATORS:
                new = copy.copy(node)
                new.op = OPERATORS[type(node.op)]()
                yield self._new(node, ast.unparse(new), function)
            yield self._new(node, "pass", function)
        elif _may_be_left_out(node):
            yield self._new(node, "pass", function)

    def _of_sql(self, node: ast.expr, function: int) -> Iterator[Mutation]:
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(getattr(part, "value", "")) for part in node.values[:1])
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            return
        if IS_SQL.match(text):
            begin, end = self._span(node)
            shown = self._source[begin:end].decode()
            for first, last, new in _by_patterns(SQL, shown):
                start = begin + len(shown[:first].encode())
                stop = begin + len(shown[:last].encode())
                yield Mutation(start, stop, new.encode(), function)


def _of_expression(node: ast.expr) -> Iterator[ast.expr]:
    """Yield what may take the place of an expression, apart from its parts."""
    new = copy.copy(node)
    if isinstance(node, ast.Constant):
        yield from map(ast.Constant, _of_value(node.value))
    elif isinstance(node, ast.Compare) and isinstance(new, ast.Compare):
        for place, operator in enumerate(node.ops):
            new.ops = [*node.ops]
            new.ops[place] = COMPARISONS[type(operator)]()
            yield new
    elif isinstance(node, ast.BoolOp) and isinstance(new, ast.BoolOp):
        new.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield new
        for place in range(len(node.values)):
            rest = [value for number, value in enumerate(node.values) if number != place]
            yield ast.BoolOp(node.op, rest) if len(rest) > 1 else rest[0]
    elif isinstance(node, ast.BinOp) and isinstance(new, ast.BinOp):
        if type(node.op) in OPERATORS:
            new.op = OPERATORS[type(node.op)]()
            yield new
    elif isinstance(node, ast.UnaryOp):
        if isinstance(node.op, ast.Not | ast.USub):
            yield node.operand
    elif isinstance(node, ast.IfExp):
        yield ast.IfExp(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)
    elif isinstance(node, ast.Call):
        yield from _of_call(node)


def _of_value(value: object) -> Iterator[bool | int | float]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield value + 1
        if value > 1:
            yield value - 1
    elif isinstance(value, float):
        yield value * 2 + 1


def _of_call(node: ast.Call) -> Iterator[ast.expr]:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name in FUNCTIONS:
        yield ast.Call(ast.Name(FUNCTIONS[name]), node.args, node.keywords)
    if name == "suppress":
        yield ast.Call(node.func, [], [])
    for keyword in node.keywords:
        if keyword.arg is not None and keyword.arg not in SAID_ONLY:
            rest = [other for other in node.keywords if other is not keyword]
            yield ast.Call(node.func, node.args, rest)
    if len(node.args) > 1 and name not in SYMMETRIC:
        first, second, *others = node.args
        starred = isinstance(first, ast.Starred) or isinstance(second, ast.Starred)
        if not starred and ast.dump(first) != ast.dump(second):
            yield ast.Call(node.func, [second, first, *others], node.keywords)


def _is_number(node: ast.expr) -> bool:
    """Whether an expression is a number as it stands: ``4``, ``1 << 20``."""
    return all(
        isinstance(part, ast.BinOp | ast.operator)
        or (isinstance(part, ast.Constant) and type(part.value) in (int, float))
        for part in ast.walk(node)
    )


def _may_be_left_out(node: ast.stmt) -> bool:
    """Whether a statement does something: without it, what it assigns to is there all the same."""
    if isinstance(node, ast.Assign):
        return isinstance(node.targets[0], ast.Attribute | ast.Subscript)
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Call | ast.Await)
    return isinstance(node, ast.Raise | ast.Delete | ast.Break | ast.Continue)


def _is_for_types(node: ast.AST) -> bool:
    """Whether a node is an import, or stands behind ``TYPE_CHECKING``."""
    if isinstance(node, ast.If):
        return ast.unparse(node.test) == "TYPE_CHECKING"
    return isinstance(node, ast.Import | ast.ImportFrom)


def _is_log(node: ast.AST) -> bool:
    if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        return False
    called = node.value.func
    return isinstance(called, ast.Attribute) and called.attr in LOGGING


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    return [
        statement
        for statement in body
        if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
    ]
