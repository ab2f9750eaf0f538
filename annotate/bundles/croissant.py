"""Description of a bundle's tables and pictures in Croissant 1.0 (JSON-LD)."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from annotate.reports.table_files import Table

# That of the standard, without which its reader warns.
CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
TYPES = {
    "string": "sc:Text",
    "integer": "sc:Integer",
    "number": "sc:Float",
    "boolean": "sc:Boolean",
    "datetime": "sc:DateTime",
}
IMAGES = "media-png"


def described(
    manifest: Mapping[str, Any],
    tables: Iterable[tuple[Table, str]],
    files: Mapping[str, Mapping[str, Any]],
) -> dict[str, Any]:
    """Return the description; each table comes with the name of its Parquet file."""
    distribution: list[dict[str, Any]] = []
    records: list[dict[str, Any]] = []
    for table, path in tables:
        distribution.append(
            {
                "@type": "cr:FileObject",
                "@id": path,
                "name": path,
                "contentUrl": path,
                "contentSize": f"{files[path]['bytes']} B",
                "encodingFormat": "application/x-parquet",
                "sha256": files[path]["sha256"],
            }
        )
        records.append(_records(table.name, _fields(table, path)))
    if any(name.startswith("media/") and name.endswith(".png") for name in files):
        distribution.append(
            {
                "@type": "cr:FileSet",
                "@id": IMAGES,
                "name": IMAGES,
                "encodingFormat": "image/png",
                "includes": "media/*.png",
            }
        )
        records.append(_records("images", _image_fields()))
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": manifest["study"],
        "description": f"Human ratings of generated stories: {manifest['title']}",
        "license": manifest["license"] or "unknown",
        "version": "1.0.0",
        "datePublished": manifest["moment"]["at"][:10],
        "citeAs": f"{manifest['title']} (Plumbline study {manifest['study']})",
        "distribution": distribution,
        "recordSet": records,
    }


def _records(name: str, fields: Iterable[dict[str, Any]]) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "field": [
            {"@type": "cr:Field", "@id": f"{name}/{one['name']}", **one}
            for one in fields
        ],
    }


def _fields(table: Table, path: str) -> Iterator[dict[str, Any]]:
    for field in table.schema["fields"]:
        name = field["name"]
        yield {
            "name": name,
            "description": field.get("description", name),
            "dataType": TYPES[field["type"]],
            "source": {"fileObject": {"@id": path}, "extract": {"column": name}},
        }


def _image_fields() -> Iterator[dict[str, Any]]:
    for name, kind, read, about in (
        ("file", "sc:Text", "filename", "name of the file; its stem is the SHA-256"),
        ("image", "sc:ImageObject", "content", "the picture"),
    ):
        yield {
            "name": name,
            "description": about,
            "dataType": kind,
            "source": {"fileSet": {"@id": IMAGES}, "extract": {"fileProperty": read}},
        }
