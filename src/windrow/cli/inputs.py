"""What a query reads: files by name, their format, and how they are to be read."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from windrow.cli.failures import Failed, Usage
from windrow.cli.times import TimeFormat
from windrow.errors import InvalidArgument, did_you_mean
from windrow.queries.query import Query
from windrow.queries.select import Select

FORMATS = ("csv", "json", "parquet")
STDIN = "-"
_SUFFIXES = {
    **dict.fromkeys((".csv", ".tsv", ".txt"), "csv"),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), "json"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
}
_PACKED = (".gz", ".bz2", ".zst", ".lz4", ".snappy")
_NAMED = re.compile(r"([^\W\d]\w*)=(.+)", re.DOTALL)
DEEPEST = 50  # levels of lists and objects in JSON; Arrow carries 64


@dataclass(frozen=True)
class Input:
    """Where the rows of a query come from."""

    paths: tuple[str, ...]  # files, directories, addresses such as s3a://…, or - for stdin
    format: str
    schema: str | None = None  # as Spark writes it: ts TIMESTAMP, load DOUBLE
    time_column: str | None = None  # read as times even if it is text
    time_format: TimeFormat | None = None  # how that column writes them
    delimiter: str | None = None  # between the fields of CSV; else the files' names tell
    nulls: tuple[str, ...] = ()  # texts that stand for null in CSV

    def __post_init__(self) -> None:
        for option, value in (("delimiter", self.delimiter), ("null", self.nulls)):
            if value and self.format != "csv":
                raise Usage(f"--{option} is for CSV, and {self.name} is read as {self.format}")
        if self.delimiter is not None and not re.fullmatch(
            r'[^"\r\n\x80-\U0010ffff]', self.delimiter
        ):
            raise Usage(f"--delimiter {self.delimiter!r}: it is one character, as in ';' or '\\t'")

    @property
    def name(self) -> str:
        """How messages speak of it."""
        more = f" and {len(self.paths) - 1} more" if len(self.paths) > 1 else ""
        return f"{self.paths[0]}{more}"

    @property
    def written_time_column(self) -> str | None:
        """The time column, if its times are texts of a format that is given; else None."""
        written = self.time_format is not None and not self.time_format.is_epoch
        return self.time_column if written else None

    def check_columns(self, columns: Sequence[str]) -> None:
        """Raise an error if fields were not told apart, or the time column is not there."""
        unlike = re.search(r"[;\t|]", columns[0]) if len(columns) == 1 else None
        if unlike and self.format == "csv" and self.delimiter is None:
            raise Usage(
                f"{self.name}: all of its header is one column, {columns[0]!r}: give --delimiter "
                f"{'tab' if unlike[0] == chr(9) else repr(unlike[0])}"
            )
        if self.time_column is not None and self.time_column not in columns:
            raise InvalidArgument(
                f"the column of times: the input has no column {self.time_column!r}; "
                f"{did_you_mean(self.time_column, columns)}"
            )

    def separator(self, path: str) -> str:
        """Return what stands between the fields of a CSV file of this name."""
        return self.delimiter or ("\t" if _suffix(path) == ".tsv" else ",")

    @property
    def is_empty(self) -> bool:
        """Whether there is no file to read; an address is not looked at."""
        return not any(is_address(path) or path == STDIN or files_in(path) for path in self.paths)

    @property
    def is_partitioned(self) -> bool:
        """Whether directories stand for columns, as in day=2026-01-05; of an address, perhaps."""
        return any(
            is_address(path) or any(partition_of(file, path) for file in files_in(path))
            for path in self.paths
        )

    def no_files(self) -> Usage:
        """Return the error for directories without files."""
        return Usage(f"{self.name}: there are no files in it")

    def no_rows(self) -> Failed:
        """Return the error for an input that cannot tell its columns."""
        return Failed(
            f"{self.name}: there are no rows in it, which tell the types of the columns: "
            f"give --schema"
        )


def read_inputs(
    options: tuple[str, ...], query: Query | Select, kind: str | None = None, **more: Any
) -> Input:
    """Return the input of `query` from ``name=PATH`` options; all mistakes are wrong usage.

    `more` are further fields of the input.
    """
    source = query.source
    paths: list[str] = []
    for text in options:
        named = _NAMED.fullmatch(text)
        name, path = named.groups() if named else (source, text)
        if source is not None and str(name).lower() != source.lower():
            raise Usage(
                f"--input {text}: the query reads {source!r}; {did_you_mean(str(name), [source])}"
            )
        source = source or name
        paths += _existing(path)
    return Input(tuple(paths), kind or _common_format(paths), **more)


def is_address(path: str) -> bool:
    """Whether a path belongs to a file system that only Spark knows, such as s3a://…"""
    return "://" in path


def absolute(path: str) -> str:
    """Return a path as Spark takes it, whatever directory its Java was started in."""
    return path if is_address(path) else os.path.abspath(path)


def format_of(path: str) -> str | None:
    """Return the format that a file's name tells; None if it tells none.

    >>> format_of("plugs.csv.gz"), format_of("plugs.jsonl"), format_of("plugs")
    ('csv', 'json', None)
    """
    return _SUFFIXES.get(_suffix(path))


def _suffix(path: str) -> str:
    """Return the suffix that tells the format: .csv of plugs.csv.gz."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes if suffix.lower() not in _PACKED]
    return suffixes[-1] if suffixes else ""


def files_in(path: str) -> list[str]:
    """Return the file itself, or all files below a directory but those whose names hide them."""
    place = Path(path)
    if not place.is_dir():
        return [path]
    return sorted(
        str(file)
        for file in place.rglob("*")
        if file.is_file()
        and not any(part.startswith(("_", ".")) for part in file.relative_to(place).parts)
    )


def partition_of(file: str, path: str) -> dict[str, str]:
    """Return the columns that the directories between `path` and a file in it stand for.

    >>> partition_of("plugs/day=2026-01-05/house=3/0.parquet", "plugs")
    {'day': '2026-01-05', 'house': '3'}
    """
    folders = Path(file).relative_to(path).parts[:-1] if file != path else ()
    pairs = (folder.partition("=") for folder in folders)
    return {name: unquote(value) for name, equals, value in pairs if equals}


def _existing(path: str) -> list[str]:
    """Return the path, or the paths that fit the pattern."""
    if path == STDIN or is_address(path) or Path(path).exists():
        return [path]
    paths = [p for p in sorted(glob.glob(path, recursive=True)) if Path(p).name[0] not in "_."]
    if not paths:
        raise Usage(f"--input: there is no file or directory {path!r}")
    return paths


def _common_format(paths: list[str]) -> str:
    """Return the format of the files, if their names tell one and the same."""
    formats = set()
    for path in paths:
        known = format_of(path)
        if known is None and not is_address(path) and Path(path).is_dir():
            formats |= {format_of(file) for file in files_in(path)[:1000]}
        else:
            formats.add(known)
    names = sorted(filter(None, formats))
    if not names:
        raise Usage(
            f"--input: the names tell no format, as {', '.join(_SUFFIXES)} do: give "
            f"--format {'|'.join(FORMATS)}"
        )
    if len(names) > 1:
        raise Usage(f"--input: the files are of several formats: {', '.join(names)}")
    return names[0]
