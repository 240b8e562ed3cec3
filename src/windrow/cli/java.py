"""The Java that Spark would take: from JAVA_HOME, else from PATH."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

_NEEDED = 17


@dataclass(frozen=True)
class Java:
    """What was found: where, and its version (0 where there is none)."""

    path: str | None
    version: int

    @property
    def serves(self) -> bool:
        """Whether Spark runs on it."""
        return self.version >= _NEEDED

    @property
    def problem(self) -> str:
        """What is wrong with it, in words."""
        home = os.environ.get("JAVA_HOME")
        found = "there is none on PATH" if home is None else f"JAVA_HOME={home} has none"
        if self.version:
            found = f"{self.path} is Java {self.version}"
        return f"Spark needs Java {_NEEDED} or newer, and {found}"

    @property
    def cure(self) -> str:
        """The command that mends it."""
        if "JAVA_HOME" in os.environ and shutil.which("java"):
            return "unset JAVA_HOME"
        return _install_command()


def _install_command() -> str:
    """Return how this system gets Java."""
    if shutil.which("apt-get"):
        sudo = "" if hasattr(os, "geteuid") and os.geteuid() == 0 else "sudo "
        return f"{sudo}apt-get install openjdk-17-jre-headless"
    if platform.system() == "Darwin":
        return "brew install openjdk@17"
    if shutil.which("dnf"):
        return "sudo dnf install java-17-openjdk-headless"
    return "install Java 17, and set JAVA_HOME to it"


def find_java() -> Java:
    """Return the Java that Spark would start. Takes a tenth of a second."""
    home = os.environ.get("JAVA_HOME")
    path = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if path is None:
        return Java(None, 0)
    try:
        ran = subprocess.run([path, "-version"], capture_output=True, text=True, check=False)
    except OSError:
        return Java(path, 0)
    found = re.search(r'version "(?:1\.)?(\d+)', ran.stderr)
    return Java(path, int(found[1]) if found else 0)
