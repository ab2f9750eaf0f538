"""The version of Plumbline; `pyproject.toml` names the same one."""

VERSION = "0.1.0"
