"""The versions a result depends on."""

from __future__ import annotations

from importlib import metadata

_PACKAGES = (
    "cuda-tile",
    "nvidia-cuda-tileiras",
    "tileport-native",
    "torch",
)


def version() -> str:
    """The installed version of tileport."""
    return metadata.version("tileport")


def installed_versions() -> dict[str, str]:
    """Versions by package; one that is not installed is left out."""
    found: dict[str, str] = {}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
