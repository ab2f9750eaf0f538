"""Tests of the JSON Schema in the documentation.

    python -m tests.annotate.studies.test_schema

writes the file.
"""

import json
import os
from pathlib import Path

import django

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalcore.settings")
    django.setup()

from annotate.studies.definition import StudyDefinition

FILE = Path(__file__).resolve().parents[3] / "docs/reference/study-file.schema.json"


def schema() -> str:
    made = StudyDefinition.model_json_schema()
    # The name comes from the file, and questions may inherit kind and scale.
    del made["properties"]["name"]
    listed = made["properties"]["questions"]["items"]
    del listed["discriminator"]
    listed["anyOf"] = listed.pop("oneOf")
    for one in listed["anyOf"]:
        made["$defs"][one["$ref"].rpartition("/")[2]]["required"] = ["key"]
    return json.dumps(made, indent=1) + "\n"


def test_schema_in_documentation_is_current():
    assert FILE.read_text() == schema()


if __name__ == "__main__":
    FILE.write_text(schema())
