"""The Java that Spark would take: from JAVA_HOME, else from PATH."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

NEEDED = 17


@dataclass(frozen=True)
class Java:
    """What was found: where, and its version (0 where there is none)."""

    path: str | None
    version: int

    @property
    def serves(self) -> bool:
        """Whether Spark runs on it."""
        return self.version >= NEEDED

    @property
    def problem(self) -> str:
        """What is wrong with it, in words."""
        if self.version:
            return f"Spark needs Java {NEEDED} or newer, and {self.path} is Java {self.version}"
        if "JAVA_HOME" in os.environ:
            home = os.environ["JAVA_HOME"]
            return f"Spark needs Java {NEEDED} or newer, and JAVA_HOME={home} has none"
        return f"Spark needs Java {NEEDED} or newer, and there is none on PATH"

    @property
    def cure(self) -> str:
        """The command that mends it."""
        if "JAVA_HOME" in os.environ and shutil.which("java"):
            return "unset JAVA_HOME"
        return install_command()


def install_command() -> str:
    """How this system gets Java."""
    if shutil.which("apt-get"):
        sudo = "" if hasattr(os, "geteuid") and os.geteuid() == 0 else "sudo "
        return f"{sudo}apt-get install openjdk-17-jre-headless"
    if platform.system() == "Darwin":
        return "brew install openjdk@17"
    if shutil.which("dnf"):
        return "sudo dnf install java-17-openjdk-headless"
    return "install Java 17, and set JAVA_HOME to it"


def find_java() -> Java:
    """The Java that Spark would start; a tenth of a second."""
    home = os.environ.get("JAVA_HOME")
    path = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if path is None:
        return Java(None, 0)
    try:
        told = subprocess.run([path, "-version"], capture_output=True, text=True, check=False)
    except OSError:
        return Java(path, 0)
    found = re.search(r'version "(?:1\.)?(\d+)', told.stderr)
    return Java(path, int(found[1]) if found else 0)
