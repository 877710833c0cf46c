"""JSON held to a schema, in JSON Schema's words as far as those of docs/ use them."""
import re

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int,
         "number": (int, float), "null": type(None)}


def is_of(value, name):
    """True is no integer here."""
    return isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def violations(value, schema, where="$"):
    """Where VALUE is not as SCHEMA, of JSON Schema's words as far as the schema uses them."""
    names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(is_of(value, name) for name in names):
        yield f"{where}: {value!r} is none of {names}"
        return
    if value not in schema.get("enum", [value]):
        yield f"{where}: {value!r} is none of {schema['enum']}"
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        yield f"{where}: {value!r} is not like {schema['pattern']}"
    if isinstance(value, list):
        for i, item in enumerate(value):
            yield from violations(item, schema["items"], f"{where}[{i}]")
    if isinstance(value, dict):
        yield from (f"{where}: no {key}" for key in schema["required"] if key not in value)
        for key, item in value.items():
            if key in schema["properties"]:
                yield from violations(item, schema["properties"][key], f"{where}.{key}")
            elif "additionalProperties" in schema:
                yield from violations(item, schema["additionalProperties"], f"{where}.{key}")
            else:
                yield f"{where}: {key} is in no schema"


def keys(schema):
    """All names of fields in SCHEMA."""
    for key, value in schema.get("properties", {}).items():
        yield key
        yield from keys(value)
    if "items" in schema:
        yield from keys(schema["items"])
