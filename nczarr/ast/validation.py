"""Validation of nodes by pydantic, and their JSON and schema; imported only where one of these is needed.

Its core schema of a dataclass accepts only instances in strict mode. Members
must be strict, while a node may be given by its members: the schemas of the
classes are made so.
"""

from typing import Any, NamedTuple

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import ArgsKwargs, SchemaSerializer, SchemaValidator


class ClassSchema(NamedTuple):
    """Validator and writers of one class."""

    adapter: TypeAdapter[Any]
    """Source of the JSON Schema."""
    validator: SchemaValidator
    """Validator of nodes, of their members, and of JSON."""
    serializer: SchemaSerializer
    """Writer of JSON."""

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the class."""
        return self.adapter.json_schema(schema_generator=_Generator)


class _Generator(GenerateJsonSchema):
    """Generator that writes nodes among the defaults as values, without their spans."""

    def encode_default(self, dft: Any) -> Any:
        if hasattr(dft, "_members"):
            return schema_of(type(dft)).serializer.to_python(dft, mode="json")
        return super().encode_default(dft)


_SCHEMAS: dict[type[Any], ClassSchema] = {}


def schema_of(cls: type[Any]) -> ClassSchema:
    """Return the schema of a class of nodes; made once."""
    schema = _SCHEMAS.get(cls)
    if schema is None:
        adapter: TypeAdapter[Any] = TypeAdapter(cls)
        core = _adapt(adapter.core_schema)
        schema = ClassSchema(adapter, SchemaValidator(core, {"title": cls.__name__}), SchemaSerializer(core))
        _SCHEMAS[cls] = schema
    return schema


def decide(node: Any) -> None:
    """Validate the members of a node, and convert them in place. Raises ValidationError."""
    members = {name: getattr(node, name) for name in node._members}
    schema_of(type(node)).validator.validate_python(ArgsKwargs((), members), self_instance=node)


def _adapt(schema: Any) -> Any:
    """Return a core schema in which nodes may be given by members, and spans are not written."""
    if isinstance(schema, list | tuple):
        return type(schema)(_adapt(part) for part in schema)
    if not isinstance(schema, dict):
        return schema
    adapted = {key: member if key == "metadata" else _adapt(member) for key, member in schema.items()}
    match adapted.get("type"):
        case "dataclass":
            adapted |= {"strict": False, "post_init": False}
        case "dataclass-field" if adapted["name"] == "span":
            adapted["serialization_exclude"] = True
    return adapted
