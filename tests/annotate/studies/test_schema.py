"""The JSON Schema of the documentation.

    python -m tests.annotate.studies.test_schema

writes it anew.
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
    # The file's own name is the study's, and questions may take kind and scale of it.
    del made["properties"]["name"]
    listed = made["properties"]["questions"]["items"]
    del listed["discriminator"]
    listed["anyOf"] = listed.pop("oneOf")
    for one in listed["anyOf"]:
        made["$defs"][one["$ref"].rpartition("/")[2]]["required"] = ["key"]
    return json.dumps(made, indent=1) + "\n"


def test_schema_of_the_documentation_is_that_of_the_definition():
    assert FILE.read_text() == schema()


if __name__ == "__main__":
    FILE.write_text(schema())
