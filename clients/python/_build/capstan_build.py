"""Builds the package without other packages, so that it can be built without network (PEP 517)."""

from __future__ import annotations

import base64
import hashlib
import io
import re
import tarfile
import zipfile
from pathlib import Path
from typing import Any, Dict, List, Optional

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src" / "capstan"
# Fixed, so that the same sources produce the same bytes.
DATE = (2020, 1, 1, 0, 0, 0)


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: Optional[str] = None) -> str:
    files = {f"capstan/{path.name}": path.read_bytes() for path in _sources()}
    return _write_wheel(wheel_directory, files)


def build_editable(wheel_directory: str, config_settings: Any = None, metadata_directory: Optional[str] = None) -> str:
    return _write_wheel(wheel_directory, {"capstan.pth": f"{SOURCES.parent}\n".encode()})


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    base = f"capstan-{_version()}"
    tests = sorted((ROOT / "tests").glob("*.py"))
    others = [ROOT / "pyproject.toml", ROOT / "README.md", Path(__file__)]
    with tarfile.open(Path(sdist_directory) / f"{base}.tar.gz", "w:gz", format=tarfile.PAX_FORMAT) as archive:
        _add(archive, f"{base}/PKG-INFO", _metadata())
        for path in [*others, *_sources(), *tests]:
            _add(archive, f"{base}/{path.relative_to(ROOT).as_posix()}", path.read_bytes())
    return f"{base}.tar.gz"


def _sources() -> List[Path]:
    return [*sorted(SOURCES.glob("*.py")), SOURCES / "py.typed"]


def _write_wheel(directory: str, files: Dict[str, bytes]) -> str:
    base = f"capstan-{_version()}"
    info = f"{base}.dist-info"
    about = b"Wheel-Version: 1.0\nGenerator: capstan_build\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    entries = {**files, f"{info}/METADATA": _metadata(), f"{info}/WHEEL": about}
    record = "".join(f"{name},sha256={_digest(data)},{len(data)}\n" for name, data in entries.items())
    entries[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    name = f"{base}-py3-none-any.whl"
    with zipfile.ZipFile(Path(directory) / name, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in entries.items():
            entry = zipfile.ZipInfo(path, DATE)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return name


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    archive.addfile(entry, io.BytesIO(data))


def _version() -> str:
    found = re.search(r'__version__ = "([^"]+)"', (SOURCES / "_version.py").read_text())
    assert found is not None
    return found[1]


def _metadata() -> bytes:
    # Python 3.10 has no reader of TOML; these fields are single lines.
    project = (ROOT / "pyproject.toml").read_text()

    def field(name: str) -> str:
        found = re.search(rf'^{name} = (?:\{{ text = )?"([^"]+)"', project, re.MULTILINE)
        assert found is not None, name
        return found[1]

    listed = re.search(r"classifiers = \[(.*?)\]", project, re.DOTALL)
    classifiers = re.findall(r'"([^"]+)"', listed[1]) if listed else []
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {field('name')}",
        f"Version: {_version()}",
        f"Summary: {field('description')}",
        f"License: {field('license')}",
        f"Requires-Python: {field('requires-python')}",
        *(f"Classifier: {one}" for one in classifiers),
        "Description-Content-Type: text/markdown",
        "",
        (ROOT / "README.md").read_text(encoding="utf-8"),
    ]
    return "\n".join(lines).encode()
