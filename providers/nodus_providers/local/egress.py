"""Egress policies of a local machine: the hosts behind each preset, and how the proxy is told what to let out.

A preset is a promise about a purpose ("pip install works"), so its hosts are the ones the purpose's own makers name; each line says where.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from nodusctl.provider.requests import Egress

PORT = 3128
_PROXY = f"http://127.0.0.1:{PORT}"
_NOT_BY_PROXY = "localhost,127.0.0.1,::1"

PRESETS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        # pip's index and its files: https://warehouse.pypa.io (index at pypi.org, files at files.pythonhosted.org); wheels of PyTorch:
        # https://pytorch.org/get-started (index download.pytorch.org, its files since 2025 on download-r2.pytorch.org).
        "python-packages": ("pypi.org", "files.pythonhosted.org", "download.pytorch.org", "download-r2.pytorch.org"),
        # https://docs.conda.io and https://docs.anaconda.com/reference/allow-list (channels), https://conda-forge.org (conda.anaconda.org).
        "conda-packages": ("repo.anaconda.com", "conda.anaconda.org", "anaconda.org", "api.anaconda.org"),
        # The hub and the stores it redirects downloads to: https://huggingface.co/docs/hub (LFS and Xet storage under hf.co).
        "huggingface": ("huggingface.co", "hf.co", "*.hf.co", "*.huggingface.co"),
        # https://docs.github.com/en/get-started/using-github/troubleshooting-connectivity-problems
        "github": ("github.com", "api.github.com", "codeload.github.com", "*.githubusercontent.com", "ghcr.io", "*.ghcr.io"),
        # https://docs.wandb.ai (SaaS: api and the app), files on Google Cloud Storage.
        "wandb": ("api.wandb.ai", "wandb.ai", "files.wandb.ai", "storage.googleapis.com"),
        # sources.list of a fresh Debian and a fresh Ubuntu.
        "debian-packages": ("deb.debian.org", "security.debian.org", "archive.ubuntu.com", "security.ubuntu.com", "ports.ubuntu.com"),
    }
)


def unknown_presets(egress: Egress) -> tuple[str, ...]:
    """Presets nobody here knows."""
    return tuple(name for name in egress.presets if name not in PRESETS)


def allowed_names(egress: Egress) -> tuple[str, ...]:
    """All that AllowList lets out, presets spelled out, each once."""
    return tuple(dict.fromkeys([*egress.allow, *(host for name in egress.presets for host in PRESETS[name])]))


def proxy_words(python: str, script: str, egress: Egress, addresses: Mapping[str, str]) -> tuple[str, ...]:
    """How the agent starts the proxy; it adds the socket it listens on."""
    words = [python, "-I", "-S", script]
    words += [f"--allow={name}" for name in allowed_names(egress)]
    words += [f"--address={name}={address}" for name, address in sorted(addresses.items())]
    return tuple(words)


def proxy_environment() -> dict[str, str]:
    """What tells programs inside of the proxy; both spellings, because curl reads http_proxy in small letters only."""
    variables = {"HTTPS_PROXY": _PROXY, "HTTP_PROXY": _PROXY, "ALL_PROXY": _PROXY, "NO_PROXY": _NOT_BY_PROXY}
    return {**variables, **{name.lower(): value for name, value in variables.items()}}
